/** The gateway for the bench, as the program builds it: a new database, migrations, a client, tokens. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { createRevokeToken } from '#src/gateway/credentials/change/revoke-token.ts';
import {
  attachDoor,
  createCredentials,
  createGateway,
  type GatewayDeps,
  gatewayMigrations,
  gatewayServerOptions,
  gatewaySettings,
} from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { openStore, platformMigrations } from '#src/platform/db/index.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { tuneMemory } from '#src/platform/tune-memory.ts';
import { databaseUrl, run } from '../../support/test-server.ts';
import { writeRoutes } from './bench-routes.ts';
import { createBenchTlsServer } from './tls-server.ts';

type Credentials = { clientId: string; clientSecret: string; apiKey: string };

type BenchGateway = Credentials & {
  url: string;
  /** The same gateway over TLS. */
  secureUrl: string;
  /** As many different tokens as asked for. */
  authorizations: string[];
  credentials: ReturnType<typeof createCredentials>;
  close: () => Promise<void>;
};

/** Of each credential: every kind is counted like any other, and never refused. */
const never = 1_000_000_000;
const limits = { minute: never, burst: never, day: never, month: never, concurrency: 10_000 };

type BenchSettings = {
  storeUrl: string;
  tokens?: number;
  revokedTokens?: number;
  connectionsMax?: number;
  /** Default: that of the program. */
  requestLogDays?: number;
  /** More settings of the gateway. */
  more?: Record<string, unknown>;
  /** Reads the keys of trusted issuers. */
  fetchDocument?: GatewayDeps['fetchDocument'];
};

export const startBenchGateway = async (
  upstreamUrl: string,
  { storeUrl, tokens = 1, revokedTokens = 0, connectionsMax, requestLogDays, more, fetchDocument }: BenchSettings,
): Promise<BenchGateway> => {
  tuneMemory();
  // The level that the program starts with.
  const log = createLog({ level: 'warn', role: 'bench' });
  const store = await openStore(
    { dataDir: '', databaseUrl: await createStore(storeUrl), applicationName: 'bench' },
    log,
    { exclusive: false },
  );
  const { db, pool } = store;
  await migrate(pool, [...platformMigrations, ...gatewayMigrations], { log });
  const box = createSecretBox(randomBytes(32));
  const folder = await mkdtemp(join(tmpdir(), 'orderpass-bench-routes-'));
  const server = createServer(gatewayServerOptions);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const gateway = await createGateway({
    settings: gatewaySettings.parse({
      rate_minute_units: never,
      rate_burst_units: never,
      upstream_connections_max: connectionsMax,
      request_log_days: requestLogDays,
      routes_file: await writeRoutes(folder),
      ...more,
    }),
    origin: url,
    db,
    pool,
    box,
    clock: systemClock,
    log,
    upstreams: { ordering: upstreamUrl },
    ...(fetchDocument && { fetchDocument }),
  });
  attachDoor(server, () => gateway);
  const secureServer = createBenchTlsServer(gatewayServerOptions);
  attachDoor(secureServer, () => gateway);
  await new Promise<void>((resolve) => secureServer.listen(0, '127.0.0.1', resolve));
  const ended = new AbortController();
  const services = supervise(gateway.services, ended.signal, log);
  const credentials = createCredentials({ db, box, clock: systemClock });
  await credentials.createTenant('rst_1');
  const client = await credentials.createClient({ name: 'bench', tenants: ['rst_1'], limits });
  const key = await credentials.createApiKey({ tenant: 'rst_1', name: 'bench', limits });
  const revoke = createRevokeToken({ db, box, clock: systemClock });
  // Written directly to the store, since each would have an entry in the audit; the last one makes all of them known.
  await sql`
    insert into gateway.revoked_tokens (jti, client_id, expires, revoked_at, epoch)
    select 'revoked-' || n, ${client.clientId}, now() + interval '1 hour', now(), token_epoch + 1
    from gateway.credential_epoch, generate_series(2, ${revokedTokens}::int) n`.execute(db);
  const last = { jti: 'revoked-1', clientId: client.clientId, expiresMs: Date.now() + 3_600_000 };
  if (revokedTokens > 0) await revoke(last, { reason: 'bench', actor: 'bench' });
  const authorizations: string[] = [];
  while (authorizations.length < tokens) {
    authorizations.push(
      ...(await Promise.all(
        Array.from({ length: 10 }, () => fetchToken(url, { client_id: client.clientId, client_secret: client.secret })),
      )),
    );
  }
  return {
    url,
    secureUrl: `https://127.0.0.1:${(secureServer.address() as AddressInfo).port}`,
    authorizations,
    clientId: client.clientId,
    clientSecret: client.secret,
    apiKey: key.value,
    credentials,
    close: async () => {
      for (const one of [server, secureServer]) one.closeAllConnections();
      for (const one of [server, secureServer]) one.close();
      ended.abort();
      await services;
      await gateway.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
};

/** Every gateway of a run has a database of its own. */
const createStore = async (serverUrl: string): Promise<string> => {
  const name = `bench_${randomBytes(6).toString('hex')}`;
  await run(serverUrl, `create database ${name}`);
  return databaseUrl(serverUrl, name);
};

type Client = { client_id: string; client_secret: string };

const fetchToken = async (url: string, client: Client, retriesLeft = 10): Promise<string> => {
  const { client_id, client_secret } = client;
  const response = await fetch(`${url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }),
  });
  const answer = (await response.json()) as { access_token?: string };
  if (answer.access_token !== undefined) return `Bearer ${answer.access_token}`;
  // On a busy machine the store may be slow to start.
  const retryAfter = Number(response.headers.get('retry-after') ?? 0);
  if (response.status !== 503 || retriesLeft === 0) throw new Error(`no token: ${JSON.stringify(answer)}`);
  await setTimeout(retryAfter * 1000);
  return fetchToken(url, client, retriesLeft - 1);
};
