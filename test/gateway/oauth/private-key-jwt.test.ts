import { createHmac, generateKeyPair as generate, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { type JWK, SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Harness, openHarness, pick, postToken, tokenOf } from '../harness/gateway-harness.ts';
import type { Reply } from '../harness/public-door.ts';

const generateKeyPair = promisify(generate);
const grant = { grant_type: 'client_credentials' };
const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

let harness: Harness;
let tenant: string;
let client: { client_id: string; client_secret: string };
let privateKey: KeyObject;
let publicKey: KeyObject;
let count = 0;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = pick(await harness.createClient([tenant]));
  ({ privateKey, publicKey } = await generateKeyPair('ec', { namedCurve: 'P-256' }));
  await harness.credentials.addClientKey(client.client_id, publicKey.export({ format: 'jwk' }));
});

afterAll(() => harness.close());

const seconds = (): number => Math.floor(harness.clock.now().getTime() / 1000);

const sign = (
  claims: Record<string, unknown> = {},
  { alg = 'ES256', key = privateKey, id = client.client_id, header = {} } = {},
): Promise<string> => {
  count += 1;
  return new SignJWT({
    iss: id,
    sub: id,
    aud: harness.url,
    jti: `assertion-${count}`,
    iat: seconds(),
    exp: seconds() + 240,
    ...claims,
  })
    .setProtectedHeader({ alg, ...header })
    .sign(key);
};

const send = (client_assertion: string, more: Record<string, string> = {}, url = harness.url): Promise<Reply> =>
  postToken(url, { ...grant, client_assertion_type, client_assertion, ...more });

const expectRefused = async (assertion: string | Promise<string>): Promise<void> => {
  const { status, json } = await send(await assertion);
  expect([status, json.error, json.error_description]).toEqual([401, 'invalid_client', 'Client authentication failed']);
};

test('a client with more keys than are tried gets in with the newest, with any that it names, and with the only one of a type', async () => {
  const own = pick(await harness.createClient([tenant]));
  const add = async (keys: { publicKey: KeyObject }) =>
    (await harness.credentials.addClientKey(own.client_id, keys.publicKey.export({ format: 'jwk' }))).keyId;
  const ed = await generateKeyPair('ed25519');
  await add(ed);
  const pairs = await Promise.all(Array.from({ length: 7 }, () => generateKeyPair('ec', { namedCurve: 'P-256' })));
  const kids: string[] = [];
  for (const pair of pairs) {
    harness.clock.move(1_000);
    kids.push(await add(pair));
  }
  const by = async (index: number, header = {}) => {
    const key = pairs[index]?.privateKey;
    return (await send(await sign({}, { id: own.client_id, header, ...(key !== undefined && { key }) }))).status;
  };
  expect([await by(6), await by(2), await by(0)]).toEqual([200, 200, 401]);
  expect(await by(0, { kid: kids[0] })).toBe(200);
  expect((await send(await sign({}, { alg: 'EdDSA', key: ed.privateKey, id: own.client_id }))).status).toBe(200);
});

test('A-032 private_key_jwt with ES256, EdDSA, PS256 and RS256 gets a token, addressed to issuer or token endpoint', async () => {
  const rsa = await generateKeyPair('rsa', { modulusLength: 2048 });
  const ed = await generateKeyPair('ed25519');
  for (const [alg, keys] of [
    ['EdDSA', ed],
    ['Ed25519', ed],
    ['RS256', rsa],
    ['PS256', rsa],
  ] as const) {
    const own = pick(await harness.createClient([tenant]));
    await harness.credentials.addClientKey(own.client_id, keys.publicKey.export({ format: 'jwk' }));
    const reply = await send(await sign({}, { alg, key: keys.privateKey, id: own.client_id }));
    expect([alg, reply.status]).toEqual([alg, 200]);
  }
  for (const aud of [harness.url, `${harness.url}/api/oauth/token`, [harness.url]]) {
    expect((await send(await sign({ aud }))).status).toBe(200);
  }
  expect((await send(await sign(), { client_id: client.client_id, scope: 'read:orders' })).json.scope).toBe(
    'read:orders',
  );
});

test('A-038 a used jti, an end too far ahead, another audience and an unregistered key are invalid_client', async () => {
  const once = await sign();
  expect((await send(once)).status).toBe(200);
  await expectRefused(once);
  await expectRefused(sign({ exp: seconds() + 360 }));
  for (const aud of ['https://other.example', `${harness.url}/`, [harness.url, 'https://other.example'], undefined]) {
    await expectRefused(sign({ aud }));
  }
  const stranger = await generateKeyPair('ec', { namedCurve: 'P-256' });
  await expectRefused(sign({}, { key: stranger.privateKey }));
  expect((await send(await sign({ exp: seconds() + 290 }))).status).toBe(200);
});

