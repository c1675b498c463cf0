/** Section 5.4 of the FAPI 2.0 Security Profile (final): algorithms, keys and key sets. */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawHeaders, read } from '../../gateway/harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../../gateway/harness/public-door.ts';
import { newProofKey } from '../../support/proofs.ts';
import { type Fapi2Client, type Fapi2Harness, openFapi2Harness } from './fapi2-harness.ts';

let harness: Fapi2Harness;
let client: Fapi2Client;
let token: string;

beforeAll(async () => {
  harness = await openFapi2Harness();
  client = await harness.newClient();
  token = await client.token();
});

afterAll(() => harness?.close());

const get = async (path: string): Promise<Record<string, unknown>> =>
  (await sendRequest(harness.url, 'GET', path)).json as Record<string, unknown>;

const errorOf = ({ status, json }: Reply): unknown => [status, json.error];

const refusedClient = [401, 'invalid_client'];
const refusedProof = [400, 'invalid_dpop_proof'];

test('A-376 FAPI2-SP 5.4.1-1 assertions and proofs by ES256, EdDSA, also by its name Ed25519, and PS256 are accepted', async () => {
  for (const alg of ['ES256', 'EdDSA', 'Ed25519', 'PS256']) {
    const other = await harness.newClient({ alg });
    expect((await other.call(await other.token())).status).toBe(200);
  }
});

test('A-376 FAPI2-SP 5.4.1-1 RS256, none and HMAC are refused in assertions, also with a registered key', async () => {
  const other = await harness.newClient({ alg: 'PS256' });
  const rs256 = { alg: 'RS256', privateKey: other.key.privateKey };
  expect(errorOf(await other.ask({ assertion: { signedBy: rs256 } }))).toEqual(refusedClient);
  const [, claims] = (await other.assert()).split('.');
  const header = (alg: string) => Buffer.from(JSON.stringify({ alg })).toString('base64url');
  const hmac = createHmac('sha256', other.secret)
    .update(`${header('HS256')}.${claims}`)
    .digest('base64url');
  for (const forged of [`${header('none')}.${claims}.`, `${header('HS256')}.${claims}.${hmac}`])
    expect(errorOf(await other.ask({ form: { client_assertion: forged } }))).toEqual(refusedClient);
  expect((await other.ask()).status).toBe(200);
});

test('A-376 FAPI2-SP 5.4.1-1 RS256 and none are refused in proofs at the token endpoint and at operations', async () => {
  const other = await harness.newClient({ alg: 'PS256' });
  const rs256 = { signedBy: { ...other.key, alg: 'RS256' } };
  expect(errorOf(await other.ask({ proof: rs256 }))).toEqual(refusedProof);
  const bound = await other.token();
  expect(errorOf(await other.call(bound, rs256))).toEqual([401, 'invalid_dpop_proof']);
  const header = Buffer.from(JSON.stringify({ alg: 'none', typ: 'dpop+jwt', jwk: other.key.jwk })).toString(
    'base64url',
  );
  const none = { dpop: `${header}.e30.` };
  expect(errorOf(await other.call(bound, {}, none))).toEqual([401, 'invalid_dpop_proof']);
  expect((await other.call(bound)).status).toBe(200);
});

test('FAPI2-SP 5.4.1-2 and -3 RSA keys under 2048 bits and other curves are refused, registered and in proofs', async () => {
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const p192 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const ed448 = generateKeyPairSync('ed448');
  for (const { publicKey } of [short, p192, ed448])
    await expect(
      harness.credentials.addClientKey(client.id, publicKey.export({ format: 'jwk' })),
    ).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  const jwk = short.publicKey.export({ format: 'jwk' });
  // A library would not sign with so short a key, so a signature of the right length for it stands here.
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const proof = `${part({ alg: 'PS256', typ: 'dpop+jwt', jwk })}.${part({})}.${Buffer.alloc(128, 1).toString('base64url')}`;
  expect(errorOf(await client.call(token, {}, { dpop: proof }))).toEqual([401, 'invalid_dpop_proof']);
});

test('FAPI2-SP 5.4.1-4 a token cannot be guessed: its id has 128 random bits and its signature is ES256', async () => {
  expect(String(decodeJwt(token).jti).length).toBeGreaterThanOrEqual(22);
  expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
});

test('FAPI2-SP 5.4.1-1 adhering to RFC 8725: a proof of another kind and two proofs are refused', async () => {
  expect(errorOf(await client.call(token, { header: { typ: 'JWT' } }))).toEqual([401, 'invalid_dpop_proof']);
  const other = newProofKey();
  expect(errorOf(await client.call(token, { signedBy: other }))).toEqual([401, 'invalid_dpop_proof']);
  const twice = await sendRequest(harness.url, 'GET', read, {
    headers: rawHeaders(harness.url, 'authorization', `DPoP ${token}`, 'dpop', 'a.b.c', 'dpop', 'a.b.c'),
  });
  expect(errorOf(twice)).toEqual([400, 'invalid_request']);
});

test('FAPI2-SP 5.4.2-3 the key set has no key twice and names no address of a key', async () => {
  const { keys } = (await get('/api/oauth/jwks')) as { keys: Record<string, unknown>[] };
  expect(keys).not.toEqual([]);
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
  expect(keys.every((key) => !('x5u' in key) && !('jku' in key) && !('d' in key))).toBe(true);
});

test('FAPI2-SP 5.4.3 a client cannot have two keys of one id', async () => {
  const jwk = { ...newProofKey().jwk, kid: 'one' };
  await harness.credentials.addClientKey(client.id, jwk);
  await expect(harness.credentials.addClientKey(client.id, { ...newProofKey().jwk, kid: 'one' })).rejects.toMatchObject(
    {
      code: 'CONFLICT',
    },
  );
});

// Last: tokens are issued by the clock of the machine, which does not move.
