/**
 * RFC 8707. Not applicable:
 * - 2.1 authorization requests and 2.2 codes and refresh tokens: there are none.
 * - 3 TLS and registering resources at clients: the operator names audiences in the file of routes.
 */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply } from '../gateway/harness/public-door.ts';
import { detail, menus, type NarrowDoor, north, openNarrowDoor, reports } from '../gateway/oauth/narrow/narrow-door.ts';

let door: NarrowDoor;

beforeAll(async () => {
  door = await openNarrowDoor({ mcp: 'on' });
});

afterAll(() => door?.close());

const askFor = (...resources: string[]): Promise<Reply> =>
  door.ask(resources.map((resource): [string, string] => ['resource', resource]));

const tokenFor = async (...resources: string[]): Promise<string> => {
  const { status, json } = await askFor(...resources);
  expect([status, json.error_description]).toEqual([200, undefined]);
  return String(json.access_token);
};

const statuses = async (token: string): Promise<Record<string, number>> => {
  const found: Record<string, number> = {};
  for (const target of ['/reports/rst_1', '/menus/1', '/api/orders/list', '/api/whoami'])
    found[target] = (await door.call(token, 'GET', target)).status;
  return found;
};

test('A-396 RFC 8707 2: the token for a resource has it as audience, and is taken at that service alone', async () => {
  const token = await tokenFor(reports);
  expect(decodeJwt(token).aud).toBe(reports);
  expect(await statuses(token)).toEqual({
    '/reports/rst_1': 200,
    '/menus/1': 401,
    '/api/orders/list': 401,
    '/api/whoami': 401,
  });
  const { headers, json } = await door.call(token, 'GET', '/menus/1');
  expect([json.error, json.error_description]).toEqual(['invalid_token', `The access token is for ${reports} only`]);
  expect(headers['www-authenticate']).toContain('error="invalid_token"');
});

test('A-396 RFC 8707 2: several resources may be named, and the token is for each of them', async () => {
  const token = await tokenFor(reports, menus);
  expect(decodeJwt(token).aud).toEqual([reports, menus]);
  expect(await statuses(token)).toEqual({
    '/reports/rst_1': 200,
    '/menus/1': 200,
    '/api/orders/list': 401,
    '/api/whoami': 401,
  });
});

test('A-396 a resource that is named twice is invalid_request', async () => {
  for (const reply of [
    await askFor(reports, reports),
    await askFor(reports, menus, reports),
    await askFor(origin, origin),
  ])
    expect([reply.status, reply.json.error, reply.json.errors[0].pointer]).toEqual([
      400,
      'invalid_request',
      'resource',
    ]);
});

test('A-396 RFC 8707 2: without a resource, and with this server, the token is the same as ever', async () => {
  for (const resources of [[], [origin], [`${origin}/api`], [`${origin}/mcp`], [origin, reports]]) {
    const token = await tokenFor(...resources);
    expect(decodeJwt(token).aud).toBe(origin);
    expect(Object.values(await statuses(token))).toEqual([200, 200, 200, 200]);
  }
});

test.each([
  'https://elsewhere.example',
  'ordering',
  'reports',
  `${reports}#part`,
  `${reports}/`,
  reports.toUpperCase(),
  `${origin}/reports`,
  '/reports',
])('A-396 RFC 8707 2: the resource %s is invalid_target, alone and beside another', async (resource) => {
  for (const reply of [await askFor(resource), await askFor(reports, resource), await askFor(origin, resource)]) {
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_target']);
    expect(reply.json.errors).toEqual([expect.objectContaining({ pointer: 'resource', code: 'ENUM' })]);
  }
});

test('A-396 a token for services is no token of /mcp, and introspection names its audience', async () => {
  const token = await tokenFor(reports);
  const asked = await door.call(token, 'POST', '/mcp', { 'content-type': 'application/json' });
  expect([asked.status, asked.json.error]).toEqual([401, 'invalid_token']);
  const one = await door.post('introspect', { token, ...door.service });
  expect(one.json).toMatchObject({ active: true, aud: reports });
  const two = await door.post('introspect', { token: await tokenFor(reports, menus), ...door.service });
  expect(two.json).toMatchObject({ active: true, aud: [reports, menus] });
});

test('A-396 a service in cells: the token for one of them is refused where a request goes to another', async () => {
  const authorization_details = JSON.stringify([detail({ restaurants: ['rst_2'] })]);
  const { json } = await door.ask({ resource: north, authorization_details });
  expect((await door.call(String(json.access_token), 'GET', '/shops')).status).toBe(200);
  const token = await tokenFor(north);
  expect((await door.call(token, 'GET', '/shops?shop=rst_2')).status).toBe(200);
  const elsewhere = await door.call(token, 'GET', '/shops?shop=rst_1');
  expect([elsewhere.status, elsewhere.json.error]).toEqual([401, 'invalid_token']);
});
