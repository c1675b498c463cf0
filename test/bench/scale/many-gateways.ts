/**
 * What do 200 gateways ask of one store while no request comes? They are real ones without a listener, in a few processes:
 * each watches credentials, audits, counts and reloads with connections of its own. PostgreSQL gets as many connections as
 * all of their pools may open, since its default would end the bench; Redis is used where redis-server is installed.
 *
 * Printed are statements and transactions a second, connections and memory of a gateway, at rest and while one key a second
 * is revoked, and the time from a revocation until a gateway applies it, over all gateways. Exit code 1 when p99 of that
 * is not below one second, or when a gateway misses a revocation. Arguments: gateways, seconds of each measurement,
 * processes.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { createCredentials } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { openStore } from '#src/platform/db/index.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { createLog } from '#src/platform/log.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { databaseUrl, run } from '../../support/test-server.ts';
import { type Part, print, withParts } from '../kit/parts.ts';

const gateways = Number(process.argv[2] ?? 200);
const seconds = Number(process.argv[3] ?? 30);
const processes = Number(process.argv[4] ?? 4);

const lagMsMax = 1_000;
const lateMsMax = 10_000;
const settleMs = 5_000;
const poolMax = 10;
const otherConnections = 50;

const log = createLog({ level: 'error', role: 'bench' });

const serverSettings = {
  ...{ shared_preload_libraries: 'pg_stat_statements', max_connections: String(gateways * poolMax + otherConnections) },
};

type Counts = { statements: number; transactions: number; connections: number };

const readCounts = async (client: pg.Client): Promise<Counts> => {
  const { rows } = await client.query<Counts>(
    `select (select sum(calls)::float8 from pg_stat_statements(false) where dbid = datid) as statements,
       xact_commit::float8 as transactions,
       (select count(*)::int from pg_stat_activity where application_name like 'gateway%') as connections
     from pg_stat_database where datname = 'gateways'`,
  );
  return rows[0] ?? { statements: 0, transactions: 0, connections: 0 };
};

/** Prints what the store did meanwhile. */
const measure = async (client: pg.Client, name: string, during: () => Promise<unknown>): Promise<void> => {
  const [before, startedAt] = [await readCounts(client), performance.now()];
  await during();
  const [after, tookSeconds] = [await readCounts(client), (performance.now() - startedAt) / 1000];
  const rate = (of: 'statements' | 'transactions'): string => ((after[of] - before[of]) / tookSeconds).toFixed(0);
  const each = ((after.statements - before.statements) / tookSeconds / gateways).toFixed(2);
  print(
    `${name}: ${rate('statements')} statements/s (${each} of a gateway), ${rate('transactions')} transactions/s, ${after.connections} connections`,
  );
};

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

const askAll = async (parts: readonly Part[]): Promise<{ lagsMs: number[]; bytes: number }> => {
  const answers = await Promise.all(parts.map((part) => part.ask({})));
  return {
    lagsMs: answers.flatMap(({ lagsMs }) => lagsMs as number[]),
    bytes: answers.reduce((sum, { bytes }) => sum + Number(bytes), 0),
  };
};

/** Lags of all gateways, as soon as each has applied so many revocations, or when one is too late. */
const collectLags = async (parts: readonly Part[], expected: number): Promise<number[]> => {
  const lagsMs: number[] = [];
  for (const startedAt = performance.now(); performance.now() - startedAt < lateMsMax; await sleep(100)) {
    lagsMs.push(...(await askAll(parts)).lagsMs);
    if (lagsMs.length >= expected) break;
  }
  return lagsMs.toSorted((a, b) => a - b);
};

process.exitCode = await withParts(async (start) => {
  const redis = hasRedis ? await startRedis() : undefined;
  try {
    const { ready } = await start('store', undefined, [JSON.stringify(serverSettings)]);
    await run(String(ready.url), 'create database gateways');
    const url = databaseUrl(String(ready.url), 'gateways');
    const masterKey = randomBytes(32);
    const store = await openStore({ dataDir: '', databaseUrl: url, applicationName: 'bench' }, log, {
      exclusive: false,
    });
    const client = new pg.Client({ connectionString: databaseUrl(url, 'postgres') });
    await client.connect();
    await client.query('create extension pg_stat_statements');
    await migrate(store.pool, allMigrations, { log });
    const credentials = createCredentials({ db: store.db, box: createSecretBox(masterKey), clock: systemClock });
    await credentials.createTenant('rst_1');
    const keys: string[] = [];
    while (keys.length < seconds) keys.push((await credentials.createApiKey({ tenant: 'rst_1', name: 'bench' })).keyId);
    const share = Math.ceil(gateways / processes);
    const parts: Part[] = [];
    for (let left = gateways; left > 0; left -= share) {
      const own = [url, masterKey.toString('base64'), String(Math.min(share, left)), redis?.url ?? ''];
      parts.push(await start('../scale/gateways', undefined, own));
    }
    print(`${gateways} gateways in ${parts.length} processes, ${redis === undefined ? 'without' : 'with'} Redis`);
    await sleep(settleMs);
    await measure(client, 'at rest', () => sleep(seconds * 1000));
    await askAll(parts);
    await measure(client, 'while a key a second is revoked', async () => {
      const startedAt = performance.now();
      for (const [turn, keyId] of keys.entries()) {
        await sleep(Math.max(0, startedAt + turn * 1000 - performance.now()));
        await credentials.revokeApiKey(keyId);
      }
    });
    const lagsMs = await collectLags(parts, gateways * keys.length);
    const { bytes } = await askAll(parts);
    print(`memory of a gateway: ${(bytes / gateways / 1e6).toFixed(1)} MB`);
    const [p50, p99, most] = [at(lagsMs, 0.5), at(lagsMs, 0.99), lagsMs.at(-1) ?? Number.NaN];
    const count = `${lagsMs.length} of ${gateways * keys.length} times`;
    print(
      `revoked after ${p50.toFixed(0)} ms (median), ${p99.toFixed(0)} ms (p99), ${most.toFixed(0)} ms at most, ${count}`,
    );
    const reached = p99 < lagMsMax && lagsMs.length >= gateways * keys.length;
    print(`goal: p99 below ${lagMsMax} ms at every gateway: ${reached ? 'reached' : 'MISSED'}`);
    await client.end();
    await store.close();
    return reached ? 0 : 1;
  } finally {
    await redis?.kill();
  }
});
