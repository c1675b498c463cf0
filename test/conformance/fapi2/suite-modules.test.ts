/**
 * The requests and checks of the modules of the OpenID conformance suite for FAPI 2.0 with client credentials, private_key_jwt and
 * DPoP, against the whole program over TLS with its default limits. The titles name the modules.
 */
import { type KeyObject, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Headers } from '../../gateway/harness/public-door.ts';
import {
  type ClientOptions,
  echoPath,
  type sendTls,
  shake,
  startTls,
  type TlsStand,
} from '../../gateway/tls/tls-harness.ts';
import { runCommand, runJson } from '../../support/program.ts';
import { makeProof, newProofKey, type ProofChange, type ProofKey } from '../../support/proofs.ts';
import { assertionType } from './fapi2-harness.ts';
import { wrongProofs } from './wrong-proofs.ts';

type Client = { id: string; key: ProofKey };
type Reply = Awaited<ReturnType<typeof sendTls>>;

let stand: TlsStand;
let one: Client;
let two: Client;
let tokenEndpoint: string;

const createClient = async (restaurant: string): Promise<Client> => {
  const made = await runJson(['client', 'create', '--name', 'Partner', '--restaurant', restaurant], stand.env);
  const id = String(made.client_id);
  const key = newProofKey('PS256');
  const file = join(stand.files.folder, `${id}.jwk`);
  writeFileSync(file, JSON.stringify({ ...key.jwk, kid: `key-of-${id.slice(-8)}` }));
  await runJson(['client', 'add-key', '--client-id', id, '--jwk', file], stand.env);
  return { id, key };
};

beforeAll(async () => {
  stand = await startTls(() => ({ ORDERPASS_PROFILE: 'fapi2' }));
  tokenEndpoint = `${stand.url}/api/oauth/token`;
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], stand.env);
  one = await createClient(restuid);
  two = await createClient(restuid);
});

afterAll(() => stand?.close());

const seconds = (ahead = 0): number => Math.floor(Date.now() / 1000) + ahead;

type Signer = { alg: string; privateKey: KeyObject };

const assertionOf = (of: Client, claims: Record<string, unknown> = {}, by: Signer = of.key): Promise<string> =>
  new SignJWT({
    iss: of.id,
    sub: of.id,
    aud: stand.url,
    jti: randomUUID(),
    iat: seconds(),
    exp: seconds(60),
    ...claims,
  })
    .setProtectedHeader({ alg: by.alg })
    .sign(by.privateKey);

const askWith = async (of: Client, form: Record<string, string>, proof?: ProofChange | 'none'): Promise<Reply> => {
  const about = { method: 'POST', url: tokenEndpoint, now: new Date() };
  const dpop = proof === 'none' ? undefined : await makeProof(of.key, about, proof);
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'read:orders', ...form }).toString();
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(dpop === undefined ? undefined : { dpop }),
  };
  return stand.send('POST', '/api/oauth/token', { headers, body });
};

const ask = async (of: Client, assertion: string | Promise<string>, proof?: ProofChange | 'none'): Promise<Reply> =>
  askWith(of, { client_assertion_type: assertionType, client_assertion: await assertion }, proof);

/** What every module checks of an answer with a token. */
const tokenIn = (reply: Reply): string => {
  expect(reply.status).toBe(200);
  expect(reply.headers['cache-control']).toBe('no-store');
  const { access_token, token_type, expires_in, ...rest } = JSON.parse(reply.text) as Record<string, unknown>;
  expect([token_type, typeof expires_in, Object.keys(rest)]).toEqual(['DPoP', 'number', ['scope']]);
  expect(String(access_token).length).toBeGreaterThan(100);
  return String(access_token);
};

/** What every module checks of an error of the token endpoint (RFC 6749 section 5.2). */
const errorIn = (reply: Reply): string => {
  expect(reply.headers['content-type']).toMatch(/^application\/json(;|$)/);
  const { error, error_description, error_uri } = JSON.parse(reply.text) as Record<string, string>;
  expect(reply.status).toBe(error === 'invalid_client' ? 401 : 400);
  expect(error).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  expect(URL.canParse(error_uri ?? '')).toBe(true);
  return String(error);
};

const proofFor = (of: Client, token: string, change?: ProofChange): Promise<string> =>
  makeProof(of.key, { method: 'GET', url: `${stand.url}${echoPath}`, now: new Date(), token }, change);

