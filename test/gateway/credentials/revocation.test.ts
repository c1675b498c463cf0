import { decodeJwt } from 'jose';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRevokeToken } from '#src/gateway/credentials/change/revoke-token.ts';
import { readEpoch } from '#src/gateway/credentials/lookup/epoch-store.ts';
import { createRevokedTokens } from '#src/gateway/credentials/lookup/revoked-tokens.ts';
import { whileLocked } from '../../support/contention.ts';
import { isWithinASecond } from '../../support/until.ts';
import {
  basic,
  bearer,
  type Door,
  type Harness,
  openHarness,
  pick,
  postToken,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = pick(await harness.createClient([tenant]));
});

afterAll(() => harness.close());

const path = '/api/oauth/revoke';
const revoke = (fields: Record<string, string> | [string, string][], headers = {}, url = harness.url): Promise<Reply> =>
  postToken(url, fields, headers, path);
const use = async (token: string, url = harness.url): Promise<number> =>
  (await sendRequest(url, 'GET', read, { headers: bearer(token) })).status;

test('A-042 a client revokes its token: 200 without a body, refused at once, and 200 again', async () => {
  const [token, other] = [await tokenOf(harness.url, client), await tokenOf(harness.url, client)];
  expect(await use(token)).toBe(200);
  const reply = await revoke({ token, ...client });
  expect([reply.status, reply.body.length, reply.headers['cache-control']]).toEqual([200, 0, 'no-store']);
  expect(reply.headers['content-type']).toBeUndefined();
  const refused = await sendRequest(harness.url, 'GET', read, { headers: bearer(token) });
  expect([refused.status, refused.json.error]).toEqual([401, 'invalid_token']);
  expect((await revoke({ token, ...client })).status).toBe(200);
  expect((await revoke({ token, ...client, token_type_hint: 'refresh_token' })).status).toBe(200);
  expect(await use(other)).toBe(200);
});

test('A-042 a token that is revoked again and again, also at the same time, has one event, and no row that stays when it has ended', async () => {
  const token = await tokenOf(harness.url, client);
  const jti = decodeJwt(token).jti;
  const rowsOf = async (): Promise<unknown[]> => {
    const { pool } = harness.database;
    const events = await pool.query(
      "select actor from gateway.audit_events where token_id = $1 and action = 'token.revoked'",
      [jti],
    );
    const states = await pool.query('select from gateway.credential_changes where credential = $1', [jti]);
    return [events.rows, states.rowCount];
  };
  const replies = await Promise.all(Array.from({ length: 8 }, () => revoke({ token, ...client })));
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  for (let i = 0; i < 3; i += 1) expect((await revoke({ token, ...client })).status).toBe(200);
  expect(await rowsOf()).toEqual([[{ actor: client.client_id }], 0]);
});

test('A-737 while revocations of one client wait for a change, another client gets its token, and its revocation goes before most of theirs', async () => {
  const other = pick(await harness.createClient([tenant]));
  const its = await tokenOf(harness.url, other);
  const tokens = await Promise.all(Array.from({ length: 40 }, () => tokenOf(harness.url, client)));
  const ended: string[] = [];
  const revokeOne = async (of: typeof client, token: string): Promise<number> => {
    const { status } = await revoke({ token, ...of });
    ended.push(of.client_id);
    return status;
  };
  let last: Promise<number> | undefined;
  const statuses = await whileLocked(
    harness.database.db,
    sql`select from gateway.credential_epoch for update`,
    2,
    () => Promise.all(tokens.map((token) => revokeOne(client, token))),
    async () => {
      // The gateway took every revocation before it answers this.
      await sendRequest(harness.url, 'GET', '/healthz');
      const reply = await postToken(harness.url, { grant_type: 'client_credentials', ...other });
      expect([reply.status, ended]).toEqual([200, []]);
      last = revokeOne(other, its);
      await sendRequest(harness.url, 'GET', '/healthz');
    },
  );
  expect([await last, ...statuses]).toEqual(Array.from({ length: 41 }, () => 200));
  expect(ended.indexOf(other.client_id)).toBeLessThan(20);
  expect(await Promise.all([...tokens, its].map((token) => use(token)))).toEqual(Array.from({ length: 41 }, () => 401));
});

