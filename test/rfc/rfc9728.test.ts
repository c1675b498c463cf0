/**
 * RFC 9728. Not applicable:
 * - 2 jwks_uri, signing algorithms, DPoP and mTLS members, 2.2 signed metadata: optional, not offered.
 * - 2.1 human-readable names: none are given. 3.1 a resource with a path or several in one host: there is one, the origin.
 * - 3.3, 7.3, 7.6 what a reader compares: duties of the other side. 7.1 TLS: ends in front of the process.
 * Known: by 3.3 a strict client that came from WWW-Authenticate compares resource with the address that it asked; the
 * interface names one resource for all operations, the origin.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { bearer, openRfcHarness, type RfcHarness } from './rfc-harness.ts';

let harness: RfcHarness;
let reply: Reply;

const path = '/.well-known/oauth-protected-resource';

beforeAll(async () => {
  harness = await openRfcHarness();
  reply = await sendRequest(harness.door.url, 'GET', path);
});

afterAll(() => harness.close());

test('RFC 9728 2: resource is there, an https address without fragment', () => {
  const { protocol, hash } = new URL(reply.json.resource);
  expect([protocol, hash]).toEqual(['https:', '']);
});

test('RFC 9728 2: authorization_servers are issuers, and their document is found and names the same issuer', async () => {
  const servers: string[] = reply.json.authorization_servers;
  expect(servers).toEqual([origin]);
  const { json } = await sendRequest(harness.door.url, 'GET', '/.well-known/oauth-authorization-server');
  expect(json.issuer).toBe(servers[0]);
});

test('RFC 9728 2: bearer_methods_supported names the header, and the others do not work', async () => {
  expect(reply.json.bearer_methods_supported).toEqual(['header']);
  const token = await harness.tokenOf(harness.client);
  expect((await harness.read(bearer(token))).status).toBe(200);
  expect((await harness.read({}, `/api/orders/list?access_token=${token}`)).status).toBe(400);
});

test('RFC 9728 2: scopes_supported are names that tokens can have, each once', async () => {
  const scopes: string[] = reply.json.scopes_supported;
  expect([scopes.length, new Set(scopes).size]).toEqual([13, 13]);
  const { status, json } = await harness.post('token', {
    grant_type: 'client_credentials',
    ...harness.client,
    scope: scopes.join(' '),
  });
  expect([status, json.scope]).toEqual([200, scopes.join(' ')]);
});

test('RFC 9728 3: the document is at the well-known place between host and path of the resource', () => {
  expect([new URL(reply.json.resource).pathname, reply.status]).toEqual(['/', 200]);
});

test('RFC 9728 3.1: it is asked for by GET; writing methods are refused', async () => {
  for (const method of ['POST', 'PUT', 'DELETE']) {
    expect((await sendRequest(harness.door.url, method, path)).status).toBe(405);
  }
});

test('RFC 9728 3.2: success is 200 with a JSON object of type application/json, several values as arrays', () => {
  expect(reply.headers['content-type']).toMatch(/^application\/json\b/);
  for (const name of ['authorization_servers', 'scopes_supported', 'bearer_methods_supported']) {
    expect(Array.isArray(reply.json[name]), name).toBe(true);
  }
});

test('RFC 9728 3.2: members without a value are left out', () => {
  for (const [name, value] of Object.entries(reply.json)) {
    expect(Array.isArray(value) ? value.length : value, name).toBeTruthy();
  }
});

test('RFC 9728 3.3: resource is the identifier that the address of the document was made from', () => {
  expect(reply.json.resource).toBe(origin);
});

test('RFC 9728 5.1: the challenge of a missing scope names the document too, and success names none', async () => {
  const token = await harness.tokenOf(harness.client, { scope: 'read:menu' });
  const lacking = await harness.read(bearer(token));
  expect([lacking.status, lacking.headers['www-authenticate']]).toEqual([
    403,
    expect.stringContaining(`resource_metadata="${origin}${path}"`),
  ]);
  const fine = await harness.read(bearer(await harness.tokenOf(harness.client)));
  expect([fine.status, fine.headers['www-authenticate']]).toEqual([200, undefined]);
});

test('RFC 9728 5.1: the answer to a refused request names the document in resource_metadata', async () => {
  for (const headers of [{}, bearer('garbage'), { 'x-api-key': 'opk_wrong' }]) {
    const { status, headers: answered } = await harness.read(headers);
    expect(status).toBe(401);
    expect(answered['www-authenticate']).toContain(`resource_metadata="${origin}${path}"`);
  }
});
