import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Harness, openHarness, scopes } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
const server = '/.well-known/oauth-authorization-server';
const resource = '/.well-known/oauth-protected-resource';
const jwks = '/api/oauth/jwks';
const methods = ['client_secret_post', 'client_secret_basic', 'private_key_jwt'];
const algorithms = ['ES256', 'EdDSA', 'PS256', 'RS256'];

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

test('A-046 the authorization server names itself, its reachable endpoints and all 13 scopes, and offers nothing more', async () => {
  const { status, json } = await sendRequest(harness.url, 'GET', server);
  expect(status).toBe(200);
  expect(json).toEqual({
    issuer: harness.url,
    token_endpoint: `${harness.url}/api/oauth/token`,
    jwks_uri: `${harness.url}/api/oauth/jwks`,
    scopes_supported: scopes,
    response_types_supported: [],
    grant_types_supported: ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'],
    authorization_details_types_supported: ['orderpass_access'],
    introspection_signing_alg_values_supported: ['ES256'],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint: `${harness.url}/api/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint: `${harness.url}/api/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
  });
  expect(json.scopes_supported).toHaveLength(13);
  for (const endpoint of [json.token_endpoint, json.revocation_endpoint, json.introspection_endpoint]) {
    expect((await sendRequest(harness.url, 'POST', new URL(endpoint).pathname)).status).toBe(400);
  }
  expect((await sendRequest(harness.url, 'GET', new URL(json.jwks_uri).pathname)).status).toBe(200);
});

test('A-046 the protected resource names itself, its one server and the header as the only way', async () => {
  const { status, json } = await sendRequest(harness.url, 'GET', resource);
  expect(status).toBe(200);
  expect(json).toEqual({
    resource: harness.url,
    authorization_servers: [harness.url],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    authorization_details_types_supported: ['orderpass_access'],
  });
});

test('documents are public: cacheable for five minutes, with HEAD and OPTIONS, and credentials are ignored', async () => {
  for (const path of [server, resource, jwks]) {
    const get = await sendRequest(harness.url, 'GET', path);
    expect(get.headers['cache-control']).toBe('public, max-age=300');
    expect(get.headers['content-type']).toMatch(/^application\/json/);
    const head = await sendRequest(harness.url, 'HEAD', path);
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
      200,
      0,
      get.headers['content-length'],
    ]);
    expect((await sendRequest(harness.url, 'OPTIONS', path)).status).toBe(204);
    for (const headers of [{ authorization: 'Bearer garbage' }, { 'x-api-key': 'x' }]) {
      const again = await sendRequest(harness.url, 'GET', path, { headers: headers as Record<string, string> });
      expect([again.status, again.text]).toEqual([200, get.text]);
    }
    const post = await sendRequest(harness.url, 'POST', path);
    expect([post.status, post.json.error, post.headers.allow]).toEqual([
      405,
      'METHOD_NOT_ALLOWED',
      'GET, HEAD, OPTIONS',
    ]);
  }
});

test('what the library behind the token endpoint could serve is not reachable', async () => {
  for (const [method, path] of [
    ['GET', '/.well-known/openid-configuration'],
    ['GET', '/auth'],
    ['GET', '/jwks'],
    ['POST', '/token'],
    ['GET', '/api/oauth/auth'],
    ['POST', '/api/oauth/introspection'],
    ['POST', '/token/revocation'],
    ['POST', '/api/oauth/token/'],
    ['POST', '/API/oauth/token'],
    ['GET', '/session/end'],
  ] as const) {
    const reply = await sendRequest(harness.url, method, path);
    expect([method, path, reply.status]).toEqual([method, path, 404]);
  }
});
