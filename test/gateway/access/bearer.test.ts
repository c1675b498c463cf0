import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, decodeJwt, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSigningKeys, type SigningKey } from '#src/gateway/oauth/keys/signing-keys.ts';
import { isWithinASecond } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Harness,
  openHarness,
  rawHeaders,
  read,
  scopes,
  tokenOf,
  withoutRequestId,
} from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let client: { client_id: string; client_secret: string };
let key: SigningKey;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = await harness.createClient([tenant]);
  key = (
    await openSigningKeys({
      db: harness.database.db,
      box: harness.box,
      clock: harness.clock,
      settings: { token_lifetime: 3_600, signing_key_days: 90 },
    })
  ).current();
});

afterAll(() => harness.close());

const get = (headers: Record<string, string>): Promise<Reply> => sendRequest(harness.url, 'GET', read, { headers });

const metadata = (): string => `resource_metadata="${harness.url}/.well-known/oauth-protected-resource"`;

const expectInvalidToken = (reply: Reply, description = 'The access token is not valid'): void => {
  expect([reply.status, reply.json?.error, reply.json?.error_description]).toEqual([401, 'invalid_token', description]);
  expect(reply.headers['www-authenticate']).toBe(
    `Bearer realm="orderpass", error="invalid_token", error_description="${description}", ${metadata()}`,
  );
};

const seconds = (): number => Math.floor(harness.clock.now().getTime() / 1000);

type Forgery = {
  claims?: JWTPayload;
  header?: Partial<JWTHeaderParameters>;
  by?: KeyObject;
  without?: string;
};

/** A token as the gateway would sign it, but for what is changed. */
const forge = ({ claims = {}, header = {}, by = key.privateKey, without }: Forgery = {}): Promise<string> => {
  const payload: JWTPayload = {
    iss: harness.url,
    aud: harness.url,
    sub: client.client_id,
    client_id: client.client_id,
    scope: scopes.join(' '),
    iat: seconds(),
    exp: seconds() + 60,
    jti: 'x',
    ...claims,
  };
  if (without !== undefined) delete payload[without];
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: key.kid, ...header }).sign(by);
};