test('an assertion is used once at all gateways together, also when both get it at the same moment', async () => {
  const door = await harness.openDoor();
  for (let round = 0; round < 5; round += 1) {
    const assertion = await sign();
    const replies = await Promise.all(
      [harness.url, door.url, harness.url, door.url].map((url) => send(assertion, {}, url)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  }
  await door.close();
});

test('an assertion whose clock is some seconds ahead is accepted, as libraries write iat and nbf by the clock of their client', async () => {
  const ahead = seconds() + 20;
  expect((await send(await sign({ iat: ahead, nbf: ahead, exp: ahead + 60 }))).status).toBe(200);
  await expectRefused(sign({ nbf: seconds() + 45, exp: seconds() + 100 }));
});

test('every claim and the algorithm must be right, and the named client must be the one that signed', async () => {
  const other = pick(await harness.createClient([tenant]));
  for (const claims of [
    { iss: other.client_id },
    { sub: other.client_id },
    { iss: other.client_id, sub: other.client_id },
    { exp: seconds() - 1 },
    { exp: undefined },
    { jti: undefined },
    { jti: '' },
    { jti: 'x'.repeat(256) },
    { nbf: seconds() + 60 },
  ]) {
    await expectRefused(sign(claims));
  }
  const assertion = await sign();
  const { json, status } = await send(assertion, { client_id: other.client_id });
  expect([status, json.error]).toEqual([401, 'invalid_client']);
  for (const text of ['x', 'a.b.c', `${assertion}x`, 'x'.repeat(20_000)]) await expectRefused(text);

  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: client.client_id, sub: client.client_id, aud: harness.url, jti: 'swap', exp: seconds() + 60 };
  const unsigned = `${encode({ alg: 'none' })}.${encode(claims)}`;
  await expectRefused(`${unsigned}.`);
  const swapped = `${encode({ alg: 'HS256' })}.${encode(claims)}`;
  const mac = createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' })).update(swapped);
  await expectRefused(`${swapped}.${mac.digest('base64url')}`);
  // None of these has used up the assertion.
  expect((await send(assertion)).status).toBe(200);
});

test('an assertion beside another method, or without its type, is invalid_request', async () => {
  const assertion = await sign();
  for (const reply of [
    await send(assertion, { client_secret: client.client_secret, client_id: client.client_id }),
    await send(assertion, { client_assertion_type: 'urn:other' }),
    await postToken(harness.url, { ...grant, client_assertion: assertion }),
  ]) {
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
  }
});

test('a client revokes and introspects by private_key_jwt; a revoked key proves nothing any more', async () => {
  await harness.credentials.setClientMayIntrospect(client.client_id, true);
  const token = await tokenOf(harness.url, client);
  const post = async (path: string): Promise<Reply> =>
    postToken(harness.url, { token, client_assertion_type, client_assertion: await sign() }, {}, path);
  await expect.poll(async () => (await post('/api/oauth/introspect')).json?.active).toBe(true);
  expect((await post('/api/oauth/revoke')).status).toBe(200);
  expect((await post('/api/oauth/introspect')).json).toEqual({ active: false });

  const own = pick(await harness.createClient([tenant]));
  const jwk: JWK = { ...(publicKey.export({ format: 'jwk' }) as JWK), kid: 'till-1' };
  await harness.credentials.addClientKey(own.client_id, jwk);
  const next = (): Promise<string> => sign({}, { id: own.client_id, header: { kid: 'till-1' } });
  expect((await send(await next())).status).toBe(200);
  await harness.credentials.revokeClientKey(own.client_id, 'till-1');
  await expect.poll(async () => (await send(await next())).status).toBe(401);
});

test('ended assertions leave the table bit by bit', async () => {
  const { pool } = harness.database;
  const counted = async (): Promise<number> =>
    (await pool.query('select count(*)::int as n from gateway.used_assertions')).rows[0].n;
  const before = await counted();
  expect(before).toBeGreaterThan(3);
  harness.clock.move(600_000);
  const { status } = await send(await sign());
  const after = await counted();
  harness.clock.move(-600_000);
  expect(status).toBe(200);
  expect(after).toBeLessThan(before);
});

test('only public keys of the four algorithms are registered, each name once', async () => {
  const add = (jwk: unknown): Promise<unknown> => harness.credentials.addClientKey(client.client_id, jwk);
  const small = await generateKeyPair('rsa', { modulusLength: 1024 });
  const p384 = await generateKeyPair('ec', { namedCurve: 'P-384' });
  for (const jwk of [
    'text',
    {},
    { kty: 'oct', k: 'AAAA' },
    privateKey.export({ format: 'jwk' }),
    small.publicKey.export({ format: 'jwk' }),
    p384.publicKey.export({ format: 'jwk' }),
    { ...publicKey.export({ format: 'jwk' }), kid: 'a b' },
  ]) {
    await expect(add(jwk)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  }
  await expect(add(publicKey.export({ format: 'jwk' }))).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('oauth4webapi authenticates by private_key_jwt', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(harness.url);
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }),
  );
  const { publicKey: web, privateKey: webPrivate } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    true,
    ['sign', 'verify'],
  );
  const own = await harness.createClient([tenant]);
  await harness.credentials.addClientKey(own.client_id, await crypto.subtle.exportKey('jwk', web));
  const caller = { client_id: own.client_id };
  const response = await oauth.clientCredentialsGrantRequest(
    as,
    caller,
    oauth.PrivateKeyJwt(webPrivate),
    { scope: 'read:orders' },
    insecure,
  );
  expect((await oauth.processClientCredentialsResponse(as, caller, response)).scope).toBe('read:orders');
});
