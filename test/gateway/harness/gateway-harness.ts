/** Gateways over one store and one upstream, with their credentials in the test's hands. */
import { createServer } from 'node:http';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { createCredentials, createGateway, gatewayServerOptions, gatewaySettings } from '#src/gateway/index.ts';
import type { Clock } from '#src/platform/clock.ts';
import { createDatabase } from '#src/platform/db/pool.ts';
import type { ClientAuthorities } from '#src/platform/http/tls/client-authorities.ts';
import type { Kv } from '#src/platform/kv/index.ts';
import { createSecretBox, type SecretBox } from '#src/platform/secret-box.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createFetchDocument } from '#src/webhooks/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  closeServer,
  type Headers,
  listen,
  type Reply,
  sendRequest,
  startUpstream,
  type TestUpstream,
  unlimited,
} from './public-door.ts';

export const read = '/api/orders/list';
export const scopes = [
  'read:orders',
  'manage:orders',
  'write:orders',
  'read:customers',
  'write:customers',
  'read:menu',
  'write:menu',
  'read:loyalty',
  'write:loyalty',
  'read:account',
  'write:coupons',
  'read:webhooks',
  'write:webhooks',
];

export type MovableClock = Clock & { move(ms: number): void };

export const createMovableClock = (): MovableClock => {
  let movedMs = 0;
  return {
    now: () => new Date(Date.now() + movedMs),
    move: (ms) => {
      movedMs += ms;
    },
  };
};

type DoorOptions = {
  /** false: the gateway runs without its background services, so it gets no notification of changes. */
  runsServices?: boolean;
  /** Its own way to the store. */
  pool?: Pool;
  /** Default: its own memory. */
  kv?: Kv;
  /** Added to the settings of the harness. */
  settings?: Record<string, unknown>;
};

export type Door = { url: string; close(): Promise<void> };

type Client = { client_id: string; client_secret: string };

export type Harness = {
  database: TestDatabase;
  box: SecretBox;
  /** Of every gateway of the harness. */
  clock: MovableClock;
  credentials: ReturnType<typeof createCredentials>;
  upstream: TestUpstream;
  /** The first gateway: its address is the issuer. */
  url: string;
  /** One more gateway of the same origin, with its own caches. */
  openDoor(options?: DoorOptions): Promise<Door>;
  createClient(tenants: string[], scopes?: string[]): Promise<Client & { secret_id: string }>;
  /** A tenant of its own, so that a test can take it away. */
  createTenant(): Promise<string>;
  close(): Promise<void>;
};

export const openHarness = async (
  options: { tokenLifetime?: number; settings?: Record<string, unknown>; clientAuthorities?: ClientAuthorities } = {},
): Promise<Harness> => {
  const database = await createTestDatabase();
  const box = createSecretBox(Buffer.alloc(32, 9));
  const clock = createMovableClock();
  const upstream = await startUpstream();
  const doors: Door[] = [];
  let origin: string | undefined;
  const openDoor = async ({
    runsServices = true,
    pool = database.pool,
    kv,
    settings,
  }: DoorOptions = {}): Promise<Door> => {
    const log = pino({ level: process.env.TEST_LOG ?? 'silent' });
    const server = createServer(gatewayServerOptions);
    const url = await listen(server);
    origin ??= url;
    const parsed = gatewaySettings.parse({
      token_lifetime: options.tokenLifetime,
      ...unlimited,
      ...options.settings,
      ...settings,
    });
    const gateway = await createGateway({
      settings: parsed,
      fetchDocument: createFetchDocument(parsed.internal_issuers),
      origin,
      db: createDatabase(pool),
      pool,
      box,
      clock,
      log,
      upstreams: { ordering: upstream.url },
      clientAuthorities: options.clientAuthorities,
      ...(kv === undefined ? undefined : { kv }),
    });
    server.on('request', gateway.handler);
    const ended = new AbortController();
    const services = supervise(runsServices ? gateway.services : [], ended.signal, log);
    const door = {
      url,
      close: async () => {
        await closeServer(server);
        ended.abort();
        await services;
        await gateway.close();
      },
    };
    doors.push(door);
    return door;
  };
  const first = await openDoor();
  const credentials = createCredentials({ db: database.db, box, clock, scopes });
  let tenants = 0;
  return {
    database,
    box,
    clock,
    credentials,
    upstream,
    url: first.url,
    openDoor,
    createClient: async (of, held) =>
      formOf(
        await credentials.createClient({
          name: 'test',
          tenants: of,
          ...(held === undefined ? undefined : { scopes: held }),
        }),
      ),
    createTenant: async () => {
      tenants += 1;
      const id = `tenant_${tenants}`;
      await credentials.createTenant(id);
      return id;
    },
    close: async () => {
      for (const door of doors) await door.close();
      await upstream.close();
      await database.drop();
    },
  };
};

/** Headers as a list, where one comes twice; node adds none by itself then. */
export const rawHeaders = (url: string, ...pairs: string[]): string[] => ['host', new URL(url).host, ...pairs];

const form = 'application/x-www-form-urlencoded';

/** POST to the token endpoint; `fields` as pairs where one comes twice. */
export const postToken = (
  url: string,
  fields: Record<string, string> | [string, string][] | string,
  headers: Headers = {},
  target = '/api/oauth/token',
): Promise<Reply> =>
  sendRequest(url, 'POST', target, {
    headers: { 'content-type': form, ...headers },
    body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
  });

export const tokenOf = async (url: string, client: Client, more: Record<string, string> = {}): Promise<string> => {
  const reply = await postToken(url, { grant_type: 'client_credentials', ...pick(client), ...more });
  if (reply.status !== 200) throw new Error(`no token: ${reply.text}`);
  return String(reply.json.access_token);
};

/** `createClient` gives more than what is sent. */
/** A client under the names of the token endpoint. */
export const formOf = ({ clientId, ...made }: { clientId: string; secret: string; secretId: string }) => ({
  client_id: clientId,
  client_secret: made.secret,
  secret_id: made.secretId,
});

export const pick = ({ client_id, client_secret }: Client): Client => ({ client_id, client_secret });

export const basic = (id: string, secret: string): Headers => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

export const clientHeaders = ({ client_id, client_secret }: Client): Headers => ({
  'x-client-id': client_id,
  'x-client-secret': client_secret,
});

/** An answer without what differs from request to request. */
export const withoutRequestId = (reply: Reply): unknown => ({
  status: reply.status,
  body: { ...reply.json, request_id: undefined },
});
