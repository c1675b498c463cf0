/**
 * RFC 7523, client authentication by assertion: signed by the client itself (private_key_jwt), and by an issuer that it trusts. Not
 * applicable:
 * - 2.1, 3.1 assertions as authorization grants: the only grant is client_credentials.
 * - 3 (9) encrypted assertions: optional, not offered.
 * - 5 interoperability: names and algorithms are in the interface (4.1, 28).
 */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Harness, openHarness, postToken } from '../gateway/harness/gateway-harness.ts';
import { type OidcIssuer, startOidcIssuer } from '../gateway/harness/oidc-issuer.ts';
import type { Reply } from '../gateway/harness/public-door.ts';

let harness: Harness;
let issuer: OidcIssuer;
let clientId: string;
const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const trusted = { subject: 'spiffe://kitchen.example/printer', audience: 'https://orders.example' };
const jwtBearer = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

beforeAll(async () => {
  issuer = await startOidcIssuer(() => new Date());
  harness = await openHarness({ settings: { internal_issuers: [issuer.url] } });
  clientId = (await harness.createClient([await harness.createTenant()])).client_id;
  await harness.credentials.addClientKey(clientId, own.publicKey.export({ format: 'jwk' }));
  await harness.credentials.addTrust({ clientId, issuer: issuer.url, ...trusted });
});

afterAll(async () => {
  await harness.close();
  await issuer.close();
});

type Claims = Record<string, unknown>;

/** The two kinds of assertions, each with one claim changed; undefined leaves it out. */
const kinds: Readonly<Record<string, (claims?: Claims) => Promise<string>>> = {
  'of the client': (claims = {}) => {
    const seconds = Math.floor(Date.now() / 1000);
    const whole = { iss: clientId, sub: clientId, aud: harness.url, iat: seconds, exp: seconds + 60 };
    const merged = { ...whole, jti: crypto.randomUUID(), ...claims };
    return new SignJWT(Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined)))
      .setProtectedHeader({ alg: 'ES256' })
      .sign(own.privateKey);
  },
  'of an issuer': (claims = {}) => issuer.sign({ sub: trusted.subject, aud: trusted.audience, ...claims }),
};

const send = (assertion: string, more: Record<string, string> = {}): Promise<Reply> =>
  postToken(harness.url, {
    ...{ grant_type: 'client_credentials', client_assertion_type: jwtBearer, client_assertion: assertion },
    ...more,
  });

const refusedWith = async (claims: Claims): Promise<void> => {
  for (const [kind, make] of Object.entries(kinds)) {
    const { status, json } = await send(await make(claims));
    expect([kind, claims, status, json.error]).toEqual([kind, claims, 401, 'invalid_client']);
  }
};

test('RFC 7523 2.2: the type names a JWT, and client_id may be left out but must name the same client', async () => {
  const other = (await harness.createClient([await harness.createTenant()])).client_id;
  for (const make of Object.values(kinds)) {
    expect((await send(await make())).status).toBe(200);
    expect((await send(await make(), { client_id: clientId })).status).toBe(200);
    expect((await send(await make(), { client_id: other })).json.error).toBe('invalid_client');
    const type = await send(await make(), {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer',
    });
    expect([type.status, type.json.error]).toEqual([400, 'invalid_request']);
  }
});

test('RFC 7523 3 (1), (2): iss names the issuer and sub the client, both compared as simple strings', async () => {
  for (const iss of [undefined, 'https://other.example', `${issuer.url}/`, issuer.url.toUpperCase()]) {
    await refusedWith({ iss });
  }
  for (const sub of [undefined, '', 'opc_other', trusted.subject.toUpperCase()]) await refusedWith({ sub });
});

test('RFC 7523 3 (3): an assertion for another audience is refused', async () => {
  for (const aud of [undefined, 'https://other.example', [], [trusted.audience, harness.url]])
    await refusedWith({ aud });
});

test('RFC 7523 3 (4), (5), (6): exp is required and bounded; nbf is honoured; a future iat is refused', async () => {
  const seconds = Math.floor(Date.now() / 1000);
  for (const exp of [undefined, seconds - 1, seconds + 100_000]) await refusedWith({ exp });
  await refusedWith({ nbf: seconds + 3_600 });
  const { status } = await send((await kinds['of an issuer']?.({ iat: seconds + 3_600 })) ?? '');
  expect(status).toBe(401);
});

test('RFC 7523 3 (7), (8): a jti is used once; other claims may be there', async () => {
  for (const make of Object.values(kinds)) {
    const assertion = await make({ 'kubernetes.io': { namespace: 'kitchen' } });
    expect((await send(assertion)).status).toBe(200);
    expect((await send(assertion)).json.error).toBe('invalid_client');
  }
});

test('RFC 7523 3 (9), (10): a wrong signature and a JWT that is none are refused', async () => {
  for (const make of Object.values(kinds)) {
    const [header, payload, signature = ''] = (await make()).split('.');
    const altered = Buffer.from(payload ?? '', 'base64url')
      .toString()
      .replace('{', '{"a":1,');
    for (const assertion of [
      `${header}.${Buffer.from(altered).toString('base64url')}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      'a.b.c',
    ]) {
      expect((await send(assertion)).json.error).toBe('invalid_client');
    }
  }
});

test('RFC 7523 3.2: a refused assertion is answered with invalid_client', async () => {
  const { status, json } = await send(await issuer.sign({ sub: 'other', aud: trusted.audience }));
  expect([status, json.error, typeof json.error_description]).toEqual([401, 'invalid_client', 'string']);
});
