/**
 * The ordering core on its internal listener, as the gateway reaches it: 127.0.0.1, a free port, a database of its own.
 * Calls carry a real assertion, so tests speak for any caller without a gateway.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import { type Logger, pino } from 'pino';
import { type AssertedCaller, createAssertionSigner, createAssertionVerifier } from '#src/contract/assertion.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import type { OrderingSettings } from '#src/ordering/config.ts';
import { createOrdering, createRestaurant, type NewRestaurant } from '#src/ordering/index.ts';
import { setKinds } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createErrorBoundary } from '#src/platform/http/error-boundary.ts';
import { mountOperations } from '#src/platform/http/mount-operations.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { createSecretBox, type SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** Read member by member; a wrong shape fails the assertion. */
export type Json = ReturnType<typeof JSON.parse>;

export type Answer = {
  status: number;
  headers: Headers;
  /** Parsed body; `{}` when it is empty. */
  json: Json;
  /** The bytes as text. */
  text: string;
};

export type CallOptions = {
  /** A string is sent as it is. */
  body?: unknown;
  query?: Record<string, string | number>;
  caller?: AssertedCaller;
  headers?: Record<string, string>;
};

type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

/** A clock that the test advances. */
type TestClock = { now(): Date; set(to: string | Date): void; advance(ms: number): void };

const createTestClock = (start = '2026-03-01T11:00:00.000Z'): TestClock => {
  let at = new Date(start);
  return {
    now: () => new Date(at),
    set: (to) => {
      at = new Date(to);
    },
    advance: (ms) => {
      at = new Date(at.getTime() + ms);
    },
  };
};

export type TestRestaurant = { restuid: string; locationUid: string; caller: AssertedCaller };

export type TestOrdering = {
  url: string;
  /** For programs that work on the same store. */
  databaseUrl: string;
  db: Kysely<unknown>;
  /** The same database, for statements that are no part of the core. */
  pool: TestDatabase['pool'];
  clock: TestClock;
  /** Key of the assertions, for tests that forge them. */
  assertionKey: Buffer;
  /** Key of the order tokens. */
  orderTokenKey: Buffer;
  services: Service[];
  /** Path below /api; without `caller` the first restaurant's client calls. */
  call: Call;
  /** The restaurant that `call` speaks for by default. */
  restaurant: TestRestaurant;
  /** Another restaurant and a client of its own. */
  addRestaurant(settings?: Partial<NewRestaurant>): Promise<TestRestaurant>;
  /** Switches kinds of events on or off for a restaurant (default: the first). */
  setKinds(kinds: Record<string, boolean>, restuid?: string): Promise<void>;
  /** Bodies of recorded events, oldest first. */
  events(filter?: { kind?: string; entity?: string }): Promise<Json[]>;
  close(): Promise<void>;
};

export const orderingAudience = 'ordering';

const allScopes = [
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

/** A client of one or more restaurants that holds every scope. */
export const clientOf = (restuids: string[], change: Partial<AssertedCaller> = {}): AssertedCaller => ({
  kind: 'api_client',
  id: `opc_${restuids.join('_')}`,
  tenants: restuids,
  tenants_disabled: [],
  scopes: allScopes,
  ...change,
});

/** What more operations can be made of. */
export type Inside = {
  db: Kysely<unknown>;
  pool: Pool;
  clock: TestClock;
  box: SecretBox;
  log: Logger;
  /** For processes of their own. */
  url: string;
  masterKey: Buffer;
};

/**
 * Starts the core with one restaurant: Europe/Rome, EUR, every kind of event on. Close it in afterAll. `probes`: more
 * operations, for tests of what all operations share.
 */
export const startOrdering = async (
  settings: Partial<NewRestaurant> = {},
  probes: readonly Operation[] | ((inside: Inside) => readonly Operation[]) = [],
  operator: OrderingSettings = {},
): Promise<TestOrdering> => {
  const database = await createTestDatabase();
  const { db, pool } = database;
  const masterKey = randomBytes(32);
  const box = createSecretBox(masterKey);
  const clock = createTestClock();
  const assertionKey = randomBytes(32);
  const orderTokenKey = randomBytes(32);
  const now = (): number => clock.now().getTime();
  const log = pino({ level: process.env.TEST_LOG ?? 'silent' });
  const ordering = createOrdering({ db, cursorKey: randomBytes(32), orderTokenKey, clock, log, settings: operator });
  const app = new Koa();
  app.use(createErrorBoundary({ log }));
  const verifyAssertion = createAssertionVerifier({ key: assertionKey, audience: orderingAudience, now });
  const more =
    typeof probes === 'function' ? probes({ db, pool, clock, box, log, url: database.url, masterKey }) : probes;
  app.use(mountOperations([...ordering.operations, ...more], '/api', { db, clock, box, verifyAssertion }).routes());
  const { server, url } = await listen(app);
  const sign = createAssertionSigner({ key: assertionKey, audience: orderingAudience, now });

  const addRestaurant = async (more: Partial<NewRestaurant> = {}): Promise<TestRestaurant> => {
    const made = await inTransaction(db, async (tx) => {
      const wanted = { name: 'Trattoria da Ada', timeZone: 'Europe/Rome', currency: 'EUR', ...more };
      const { uid, locationUid } = await createRestaurant(tx, wanted, clock.now());
      await setKinds(tx, uid, { customers: true, orders: true, loyaltylog: true, menu: true });
      return { restuid: uid, locationUid };
    });
    return { ...made, caller: clientOf([made.restuid]) };
  };
  const restaurant = await addRestaurant(settings);
  return {
    url,
    databaseUrl: database.url,
    db,
    pool: database.pool,
    clock,
    assertionKey,
    orderTokenKey,
    services: ordering.services,
    restaurant,
    addRestaurant,
    call: (method, path, options = {}) => {
      const query = new URLSearchParams(
        Object.entries(options.query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
      ).toString();
      const target = `/api${path}${query === '' ? '' : `${path.includes('?') ? '&' : '?'}${query}`}`;
      const assertion = sign(options.caller ?? restaurant.caller, { method, target });
      return request(url, method, target, options.body, { [assertionHeader]: assertion, ...options.headers });
    },
    setKinds: (kinds, restuid = restaurant.restuid) => inTransaction(db, (tx) => setKinds(tx, restuid, kinds)),
    events: (filter = {}) => recordedEvents(db, filter),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await database.drop();
    },
  };
};

const listen = async (app: Koa): Promise<{ server: Server; url: string }> => {
  const handle = app.callback();
  // Never ends an idle connection: a test that computes for seconds holds up its own client too, which then would send on a
  // connection that is being closed.
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, response) => void handle(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
};

/** One request exactly as given, with or without an assertion. */
export const request = async (
  url: string,
  method: string,
  target: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(`${url}${target}`, {
    method,
    headers: { ...(body === undefined || raw ? undefined : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined
      ? undefined
      : { body: raw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text === '' ? {} : JSON.parse(text), text };
};

const recordedEvents = async (
  db: Kysely<unknown>,
  { kind, entity }: { kind?: string; entity?: string },
): Promise<Json[]> => {
  const { rows } = await sql<{ body: string }>`
    select body from outbox.events
    where (${kind ?? null}::text is null or kind = ${kind ?? null})
      and (${entity ?? null}::text is null or entity = ${entity ?? null})
    order by position`.execute(db);
  return rows.map((row) => JSON.parse(row.body) as Json);
};
