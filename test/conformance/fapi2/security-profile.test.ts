import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearer, clientHeaders, postToken, read } from '../../gateway/harness/gateway-harness.ts';
import { startOidcIssuer } from '../../gateway/harness/oidc-issuer.ts';
import { type Reply, sendRequest } from '../../gateway/harness/public-door.ts';
import { altered } from '../../support/altered.ts';
import { until } from '../../support/until.ts';
import { assertionType, type Fapi2Client, type Fapi2Harness, grant, openFapi2Harness } from './fapi2-harness.ts';

let harness: Fapi2Harness;
let client: Fapi2Client;
let token: string;

beforeAll(async () => {
  harness = await openFapi2Harness({ profile: 'fapi2', auth_check: 'on', mcp: 'on', signals: 'on' });
  client = await harness.newClient();
  token = await client.token();
});

afterAll(() => harness?.close());

const get = async (path: string): Promise<Record<string, unknown>> =>
  (await sendRequest(harness.url, 'GET', path)).json as Record<string, unknown>;

const serverMetadata = () => get('/.well-known/oauth-authorization-server');

const errorOf = ({ status, json }: Reply): unknown => [status, json.error];

const refusedClient = [401, 'invalid_client'];
const refusedProof = [400, 'invalid_dpop_proof'];

test('A-374 FAPI2-SP 5.3.2.1-6 clients prove themselves by private_key_jwt, and by no secret at any OAuth endpoint', async () => {
  expect((await client.ask()).status).toBe(200);
  const secret = { client_id: client.id, client_secret: client.secret };
  const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
  for (const endpoint of ['token', 'revoke', 'introspect']) {
    const target = `/api/oauth/${endpoint}`;
    const post = await postToken(harness.url, { ...grant, token, ...secret }, {}, target);
    const byHeader = await postToken(harness.url, { ...grant, token }, { authorization: `Basic ${basic}` }, target);
    for (const reply of [post, byHeader]) {
      expect(errorOf(reply)).toEqual(refusedClient);
      expect(reply.json.error_description).toContain('client_assertion');
    }
  }
});

test('A-374 FAPI2-SP 5.3.4-5 no API key and no client secret opens an operation, also beside /auth/check and whoami', async () => {
  const tenant = await harness.createTenant();
  const key = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const pair = clientHeaders({ client_id: client.id, client_secret: client.secret });
  const original = { 'x-original-method': 'GET', 'x-original-uri': read };
  for (const target of [read, '/api/whoami', '/auth/check']) {
    for (const credential of [{ 'x-api-key': key.value }, pair]) {
      const headers = { ...original, ...credential };
      const refused = await sendRequest(harness.url, 'GET', target, { headers });
      expect(errorOf(refused)).toEqual([401, 'INVALID_AUTH']);
      expect(refused.json.message).toContain('FAPI 2.0');
      expect(refused.headers['www-authenticate']).toContain('DPoP realm="orderpass", algs="ES256 EdDSA PS256"');
    }
  }
});

test('FAPI2-SP 5.3.4-5 no API key, no client secret and no unbound token opens /mcp, a stream of signals or a WebSocket', async () => {
  const standard = await harness.openDoor({ settings: { profile: 'standard', dpop: 'on' } });
  const before = await harness.newClient({ at: standard.url });
  const unbound = String((await before.ask({ proof: 'none' })).json.access_token);
  await standard.close();
  const key = await harness.credentials.createApiKey({ tenant: await harness.createTenant(), name: 'till' });
  const secret = clientHeaders({ client_id: client.id, client_secret: client.secret });
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  for (const [method, target, more] of [
    ['POST', '/mcp', { 'content-type': 'application/json' }],
    ['GET', '/api/oauth/signals/streams', {}],
    ['GET', read, { ...upgrade, 'sec-websocket-key': Buffer.alloc(16).toString('base64') }],
  ] as const)
    for (const credential of [{ 'x-api-key': key.value }, secret, bearer(unbound), bearer(token)]) {
      const headers = { accept: 'application/json, text/event-stream', ...more, ...credential };
      const body = method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : undefined;
      const { status } = await sendRequest(harness.url, method, target, { headers, ...(body && { body }) });
      expect([target, status]).toEqual([target, 401]);
    }
});

