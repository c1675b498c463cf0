/**
 * The requests and checks of the modules of the OpenID conformance suite for FAPI 2.0 with client credentials, mTLS as client
 * authentication and as sender constraint, against the whole program over TLS. The titles name the modules.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAuthority, type Pair } from '../../gateway/harness/make-certificate.ts';
import { echoPath, type sendTls, startTls, type TlsStand } from '../../gateway/tls/tls-harness.ts';
import { runJson } from '../../support/program.ts';

type Client = { id: string; secret: string; pair: Pair };
type Reply = Awaited<ReturnType<typeof sendTls>>;

const mtlsOrigin = 'https://mtls.example';
const own = makeAuthority('Unknown authority');
let stand: TlsStand;
/** Known by its certificate, and by a name in certificates of the authority. */
let one: Client;
let two: Client;

beforeAll(async () => {
  stand = await startTls(({ caFile }) => ({
    ORDERPASS_PROFILE: 'fapi2',
    ORDERPASS_CLIENT_CERTIFICATES: 'on',
    ORDERPASS_TLS_CLIENT_CA_FILE: caFile,
    ORDERPASS_MTLS_ORIGIN: mtlsOrigin,
  }));
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], stand.env);
  const create = (...more: string[]) =>
    runJson(['client', 'create', '--name', 'Partner', '--restaurant', restuid, ...more], stand.env);
  const made = await create();
  one = { id: made.client_id ?? '', secret: made.client_secret ?? '', pair: own.issue({ use: 'client' }) };
  const file = join(stand.files.folder, 'one.crt');
  writeFileSync(file, one.pair.cert);
  await runJson(['client', 'add-certificate', '--client-id', one.id, '--file', file], stand.env);
  const { client_id: id = '' } = await create('--tls-san', 'uri:spiffe://partner.example/till');
  two = { id, secret: '', pair: stand.authority.issue({ names: ['spiffe://partner.example/till'], use: 'client' }) };
});

afterAll(() => stand?.close());

const ask = (client_id: string, pair?: Pair, more: Record<string, string> = {}): Promise<Reply> =>
  stand.send('POST', '/api/oauth/token', {
    ...pair,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'read:orders',
      client_id,
      ...more,
    }).toString(),
  });

/** What every module checks of an answer with a token. */
const tokenIn = (reply: Reply): string => {
  expect(reply.status).toBe(200);
  expect(reply.headers['cache-control']).toBe('no-store');
  const { access_token, token_type, expires_in, ...rest } = JSON.parse(reply.text) as Record<string, unknown>;
  expect([token_type, typeof expires_in, Object.keys(rest)]).toEqual(['Bearer', 'number', ['scope']]);
  return String(access_token);
};

/** What every module checks of an error of the token endpoint (RFC 6749 section 5.2). */
const errorIn = (reply: Reply): string => {
  expect(reply.headers['content-type']).toMatch(/^application\/json(;|$)/);
  const { error, error_description } = JSON.parse(reply.text) as Record<string, string>;
  expect(reply.status).toBe(error === 'invalid_client' ? 401 : 400);
  expect(error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  return String(error);
};

const call = async (token: string, pair?: Pair, scheme = 'Bearer', target = echoPath): Promise<number> =>
  (await stand.send('GET', target, { ...pair, headers: { authorization: `${scheme} ${token}` } })).status;

test('A-491 discovery-end-point-verification: the methods with certificates, bound tokens, and aliases at https addresses', async () => {
  const { text } = await stand.send('GET', '/.well-known/oauth-authorization-server');
  const metadata = JSON.parse(text) as Record<string, unknown>;
  expect(metadata).toMatchObject({
    issuer: stand.url,
    tls_client_certificate_bound_access_tokens: true,
    mtls_endpoint_aliases: { token_endpoint: `${mtlsOrigin}/api/oauth/token` },
  });
  expect((metadata.token_endpoint_auth_methods_supported as string[]).toSorted()).toEqual([
    'private_key_jwt',
    'self_signed_tls_client_auth',
    'tls_client_auth',
  ]);
});

test('A-491 happy-flow: two clients get tokens by their certificates and use them, each with its own only', async () => {
  for (const client of [one, two]) {
    const token = tokenIn(await ask(client.id, client.pair));
    const der = new X509Certificate(client.pair.cert).raw;
    expect(decodeJwt(token).cnf).toEqual({ 'x5t#S256': createHash('sha256').update(der).digest('base64url') });
    for (const scheme of ['Bearer', 'bEARER']) expect(await call(token, client.pair, scheme)).toBe(200);
    const other = client === one ? two : one;
    for (const pair of [undefined, other.pair, own.issue({ use: 'client' })]) expect(await call(token, pair)).toBe(401);
    expect(await call(token, client.pair, 'DPoP')).toBe(401);
    const query = await stand.send('GET', `${echoPath}?access_token=${token}`, { ...client.pair });
    expect(query.status).toBe(400);
  }
});

test('A-491 ensure-client-id-in-token-endpoint: the id of one client with the certificate of another is invalid_client', async () => {
  expect(errorIn(await ask(one.id, two.pair))).toBe('invalid_client');
  expect(errorIn(await ask(two.id, one.pair))).toBe('invalid_client');
  expect(errorIn(await ask(one.id, own.issue({ use: 'client' })))).toBe('invalid_client');
});

test('A-491 ensure-holder-of-key-required: no token without a certificate, nor by a secret with or without one', async () => {
  expect(errorIn(await ask(one.id))).toBe('invalid_client');
  for (const pair of [undefined, one.pair, two.pair])
    expect(errorIn(await ask(one.id, pair, { client_secret: one.secret }))).toBe('invalid_client');
});

test('A-491 expired certificates neither authenticate a client nor carry a token', async () => {
  const names = ['spiffe://partner.example/till'];
  const expired = stand.authority.issue({ names, use: 'client', until: new Date(Date.now() - 1_000) });
  expect(errorIn(await ask(two.id, expired))).toBe('invalid_client');
  expect(await call(tokenIn(await ask(two.id, two.pair)), expired)).toBe(401);
});