const call = async (
  of: Client,
  token: string,
  change?: ProofChange,
  headers: Headers = {},
  target = echoPath,
): Promise<Reply> => {
  const dpop = await proofFor(of, token, change);
  return stand.send('GET', target, { headers: { authorization: `DPoP ${token}`, dpop, ...headers } });
};

const json = async (path: string): Promise<Record<string, unknown>> => {
  const reply = await stand.send('GET', path);
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  return JSON.parse(reply.text) as Record<string, unknown>;
};

test('A-382 discovery-end-point-verification: issuer, grants, methods and algorithms of the profile, at https addresses', async () => {
  const metadata = await json('/.well-known/oauth-authorization-server');
  expect(metadata).toMatchObject({
    issuer: stand.url,
    token_endpoint: tokenEndpoint,
    grant_types_supported: ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'],
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256'],
    dpop_signing_alg_values_supported: ['ES256', 'EdDSA', 'PS256'],
  });
  expect(metadata.scopes_supported).toContain('read:orders');
  const addresses = Object.values(metadata).filter((value) => typeof value === 'string');
  expect(addresses.every((address) => address.startsWith('https://'))).toBe(true);
});

test('A-382 happy-flow: two clients, headers of FAPI at the resource, no token in a query, no key of another client', async () => {
  const token = tokenIn(await ask(one, assertionOf(one)));
  const interaction = randomUUID();
  const first = await call(one, token, undefined, {
    'x-fapi-auth-date': new Date().toUTCString(),
    'x-fapi-customer-ip-address': '198.51.100.119',
    'x-fapi-interaction-id': interaction,
  });
  expect([first.status, first.headers.date]).toEqual([200, expect.stringMatching(/GMT$/)]);
  expect(stand.seen.at(-1)).toMatchObject({ 'x-fapi-interaction-id': interaction });
  // The service may echo the id; the gateway adds none of its own, which would have to match.
  expect(first.headers['x-fapi-interaction-id']).toBe(undefined);
  expect((await stand.send('GET', `${echoPath}?access_token=${token}`)).status).toBe(400);
  for (const accept of ['application/json;charset=UTF-8', 'application/json, application/*+json, */*'])
    expect((await call(one, token, undefined, { accept })).status).toBe(200);
  const second = tokenIn(await ask(two, assertionOf(two)));
  expect((await call(two, second)).status).toBe(200);
  expect((await call(one, second)).status).toBe(401);
});

test('A-382 access-token-type-header-case-sensitivity: the scheme is compared without case', async () => {
  const token = tokenIn(await ask(one, assertionOf(one)));
  expect((await call(one, token, undefined, { authorization: `dPOp ${token}` })).status).toBe(200);
});

test('A-382 check-dpop-proof-nbf-exp and iat 10 s before or after: accepted at the token endpoint and the resource', async () => {
  for (const claims of [{ nbf: seconds(), exp: seconds(300) }, { iat: seconds(-10) }, { iat: seconds(10) }]) {
    const token = tokenIn(await ask(one, assertionOf(one), { claims }));
    expect((await call(one, token, { claims })).status).toBe(200);
  }
});

test('A-382 ensure-client-id-in-token-endpoint: the id of one client with the key of another is invalid_client', async () => {
  const client_assertion = await assertionOf(two, {}, one.key);
  const form = { client_id: two.id, client_assertion_type: assertionType, client_assertion };
  expect(errorIn(await askWith(one, form))).toBe('invalid_client');
});

test('A-382 ensure-holder-of-key-required: no token without a proof', async () => {
  expect(errorIn(await ask(one, assertionOf(one), 'none'))).toBe('invalid_dpop_proof');
});

test('A-382 RS256, no assertion, an assertion that ended, one for another server and one without subject are invalid_client', async () => {
  const rs256 = assertionOf(one, {}, { ...one.key, alg: 'RS256' });
  const ended = assertionOf(one, { iat: seconds(-360), exp: seconds(-300) });
  const foreign = assertionOf(one, { aud: 'https://other.example/token' });
  const noSubject = assertionOf(one, { sub: undefined });
  for (const assertion of [rs256, ended, foreign, noSubject])
    expect(errorIn(await ask(one, assertion))).toBe('invalid_client');
  expect(errorIn(await askWith(one, { client_id: one.id }))).toBe('invalid_client');
});