test('A-375 FAPI2-SP 5.3.2.1-4 and -5 a token is issued with a proof only, and bound to its key', async () => {
  const issued = await client.ask();
  expect([issued.status, issued.json.token_type]).toEqual([200, 'DPoP']);
  expect(decodeJwt(String(issued.json.access_token)).cnf).toEqual({ jkt: expect.any(String) });
  const unbound = await client.ask({ proof: 'none' });
  expect(errorOf(unbound)).toEqual(refusedProof);
});

test('A-375 FAPI2-SP 5.3.4-5 a token from before the profile, which is bound to no key, is refused', async () => {
  const standard = await harness.openDoor({ settings: { profile: 'standard', dpop: 'on' } });
  const before = await harness.newClient({ at: standard.url });
  const unbound = String((await before.ask({ proof: 'none' })).json.access_token);
  expect((await sendRequest(standard.url, 'GET', read, { headers: bearer(unbound) })).status).toBe(200);
  const refused = await sendRequest(harness.url, 'GET', read, { headers: bearer(unbound) });
  expect(errorOf(refused)).toEqual([401, 'invalid_token']);
  await standard.close();
});

test('FAPI2-SP 5.3.4-5 the sender of a bound token proves its key: no proof, another key and the scheme Bearer are refused', async () => {
  expect((await client.call(token)).status).toBe(200);
  expect((await sendRequest(harness.url, 'GET', read, { headers: bearer(token) })).status).toBe(401);
  const noProof = await sendRequest(harness.url, 'GET', read, { headers: { authorization: `DPoP ${token}` } });
  expect(errorOf(noProof)).toEqual([401, 'invalid_dpop_proof']);
  const stranger = await harness.newClient();
  expect(errorOf(await stranger.call(token))).toEqual([401, 'invalid_dpop_proof']);
});

test('A-377 FAPI2-SP 5.3.2.1-8 `aud` of an assertion is the issuer as a string: no list, no endpoint, no other server', async () => {
  const endpoint = `${harness.url}/api/oauth/token`;
  for (const aud of [
    [harness.url],
    [harness.url, endpoint],
    endpoint,
    `${harness.url}/`,
    'https://other.example',
    undefined,
  ])
    expect(errorOf(await client.ask({ assertion: { claims: { aud } } }))).toEqual(refusedClient);
  expect((await client.ask({ assertion: { claims: { aud: harness.url } } })).status).toBe(200);
});

test('FAPI2-SP 5.3.2.1-8 and -13 hold for assertions at introspection and revocation too', async () => {
  const at = (ahead: number) => Math.floor(harness.clock.now().getTime() / 1000) + ahead;
  for (const endpoint of ['introspect', 'revoke']) {
    const target = `/api/oauth/${endpoint}`;
    // Each endpoint has a client of its own, since refused assertions of one client are counted together.
    const other = await harness.newClient();
    const own = await other.token();
    await harness.credentials.setClientMayIntrospect(other.id, true);
    const ask = async (claims: Record<string, unknown>): Promise<Reply> => {
      const form = { client_assertion_type: assertionType, client_assertion: await other.assert({ claims }) };
      return postToken(harness.url, { ...form, token: own }, {}, target);
    };
    await until(async () => (await ask({})).status === 200);
    for (const claims of [
      { aud: [harness.url] },
      { aud: harness.url + target },
      { aud: `${harness.url}/api/oauth/token` },
      { iat: at(62), exp: at(120) },
      { nbf: at(62), exp: at(120) },
    ])
      expect([endpoint, claims, (await ask(claims)).json.error]).toEqual([endpoint, claims, 'invalid_client']);
    expect((await ask({ iat: at(10), nbf: at(10) })).status).toBe(200);
  }
});

test('A-378 FAPI2-SP 5.3.2.1-13 `iat` and `nbf` of an assertion may be 10 s ahead, and not more than 60 s', async () => {
  const at = (ahead: number) => Math.floor(harness.clock.now().getTime() / 1000) + ahead;
  for (const claim of ['iat', 'nbf']) {
    for (const ahead of [8, 10])
      expect((await client.ask({ assertion: { claims: { [claim]: at(ahead), exp: at(120) } } })).status).toBe(200);
    expect(errorOf(await client.ask({ assertion: { claims: { [claim]: at(62), exp: at(120) } } }))).toEqual(
      refusedClient,
    );
  }
  expect(errorOf(await client.ask({ assertion: { claims: { exp: at(0) } } }))).toEqual(refusedClient);
  expect(errorOf(await client.ask({ assertion: { claims: { exp: at(-5) } } }))).toEqual(refusedClient);
});

