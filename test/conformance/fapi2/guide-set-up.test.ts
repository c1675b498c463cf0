/** The set-up of the guide for the conformance suite, run as the page shows it, and the first requests of the suite with it. */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTls, type TlsStand } from '../../gateway/tls/tls-harness.ts';
import { fencesOf, runFence } from '../../reference/guide-claims/guide-pages.ts';
import { runJson } from '../../support/program.ts';
import { makeProof, type ProofKey } from '../../support/proofs.ts';
import { assertionType } from './fapi2-harness.ts';

const page = '../secure/fapi2';
const names = ['one', 'two'] as const;
const resource = '/api/account/subrestaurants';
let stand: TlsStand;

beforeAll(async () => {
  stand = await startTls(() => ({ ORDERPASS_PROFILE: 'fapi2', ORDERPASS_CLIENT_CERTIFICATES: 'on' }));
  const keys = fencesOf(page).find(({ title }) => title === 'keys.sh')?.text ?? '';
  execFileSync('bash', ['-e', '-c', keys], { cwd: stand.files.folder, stdio: 'ignore' });
});

afterAll(() => stand?.close());

const run = (args: string[]) =>
  runJson(
    args.map((arg) => (/\.(?:jwk|crt)$/.test(arg) ? join(stand.files.folder, arg) : arg)),
    stand.env,
  );

/** Ids of two new clients, registered as the fence says. */
const setUp = async (title: string): Promise<string[]> => {
  const made = await runFence(page, 'clients.sh', run, (_placeholder, [restaurant]) => restaurant?.restuid);
  const ids = made.slice(1).map(({ client_id }) => String(client_id));
  await runFence(page, title, run, (placeholder) => (placeholder === 'opc_one…' ? ids[0] : ids[1]));
  return ids;
};

const read = (file: string): string => readFileSync(join(stand.files.folder, file), 'utf8');

/** As the field `client.jwks` of the suite. */
const keyOf = (name: string): ProofKey => {
  const [jwk] = (JSON.parse(read(`${name}.jwks`)) as { keys: JWK[] }).keys;
  const { kty, n, e } = jwk ?? {};
  return {
    alg: String(jwk?.alg),
    privateKey: createPrivateKey({ key: jwk ?? {}, format: 'jwk' }),
    jwk: { kty, n, e } as JWK,
  };
};

const assertionOf = (id: string, { alg, privateKey }: ProofKey): Promise<string> => {
  const seconds = Math.floor(Date.now() / 1000);
  const claims = { iss: id, sub: id, aud: stand.url, jti: randomUUID(), iat: seconds, exp: seconds + 60 };
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(privateKey);
};

const pairOf = (name: string) => ({ cert: read(`${name}.crt`), key: read(`${name}.key`) });

const ask = (form: Record<string, string>, headers = {}, pair = {}) =>
  stand.send('POST', '/api/oauth/token', {
    ...pair,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read:account', ...form }).toString(),
  });

const tokenIn = ({ status, text }: Awaited<ReturnType<typeof ask>>): string => {
  expect(status).toBe(200);
  return String((JSON.parse(text) as Record<string, unknown>).access_token);
};

test('A-628 private_key_jwt with dpop: both clients get a token by the keys of the guide, and read the resource', async () => {
  const ids = await setUp('private-key-jwt.sh');
  for (const [index, name] of names.entries()) {
    const key = keyOf(name);
    const asked = { method: 'POST', url: `${stand.url}/api/oauth/token`, now: new Date() };
    const form = { client_assertion_type: assertionType, client_assertion: await assertionOf(ids[index] ?? '', key) };
    const token = tokenIn(await ask(form, { dpop: await makeProof(key, asked) }));
    const dpop = await makeProof(key, { method: 'GET', url: stand.url + resource, now: new Date(), token });
    const reply = await stand.send('GET', resource, { headers: { authorization: `DPoP ${token}`, dpop } });
    expect(reply.status).toBe(200);
  }
});

test('A-628 mtls with mtls: both clients get a token by the certificates of the guide, and read the resource', async () => {
  const ids = await setUp('mtls.sh');
  for (const [index, name] of names.entries()) {
    const token = tokenIn(await ask({ client_id: ids[index] ?? '' }, {}, pairOf(name)));
    const headers = { authorization: `Bearer ${token}` };
    expect((await stand.send('GET', resource, { ...pairOf(name), headers })).status).toBe(200);
  }
});

test('A-628 private_key_jwt with mtls: a bound token by assertion and certificate, and none by the certificate alone', async () => {
  const [id = ''] = await setUp('key-and-certificate.sh');
  const pair = pairOf('one');
  const alone = await ask({ client_id: id }, {}, pair);
  expect([alone.status, (JSON.parse(alone.text) as Record<string, unknown>).error]).toEqual([401, 'invalid_client']);
  const form = { client_assertion_type: assertionType, client_assertion: await assertionOf(id, keyOf('one')) };
  const token = tokenIn(await ask(form, {}, pair));
  expect(decodeJwt(token).cnf).toEqual({ 'x5t#S256': expect.any(String) });
  const headers = { authorization: `Bearer ${token}` };
  expect((await stand.send('GET', resource, { ...pair, headers })).status).toBe(200);
  expect((await stand.send('GET', resource, { ...pairOf('two'), headers })).status).toBe(401);
});
