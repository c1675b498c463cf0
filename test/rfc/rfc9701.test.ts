/**
 * RFC 9701. Not applicable:
 * - 4 resource servers get keys by client metadata: answers are signed and not encrypted, so no key is needed.
 * - 6 client metadata, 7 encryption algorithms: not offered.
 */
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply } from '../gateway/harness/public-door.ts';
import { bearer, nowSeconds, openRfcHarness, type RfcHarness } from './rfc-harness.ts';

const type = 'application/token-introspection+jwt';
let harness: RfcHarness;

beforeAll(async () => {
  harness = await openRfcHarness();
});

afterAll(() => harness.close());

const ask = (token: string, accept = type, as: Record<string, string> = harness.service): Promise<Reply> =>
  harness.post('introspect', { token, ...as }, { accept });

const verified = async (reply: Reply, audience = harness.service.client_id) => {
  const keys = await fetch(`${harness.door.url}/api/oauth/jwks`);
  return jwtVerify(reply.text, createLocalJWKSet((await keys.json()) as JSONWebKeySet), {
    issuer: origin,
    audience,
    typ: 'token-introspection+jwt',
    algorithms: ['ES256'],
  });
};

test('A-402 RFC 9701 4 and 5: who accepts the type gets a JWT of the server with the same answer inside', async () => {
  const token = await harness.tokenOf(harness.client, { scope: 'read:orders' });
  const plain = await ask(token, 'application/json');
  const reply = await ask(token);
  expect([reply.status, reply.headers['content-type'], reply.headers['cache-control']]).toEqual([
    200,
    type,
    'no-store',
  ]);
  const { payload } = await verified(reply);
  expect(Object.keys(payload).toSorted()).toEqual(['aud', 'iat', 'iss', 'token_introspection']);
  expect(payload.token_introspection).toEqual(plain.json);
  expect(payload.token_introspection).toMatchObject({ active: true, scope: 'read:orders' });
  expect(Math.abs((payload.iat ?? 0) - nowSeconds())).toBeLessThan(60);
});

test('A-402 RFC 9701 5: a token that is not active is active false, and nothing else is said about it', async () => {
  for (const token of ['garbage', await harness.forge({ claims: { exp: nowSeconds() } })]) {
    const { payload } = await verified(await ask(token));
    expect(payload.token_introspection).toEqual({ active: false });
  }
});

test('A-402 RFC 9701 5: the JWT is for its caller alone, and is no access token', async () => {
  const token = await harness.tokenOf(harness.client);
  const made = await harness.credentials.createClient({ name: 'second', tenants: ['rst_1'], mayIntrospect: true });
  const reply = await ask(token, type, { client_id: made.clientId, client_secret: made.secret });
  expect(decodeJwt(reply.text).aud).toBe(made.clientId);
  await expect(verified(reply)).rejects.toThrow('aud');
  expect((await harness.read(bearer(reply.text))).status).toBe(401);
});

test('A-402 RFC 9701 4: JSON stays the default, also for wildcards and a quality of zero; the type may be one of several', async () => {
  const token = await harness.tokenOf(harness.client);
  for (const accept of ['*/*', 'application/*', `${type};q=0`, 'application/json'])
    expect((await ask(token, accept)).json).toMatchObject({ active: true });
  for (const accept of [`application/json;q=0.1, ${type}`, type.toUpperCase(), `${type};q=0.5`])
    expect((await ask(token, accept)).headers['content-type']).toBe(type);
});

test('A-402 RFC 9701 4 and 8.1: the caller authenticates and holds the right; refusals are JSON', async () => {
  const token = await harness.tokenOf(harness.client);
  const { client_id } = harness.service;
  for (const [as, status, error] of [
    [{}, 401, 'invalid_client'],
    [{ client_id, client_secret: 'ops_wrong' }, 401, 'invalid_client'],
    [harness.client, 400, 'unauthorized_client'],
  ] as const) {
    const reply = await ask(token, type, as);
    expect([reply.status, reply.json.error]).toEqual([status, error]);
  }
});

test('RFC 9701 7: the metadata names the algorithm', async () => {
  const answer = await fetch(`${harness.door.url}/.well-known/oauth-authorization-server`);
  expect(await answer.json()).toMatchObject({ introspection_signing_alg_values_supported: ['ES256'] });
});
