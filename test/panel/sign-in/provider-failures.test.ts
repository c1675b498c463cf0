/**
 * Failures of an external OpenID provider, one by one, below the panel. A real provider answers in
 * `external-provider.test.ts`, and real keys sign in `provider-audience.test.ts`.
 */
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import nock from 'nock';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createExternalProvider } from '#src/staff/sign-in/external-provider.ts';

const issuer = 'https://id.example';
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
};

const keys = { own: await generateKeyPair('RS256'), other: await generateKeyPair('RS256') };
let jwks: { keys: unknown[] };

beforeAll(async () => {
  jwks = { keys: [{ ...(await exportJWK(keys.own.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }] };
});
afterEach(() => nock.cleanAll());
afterAll(() => nock.restore());

const openProvider = () => {
  const settings = { oidc_issuer: issuer, oidc_client_id: 'panel', oidc_client_secret: 'secret', oidc_label: 'SSO' };
  const provider = createExternalProvider(settings, 'https://panel.example/panel/sign-in/provider/return');
  if (provider === undefined) throw new Error('there is no provider');
  return provider;
};

const discovery = () => nock(issuer).get('/.well-known/openid-configuration');

test('a discovery that failed is tried again at the next sign-in, and one that succeeded is kept', async () => {
  const provider = openProvider();
  discovery().reply(503);
  await expect(provider.begin('/panel')).rejects.toThrow();
  discovery().replyWithError(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
  await expect(provider.begin('/panel')).rejects.toThrow();
  discovery().reply(200, metadata);
  for (const next of ['/panel', '/panel/users']) {
    const { url, pending } = await provider.begin(next);
    expect(url).toContain(`${issuer}/authorize?`);
    expect(pending.next).toBe(next);
  }
});

test.each([
  ['text', 'it works'],
  ['of another issuer', { ...metadata, issuer: 'https://other.example' }],
  ['empty', {}],
])('metadata that is %s is refused', async (_what, body) => {
  discovery().reply(200, body, { 'content-type': 'application/json' });
  await expect(openProvider().begin('/panel')).rejects.toThrow();
});

/** A provider up to the return of the browser; `finish` exchanges the code. */
const startSignIn = async () => {
  const provider = openProvider();
  discovery().reply(200, metadata);
  const { pending } = await provider.begin('/panel');
  const query = new URLSearchParams({ code: 'a-code', state: pending.state });
  return { pending, finish: () => provider.finish(query, { ...pending, until: Date.now() + 60_000 }) };
};

const idToken = (key: CryptoKey, claims: Record<string, unknown>): Promise<string> =>
  new SignJWT({ iss: issuer, aud: 'panel', sub: 'ada-1', email: 'ada@example.com', email_verified: true, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'one' })
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(key);

const replyToken = (token: string): void => {
  nock(issuer).post('/token').reply(200, { access_token: 'opaque', token_type: 'Bearer', id_token: token });
  nock(issuer).get('/keys').reply(200, jwks);
};

test('the exchange sends the verifier, and the verified email comes back', async () => {
  const { pending, finish } = await startSignIn();
  nock(issuer)
    .post('/token', (body: Record<string, string>) => body.code_verifier === pending.verifier && body.code === 'a-code')
    .reply(200, {
      ...{ access_token: 'opaque', token_type: 'Bearer' },
      id_token: await idToken(keys.own.privateKey, { nonce: pending.nonce }),
    });
  nock(issuer).get('/keys').reply(200, jwks);
  expect(await finish()).toEqual({ issuer, subject: 'ada-1', email: 'ada@example.com' });
});

test('an id_token with another key, nonce, issuer or audience does not sign in', async () => {
  const wrong: [CryptoKey, Record<string, unknown>][] = [
    [keys.other.privateKey, {}],
    [keys.own.privateKey, { nonce: 'another' }],
    [keys.own.privateKey, { iss: 'https://other.example' }],
    [keys.own.privateKey, { aud: 'another' }],
  ];
  for (const [key, claims] of wrong) {
    const { pending, finish } = await startSignIn();
    replyToken(await idToken(key, { nonce: pending.nonce, ...claims }));
    await expect(finish()).rejects.toThrow();
    nock.cleanAll();
  }
});

test.each([
  ['refuses the code', 400, { error: 'invalid_grant' }],
  ['fails', 500, { error: 'server_error' }],
  ['sends no id_token', 200, { access_token: 'opaque', token_type: 'Bearer' }],
])('a token endpoint that %s ends the sign-in', async (_what, status, body) => {
  const { finish } = await startSignIn();
  nock(issuer).post('/token').reply(status, body);
  await expect(finish()).rejects.toThrow();
});
