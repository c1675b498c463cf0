/**
 * RFC 9396. Not applicable:
 * - 2.2 the common members locations, datatypes, identifier and privileges: our type does not use them, and refuses them.
 * - 3, 4, 6.2 authorization requests, consent, refresh tokens and comparing grants: there is no such endpoint and no such grant.
 * - 8 errors of the authorization endpoint; 11.1 client metadata: clients are made by support.
 * - 13 privacy: details hold uids and names of operations only.
 */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { detail, type NarrowDoor, openNarrowDoor } from '../gateway/oauth/narrow/narrow-door.ts';

let door: NarrowDoor;

beforeAll(async () => {
  door = await openNarrowDoor();
});

afterAll(() => door?.close());

const askFor = (details: unknown) =>
  door.ask({ authorization_details: typeof details === 'string' ? details : JSON.stringify(details) });

const granted = async (details: object[]): Promise<unknown> => {
  const { status, json } = await askFor(details);
  expect([status, json.error_description]).toEqual([200, undefined]);
  expect(decodeJwt(String(json.access_token)).authorization_details).toEqual(json.authorization_details);
  return json.authorization_details;
};

test('A-394 RFC 9396 2, 7 and 9.1: details come as a JSON array, and the answer and the token have them as granted', async () => {
  const all = { restaurants: ['rst_1'], operations: ['orders.list', 'order.create'], actions: ['read', 'POST'] };
  for (const members of [{}, { restaurants: ['rst_2', 'rst_1'] }, { actions: ['write'] }, all])
    expect(await granted([detail(members)])).toEqual([detail(members)]);
  expect(await granted([detail({ restaurants: ['rst_1'] }), detail({ actions: ['read'] })])).toHaveLength(2);
  expect(await granted([detail({ operations: ['orders.list', 'orders.list'] })])).toEqual([
    detail({ operations: ['orders.list'] }),
  ]);
  const plain = await door.ask();
  expect(plain.json).not.toHaveProperty('authorization_details');
  const { aud, authorization_details: none } = decodeJwt(String(plain.json.access_token));
  expect([aud, none]).toEqual(['https://api.example', undefined]);
});

test('A-394 RFC 9396 7: the answer may name what was granted in another way: routes become operations', async () => {
  expect(await granted([detail({ routes: [{ path: '/api/orders/list' }], restaurants: ['rst_1'] })])).toEqual([
    detail({ restaurants: ['rst_1'], operations: ['orders.list'] }),
  ]);
  const routes = [{ path: '/reports/{shop}', methods: ['POST'] }, { path: '/menus/*' }];
  expect(await granted([detail({ routes, operations: ['orders.get'] })])).toEqual([
    detail({ operations: ['orders.get', 'menus.all'] }),
    detail({ operations: ['reports.day'], actions: ['POST'] }),
  ]);
  expect(
    await granted([detail({ routes: [{ path: '/reports/{shop}', methods: ['GET', 'POST'] }], actions: ['read'] })]),
  ).toEqual([detail({ operations: ['reports.day'], actions: ['GET'] })]);
});

test.each([
  ['an unknown type', [{ type: 'payment_initiation' }], '/0/type'],
  ['an object without a type', [{ actions: ['read'] }], '/0/type'],
  ['an unknown member of the type', [detail({ privileges: ['admin'] })], '/0/privileges'],
  ['a member of the wrong type', [detail({ operations: 'orders.list' })], '/0/operations'],
  ['a name of the wrong type', [detail({ operations: [1] })], '/0/operations'],
  ['an empty list', [detail({}), detail({ restaurants: [] })], '/1/restaurants'],
  ['an unknown operation', [detail({ operations: ['orders.list', 'orders.burn'] })], '/0/operations'],
  ['an unknown action', [detail({ actions: ['delete'] })], '/0/actions'],
  ['a restaurant that is not granted', [detail({ restaurants: ['rst_3'] })], '/0/restaurants'],
  ['a restaurant that does not exist', [detail({ restaurants: ['rst_9'] })], '/0/restaurants'],
  ['an unknown path', [detail({ routes: [{ path: '/nowhere' }] })], '/0/routes/0'],
  [
    'a method that the path does not have',
    [detail({ routes: [{ path: '/menus/*', methods: ['PUT'] }] })],
    '/0/routes/0',
  ],
  ['a route without a path', [detail({ routes: [{ methods: ['GET'] }] })], '/0/routes/0'],
  [
    'routes beside actions that allow none of their methods',
    [detail({ routes: [{ path: '/menus/*', methods: ['GET'] }], actions: ['write'] })],
    '/0/routes',
  ],
  ['an object that allows no operation', [detail({ operations: ['orders.list'], actions: ['write'] })], '/0'],
  ['a list of something else', ['orders.list'], '/0'],
  ['an object in place of the array', detail({}), ''],
  ['an empty array', [], ''],
  ['more objects than a token holds', Array.from({ length: 11 }, () => detail({})), ''],
  ['broken JSON', '[{"type":"orderpass_access"', ''],
  ['text after the array', '[{"type":"orderpass_access"}] x', ''],
  ['a member that is given twice', '[{"type":"orderpass_access","actions":["read"],"actions":["write"]}]', ''],
  ['deep nesting', `[{"type":"orderpass_access","actions":${'['.repeat(2_000)}${']'.repeat(2_000)}}]`, ''],
  ['more text than is read', `[${' '.repeat(9_000)}]`, ''],
])(
  'A-394 RFC 9396 5: %s is invalid_authorization_details, and the pointer names it',
  async (_what, details, pointer) => {
    const { status, json } = await askFor(details);
    expect([status, json.error, json.access_token]).toEqual([400, 'invalid_authorization_details', undefined]);
    expect(json.errors).toEqual([expect.objectContaining({ pointer: `authorization_details${pointer}` })]);
    expect(json.error_description).toBe(`authorization_details${pointer} ${json.errors[0].message}`);
  },
);