test('A-378 FAPI2-SP 5.3.2.1-13 `iat` and `nbf` of a proof may be 10 s ahead, and not more than 60 s, here and there', async () => {
  const at = (ahead: number) => Math.floor(harness.clock.now().getTime() / 1000) + ahead;
  for (const claims of [{ iat: at(8) }, { iat: at(10) }, { nbf: at(8), exp: at(300) }, { iat: at(-10) }]) {
    expect((await client.ask({ proof: { claims } })).status).toBe(200);
    expect((await client.call(token, { claims })).status).toBe(200);
  }
  for (const claims of [{ iat: at(62) }, { nbf: at(62) }, { exp: at(0) }, { exp: at(-5) }, { iat: at(-70) }]) {
    expect(errorOf(await client.ask({ proof: { claims } }))).toEqual(refusedProof);
    expect(errorOf(await client.call(token, { claims }))).toEqual([401, 'invalid_dpop_proof']);
  }
});

test('FAPI2-SP 5.3.2.1-6 an assertion is used once', async () => {
  const form = { client_assertion: await client.assert() };
  expect((await client.ask({ form })).status).toBe(200);
  expect(errorOf(await client.ask({ form }))).toEqual(refusedClient);
});

test('A-379 FAPI2-SP 5.3.2.1-1 the metadata has what the profile allows, and nothing else', async () => {
  const methods = ['private_key_jwt'];
  const algorithms = ['ES256', 'EdDSA', 'PS256'];
  const metadata = await serverMetadata();
  expect(metadata).toMatchObject({
    issuer: harness.url,
    grant_types_supported: ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'],
    dpop_signing_alg_values_supported: algorithms,
  });
  for (const endpoint of ['token', 'revocation', 'introspection']) {
    expect(metadata[`${endpoint}_endpoint_auth_methods_supported`]).toEqual(methods);
    expect(metadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`]).toEqual(algorithms);
  }
  const resource = await get('/.well-known/oauth-protected-resource');
  expect(resource.dpop_signing_alg_values_supported).toEqual(algorithms);
});

test('FAPI2-SP 5.3.2.1-4 and -5 an exchange needs the proof of the key that the token is bound to, and gives a bound one', async () => {
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: await client.token(),
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  };
  expect(errorOf(await client.ask({ form, proof: 'none' }))).toEqual(refusedProof);
  const exchanged = await client.ask({ form });
  expect([exchanged.status, exchanged.json.token_type]).toEqual([200, 'DPoP']);
  expect(decodeJwt(String(exchanged.json.access_token)).cnf).toEqual(decodeJwt(form.subject_token).cnf);
});

test('FAPI2-SP 5.3.2.1-6 a trusted issuer logs no client in, since its assertion is not signed by a key of the client', async () => {
  const issuer = await startOidcIssuer(() => harness.clock.now(), 'ES256');
  const door = await harness.openDoor({ settings: { internal_issuers: [issuer.url] } });
  const other = await harness.newClient({ at: door.url });
  const trust = { clientId: other.id, issuer: issuer.url, subject: 'pod', audience: 'https://api.example' };
  await harness.credentials.addTrust(trust);
  const client_assertion = await issuer.sign({ sub: trust.subject, aud: trust.audience });
  const form = { client_id: other.id, client_assertion_type: assertionType, client_assertion };
  const refused = await other.ask({ form });
  expect(errorOf(refused)).toEqual(refusedClient);
  expect(refused.json.error_description).toContain('FAPI 2.0');
  await door.close();
  await issuer.close();
});

test('FAPI2-SP 5.3.2.1-2 the password grant is refused, as every other grant is', async () => {
  for (const grant_type of ['password', 'authorization_code', 'refresh_token', 'implicit'])
    expect(errorOf(await client.ask({ form: { grant_type } }))).toEqual([400, 'unsupported_grant_type']);
});

test('FAPI2-SP 5.3.2.1-3 a client without credentials of its own gets nothing', async () => {
  expect(errorOf(await postToken(harness.url, { ...grant, client_id: client.id }))).toEqual(refusedClient);
});

test('FAPI2-SP 5.3.2.1-7 and 5.2.3-3 no OAuth endpoint redirects or answers a page of another origin', async () => {
  for (const endpoint of ['token', 'revoke', 'introspect', 'authorize'])
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const target = `/api/oauth/${endpoint}?redirect_uri=https%3A%2F%2Fevil.example`;
      const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
      const reply = await sendRequest(harness.url, method, target, { headers });
      expect([300 <= reply.status && reply.status < 400, reply.headers.location]).toEqual([false, undefined]);
      expect(Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
});

test('FAPI2-SP 5.3.2.1-9 no refresh token is issued, and no answer with a token is stored', async () => {
  const { json, headers } = await client.ask();
  expect(Object.keys(json).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type']);
  expect(headers['cache-control']).toBe('no-store');
});

test('FAPI2-SP 5.3.2.1-10 a nonce of the server may be wanted', async () => {
  const strict = await harness.openDoor({ settings: { dpop: 'nonce' } });
  const other = await harness.newClient({ at: strict.url });
  const asked = await other.ask();
  expect(errorOf(asked)).toEqual([400, 'use_dpop_nonce']);
  const nonce = asked.headers['dpop-nonce'];
  expect((await other.ask({ proof: { claims: { nonce } } })).status).toBe(200);
  await strict.close();
});

test('A-623 RFC 9449 8: a request that is asked for a nonce leaves its assertion usable, once', async () => {
  const strict = await harness.openDoor({ settings: { dpop: 'nonce' } });
  const other = await harness.newClient({ at: strict.url });
  const form = { client_assertion: await other.assert() };
  const forgery = { client_assertion: await other.assert({ signedBy: client.key }) };
  const refused = await other.ask({ form: forgery });
  expect([errorOf(refused), refused.headers['dpop-nonce']]).toEqual([refusedClient, undefined]);
  for (const claims of [{}, { nonce: 'stale' }])
    expect(errorOf(await other.ask({ form, proof: { claims } }))).toEqual([400, 'use_dpop_nonce']);
  const asked = await other.ask({ form });
  const proof = { claims: { nonce: asked.headers['dpop-nonce'] } };
  expect((await other.ask({ form, proof })).status).toBe(200);
  expect(errorOf(await other.ask({ form, proof }))).toEqual(refusedClient);
  await strict.close();
});

test('FAPI2-SP 5.3.2.1-14 a token has the scopes that were asked for, and no more', async () => {
  const issued = await client.ask({ form: { scope: 'read:orders' } });
  expect(decodeJwt(String(issued.json.access_token)).scope).toBe('read:orders');
});

test('FAPI2-SP 5.3.4-1 and -2 tokens are taken from the header Authorization only', async () => {
  const inQuery = await sendRequest(harness.url, 'GET', `${read}?access_token=${token}`);
  expect(errorOf(inQuery)).toEqual([400, 'invalid_request']);
  const both = await client.call(token, {}, { authorization: `dpop ${token}` });
  expect(both.status).toBe(200);
});

test('FAPI2-SP 5.3.4-3 a changed or revoked token is refused', async () => {
  const other = await harness.newClient();
  const own = await other.token();
  expect(errorOf(await other.call(altered(own, own.length - 2)))).toEqual([401, 'invalid_token']);
  const form = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' };
  const revoked = await postToken(
    harness.url,
    { ...form, client_assertion: await other.assert(), token: own },
    {},
    '/api/oauth/revoke',
  );
  expect(revoked.status).toBe(200);
  expect(errorOf(await other.call(own))).toEqual([401, 'invalid_token']);
});

test('FAPI2-SP 5.3.4-4 a token without the scope of the operation is refused with insufficient_scope', async () => {
  const narrow = await harness.newClient({ scopes: ['read:menu'] });
  const refused = await narrow.call(await narrow.token());
  expect(errorOf(refused)).toEqual([403, 'insufficient_scope']);
  expect(refused.headers['www-authenticate']).toContain('scope="read:orders"');
});

test('FAPI2-SP 5.3.4-3 an expired token is refused', async () => {
  harness.clock.move(3_601_000);
  expect(errorOf(await client.call(token))).toEqual([401, 'invalid_token']);
});
