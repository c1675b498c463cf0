/** Real clients find the way by themselves: from the resource to its server, to a token, to an answer. */
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Harness, openHarness, read } from '../harness/gateway-harness.ts';

let harness: Harness;
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  harness = await openHarness();
  client = await harness.createClient([await harness.createTenant()]);
});

afterAll(() => harness.close());

const insecure = { [oauth.allowInsecureRequests]: true };

test('oauth4webapi goes from a challenge to the resource metadata, the server metadata and a token', async () => {
  const refused = await fetch(`${harness.url}${read}`);
  expect(refused.status).toBe(401);
  const pointer = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1];
  expect(pointer).toBe(`${harness.url}/.well-known/oauth-protected-resource`);
  const identifier = new URL(harness.url);
  const resource = await oauth.processResourceDiscoveryResponse(
    identifier,
    await oauth.resourceDiscoveryRequest(identifier, insecure),
  );
  const issuer = new URL(resource.authorization_servers?.[0] ?? '');
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }),
  );
  for (const authenticate of [
    oauth.ClientSecretPost(client.client_secret),
    oauth.ClientSecretBasic(client.client_secret),
  ]) {
    const caller = { client_id: client.client_id };
    const response = await oauth.clientCredentialsGrantRequest(
      as,
      caller,
      authenticate,
      { scope: 'read:orders', resource: resource.resource },
      insecure,
    );
    const token = await oauth.processClientCredentialsResponse(as, caller, response);
    expect([token.token_type, token.scope, token.expires_in]).toEqual(['bearer', 'read:orders', 3600]);
    const url = new URL(read, harness.url);
    const answer = await oauth.protectedResourceRequest(token.access_token, 'GET', url, undefined, undefined, insecure);
    expect(answer.status).toBe(200);

    // The library also knows how a resource server checks such a token (RFC 9068).
    const request = new Request(url, { headers: { authorization: `Bearer ${token.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, harness.url, insecure);
    expect([claims.client_id, claims.scope]).toEqual([client.client_id, 'read:orders']);
  }
});

test('openid-client discovers the server, gets a token by both methods and uses it', async () => {
  for (const method of [
    openid.ClientSecretPost(client.client_secret),
    openid.ClientSecretBasic(client.client_secret),
  ]) {
    const config = await openid.discovery(new URL(harness.url), client.client_id, undefined, method, {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    });
    const token = await openid.clientCredentialsGrant(config, { scope: 'read:menu read:orders' });
    expect([token.token_type, token.scope]).toEqual(['bearer', 'read:orders read:menu']);
    const url = new URL(read, harness.url);
    expect((await openid.fetchProtectedResource(config, token.access_token, url, 'GET')).status).toBe(200);
  }
});

test('real clients understand the refusals: of the token endpoint and of an operation', async () => {
  const config = await openid.discovery(
    new URL(harness.url),
    client.client_id,
    undefined,
    openid.ClientSecretBasic('wrong'),
    {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    },
  );
  await expect(openid.clientCredentialsGrant(config)).rejects.toMatchObject({ status: 401 });
  const url = new URL(read, harness.url);
  await expect(openid.fetchProtectedResource(config, 'garbage', url, 'GET')).rejects.toMatchObject({
    status: 401,
    cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token', realm: 'orderpass' } }],
  });
});