test('A-394 a refusal tells nothing about restaurants of others: one text for those that exist and those that do not', async () => {
  const [real, invented] = [
    await askFor([detail({ restaurants: ['rst_3'] })]),
    await askFor([detail({ restaurants: ['rst_9'] })]),
  ];
  expect({ ...real.json, request_id: '' }).toEqual({ ...invented.json, request_id: '' });
});

test('A-394 details that would make a token too long are refused', async () => {
  const names = door.credentials;
  const tenants = Array.from({ length: 99 }, (_, index) => `rst_long_${'x'.repeat(20)}_${index}`);
  for (const tenant of tenants) await names.createTenant(tenant);
  const made = await names.createClient({ name: 'many', tenants });
  const own = { client_id: made.clientId, client_secret: made.secret, grant_type: 'client_credentials' };
  const reply = await door.post('token', {
    ...own,
    authorization_details: JSON.stringify([detail({ restaurants: tenants })]),
  });
  expect([reply.status, reply.json.error]).toEqual([400, 'invalid_authorization_details']);
  const fits = JSON.stringify([detail({ restaurants: tenants.slice(0, 40) })]);
  const { json } = await door.post('token', { ...own, authorization_details: fits });
  const used = await door.call(String(json.access_token), 'GET', '/api/orders/list');
  expect(used.status).toBe(200);
});

test('RFC 9396 7.1 and 9.2: introspection returns the details; a token without any has no such member', async () => {
  const details = [detail({ restaurants: ['rst_1'], actions: ['read'] })];
  const narrowed = await door.post('introspect', { token: await door.tokenOf(details), ...door.service });
  expect(narrowed.json).toMatchObject({ active: true, authorization_details: details, aud: 'https://api.example' });
  const plain = await door.post('introspect', { token: await door.tokenOf(), ...door.service });
  expect(plain.json).not.toHaveProperty('authorization_details');
});

test('RFC 9396 10: the server and the resource name the type in their metadata', async () => {
  for (const document of ['oauth-authorization-server', 'oauth-protected-resource']) {
    const answer = await fetch(`${door.door.url}/.well-known/${document}`);
    expect(await answer.json()).toMatchObject({ authorization_details_types_supported: ['orderpass_access'] });
  }
});

test('RFC 9396 12: details never widen: neither the scopes nor the restaurants of the client', async () => {
  const token = await door.tokenOf([detail({ operations: ['orders.list', 'menu.products'] })], {
    scope: 'read:orders',
  });
  expect((await door.call(token, 'GET', '/api/orders/list')).status).toBe(200);
  const missing = await door.call(token, 'GET', '/api/menu/products');
  expect([missing.status, missing.json.code, missing.json.missing_scopes]).toEqual([
    403,
    'INSUFFICIENT_SCOPE',
    ['read:menu'],
  ]);
});

test('A-394 lists about all restaurants of the client are not open to a token for some of them', async () => {
  const some = await door.tokenOf([detail({ restaurants: ['rst_1'] })]);
  const all = await door.tokenOf([detail({ actions: ['read'] })]);
  for (const path of ['/api/whoami/requests', '/api/whoami/usage']) {
    const refused = await door.call(some, 'GET', path);
    expect([refused.status, refused.json.code], path).toEqual([403, 'UNAUTHORIZED']);
    expect((await door.call(all, 'GET', path)).status, path).toBe(200);
  }
  expect((await door.call(some, 'GET', '/api/whoami')).status).toBe(200);
});
