/**
 * Whom an id_token of the external provider was issued to: a provider that says anything, with real keys and
 * signatures.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';

const clientId = 'panel';
let issuer: string;
let panel: PanelInProcess;
let privateKey: CryptoKey;
let nonce = '';
/** Claims of the next id_token. */
let claims: Record<string, unknown> = {};

const json = (response: ServerResponse, body: unknown): void => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const tokens = async (response: ServerResponse): Promise<void> => {
  const idToken = await new SignJWT({ iss: issuer, sub: 'ada-1', email_verified: true, nonce, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'one' })
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(privateKey);
  json(response, { access_token: 'opaque', token_type: 'Bearer', id_token: idToken });
};

const server = createServer((request: IncomingMessage, response) => {
  if (request.url === '/.well-known/openid-configuration')
    return json(response, {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  if (request.url === '/keys')
    return void exportJWK(publicKey).then((key) =>
      json(response, { keys: [{ ...key, kid: 'one', alg: 'RS256', use: 'sig' }] }),
    );
  request.resume().on('end', () => void tokens(response));
});
let publicKey: CryptoKey;

beforeAll(async () => {
  ({ privateKey, publicKey } = await generateKeyPair('RS256'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  panel = await startPanel({ oidc_issuer: issuer, oidc_client_id: clientId, oidc_client_secret: 'a secret' });
  await panel.users.create('cli:test', { email: 'ada@example.com', role: 'support' });
});

afterAll(async () => {
  await panel?.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const signInWith = async (visitor: Visitor, said: Record<string, unknown>) => {
  const begun = new URL((await visitor.get('/panel/sign-in/provider')).location ?? '');
  nonce = begun.searchParams.get('nonce') ?? '';
  claims = { email: 'ada@example.com', ...said };
  const back = new URLSearchParams({ code: 'any', state: begun.searchParams.get('state') ?? '' });
  return visitor.get(`/panel/sign-in/provider/return?${back}`);
};

test('F-35 an id_token that was issued to another client opens nothing: foreign azp, or several audiences without azp', async () => {
  for (const said of [
    { aud: clientId, azp: 'another' },
    { aud: [clientId], azp: 'another' },
    { aud: [clientId, 'another'], azp: 'another' },
    { aud: [clientId, 'another'] },
    { aud: clientId, azp: [clientId] },
    { aud: clientId, azp: '' },
    { aud: 'another', azp: clientId },
  ]) {
    const visitor = panel.visitor();
    expect((await signInWith(visitor, said)).text, JSON.stringify(said)).toContain('did not work');
    expect((await visitor.get('/panel/account')).status).toBe(303);
  }
  for (const said of [{ aud: clientId }, { aud: clientId, azp: clientId }, { aud: [clientId, 'x'], azp: clientId }]) {
    const visitor = panel.visitor();
    expect((await signInWith(visitor, said)).status, JSON.stringify(said)).toBe(303);
    expect((await visitor.get('/panel/account')).status).toBe(200);
  }
});
