/** Where a token comes from: it ends with each token that it was exchanged from, and audits and incidents show the parent. */
import { decodeJwt, SignJWT } from 'jose';
import { sql } from 'kysely';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listLiveTokens, readTrace, revokeTraced } from '#src/gateway/index.ts';
import { openSigningKeys } from '#src/gateway/oauth/keys/signing-keys.ts';
import { whileLocked } from '../../../support/contention.ts';
import { isWithinASecond, until } from '../../../support/until.ts';
import { bearer, type Door, type Harness, openHarness, pick, postToken, read } from '../../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../../harness/public-door.ts';
import { accessTokenType, detail, exchangeGrant } from './narrow-door.ts';

let harness: Harness;
let second: Door;
let tenant: string;
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  harness = await openHarness();
  second = await harness.openDoor();
  tenant = await harness.createTenant();
  client = pick(await harness.createClient([tenant]));
});

afterAll(() => harness?.close());

const exchange = (subject_token: string, more: Record<string, string> = {}, url = harness.url): Promise<Reply> =>
  postToken(url, { grant_type: exchangeGrant, subject_token, subject_token_type: accessTokenType, ...client, ...more });

const childOf = async (token: string, more: Record<string, string> = {}): Promise<string> => {
  const { status, json } = await exchange(token, more);
  expect([status, json.error_description]).toEqual([200, undefined]);
  return String(json.access_token);
};

const parentToken = async (): Promise<string> => {
  const { json } = await postToken(harness.url, { grant_type: 'client_credentials', ...client });
  return String(json.access_token);
};

const use = async (token: string, url = harness.url): Promise<number> =>
  (await sendRequest(url, 'GET', read, { headers: bearer(token) })).status;

const revoke = (token: string): Promise<Reply> => postToken(harness.url, { token, ...client }, {}, '/api/oauth/revoke');

test('A-400 a revocation of a token ends all that came of it, at every gateway within a second, and nothing else', async () => {
  const root = await parentToken();
  const child = await childOf(root, { scope: 'read:orders' });
  const grandchild = await childOf(child, { expires_in: '600' });
  const sibling = await childOf(root);
  for (const token of [root, child, grandchild, sibling])
    for (const url of [harness.url, second.url]) expect(await use(token, url)).toBe(200);
  await revoke(child);
  for (const token of [child, grandchild]) {
    expect(await use(token)).toBe(401);
    await isWithinASecond(() => use(token, second.url), 401);
  }
  expect([await use(root, second.url), await use(sibling, second.url)]).toEqual([200, 200]);
  await revoke(root);
  await isWithinASecond(() => use(sibling, second.url), 401);
  const refused = await exchange(sibling);
  expect([refused.status, refused.json.error]).toEqual([400, 'invalid_request']);
});

test('A-400 a gateway that starts later refuses what came of a revoked token', async () => {
  const root = await parentToken();
  const grandchild = await childOf(await childOf(root));
  await revoke(root);
  const later = await harness.openDoor();
  expect(await use(grandchild, later.url)).toBe(401);
  const other = await childOf(await parentToken());
  expect(await use(other, later.url)).toBe(200);
  await later.close();
});

test('A-400 when all tokens of a client end, what came of them ends too', async () => {
  const child = await childOf(await parentToken());
  harness.clock.move(2_000);
  await harness.credentials.revokeClientTokens(client.client_id);
  for (const url of [harness.url, second.url]) await expect.poll(() => use(child, url)).toBe(401);
  harness.clock.move(-2_000);
  // Tokens hold whole seconds, and those of the present second have ended with the others.
  await until(async () => (await use(await parentToken())) === 200);
});

