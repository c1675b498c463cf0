/**
 * RFC 9068. Not applicable:
 * - 2.2.1, 2.2.2 claims about how and who a person is; 2.2.3.1 groups, roles: no people have tokens here.
 * - 3 resources of different scopes: there is one resource; 4 encrypted tokens: none are issued.
 * - 4 JSON arrays in aud: one audience is issued, and a token for several is refused, which 4 allows no reader to rely on.
 * - 5, 6 advice to operators and clients (distinct keys, opaque to the client).
 * Known: 2.1 wants RS256 supported by every server. Interface 4.1 signs with ES256 only, which keeps the list of
 * algorithms at one (RFC 8725 section 3.1); RS256 is refused, and a test holds that.
 */
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin } from '../gateway/harness/public-door.ts';
import { bearer, nowSeconds, openRfcHarness, type RfcHarness, strangersKey } from './rfc-harness.ts';

let harness: RfcHarness;
let token: string;

beforeAll(async () => {
  harness = await openRfcHarness();
  token = await harness.tokenOf(harness.client);
});

afterAll(() => harness.close());

const statusOf = async (text: string): Promise<number> => (await harness.read(bearer(text))).status;
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('RFC 9068 2.1: tokens are signed with an asymmetric algorithm by a key of the published set', async () => {
  const { alg, kid } = decodeProtectedHeader(token);
  expect(alg).toBe('ES256');
  const keys = createRemoteJWKSet(new URL(`${harness.door.url}/api/oauth/jwks`));
  await expect(keys({ alg: 'ES256', kid: String(kid) })).resolves.toBeDefined();
});

test('RFC 9068 2.1: typ is at+jwt', () => {
  expect(decodeProtectedHeader(token).typ).toBe('at+jwt');
});

test('RFC 9068 2.2: iss, exp, aud, sub, client_id, iat and jti are in every token, in their types', () => {
  const claims = decodeJwt(token);
  for (const name of ['iss', 'aud', 'sub', 'client_id', 'jti']) expect(typeof claims[name]).toBe('string');
  for (const name of ['exp', 'iat']) expect(Number.isInteger(claims[name])).toBe(true);
  expect([claims.iss, claims.aud]).toEqual([origin, origin]);
});

test('RFC 9068 2.2: a client that acts for itself is the subject of its token', () => {
  const { sub, client_id } = decodeJwt(token);
  expect([sub, client_id]).toEqual([harness.client.client_id, harness.client.client_id]);
});

test('RFC 9068 2.2: each token has its own jti', async () => {
  const ids = await Promise.all(
    Array.from({ length: 20 }, async () => decodeJwt(await harness.tokenOf(harness.client)).jti),
  );
  expect(new Set(ids).size).toBe(20);
});

test('RFC 9068 2.2.3: the scopes in a token are those granted, each with a meaning at its audience', async () => {
  const narrow = decodeJwt(await harness.tokenOf(harness.client, { scope: 'read:menu' }));
  expect(narrow.scope).toBe('read:menu');
  const { scopes_supported } = (await harness.read({}, '/.well-known/oauth-protected-resource')).json;
  expect(String(decodeJwt(token).scope).split(' ')).toEqual(scopes_supported);
});

test('RFC 9068 3: without resource, and with one that is ours, aud names the resource; a foreign one gets no token', async () => {
  for (const resource of ['', origin, `${origin}/api`]) {
    expect(decodeJwt(await harness.tokenOf(harness.client, { resource })).aud).toBe(origin);
  }
  const form = { grant_type: 'client_credentials', ...harness.client, resource: 'https://other.example' };
  const { status, json } = await harness.post('token', form);
  expect([status, json.error]).toEqual([400, 'invalid_target']);
});

test('RFC 9068 4: typ at+jwt and application/at+jwt are taken, every other is refused', async () => {
  for (const typ of ['at+jwt', 'application/at+jwt'])
    expect(await statusOf(await harness.forge({ header: { typ } }))).toBe(200);
  for (const typ of ['JWT', 'jwt', 'id+jwt', 'at+jwtx', 'text/at+jwt', '', 'logout+jwt']) {
    expect(await statusOf(await harness.forge({ header: { typ } }))).toBe(401);
  }
  // Left out when it is written as JSON.
  const header = { typ: undefined } as object;
  expect(await statusOf(await harness.forge({ header }))).toBe(401);
});

test('RFC 9068 4: iss is exactly ours', async () => {
  for (const iss of [`${origin}/`, origin.toUpperCase(), 'https://other.example', `${origin}.evil.example`, '']) {
    expect(await statusOf(await harness.forge({ claims: { iss } }))).toBe(401);
  }
});

test('RFC 9068 4: aud is ours', async () => {
  for (const aud of [`${origin}/`, 'https://other.example', '', ['https://other.example'], []]) {
    expect(await statusOf(await harness.forge({ claims: { aud } }))).toBe(401);
  }
});

test('RFC 9068 4: the signature is checked with our keys only', async () => {
  const stranger = strangersKey();
  const jwk = createPublicKey(stranger).export({ format: 'jwk' });
  for (const header of [{}, { jwk }, { kid: 'unknown' }, { jku: 'https://evil.example/jwks' }] as object[]) {
    expect(await statusOf(await harness.forge({ by: stranger, header }))).toBe(401);
  }
  expect(await statusOf(await harness.forge())).toBe(200);
});

test('RFC 9068 4: alg none is refused, in every spelling, with and without a signature', async () => {
  const [, payload = '', signature = ''] = (await harness.forge()).split('.');
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
    const header = part({ alg, typ: 'at+jwt', kid: harness.key.kid });
    expect(await statusOf(`${header}.${payload}.`)).toBe(401);
    expect(await statusOf(`${header}.${payload}.${signature}`)).toBe(401);
  }
});

test('RFC 9068 4: no other algorithm counts, neither HMAC with our public key nor RS256', async () => {
  const [, payload = ''] = (await harness.forge()).split('.');
  const spki = createPublicKey(harness.key.privateKey);
  for (const secret of [spki.export({ type: 'spki', format: 'pem' }), spki.export({ type: 'spki', format: 'der' })]) {
    const signed = `${part({ alg: 'HS256', typ: 'at+jwt', kid: harness.key.kid })}.${payload}`;
    expect(await statusOf(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`)).toBe(401);
  }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  expect(await statusOf(await harness.forge({ by: privateKey, header: { alg: 'RS256' } }))).toBe(401);
});

test('RFC 9068 4: a token is over at exp, without leeway, and one without exp is none', async () => {
  for (const exp of [0, nowSeconds() - 1, nowSeconds()]) {
    expect(await statusOf(await harness.forge({ claims: { exp } }))).toBe(401);
  }
  expect(await statusOf(await harness.forge({ without: 'exp' }))).toBe(401);
});

test('RFC 9068 4: a token without one of the required claims is refused', async () => {
  for (const without of ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti']) {
    expect(await statusOf(await harness.forge({ without })), without).toBe(401);
  }
});

test('RFC 9068 4: what is refused is answered as RFC 6750 section 3.1 says', async () => {
  const reply = await harness.read(bearer(await harness.forge({ header: { typ: 'JWT' } })));
  expect([reply.status, reply.json.error]).toEqual([401, 'invalid_token']);
  expect(reply.headers['www-authenticate']).toMatch(/^Bearer .*error="invalid_token"/);
});

test('RFC 9068 5: no client can make itself the subject of another: sub and client_id are one', async () => {
  expect(await statusOf(await harness.forge({ claims: { sub: harness.other.client_id } }))).toBe(401);
});
