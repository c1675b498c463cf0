/** Keys of message signatures and sources of deliveries, as a gateway publishes them (interface 31.3, 31.4). */
import { createPublicKey, randomBytes } from 'node:crypto';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { createSigningKeys, rotateWebhookKey, signatureSchemes } from '#src/webhooks/index.ts';
import { boxOfEarlierStore } from '../../cli/store/earlier-store.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';

const dayMs = 86_400_000;

let database: TestDatabase;
let box: SecretBox;
let env: Record<string, string>;
/** Only the first has sources. */
let gateway: RunningProgram;
let without: RunningProgram;

beforeAll(async () => {
  database = await createTestDatabase();
  const masterKey = randomBytes(32);
  box = await boxOfEarlierStore(database.db, masterKey);
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: masterKey.toString('base64'),
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ORIGIN: 'http://127.0.0.1:4321',
    ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9',
  };
  [gateway, without] = await Promise.all([
    startProgram({ ...env, ORDERPASS_WEBHOOK_SOURCES: '192.0.2.7, 198.51.100.0/24,2001:db8::/32,192.0.2.7' }),
    startProgram(env),
  ]);
});

afterAll(async () => {
  await Promise.all([gateway?.stop(), without?.stop()]);
  await database?.drop();
});

type Keys = { keys: { kid: string; kty: string; use: string; alg: string }[] };
const keysAt = async (path: string): Promise<Keys['keys']> =>
  ((await (await fetch(`${gateway.url}${path}`)).json()) as Keys).keys;

const whoami = async (token: string): Promise<number> =>
  (await fetch(`${gateway.url}/api/whoami`, { headers: { authorization: `Bearer ${token}` } })).status;

test('A-407 the keys are a set of their own, and what they sign is no access token', async () => {
  const [tokens, v1a, messages] = await Promise.all(
    ['/api/oauth/jwks', '/.well-known/webhook-keys', '/.well-known/webhook-signature-keys'].map(keysAt),
  );
  expect(messages?.map(({ kty, use, alg }) => [kty, use, alg])).toEqual([
    ['OKP', 'sig', 'EdDSA'],
    ['EC', 'sig', 'ES256'],
  ]);
  expect(messages?.every((jwk) => jwk.kid.startsWith('webhook-') && !('d' in jwk))).toBe(true);
  const others = new Set([...(tokens ?? []), ...(v1a ?? [])].map(({ kid }) => kid));
  expect(others.size).toBe(2);
  expect(messages?.some(({ kid }) => others.has(kid))).toBe(false);

  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  const answer = await fetch(`${gateway.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: made.client_id ?? '',
      client_secret: made.client_secret ?? '',
    }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  expect(await whoami(token)).toBe(200);
  const claims = decodeJwt(token);
  const { typ, kid: tokenKid } = decodeProtectedHeader(token) as { typ: string; kid: string };
  for (const [scheme, alg] of [
    ['rfc9421:ecdsa-p256', 'ES256'],
    ['rfc9421:ed25519', 'EdDSA'],
  ] as const) {
    const { kid, key } = await createSigningKeys({ ...database, box, clock: systemClock }, scheme).current();
    for (const named of [kid, tokenKid])
      expect(await whoami(await new SignJWT(claims).setProtectedHeader({ alg, typ, kid: named }).sign(key))).toBe(401);
  }
});

test('A-407 a new key is published a day before it signs, the old one until its signatures have ended', async () => {
  let skewMs = 0;
  const clock = { now: () => new Date(Date.now() + skewMs) };
  const deps = { db: database.db, box, clock };
  for (const scheme of signatureSchemes) {
    skewMs = 0;
    const listed = async () => (await createSigningKeys(deps, scheme).publicJwks()).keys.map(({ kid }) => kid);
    const signer = async () => (await createSigningKeys(deps, scheme).current()).kid;
    const [first] = await listed();
    const { kid: second } = await inTransaction(database.db, (tx) => rotateWebhookKey(tx, deps, scheme));
    await expect(inTransaction(database.db, (tx) => rotateWebhookKey(tx, deps, scheme))).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect([await listed(), await signer()]).toEqual([[second, first], first]);
    skewMs = dayMs + 1_000;
    expect([await listed(), await signer()]).toEqual([[second, first], second]);
    skewMs = 8 * dayMs + 2_000;
    expect(await listed()).toEqual([second]);
  }
  const refused = await runCommand(['webhook', 'rotate-signing-key', '--signature', 'rfc9421:ed25519'], env);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is listed and signs from')]);
});

test('the private keys are stored sealed', async () => {
  const { rows } = await database.pool.query('select private_key, public_jwk from webhooks.message_keys');
  for (const { private_key: sealed, public_jwk: jwk } of rows) {
    expect(sealed.includes(Buffer.from('PRIVATE KEY'))).toBe(false);
    expect(createPublicKey({ key: jwk, format: 'jwk' }).type).toBe('public');
    expect(jwk.d).toBeUndefined();
  }
});

test('A-408 the sources are published, dated and signed; without the setting there is nothing', async () => {
  const url = `${gateway.url}/.well-known/webhook-sources`;
  const answer = await fetch(url);
  const shown = (await answer.json()) as Record<string, string> & { networks: string[]; signed_networks: string };
  expect(answer.headers.get('cache-control')).toBe('public, max-age=3600');
  const networks = ['192.0.2.7/32', '198.51.100.0/24', '2001:db8::/32'];
  expect(shown).toMatchObject({ issuer: 'http://127.0.0.1:4321', networks });
  const keys = createLocalJWKSet({ keys: await keysAt('/.well-known/webhook-signature-keys') } as JSONWebKeySet);
  const { payload } = await jwtVerify(shown.signed_networks, keys, {
    issuer: 'http://127.0.0.1:4321',
    typ: 'webhook-sources+jwt',
    algorithms: ['EdDSA'],
    requiredClaims: ['iat', 'exp'],
  });
  expect(payload.networks).toEqual(networks);
  const seconds = (iso = ''): number => Date.parse(iso) / 1000;
  expect([payload.iat, payload.exp]).toEqual([seconds(shown.issued_iso), seconds(shown.expires_iso)]);
  expect(Date.now() / 1000 - (payload.iat ?? 0)).toBeLessThan(3_700);
  const forged = shown.signed_networks.replace(
    /\.[^.]+\./,
    `.${Buffer.from('{"networks":["0.0.0.0/0"]}').toString('base64url')}.`,
  );
  await expect(jwtVerify(forged, keys)).rejects.toThrow();
  expect(await whoami(shown.signed_networks)).toBe(401);

  // Without a header of its own, fetch adds `no-cache`.
  const known = { 'if-none-match': answer.headers.get('etag') ?? '', 'cache-control': 'max-age=0' };
  const again = await fetch(url, { headers: known });
  expect([again.status, await again.text()]).toEqual([304, '']);
  expect((await fetch(`${without.url}/.well-known/webhook-sources`)).status).toBe(404);
});

test('A-408 a source that is no network stops the start with the name of the setting', async () => {
  for (const sources of ['192.0.2.0/33', 'till.example', '192.0.2.7;192.0.2.8']) {
    const refused = await runCommand(['config', 'check'], { ORDERPASS_WEBHOOK_SOURCES: sources });
    expect([sources, refused.code, refused.stderr]).toEqual([
      sources,
      1,
      expect.stringContaining('ORDERPASS_WEBHOOK_SOURCES'),
    ]);
  }
});