test('A-400 a token that was exchanged counts as old as the first one of its chain', async () => {
  const own = pick(await harness.createClient([tenant]));
  const settings = { token_lifetime: 3_600, signing_key_days: 90 };
  const { db } = harness.database;
  const keys = await openSigningKeys({ db, box: harness.box, clock: harness.clock, settings });
  const { kid, privateKey } = keys.current();
  const now = Math.floor(Date.now() / 1000);
  // Issued in the moment in which the tokens of its client ended, so that its own time is later.
  const late = { iss: harness.url, client_id: own.client_id, sub: own.client_id, scope: 'read:orders', iat: now + 60 };
  const sign = (jti: string, claims: Record<string, unknown>): Promise<string> =>
    new SignJWT({ ...late, exp: now + 600, jti, ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
      .sign(privateKey);
  const plain = await sign('plain', { aud: harness.url });
  const child = await sign('child', { aud: [harness.url], ancestors: ['parent'], ancestors_iat: now - 60 });
  expect([await use(plain), await use(child)]).toEqual([200, 200]);
  await harness.credentials.revokeClientTokens(own.client_id);
  await expect.poll(() => use(child)).toBe(401);
  expect(await use(plain)).toBe(200);
});

test('A-400 four exchanges in a row and a thousand of one token, over all gateways, are the most', async () => {
  let token = await parentToken();
  for (let step = 0; step < 4; step += 1) token = await childOf(token);
  const fifth = await exchange(token);
  expect([fifth.status, fifth.json.error]).toEqual([400, 'invalid_request']);
  expect(await use(token)).toBe(200);

  const root = await parentToken();
  const child = await childOf(root);
  const { jti } = decodeJwt(root);
  await harness.database.pool.query('update gateway.token_exchanges set exchanged = 999 where root_jti = $1', [jti]);
  // What is refused for another reason gives no token and counts as none.
  const refused = await exchange(child, { scope: 'unknown:scope' });
  expect([refused.status, refused.json.error]).toEqual([400, 'invalid_scope']);
  await childOf(child);
  for (const [subject, url] of [
    [root, harness.url],
    [child, second.url],
  ] as const) {
    const beyond = await exchange(subject, {}, url);
    expect([beyond.status, beyond.json.error]).toEqual([400, 'invalid_request']);
  }
  await childOf(await parentToken());
});

test('A-801 while exchanges of one token wait for its row, another client exchanges its token, and all are made', async () => {
  const other = pick(await harness.createClient([tenant]));
  const [root, its] = [
    await parentToken(),
    String((await postToken(harness.url, { grant_type: 'client_credentials', ...other })).json.access_token),
  ];
  await childOf(root);
  let ended = 0;
  const exchangeOne = async (): Promise<number> => {
    const { status } = await exchange(root);
    ended += 1;
    return status;
  };
  const { db, pool } = harness.database;
  const statuses = await whileLocked(
    db,
    sql`select from gateway.token_exchanges where root_jti = ${decodeJwt(root).jti} for update`,
    1,
    () => Promise.all(Array.from({ length: 40 }, exchangeOne)),
    async () => {
      // The gateway took every exchange before it answers this.
      await sendRequest(harness.url, 'GET', '/healthz');
      expect([(await exchange(its, other)).status, ended]).toEqual([200, 0]);
    },
  );
  expect(statuses).toEqual(Array.from({ length: 40 }, () => 200));
  const { rows } = await pool.query('select exchanged from gateway.token_exchanges where root_jti = $1', [
    decodeJwt(root).jti,
  ]);
  expect(rows).toEqual([{ exchanged: 41 }]);
});

test('A-401 introspection, the audit, the trace of a token and the list of live tokens name the parent', async () => {
  const made = await harness.credentials.createClient({ name: 'service', tenants: [tenant], mayIntrospect: true });
  const service = { client_id: made.clientId, client_secret: made.secret };
  const details = [detail({ tenants: [tenant], actions: ['read'] })];
  const [root, wish] = [await parentToken(), { authorization_details: JSON.stringify(details) }];
  const listName = await exchange(root, wish);
  // The member for tenants has the name that the file of routes gives it.
  expect(listName.json.errors).toEqual([expect.objectContaining({ pointer: 'authorization_details/0/tenants' })]);
  const granted = [detail({ restaurants: [tenant], actions: ['read'] })];
  const child = await childOf(root, { authorization_details: JSON.stringify(granted) });
  const grandchild = await childOf(child);
  const [rootId, childId, id] = [root, child, grandchild].map((token) => String(decodeJwt(token).jti));
  const asked = await postToken(harness.url, { token: grandchild, ...service }, {}, '/api/oauth/introspect');
  expect(asked.json).toMatchObject({ active: true, ancestors: [childId, rootId], authorization_details: granted });
  const { db } = harness.database;
  const deps = { db, box: harness.box, clock: harness.clock, actor: 'test' };
  const trace = await readTrace(deps, grandchild);
  expect([trace.id, trace.parentToken]).toEqual([id, childId]);
  expect(JSON.parse(JSON.stringify(trace.issued))).toMatchObject({
    details: { parent: childId, authorization_details: granted },
  });
  expect((await readTrace(deps, root)).parentToken).toBeNull();
  const stateOf = async () => {
    const { tokens } = await listLiveTokens(deps, { limit: 100 });
    return tokens
      .filter((token) => [rootId, childId, id].includes(token.id))
      .map(({ id: one, parentToken: by }) => [one, by]);
  };
  expect(await stateOf()).toEqual([
    [id, childId],
    [childId, rootId],
    [rootId, null],
  ]);
  await revokeTraced(deps, child);
  expect(await stateOf()).toEqual([[rootId, null]]);
  for (const url of [harness.url, second.url]) await expect.poll(() => use(grandchild, url)).toBe(401);
});

test('A-403 openid-client exchanges a token and uses the new one', async () => {
  const config = await openid.discovery(
    new URL(harness.url),
    client.client_id,
    undefined,
    openid.ClientSecretBasic(client.client_secret),
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
  );
  const parent = await openid.clientCredentialsGrant(config);
  const child = await openid.genericGrantRequest(config, exchangeGrant, {
    subject_token: parent.access_token,
    subject_token_type: accessTokenType,
    scope: 'read:orders',
    authorization_details: JSON.stringify([detail({ operations: ['orders.list'] })]),
  });
  expect(child).toMatchObject({
    token_type: 'bearer',
    scope: 'read:orders',
    issued_token_type: accessTokenType,
    authorization_details: [detail({ operations: ['orders.list'] })],
  });
  const url = new URL(read, harness.url);
  expect((await openid.fetchProtectedResource(config, child.access_token, url, 'GET')).status).toBe(200);
  await expect(
    openid.genericGrantRequest(config, exchangeGrant, {
      subject_token: child.access_token,
      subject_token_type: accessTokenType,
      scope: 'read:menu',
    }),
  ).rejects.toMatchObject({ error: 'invalid_scope' });
});
