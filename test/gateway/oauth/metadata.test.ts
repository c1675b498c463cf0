import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStand, type Stand, scopes } from '../harness/gateway-harness.ts';
import { knock } from '../harness/public-door.ts';

let stand: Stand;
const server = '/.well-known/oauth-authorization-server';
const resource = '/.well-known/oauth-protected-resource';
const jwks = '/api/oauth/jwks';
const methods = ['client_secret_post', 'client_secret_basic', 'private_key_jwt'];
const algorithms = ['ES256', 'EdDSA', 'PS256', 'RS256'];

beforeAll(async () => {
  stand = await openStand();
});

afterAll(() => stand.close());

test('A-046 the authorization server names itself, its reachable endpoints and all 13 scopes, and offers nothing more', async () => {
  const { status, json } = await knock(stand.url, 'GET', server);
  expect(status).toBe(200);
  expect(json).toEqual({
    issuer: stand.url,
    token_endpoint: `${stand.url}/api/oauth/token`,
    jwks_uri: `${stand.url}/api/oauth/jwks`,
    scopes_supported: scopes,
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint: `${stand.url}/api/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint: `${stand.url}/api/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
  });
  expect(json.scopes_supported).toHaveLength(13);
  for (const endpoint of [json.token_endpoint, json.revocation_endpoint, json.introspection_endpoint]) {
    expect((await knock(stand.url, 'POST', new URL(endpoint).pathname)).status).toBe(400);
  }
  expect((await knock(stand.url, 'GET', new URL(json.jwks_uri).pathname)).status).toBe(200);
});

test('A-046 the protected resource names itself, its one server and the header as the only way', async () => {
  const { status, json } = await knock(stand.url, 'GET', resource);
  expect(status).toBe(200);
  expect(json).toEqual({
    resource: stand.url,
    authorization_servers: [stand.url],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
  });
});

test('documents are public: cacheable for five minutes, with HEAD and OPTIONS, and credentials are ignored', async () => {
  for (const path of [server, resource, jwks]) {
    const get = await knock(stand.url, 'GET', path);
    expect(get.headers['cache-control']).toBe('public, max-age=300');
    expect(get.headers['content-type']).toMatch(/^application\/json/);
    const head = await knock(stand.url, 'HEAD', path);
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
      200,
      0,
      get.headers['content-length'],
    ]);
    expect((await knock(stand.url, 'OPTIONS', path)).status).toBe(204);
    for (const headers of [{ authorization: 'Bearer garbage' }, { 'x-api-key': 'x' }]) {
      const again = await knock(stand.url, 'GET', path, { headers: headers as Record<string, string> });
      expect([again.status, again.text]).toEqual([200, get.text]);
    }
    const post = await knock(stand.url, 'POST', path);
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
    const reply = await knock(stand.url, method, path);
    expect([method, path, reply.status]).toEqual([method, path, 404]);
  }
});
