import { calculateJwkThumbprint, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rotateSigningKey } from '#src/gateway/oauth/keys/rotate-signing-key.ts';
import { openSigningKeys } from '#src/gateway/oauth/keys/signing-keys.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { createTestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';
import { bearer, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

const settings = { token_lifetime: 3_600, signing_key_days: 90 };
let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

test('processes that start together on an empty store agree on one key', async () => {
  const database = await createTestDatabase();
  try {
    const deps = { db: database.db, box: harness.box, clock: harness.clock, settings };
    const opened = await Promise.all(Array.from({ length: 8 }, () => openSigningKeys(deps)));
    expect(new Set(opened.map((keys) => keys.current().kid)).size).toBe(1);
    const { rows } = await database.pool.query('select kid from gateway.signing_keys');
    expect(rows).toHaveLength(1);
  } finally {
    await database.drop();
  }
});

test('the private key is kept sealed: another master key cannot open it', async () => {
  const { rows } = await harness.database.pool.query<{ text: string; sealed: Buffer }>(
    'select k::text as text, private_sealed as sealed from gateway.signing_keys k',
  );
  expect(rows).toHaveLength(1);
  const { db } = harness.database;
  const keys = await openSigningKeys({ db, box: harness.box, clock: harness.clock, settings });
  const { d } = keys.current().privateKey.export({ format: 'jwk' });
  expect(d).toBeTypeOf('string');
  expect(rows[0]?.text).not.toContain(d);
  expect(rows[0]?.sealed.toString('latin1')).not.toContain(d);
  const other = createSecretBox(Buffer.alloc(32, 1));
  await expect(openSigningKeys({ db, box: other, clock: harness.clock, settings })).rejects.toThrow();
});

test('the published set names use, algorithm and thumbprint, and nothing private', async () => {
  const { json, headers } = await sendRequest(harness.url, 'GET', '/api/oauth/jwks');
  expect(headers['cache-control']).toBe('public, max-age=300');
  expect(json.keys).toHaveLength(1);
  const [key] = json.keys;
  expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
  expect(key.kid).toBe(await calculateJwkThumbprint(key));
});

test('a second gateway signs with the same key, and each takes the tokens of the other', async () => {
  const other = await harness.openDoor();
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant]);
  const [one, two] = [await tokenOf(harness.url, client), await tokenOf(other.url, client)];
  expect(decodeProtectedHeader(one).kid).toBe(decodeProtectedHeader(two).kid);
  expect((await sendRequest(other.url, 'GET', read, { headers: bearer(one) })).status).toBe(200);
  expect((await sendRequest(harness.url, 'GET', read, { headers: bearer(two) })).status).toBe(200);
});

test('A-754 of two readings of the keys that overlap, the one that began later holds, whichever ends last', async () => {
  const database = await createTestDatabase();
  try {
    let held: Promise<void> | undefined;
    // Holds answers of the store after it has read the rows.
    const db = database.db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        const waits = held;
        held = undefined;
        await waits;
        return result;
      },
    });
    const deps = { db, box: harness.box, clock: harness.clock, settings };
    const keys = await openSigningKeys(deps);
    const before = keys.current().kid;
    const answer = Promise.withResolvers<void>();
    held = answer.promise;
    const first = keys.reload();
    await until(() => held === undefined);
    const { kid } = await rotateSigningKey(deps);
    await keys.reload();
    expect(keys.find(kid)).toBeDefined();
    answer.resolve();
    await first;
    expect(keys.find(kid)).toBeDefined();
    expect(keys.find(before)).toBeDefined();
    expect(
      keys
        .jwks()
        .keys.map((key) => key.kid)
        .toSorted(),
    ).toEqual([before, kid].toSorted());
  } finally {
    await database.drop();
  }
});

test('a new key signs without a restart, tokens of the old one work until it is retired, and then no longer', async () => {
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant]);
  const old = await tokenOf(harness.url, client);
  const status = async (token: string) =>
    (await sendRequest(harness.url, 'GET', read, { headers: bearer(token) })).status;
  expect(await status(old)).toBe(200);

  // What a rotation does: another store makes the key, the row is added, the epoch is raised.
  const elsewhere = await createTestDatabase();
  const made = await openSigningKeys({ db: elsewhere.db, box: harness.box, clock: harness.clock, settings });
  const { rows } = await elsewhere.pool.query('select * from gateway.signing_keys');
  const [row] = rows;
  const { pool } = harness.database;
  await pool.query(
    `insert into gateway.signing_keys (kid, public_jwk, private_sealed, created, not_before)
     values ($1, $2, $3, $4, $5)`,
    [row.kid, row.public_jwk, row.private_sealed, row.created, row.not_before],
  );
  await elsewhere.drop();
  const raise = () => pool.query('update gateway.credential_epoch set epoch = epoch + 1');
  await raise();
  await expect.poll(async () => decodeProtectedHeader(await tokenOf(harness.url, client)).kid).toBe(made.current().kid);
  expect((await sendRequest(harness.url, 'GET', '/api/oauth/jwks')).json.keys).toHaveLength(2);
  expect(await status(old)).toBe(200);

  await pool.query('update gateway.signing_keys set retired_at = now() where kid = $1', [
    decodeProtectedHeader(old).kid,
  ]);
  await raise();
  await expect.poll(() => status(old)).toBe(401);
  expect(await status(await tokenOf(harness.url, client))).toBe(200);
});
