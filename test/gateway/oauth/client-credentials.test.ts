import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  basic,
  bearer,
  type Harness,
  openHarness,
  pick,
  postToken,
  read,
  scopes,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
const grant = { grant_type: 'client_credentials' };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

test('A-030 a valid form gets exactly a Bearer token, its lifetime and its scope, and the answer forbids caching', async () => {
  const client = await harness.createClient([tenant]);
  const reply = await postToken(harness.url, { ...grant, ...pick(client), scope: 'write:orders read:orders' });
  expect(reply.status).toBe(200);
  expect(reply.headers['cache-control']).toBe('no-store');
  expect(reply.headers['content-type']).toMatch(/^application\/json/);
  expect(reply.headers.vary ?? '').not.toMatch(/origin/i);
  expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect(reply.json).toEqual({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'read:orders write:orders',
  });
});

test('A-031 the token is an ES256 JWT of type at+jwt with exactly the claims of the contract and a key of the JWKS', async () => {
  const client = await harness.createClient([tenant]);
  const [one, two] = [await tokenOf(harness.url, client), await tokenOf(harness.url, client)];
  const header = decodeProtectedHeader(one);
  expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
  const { json } = await sendRequest(harness.url, 'GET', '/api/oauth/jwks');
  expect(json.keys.map((key: { kid: string }) => key.kid)).toContain(header.kid);
  const claims = decodeJwt(one);
  expect(Object.keys(claims).sort()).toEqual(['aud', 'client_id', 'exp', 'iat', 'iss', 'jti', 'scope', 'sub']);
  expect(claims).toMatchObject({
    iss: harness.url,
    aud: harness.url,
    sub: client.client_id,
    client_id: client.client_id,
    scope: scopes.join(' '),
  });
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(3600);
  expect(decodeJwt(two).jti).not.toBe(claims.jti);
});

test('every signature has the length of a JWS signature, also when a number has leading zeros', async () => {
  const client = await harness.createClient([tenant]);
  const keys = createLocalJWKSet((await sendRequest(harness.url, 'GET', '/api/oauth/jwks')).json);
  for (let round = 0; round < 20; round += 1) {
    const tokens = await Promise.all(Array.from({ length: 20 }, () => tokenOf(harness.url, client)));
    for (const token of tokens) await jwtVerify(token, keys, { issuer: harness.url, audience: harness.url });
  }
});

test('A-032 HTTP Basic is accepted, with form-encoded characters and with an equal client_id in the body', async () => {
  const client = await harness.createClient([tenant]);
  const encode = (text: string): string => text.replaceAll('_', '%5F').replaceAll('o', '%6f');
  const encoded = basic(encode(client.client_id), encode(client.client_secret));
  expect((await postToken(harness.url, grant, encoded)).status).toBe(200);
  const plain = basic(client.client_id, client.client_secret);
  expect((await postToken(harness.url, { ...grant, client_id: client.client_id }, plain)).status).toBe(200);
  const reply = await postToken(harness.url, { ...grant, client_id: 'opc_other' }, plain);
  expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
});

test('A-033 a subset of the scopes is granted exactly, an empty scope means all, an unknown or foreign one is refused', async () => {
  const client = await harness.createClient([tenant], ['write:menu', 'read:orders', 'read:menu']);
  const ask = (scope: string) => postToken(harness.url, { ...grant, ...pick(client), scope });
  expect((await ask('write:menu read:menu')).json.scope).toBe('read:menu write:menu');
  expect((await ask('read:menu read:menu')).json.scope).toBe('read:menu');
  expect((await ask('')).json.scope).toBe('read:orders read:menu write:menu');
  expect((await postToken(harness.url, { ...grant, ...pick(client) })).json.scope).toBe(
    'read:orders read:menu write:menu',
  );
  for (const scope of [
    'read:everything',
    'write:orders',
    'read:menu openid',
    'read:menu  write:menu',
    ' read:menu',
    'è',
    '"',
  ]) {
    const reply = await ask(scope);
    expect([scope, reply.status, reply.json.error]).toEqual([scope, 400, 'invalid_scope']);
  }
});

test('`resource` may name this server only', async () => {
  const client = await harness.createClient([tenant]);
  const ask = (resource: string) => postToken(harness.url, { ...grant, ...pick(client), resource });
  for (const resource of [harness.url, `${harness.url}/api`, '']) expect((await ask(resource)).status).toBe(200);
  for (const resource of ['https://other.example', `${harness.url}/`, 'api', `${harness.url}/api#x`]) {
    const reply = await ask(resource);
    expect([resource, reply.status, reply.json.error]).toEqual([resource, 400, 'invalid_target']);
  }
});

test('unknown fields are ignored and fields without a value count as absent', async () => {
  const client = await harness.createClient([tenant]);
  const reply = await postToken(harness.url, [
    ...Object.entries({ ...grant, ...pick(client) }),
    ['audience', 'x'],
    ['audience', 'y'],
    ['client_assertion', ''],
    ['scope', ''],
    ['__proto__', 'x'],
    ['code', 'abc'],
  ]);
  expect(reply.status).toBe(200);
  expect(reply.json.scope).toBe(scopes.join(' '));
});

test('A-023 two live secrets of one client both work until the first ends', async () => {
  const client = await harness.credentials.createClient({ name: 'rotating', tenants: [tenant] });
  const ends = new Date(harness.clock.now().getTime() + 60_000);
  const second = await harness.credentials.addClientSecret(client.clientId, ends);
  const third = await harness.credentials.addClientSecret(client.clientId);
  const ask = async (client_secret: string) =>
    (await postToken(harness.url, { ...grant, client_id: client.clientId, client_secret })).status;
  for (const secret of [client, second, third]) expect(await ask(secret.secret)).toBe(200);
  harness.clock.move(60_000);
  expect(await ask(second.secret)).toBe(401);
  await harness.credentials.revokeClientSecret(client.secretId);
  await expect.poll(() => ask(client.secret)).toBe(401);
  expect(await ask(third.secret)).toBe(200);
});

test('a token gives access with the scopes that it names and no others', async () => {
  const client = await harness.createClient([tenant]);
  const token = await tokenOf(harness.url, client, { scope: 'read:orders' });
  expect((await sendRequest(harness.url, 'GET', read, { headers: bearer(token) })).status).toBe(200);
  const refused = await sendRequest(harness.url, 'GET', '/api/menu/categories', { headers: bearer(token) });
  expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_scope']);
});

test('secrets are stored neither in plain text nor as a plain hash', async () => {
  const { createHash } = await import('node:crypto');
  const client = await harness.createClient([tenant]);
  await tokenOf(harness.url, client);
  const { rows } = await harness.database.pool.query<{ line: string }>(
    `select s::text as line from gateway.client_secrets s where client_id = $1
     union all select c::text from gateway.clients c where client_id = $1`,
    [client.client_id],
  );
  const stored = rows.map(({ line }) => line).join('\n');
  expect(stored).toContain(client.client_id);
  const random = client.client_secret.slice(17);
  const hash = createHash('sha256').update(client.client_secret).digest('hex');
  expect(stored).not.toContain(random);
  expect(stored).not.toContain(hash);
});

test('starting a gateway and issuing tokens prints nothing', async () => {
  const spies = (['log', 'info', 'warn', 'error'] as const).map((name) => vi.spyOn(console, name));
  const door = await harness.openDoor();
  await tokenOf(door.url, await harness.createClient([tenant]));
  await postToken(door.url, { ...grant, client_id: 'x', client_secret: 'y' });
  for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});