test('A-382 dpop-negative-tests: twenty wrong proofs of one token in a row are refused one by one, and right ones work on', async () => {
  const token = tokenIn(await ask(one, assertionOf(one)));
  const good = async (claims: Record<string, unknown> = {}): Promise<void> =>
    expect((await call(one, token, { claims })).status).toBe(200);
  await good();
  const twice = await proofFor(one, token);
  const right = await proofFor(one, token);
  expect((await stand.send('GET', echoPath, { headers: { authorization: `DPoP ${token}`, DPOP: right } })).status).toBe(
    200,
  );
  const both = ['authorization', `DPoP ${token}`, 'dpop', twice, 'dpop', await proofFor(one, token)];
  expect((await stand.send('GET', echoPath, { headers: ['host', new URL(stand.url).host, ...both] })).status).toBe(400);
  for (const [name, make] of wrongProofs(one.key, (change) => proofFor(one, token, change))) {
    const headers = { authorization: `DPoP ${token}`, dpop: await make() };
    expect([name, (await stand.send('GET', echoPath, { headers })).status]).toEqual([name, 401]);
  }
  const url = stand.url + echoPath;
  await good({ htu: `${url}?query=1#fragment` });
  await good({ htu: url.replace('https:', 'HTTPS:') });
  await good({ extra: 'claim' });
  const reused = { claims: { jti: randomUUID() } };
  expect((await call(one, token, reused)).status).toBe(200);
  expect((await call(one, token, reused)).status).toBe(401);
  for (const scheme of ['DPoP', 'Bearer'])
    expect((await stand.send('GET', echoPath, { headers: { authorization: `${scheme} ${token}` } })).status).toBe(401);
  await good();
});

const named = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384',
];

const cipherWith = async (options: ClientOptions): Promise<string> => {
  const socket = await shake(stand.port, { ca: stand.authority.cert, ...options });
  const { name } = socket.getCipher();
  socket.destroy();
  return name;
};

test('A-381 FAPI2-SP 5.2.1-2, 5.2.2-1: TLS 1.3 first; with 1.2 the suites that BCP 195 names and no others; nothing older', async () => {
  expect(await cipherWith({})).toMatch(/^TLS_/);
  const tls12 = { maxVersion: 'TLSv1.2' as const };
  // The certificate of the test has an EC key.
  for (const ciphers of named.slice(0, 2)) expect(await cipherWith({ ...tls12, ciphers })).toBe(ciphers);
  for (const ciphers of [
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-ECDSA-AES128-SHA256',
    'AES128-GCM-SHA256',
    'DHE-RSA-AES128-GCM-SHA256',
  ])
    await expect(cipherWith({ ...tls12, ciphers })).rejects.toThrow();
  const old = { minVersion: 'TLSv1' as const, ciphers: 'ALL:@SECLEVEL=0' };
  for (const maxVersion of ['TLSv1', 'TLSv1.1'] as const)
    await expect(cipherWith({ ...old, maxVersion })).rejects.toThrow();
});

test('A-381 FAPI2-SP 5.3.4-4 the profile needs real statuses: a start with legacy ones is refused', async () => {
  const env = { ...stand.env, ORDERPASS_PROFILE: 'fapi2', ORDERPASS_LEGACY_STATUS: 'on' };
  const { code, stdout, stderr } = await runCommand(['config', 'check'], env);
  expect([code, /the profile fapi2 needs real statuses/.test(stdout + stderr)]).toEqual([1, true]);
});

test('FAPI2-SP 5.2.1-1 only addresses with TLS are named: a start with a public address without it is refused', async () => {
  const env = { ...stand.env, ORDERPASS_PROFILE: 'fapi2', ORDERPASS_ORIGIN: 'http://api.example' };
  const { code, stdout, stderr } = await runCommand(['config', 'check'], env);
  expect([code, /must be https:/.test(stdout + stderr)]).toEqual([1, true]);
});

test('A-380 `client fapi2` switches a client, and `client show` names the state', async () => {
  const shown = async () => (await runJson(['client', 'show', '--client-id', one.id], stand.env)).profile;
  for (const [when, profile] of [
    ['required', 'fapi2'],
    ['off', 'standard'],
  ] as const) {
    expect(await runJson(['client', 'fapi2', when, one.id], stand.env)).toEqual({ client_id: one.id, profile });
    expect(await shown()).toBe(profile);
  }
  const other = await runCommand(['client', 'fapi2', 'on', one.id], stand.env);
  expect([other.code === 0, other.stderr]).toEqual([false, expect.stringContaining('required, off')]);
});

test('FAPI2-SP 5.2.3-1 answers for browsers have Strict-Transport-Security', async () => {
  expect((await stand.send('GET', '/docs')).headers['strict-transport-security']).toBe('max-age=31536000');
});