test('A-042 revoking an unknown, changed or expired token is also 200', async () => {
  const token = await tokenOf(harness.url, client);
  for (const value of ['x', 'a.b.c', token.slice(0, -8), 'x'.repeat(10_000)]) {
    expect((await revoke({ token: value, ...client })).status).toBe(200);
  }
  expect(await use(token)).toBe(200);
  harness.clock.move(3_601_000);
  expect((await revoke({ token, ...client })).status).toBe(200);
  const { rows } = await harness.database.pool.query('select 1 from gateway.revoked_tokens where jti = $1', [
    decodeJwt(token).jti,
  ]);
  expect(rows).toHaveLength(0);
  harness.clock.move(-3_601_000);
});

test('A-043 revoking a live token of another client is refused, and the token stays valid; an expired one is 200', async () => {
  const other = pick(await harness.createClient([tenant]));
  const token = await tokenOf(harness.url, client);
  const reply = await revoke({ token, ...other });
  expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
  expect(await use(token)).toBe(200);
  expect((await revoke({ token, ...client })).status).toBe(200);
  expect((await revoke({ token, ...other })).status).toBe(200);
  expect(await use(token)).toBe(401);
});

test('A-022 a revoked token, and all tokens of a client from before a time, are refused by every gateway within 1 s', async () => {
  const doors: Door[] = [];
  for (const runsServices of [true, true, false]) doors.push(await harness.openDoor({ runsServices }));
  const own = pick(await harness.createClient([tenant]));
  const ends: ((token: string) => Promise<unknown>)[] = [
    (token) => revoke({ token, ...own }),
    () => harness.credentials.revokeClientTokens(own.client_id),
  ];
  for (const end of ends) {
    const token = await tokenOf(harness.url, own);
    for (const { url } of doors) expect(await use(token, url)).toBe(200);
    await end(token);
    await Promise.all(doors.map(({ url }) => isWithinASecond(() => use(token, url), 401)));
    // A token from the same second is refused too, because its claims do not show which was first.
    let next = '';
    const isTaken = async (): Promise<number> => {
      next = await tokenOf(harness.url, own);
      return use(next);
    };
    await expect.poll(isTaken).toBe(200);
    for (const { url } of doors) expect(await use(next, url)).toBe(200);
  }
  for (const door of doors) await door.close();
});

test('A-455 tokens of a gateway whose machine has a wrong time end with all tokens of their client, and new ones are accepted', async () => {
  for (const aheadMs of [60_000, -60_000]) {
    // The time that gateways share; that of this machine is ahead of it, or behind.
    harness.clock.move(-aheadMs);
    const own = pick(await harness.createClient([tenant]));
    const token = await tokenOf(harness.url, own);
    expect(await use(token)).toBe(200);
    await harness.credentials.revokeClientTokens(own.client_id);
    await expect.poll(() => use(token)).toBe(401);
    await expect.poll(async () => use(await tokenOf(harness.url, own))).toBe(200);
    harness.clock.move(aheadMs);
  }
});

test('a gateway that starts later refuses tokens that were revoked before', async () => {
  const token = await tokenOf(harness.url, client);
  expect((await revoke({ token, ...client })).status).toBe(200);
  const door = await harness.openDoor();
  expect(await use(token, door.url)).toBe(401);
  expect(await use(await tokenOf(door.url, client), door.url)).toBe(200);
  await door.close();
});

test('a gateway whose clock was ahead refuses revoked tokens after its clock is set right', async () => {
  const [token, good] = [await tokenOf(harness.url, client), await tokenOf(harness.url, client)];
  expect((await revoke({ token, ...client })).status).toBe(200);
  harness.clock.move(3_700_000);
  const door = await harness.openDoor();
  expect(await use(token, door.url)).toBe(401);
  harness.clock.move(-3_700_000);
  expect([await use(token, door.url), await use(good, door.url)]).toEqual([401, 200]);
  // The next revocation makes the gateway read all of them.
  expect((await revoke({ token: await tokenOf(harness.url, client), ...client })).status).toBe(200);
  await isWithinASecond(() => use(token, door.url), 401);
  await door.close();
});

