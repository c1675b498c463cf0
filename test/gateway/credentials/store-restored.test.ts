/** The store is restored to an older state under running gateways, and a new change gets the number of a lost one. */
import { decodeJwt } from 'jose';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createRevokeToken } from '#src/gateway/credentials/change/revoke-token.ts';
import { createCredentials } from '#src/gateway/index.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { databaseUrl, run } from '../../support/test-server.ts';
import { isWithinASecond, until } from '../../support/until.ts';
import { bearer, type Harness, openHarness, pick, postToken, read, tokenOf } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let doors: string[];

beforeAll(async () => {
  harness = await openHarness();
  // One gateway gets notifications of changes, another one only polls.
  doors = [harness.url, (await harness.openDoor()).url, (await harness.openDoor({ runsServices: false })).url];
});

afterAll(() => harness.close());

const admin = (text: string): Promise<void> => run(inject('testServer').url, text);

/** Simulates a failover or a restore: every connection ends, and no connection is possible while `work` runs. */
const withoutConnections = async (name: string, work: () => Promise<void>): Promise<void> => {
  await admin(`alter database ${name} allow_connections false`);
  await admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  await work();
};

const retried = async (text: string): Promise<void> => {
  let last: unknown;
  await until(async () => {
    try {
      await admin(text);
      return true;
    } catch (error) {
      // A terminated connection takes a moment to disappear.
      last = error;
      return false;
    }
  }).catch(() => {
    throw last;
  });
};

const currentName = async (): Promise<string> =>
  (await harness.database.pool.query('select current_database() as name')).rows[0].name;

type Snapshot = { name: string; pool: Pool; db: Kysely<unknown> };

const takeSnapshot = async (): Promise<Snapshot> => {
  const name = await currentName();
  const copy = `${name}_copy`;
  await withoutConnections(name, async () => {
    await retried(`create database ${copy} template ${name}`);
    await admin(`alter database ${name} allow_connections true`);
  });
  const connection = databaseUrl(inject('testServer').url, copy);
  const pool = createPool({ connection, applicationName: 'test-copy' }, pino({ level: 'silent' }));
  return { name: copy, pool, db: createDatabase(pool) };
};

const restore = async (snapshot: Snapshot): Promise<void> => {
  const name = await currentName();
  await snapshot.pool.end();
  await withoutConnections(name, async () => {
    await retried(`alter database ${name} rename to ${name}_lost`);
    await retried(`alter database ${snapshot.name} rename to ${name}`);
  });
  await admin(`drop database ${name}_lost with (force)`);
};

const byKey = async (url: string, key: string): Promise<number> =>
  (await sendRequest(url, 'GET', read, { headers: { 'x-api-key': key } })).status;
const byToken = async (url: string, token: string): Promise<number> =>
  (await sendRequest(url, 'GET', read, { headers: bearer(token) })).status;
const everywhere = (ask: (url: string) => Promise<number>): Promise<number[]> => Promise.all(doors.map(ask));
const all = (status: number): number[] => doors.map(() => status);

test('F-25 after a failover that lost a change, every gateway refuses within a second a credential revoked under the same number', async () => {
  const tenant = await harness.createTenant();
  const key = await harness.credentials.createApiKey({ tenant, name: 'revoked later' });
  const client = pick(await harness.createClient([tenant]));
  const tokens: string[] = [];
  for (let i = 0; i < 4; i += 1) tokens.push(await tokenOf(harness.url, client));
  const [lost = '', first = '', second = '', kept = ''] = tokens;
  for (const token of tokens) expect(await everywhere((url) => byToken(url, token))).toEqual(all(200));
  const snapshot = await takeSnapshot();
  await isWithinASecond(() => everywhere((url) => byKey(url, key.value)), all(200));

  // These two will be lost: a change of a credential and a revocation of a token. All gateways read both.
  const gone = await harness.credentials.createApiKey({ tenant, name: 'lost' });
  await postToken(harness.url, { token: lost, ...client }, {}, '/api/oauth/revoke');
  await isWithinASecond(() => everywhere((url) => byToken(url, lost)), all(401));
  expect(await everywhere((url) => byKey(url, gone.value))).toEqual(all(200));
  expect(await everywhere((url) => byKey(url, key.value))).toEqual(all(200));

  // The new history gives the same numbers to other changes.
  const deps = { db: snapshot.db, box: harness.box, clock: harness.clock };
  await createCredentials(deps).revokeApiKey(key.keyId);
  const revokeToken = createRevokeToken(deps);
  for (const token of [first, second]) {
    const { jti = '', exp = 0 } = decodeJwt(token);
    const asked = { jti, clientId: client.client_id, expiresMs: exp * 1000 };
    await revokeToken(asked, { reason: 'test', actor: 'test' });
  }
  const numbers = 'select epoch, token_epoch from gateway.credential_epoch';
  const before = (await harness.database.pool.query(numbers)).rows[0];
  const after = (await snapshot.pool.query(numbers)).rows[0];
  expect([after.epoch, after.token_epoch]).toEqual([before.epoch, before.token_epoch + 1]);
  await restore(snapshot);

  await isWithinASecond(() => everywhere((url) => byKey(url, key.value)), all(401));
  expect(await everywhere((url) => byKey(url, gone.value))).toEqual(all(401));
  for (const token of [first, second]) expect(await everywhere((url) => byToken(url, token))).toEqual(all(401));
  // The restored store does not contain the lost revocation, so the token is valid again.
  for (const token of [lost, kept]) expect(await everywhere((url) => byToken(url, token))).toEqual(all(200));
});

