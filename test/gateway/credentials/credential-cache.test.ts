/** Look-ups that overlap with changes, and readings of a state that is undone. */
import type { IncomingMessage } from 'node:http';
import type { Kysely, KyselyPlugin } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CredentialCache, createCredentialCache } from '#src/gateway/credentials/lookup/cache.ts';
import { createCredentials } from '#src/gateway/index.ts';
import { newApiKey, newClientId } from '#src/gateway/model/credential-values.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let credentials: ReturnType<typeof createCredentials>;
let clientId: string;

const box = createSecretBox(Buffer.alloc(32, 9));
const tenant = 'tenant_1';

beforeAll(async () => {
  database = await createTestDatabase();
  credentials = createCredentials({ db: database.db, box, clock: systemClock });
  await credentials.createTenant(tenant);
});

beforeEach(async () => {
  ({ clientId } = await credentials.createClient({ name: 'test', tenants: [tenant] }));
});

afterAll(() => database?.drop());

/** A cache without its service: it confirms a state only when `refresh` is called. */
const openCache = (more: { db?: Kysely<unknown>; entriesMax?: number } = {}): CredentialCache => {
  let elapsedMs = 0;
  return createCredentialCache({
    db: database.db,
    pool: database.pool,
    box,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    elapsedMs: () => {
      elapsedMs += 0.001;
      return elapsedMs;
    },
    ...more,
  });
};

/** Holds the results of statements that contain `text` until `release` is called. */
const holdResults = (text: string) => {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const held = new WeakSet<object>();
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      if (JSON.stringify(node).includes(text)) held.add(queryId);
      return node;
    },
    transformResult: async ({ result, queryId }) => {
      if (held.has(queryId)) {
        arrived.resolve();
        await released.promise;
      }
      return result;
    },
  };
  return { db: database.db.withPlugin(plugin), arrived: arrived.promise, release: released.resolve };
};

const scopesIn = async (cache: CredentialCache): Promise<readonly string[] | null | undefined> =>
  (await cache.findClient(clientId))?.scopes;

test('a look-up that began before a change and ends after it is not remembered', async () => {
  const { db, arrived, release } = holdResults('left join gateway.clients c');
  const cache = openCache({ db });
  await cache.refresh();
  const before = scopesIn(cache);
  await arrived;
  await credentials.setClientScopes(clientId, ['read:orders']);
  await cache.refresh();
  release();
  expect(await before).toBe(null);
  expect(await scopesIn(cache)).toEqual(['read:orders']);
});

test('a look-up does not share one that began before a change', async () => {
  const { db, arrived, release } = holdResults('left join gateway.clients c');
  const cache = openCache({ db });
  await cache.refresh();
  const before = scopesIn(cache);
  await arrived;
  await credentials.setClientScopes(clientId, ['read:orders']);
  await cache.refresh();
  const after = scopesIn(cache);
  release();
  expect([await before, await after]).toEqual([null, ['read:orders']]);
});

test('a record that was read ahead of the confirmed state is remembered, and forgotten when a later change names it', async () => {
  const cache = openCache();
  await cache.refresh();
  await credentials.setClientScopes(clientId, ['read:orders']);
  expect(await scopesIn(cache)).toEqual(['read:orders']);
  expect(cache.findClient(clientId)).not.toBeInstanceOf(Promise);
  await credentials.createTenant('tenant_2');
  await cache.refresh();
  // The change before the reading names the client too.
  expect(cache.findClient(clientId)).toBeInstanceOf(Promise);
  await credentials.createTenant('tenant_3');
  expect(await scopesIn(cache)).toEqual(['read:orders']);
  await cache.refresh();
  expect(cache.findClient(clientId)).not.toBeInstanceOf(Promise);
  await credentials.setClientScopes(clientId, []);
  await cache.refresh();
  expect(await scopesIn(cache)).toEqual([]);
});

test('F-25 a record that was read ahead of the confirmed state is forgotten when a snapshot of that state is restored', async () => {
  const { pool } = database;
  const cache = openCache();
  await cache.refresh();
  const row = (await pool.query('select epoch, mark from gateway.credential_epoch')).rows[0];
  await credentials.setClientScopes(clientId, ['read:orders']);
  expect(await scopesIn(cache)).toEqual(['read:orders']);

  const tx = await pool.connect();
  await tx.query('begin');
  await tx.query('update gateway.clients set scopes = null where client_id = $1', [clientId]);
  await tx.query('update gateway.credential_epoch set epoch = $1, mark = $2', [row.epoch, row.mark]);
  await tx.query('commit');
  tx.release();
  await cache.refresh();
  expect(await scopesIn(cache)).toBe(null);

  // The next change repeats the number of the row that is left of the lost one.
  await credentials.setClientScopes(clientId, ['read:menu']);
  await cache.refresh();
  expect(await scopesIn(cache)).toEqual(['read:menu']);
});

test('a key that was evicted and read again is forgotten when it changes', async () => {
  const cache = openCache({ entriesMax: 4 });
  const keys: { keyId: string; value: string }[] = [];
  for (let count = 0; count < 10; count += 1) keys.push(await credentials.createApiKey({ tenant, name: 'test' }));
  await cache.refresh();
  for (let round = 0; round < 2; round += 1) {
    for (const { value } of keys) expect((await cache.findKey(value))?.revoked).toBe(false);
  }
  for (const { keyId, value } of keys) {
    expect((await cache.findKey(value))?.revoked).toBe(false);
    await credentials.revokeApiKey(keyId);
    await cache.refresh();
    expect((await cache.findKey(value))?.revoked).toBe(true);
  }
  expect(cache.figures().entries).toBeLessThanOrEqual(4);
  expect(cache.figures().clears).toBe(1);
});

const requestFrom = (remoteAddress: string): IncomingMessage =>
  ({ socket: { remoteAddress }, headers: {} }) as IncomingMessage;

test('A-746 while invented keys and clients of one address are looked up, those of other addresses have their turn', async () => {
  const { value, keyId } = await credentials.createApiKey({ tenant, name: 'till' });
  const { db, arrived, release } = holdResults('left join (gateway.api_keys k');
  const cache = openCache({ db });
  await cache.refresh();
  const flooding = requestFrom('192.0.2.1');
  const flood = Promise.allSettled(
    Array.from({ length: 800 }, (_, n) =>
      n % 2 === 0 ? cache.findKey(newApiKey().value, flooding) : cache.findClient(newClientId(), flooding),
    ),
  );
  await arrived;
  expect(database.pool.waitingCount).toBe(0);
  const found = Promise.all([
    cache.findKey(value, requestFrom('192.0.2.2')),
    cache.findClient(clientId, requestFrom('192.0.2.3')),
  ]);
  release();
  expect((await found).map((record) => record !== undefined)).toEqual([true, true]);
  expect(cache.findKey(value)).toMatchObject({ keyId });
  await flood;
});