test('a revocation that is read while the clock is ahead is known after the clock is set right, from memory again after the next', async () => {
  const { db } = harness.database;
  const revokeToken = createRevokeToken({ db, box: harness.box, clock: harness.clock });
  const revoked = createRevokedTokens({ db, clock: harness.clock });
  const load = async (): Promise<void> => revoked.load((await readEpoch(db)).tokens);
  const expiresMs = harness.clock.now().getTime() + 60_000;
  const end = (jti: string): Promise<unknown> =>
    revokeToken({ jti, clientId: client.client_id, expiresMs }, { reason: 'test', actor: 'test' });
  await load();
  harness.clock.move(61_000);
  await end('read ahead');
  await load();
  expect(revoked.has('read ahead')).toBe(false);
  harness.clock.move(-61_000);
  expect([await revoked.has('read ahead'), await revoked.has('unknown')]).toEqual([true, false]);
  await end('next');
  await load();
  expect([revoked.has('read ahead'), revoked.has('next'), revoked.has('unknown')]).toEqual([true, true, false]);
});

test('revoking a token does not clear the remembered keys and clients of a gateway', async () => {
  const { pool } = harness.database;
  const epoch = async () => (await pool.query('select epoch, token_epoch from gateway.credential_epoch')).rows[0];
  const before = await epoch();
  await revoke({ token: await tokenOf(harness.url, client), ...client });
  expect(await epoch()).toEqual({ epoch: before.epoch, token_epoch: before.token_epoch + 1 });
});

test('client authentication and its refusals are the same as at the token endpoint', async () => {
  const token = await tokenOf(harness.url, client);
  const cases: [Promise<Reply>, number, string][] = [
    [revoke({ token }), 401, 'invalid_client'],
    [revoke({ ...client }), 400, 'invalid_request'],
    [revoke([['token', token], ['token', token], ...Object.entries(client)]), 400, 'invalid_request'],
    [revoke({ token, ...client, client_secret: 'wrong' }), 401, 'invalid_client'],
    [revoke({ token }, basic(client.client_id, 'wrong')), 401, 'invalid_client'],
    [revoke({ token, ...client }, basic(client.client_id, client.client_secret)), 400, 'invalid_request'],
    [sendRequest(harness.url, 'GET', path), 405, 'invalid_request'],
    [sendRequest(harness.url, 'POST', `${path}?token=${token}`), 400, 'invalid_request'],
  ];
  for (const [answer, status, error] of cases) {
    const reply = await answer;
    expect([reply.status, reply.json.error]).toEqual([status, error]);
    expect(Object.keys(reply.json)).toEqual(
      expect.arrayContaining(['error', 'error_description', 'error_uri', 'code', 'request_id']),
    );
  }
  expect((await revoke({ token }, basic(client.client_id, 'wrong'))).headers['www-authenticate']).toMatch(/^Basic/);
  expect(await use(token)).toBe(200);
  expect((await revoke({ token }, basic(client.client_id, client.client_secret))).status).toBe(200);
  expect(await use(token)).toBe(401);
});

test('with more revoked tokens than fit into memory, the store is asked, and each of them is refused', async () => {
  const { db } = harness.database;
  const revokeToken = createRevokeToken({ db, box: harness.box, clock: harness.clock });
  const expiresMs = harness.clock.now().getTime() + 60_000;
  const lags: number[] = [];
  const observeLag = (seconds: number): unknown => lags.push(seconds);
  const revoked = createRevokedTokens({ db, clock: harness.clock, entriesMax: 2, observeLag });
  const load = async (): Promise<void> => revoked.load((await readEpoch(db)).tokens);
  await harness.database.pool.query('delete from gateway.revoked_tokens');
  await load();
  for (const jti of ['one', 'two', 'three']) {
    await revokeToken({ jti, clientId: client.client_id, expiresMs }, { reason: 'test', actor: 'test' });
    await load();
  }
  expect([await revoked.has('one'), await revoked.has('two'), await revoked.has('three')]).toEqual([true, true, true]);
  expect(await revoked.has('four')).toBe(false);
  expect(lags).toHaveLength(3);

  // When they expire, there is room again.
  harness.clock.move(61_000);
  await revokeToken(
    { jti: 'five', clientId: client.client_id, expiresMs: expiresMs + 120_000 },
    { reason: 'test', actor: 'test' },
  );
  await load();
  expect([revoked.has('five'), revoked.has('three')]).toEqual([true, false]);
  harness.clock.move(-61_000);
});