test('F-25 a snapshot restored in place, with open connections and the same number, is noticed within a second', async () => {
  const { pool } = harness.database;
  const tenant = await harness.createTenant();
  const client = pick(await harness.createClient([tenant]));
  const token = await tokenOf(harness.url, client);
  const keys = [];
  for (const name of ['one', 'two']) keys.push(await harness.credentials.createApiKey({ tenant, name }));
  const [one, two] = keys;
  await harness.credentials.quarantine('api_key', one?.keyId ?? '', 'seen elsewhere');
  const row = (await pool.query('select * from gateway.credential_epoch')).rows[0];
  await harness.credentials.reactivate('api_key', one?.keyId ?? '', 'found');
  await isWithinASecond(() => everywhere((url) => byKey(url, one?.value ?? '')), all(200));
  expect(await everywhere((url) => byToken(url, token))).toEqual(all(200));

  // In one transaction the number falls, and rises to the same value with another change.
  const tx = await pool.connect();
  await tx.query('begin');
  await tx.query(`update gateway.api_keys set quarantined_reason = 'seen elsewhere' where key_id = $1`, [one?.keyId]);
  await tx.query('update gateway.credential_epoch set epoch = $1, mark = $2', [row.epoch, row.mark]);
  await tx.query('update gateway.credential_epoch set epoch = epoch + 1, mark = gen_random_uuid()');
  await tx.query('commit');
  tx.release();
  await isWithinASecond(() => everywhere((url) => byKey(url, one?.value ?? '')), all(403));
  await harness.credentials.revokeApiKey(two?.keyId ?? '');
  await isWithinASecond(() => everywhere((url) => byKey(url, two?.value ?? '')), all(401));
  expect(await everywhere((url) => byToken(url, token))).toEqual(all(200));
});

test('F-25 revoked tokens are read anew when the number of revocations falls and rises between two readings', async () => {
  const { pool } = harness.database;
  const tenant = await harness.createTenant();
  const client = pick(await harness.createClient([tenant]));
  const [lost, later, last] = [
    await tokenOf(harness.url, client),
    await tokenOf(harness.url, client),
    await tokenOf(harness.url, client),
  ];
  const row = (await pool.query('select * from gateway.credential_epoch')).rows[0];
  await postToken(harness.url, { token: lost, ...client }, {}, '/api/oauth/revoke');
  await expect.poll(() => everywhere((url) => byToken(url, lost ?? ''))).toEqual(all(401));
  for (const token of [later, last]) expect(await everywhere((url) => byToken(url, token ?? ''))).toEqual(all(200));

  const tx = await pool.connect();
  await tx.query('begin');
  await tx.query('delete from gateway.revoked_tokens where epoch > $1', [row.token_epoch]);
  const set = 'update gateway.credential_epoch set token_epoch = $1, token_mark = $2';
  await tx.query(set, [row.token_epoch, row.token_mark]);
  for (const token of [later, last]) {
    const { jti, exp } = decodeJwt(token ?? '');
    await tx.query(set.replace('$1', 'token_epoch + 1').replace('$2', 'gen_random_uuid()'));
    await tx.query(
      `insert into gateway.revoked_tokens (jti, client_id, expires, revoked_at, epoch, mark)
       select $1, $2, to_timestamp($3::int), now(), token_epoch, token_mark from gateway.credential_epoch`,
      [jti, client.client_id, exp],
    );
  }
  await tx.query('commit');
  tx.release();
  for (const token of [later, last])
    await expect.poll(() => everywhere((url) => byToken(url, token ?? ''))).toEqual(all(401));
  expect(await everywhere((url) => byToken(url, lost ?? ''))).toEqual(all(200));
});
