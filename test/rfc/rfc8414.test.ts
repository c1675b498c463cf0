/**
 * RFC 8414. Not applicable:
 * - 2 authorization_endpoint, registration_endpoint, PKCE, response modes: no grant here uses them.
 * - 2.1 signed metadata, 3.1 an issuer with a path or several issuers in one host: not offered.
 * - 3, 6.1 TLS and checks of certificates: TLS ends in front; addresses are https (tested).
 * - 3.3, 4, 6.2 what a reader of the document compares: duties of the other side.
 * Known: 3.2 says that members with an empty list are left out, 2 that response_types_supported is required. A server
 * without response types cannot do both; interface 4.3 keeps the required member as [].
 */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { basic, nowSeconds, openRfcHarness, type RfcHarness } from './rfc-harness.ts';

let harness: RfcHarness;
let reply: Reply;

const path = '/.well-known/oauth-authorization-server';

beforeAll(async () => {
  harness = await openRfcHarness();
  reply = await sendRequest(harness.door.url, 'GET', path);
});

afterAll(() => harness.close());

const endpoints = ['token', 'revocation', 'introspection'] as const;

test('RFC 8414 2: issuer is an https address without query and fragment', () => {
  const issuer = new URL(reply.json.issuer);
  expect([issuer.protocol, issuer.search, issuer.hash]).toEqual(['https:', '', '']);
});

test('RFC 8414 2: token_endpoint is there, and issues tokens', async () => {
  const { pathname, origin: at } = new URL(reply.json.token_endpoint);
  expect(at).toBe(origin);
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...harness.client }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await sendRequest(harness.door.url, 'POST', pathname, { headers, body: form })).status).toBe(200);
});

test('RFC 8414 2: response_types_supported is there', () => {
  expect(reply.json.response_types_supported).toEqual([]);
});

test('RFC 8414 2: what would else count by default is said: the grant types, and the methods of each endpoint, which all work', async () => {
  expect(reply.json.grant_types_supported).toEqual([
    'client_credentials',
    'urn:ietf:params:oauth:grant-type:token-exchange',
  ]);
  const methods = ['client_secret_post', 'client_secret_basic', 'private_key_jwt'];
  const { client_id, client_secret } = harness.service;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await harness.credentials.addClientKey(client_id, publicKey.export({ format: 'jwk' }));
  for (const endpoint of endpoints) {
    expect(reply.json[`${endpoint}_endpoint_auth_methods_supported`]).toEqual(methods);
    const name = new URL(reply.json[`${endpoint}_endpoint`]).pathname.split('/').at(-1) ?? '';
    const form = { grant_type: 'client_credentials', token: 'unknown' };
    const times = { iat: nowSeconds(), exp: nowSeconds() + 60 };
    const client_assertion = await new SignJWT({ iss: client_id, sub: client_id, aud: origin, jti: name, ...times })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(privateKey);
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const replies = [
      await harness.post(name, { ...form, client_id, client_secret }),
      await harness.post(name, form, basic(client_id, client_secret)),
      await harness.post(name, { ...form, client_assertion, client_assertion_type }),
      await harness.post(name, { ...form, client_id }),
    ];
    expect([endpoint, ...replies.map(({ status }) => status)]).toEqual([endpoint, 200, 200, 200, 401]);
  }
});

test('RFC 8414 2: jwks_uri is an https address whose keys all say what they are for', async () => {
  const { protocol, pathname } = new URL(reply.json.jwks_uri);
  expect(protocol).toBe('https:');
  const { json } = await sendRequest(harness.door.url, 'GET', pathname);
  expect(json.keys.length).toBeGreaterThan(0);
  for (const key of json.keys) expect([key.use, key.kty, 'd' in key]).toEqual(['sig', 'EC', false]);
});

test('RFC 8414 2: with private_key_jwt the algorithms are named for each endpoint, and none is not among them', () => {
  for (const endpoint of endpoints) {
    expect(reply.json[`${endpoint}_endpoint_auth_methods_supported`]).toContain('private_key_jwt');
    const algorithms: string[] = reply.json[`${endpoint}_endpoint_auth_signing_alg_values_supported`];
    expect(algorithms.length).toBeGreaterThan(0);
    expect(algorithms).not.toContain('none');
  }
});

test('RFC 8414 2: every address in the document is https and of this origin, and answers', async () => {
  for (const endpoint of endpoints) {
    const url = new URL(reply.json[`${endpoint}_endpoint`]);
    expect([url.origin, url.hash]).toEqual([origin, '']);
    expect((await sendRequest(harness.door.url, 'POST', url.pathname)).status).toBe(400);
  }
});

test('RFC 8414 3: the document is at the well-known place between host and path of the issuer', () => {
  expect(new URL(reply.json.issuer).pathname).toBe('/');
  expect(reply.status).toBe(200);
});

test('RFC 8414 3.1: it is asked for by GET; writing methods are refused', async () => {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    expect((await sendRequest(harness.door.url, method, path)).status).toBe(405);
  }
});

test('RFC 8414 3.2: success is 200 with a JSON object of type application/json, several values as arrays', () => {
  expect(reply.headers['content-type']).toMatch(/^application\/json\b/);
  expect(Object.getPrototypeOf(reply.json)).toBe(Object.prototype);
  for (const [name, value] of Object.entries(reply.json)) {
    expect(Array.isArray(value), name).toBe(/_supported$/.test(name));
  }
});

test('RFC 8414 3.2: no member has an empty list but the required one', () => {
  const empty = Object.entries(reply.json).filter(([, value]) => Array.isArray(value) && value.length === 0);
  expect(empty.map(([name]) => name)).toEqual(['response_types_supported']);
});

test('RFC 8414 3.3: issuer is the identifier that the address of the document was made from, and that of the tokens', async () => {
  expect(reply.json.issuer).toBe(origin);
  const token = await harness.tokenOf(harness.client);
  const { iss } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  expect(iss).toBe(reply.json.issuer);
});