test('A-014 A-019 a Bearer token opens a read operation, whatever the case of the scheme', async () => {
  const token = await tokenOf(harness.url, client);
  for (const authorization of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}`]) {
    expect((await get({ authorization })).status).toBe(200);
  }
});

test('A-019 Bearer followed by nothing or by more than one word is invalid_request', async () => {
  const token = await tokenOf(harness.url, client);
  for (const authorization of [
    'Bearer',
    'bearer ',
    'Bearer a b',
    `Bearer ${token} x`,
    `Bearer ${token}, Bearer ${token}`,
  ]) {
    const reply = await get({ authorization });
    expect([authorization, reply.status, reply.json.error]).toEqual([authorization, 400, 'invalid_request']);
  }
});

test('A-021 a token of our own key is refused when it is of another type, audience, issuer or time, or lacks a claim', async () => {
  expect((await get(bearer(await forge()))).status).toBe(200);
  const forgeries: Forgery[] = [
    { header: { typ: 'JWT' } },
    { header: { typ: 'dpop+jwt' } },
    { header: { kid: 'other' } },
    { claims: { aud: 'https://other.example' } },
    { claims: { aud: [harness.url, 'https://other.example'] } },
    { claims: { aud: `${harness.url}/` } },
    { claims: { iss: 'https://other.example' } },
    { claims: { iss: `${harness.url}/` } },
    { claims: { nbf: seconds() + 60 } },
    { claims: { sub: 'opc_other' } },
    { claims: { scope: [...scopes] } },
    { claims: { client_id: 'opc_other', sub: 'opc_other' } },
    { claims: { exp: 'soon' as unknown as number } },
    ...['iss', 'aud', 'sub', 'client_id', 'scope', 'iat', 'exp', 'jti'].map((without) => ({ without })),
  ];
  for (const forgery of forgeries) {
    const reply = await get(bearer(await forge(forgery)));
    expect([forgery, reply.status, reply.json.error]).toEqual([forgery, 401, 'invalid_token']);
  }
});

test('A-021 the key comes from our own set: alg none, HMAC by the public key, and keys inside the token are refused', async () => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = decodeJwt(await forge());
  const none = `${part({ alg: 'none', typ: 'at+jwt', kid: key.kid })}.${part(payload)}.`;
  expectInvalidToken(await get(bearer(none)));
  const input = `${part({ alg: 'HS256', typ: 'at+jwt', kid: key.kid })}.${part(payload)}`;
  const secrets = [
    key.publicKey.export({ format: 'pem', type: 'spki' }),
    key.publicKey.export({ format: 'der', type: 'spki' }),
    JSON.stringify(key.publicKey.export({ format: 'jwk' })),
  ];
  for (const secret of secrets) {
    const signature = createHmac('sha256', secret).update(input).digest('base64url');
    expectInvalidToken(await get(bearer(`${input}.${signature}`)));
  }
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = createPublicKey(own.privateKey).export({ format: 'jwk' });
  const kid = await calculateJwkThumbprint(jwk as never);
  for (const header of [{}, { kid }, { jwk: jwk as never }, { kid, jku: `${harness.url}/api/oauth/jwks` }]) {
    expectInvalidToken(await get(bearer(await forge({ by: own.privateKey, header }))));
  }
});

test('A-021 a token with any one character changed is refused', async () => {
  const token = await tokenOf(harness.url, client);
  expect((await get(bearer(token))).status).toBe(200);
  const places = [
    0,
    5,
    token.indexOf('.') + 3,
    token.lastIndexOf('.') - 1,
    token.lastIndexOf('.') + 1,
    token.length - 1,
  ];
  for (const place of places) {
    for (const sign of ['A', 'B', 'g', 'h', '-', '=']) {
      if (token[place] === sign) continue;
      expectInvalidToken(await get(bearer(token.slice(0, place) + sign + token.slice(place + 1))));
    }
  }
  // Bits that base64url leaves over in the last character: the same 64 bytes, another text.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(token.at(-1) ?? '');
  for (let low = 0; low < 16; low += 1) {
    const twin = token.slice(0, -1) + alphabet[(last & 48) | low];
    expect((await get(bearer(twin))).status).toBe(twin === token ? 200 : 401);
  }
  for (const garbage of ['x', '...', 'a.b.c', 'x'.repeat(8_000), `${token}.x`, `${token}=`]) {
    expectInvalidToken(await get(bearer(garbage)));
  }
});

test('A-021 a token is refused from the second on in which it expires, used before or not', async () => {
  const [used, unused] = [
    await tokenOf(harness.url, client),
    await tokenOf(harness.url, client, { scope: 'read:orders' }),
  ];
  expect((await get(bearer(used))).status).toBe(200);
  const left = (decodeJwt(used).exp ?? 0) * 1000 - harness.clock.now().getTime();
  harness.clock.move(left - 500);
  expect((await get(bearer(used))).status).toBe(200);
  harness.clock.move(1_500);
  expectInvalidToken(await get(bearer(used)), 'The access token expired');
  expectInvalidToken(await get(bearer(unused)), 'The access token expired');
  const head = await sendRequest(harness.url, 'HEAD', read, { headers: bearer(used) });
  expect([head.status, head.body.length]).toEqual([401, 0]);
  expect(head.headers['www-authenticate']).toContain('error="invalid_token"');
  harness.clock.move(-left - 1_000);
  expect((await get(bearer(await forge()))).status).toBe(200);
});

test('A-016 a token in the query is refused and never used, however its name is written', async () => {
  const token = await tokenOf(harness.url, client);
  for (const name of ['access_token', 'access%5Ftoken', '%61ccess_token']) {
    const before = harness.upstream.seen.length;
    for (const headers of [{}, bearer(token), clientHeaders(client)] as Record<string, string>[]) {
      const reply = await sendRequest(harness.url, 'GET', `${read}?page=1&${name}=${token}`, { headers });
      expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
      expect(reply.headers['www-authenticate']).toMatch(/^Bearer .*error="invalid_request"/);
    }
    expect(harness.upstream.seen.length).toBe(before);
  }
  expect((await sendRequest(harness.url, 'GET', `${read}?access_token=`, { headers: bearer(token) })).status).toBe(200);
});

test('A-022 tokens of a disabled client, and of one that may not use tokens any more, are invalid_token within 1 s', async () => {
  for (const end of [
    (id: string) => harness.credentials.disableClient(id),
    (id: string) => harness.credentials.setClientMayUseTokens(id, false),
  ]) {
    const own = await harness.createClient([tenant]);
    const token = await tokenOf(harness.url, own);
    expect((await get(bearer(token))).status).toBe(200);
    await end(own.client_id);
    await isWithinASecond(async () => (await get(bearer(token))).status, 401);
    expectInvalidToken(await get(bearer(token)));
  }
});

test('A-025 a Bearer token of a client whose only tenant is gone is invalid_token', async () => {
  const own = await harness.createTenant();
  const token = await tokenOf(harness.url, await harness.createClient([own]));
  expect((await get(bearer(token))).status).toBe(200);
  await harness.credentials.removeTenant(own);
  await expect.poll(async () => (await get(bearer(token))).status).toBe(401);
  expectInvalidToken(await get(bearer(token)));
});

test('A-026 API access off is insufficient_scope without scope for a Bearer token', async () => {
  const own = await harness.createTenant();
  const token = await tokenOf(harness.url, await harness.createClient([own]));
  await harness.credentials.setTenantApiEnabled(own, false);
  await expect.poll(async () => (await get(bearer(token))).status).toBe(403);
  const reply = await get(bearer(token));
  expect(reply.json.error).toBe('insufficient_scope');
  expect(reply.headers['www-authenticate']).toMatch(/error="insufficient_scope"/);
  expect(reply.headers['www-authenticate']).not.toMatch(/ scope=/);
  await harness.credentials.setTenantApiEnabled(own, true);
  await expect.poll(async () => (await get(bearer(token))).status).toBe(200);
});

test('A-051 a scope that the client has lost since is missing from its tokens', async () => {
  const own = await harness.createClient([tenant], ['read:orders', 'read:menu']);
  const token = await tokenOf(harness.url, own);
  const menu = () => sendRequest(harness.url, 'GET', '/api/menu/categories', { headers: bearer(token) });
  expect((await menu()).status).toBe(200);
  await harness.credentials.setClientScopes(own.client_id, ['read:orders', 'write:menu']);
  await expect.poll(async () => (await menu()).status).toBe(403);
  const reply = await menu();
  expect(reply.headers['www-authenticate']).toContain('scope="read:menu"');
  expect((await get(bearer(token))).status).toBe(200);
});

test('A-015 a Bearer token beside another credential is ambiguous and answered in the OAuth dialect', async () => {
  const token = await tokenOf(harness.url, client);
  const { value: api_key } = await harness.credentials.createApiKey({ tenant, name: 'test' });
  const sent: (string[] | Record<string, string>)[] = [
    { ...bearer(token), 'x-api-key': api_key },
    { ...bearer(token), ...clientHeaders(client) },
    { ...bearer(token), 'x-client-secret': 'x' },
    { authorization: 'Bearer', 'x-api-key': 'x' },
    rawHeaders(harness.url, 'authorization', `Bearer ${token}`, 'authorization', `Bearer ${token}`),
    rawHeaders(harness.url, 'authorization', 'Basic eDp5', 'authorization', `Bearer ${token}`),
    rawHeaders(harness.url, 'authorization', `Bearer ${token}`, 'authorization', 'Basic eDp5'),
  ];
  for (const headers of sent) {
    const reply = await sendRequest(harness.url, 'GET', read, { headers });
    expect([headers, reply.status, reply.json.error]).toEqual([headers, 400, 'invalid_request']);
    expect(reply.json.error_description).toMatch(/Authorization: (more than one kind|sent twice)/);
  }
});

test('every reason for which a token is refused reads the same', async () => {
  const replies = [
    await get(bearer('garbage')),
    await get(bearer(await forge({ header: { kid: 'other' } }))),
    await get(bearer(await forge({ claims: { client_id: 'opc_other', sub: 'opc_other' } }))),
  ].map(withoutRequestId);
  for (const reply of replies) expect(reply).toEqual(replies[0]);
});
