/** Routes of an operator: methods, paths, hosts, access and scopes (interface 15). */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type Headers,
  openDoor,
  type PublicDoor,
  sendRaw,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const route = (id: string, path: string, members: Record<string, unknown> = {}): Record<string, unknown> => ({
  id,
  path,
  scopes: [],
  upstream: 'ordering',
  body: 'any',
  ...members,
});

let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url, {
    moreRoutes: [
      route('all', '/all/*', { method: '*' }),
      route('all.exact', '/all/exact', { method: ['GET', 'PUT'] }),
      route('all.named', '/all/{name}', { method: 'PUT' }),
      route('all.deep', '/all/{name}/deep', { method: '*', class: 'H' }),
      route('shop.item', '/shops/{shop}/items/{item}'),
      route('slash', '/things/', { method: 'POST' }),
      route('slash.one', '/things/{id}/'),
      route('head.get', '/head', { scopes: ['write:menu'] }),
      route('head.all', '/head', { method: '*' }),
      route('host.exact', '/hosted', { hosts: ['one.example', 'two.example'], scopes: ['read:menu'] }),
      route('host.below', '/hosted', { hosts: ['*.below.example'], scopes: ['read:orders'] }),
      route('host.any', '/hosted', { method: ['GET', 'POST'] }),
      route('own.files', '/own/files', { hosts: ['own.example'], scopes: ['write:menu'] }),
      route('own.below', '/own/files/*', { hosts: ['own.example'], scopes: ['write:menu'], method: ['GET', 'POST'] }),
      route('own.open', '/own/*', { access: 'public', scopes: undefined, method: ['GET', 'POST'] }),
      route('guarded', '/guarded/*', { access: 'public', scopes: undefined }),
      route('guarded.admin', '/guarded/admin', { scopes: ['write:menu'] }),
      route('guarded.files', '/guarded/files/*', { scopes: ['write:menu'] }),
      route('guarded.list', '/guarded/list/', { scopes: ['write:menu'] }),
      route('public', '/public/*', { access: 'public', scopes: undefined }),
      route('optional', '/optional/*', { access: 'optional', scopes: undefined }),
      route('by.method', '/by-method', {
        method: ['GET', 'POST'],
        scopes: { GET: ['read:menu'], POST: ['write:menu', 'read:menu'] },
      }),
      route('any.of', '/any-of', {
        scopes: ['read:account'],
        anyOf: [
          ['read:orders', 'manage:orders', 'write:orders'],
          ['read:menu', 'write:menu'],
          ['read:customers', 'write:customers'],
        ],
      }),
    ],
  });
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
});

beforeEach(() => {
  upstream.seen.length = 0;
});

const get = (target: string, headers: Headers = door.asKey, method = 'GET') =>
  sendRequest(door.url, method, target, { headers });

/** What the upstream saw of the last request. */
const arrived = (): string | undefined => {
  const last = upstream.seen.at(-1);
  return last === undefined ? undefined : `${last.method} ${last.target}`;
};

test('A-150 a route for every method forwards each of them, with the raw path and query', async () => {
  for (const method of everyMethod) {
    const target = `/all/some/${method.toLowerCase()}/?q=%2F&r`;
    const answer = await get(target, door.asKey, method);
    expect(answer.status).toBe(200);
    expect(arrived()).toBe(`${method} ${target}`);
  }
  for (const method of ['TRACE', 'PROPFIND', 'MKCOL']) {
    const answer = await get('/all/x/y', door.asKey, method);
    expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, everyMethod.join(', ')]);
  }
  expect(upstream.seen).toHaveLength(everyMethod.length);
});

test('A-150 a path without the method is 405 with the methods of all its routes; the gateway answers OPTIONS there', async () => {
  const refused = await get('/shops/1/items/2', door.asKey, 'DELETE');
  expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  const options = await get('/shops/1/items/2', {}, 'OPTIONS');
  expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
  expect(upstream.seen).toEqual([]);
});

test('A-151 the most specific route that has the method answers, whatever the sequence of the file', async () => {
  // Units tell the routes from each other: reads cost 1, writes 2, heavy ones 20.
  const unitsOf = async (method: string, target: string): Promise<number> => {
    const headers = await door.clientWith(['read:menu']);
    const before = Number(/r=(\d+)/.exec(String((await get('/all/exact', headers)).headers.ratelimit))?.[1]);
    const answer = await get(target, headers, method);
    expect(answer.status).toBe(200);
    return before - Number(/r=(\d+)/.exec(String(answer.headers.ratelimit))?.[1]);
  };
  expect(await unitsOf('GET', '/all/exact')).toBe(1);
  expect(await unitsOf('DELETE', '/all/exact')).toBe(2);
  expect(await unitsOf('PUT', '/all/other')).toBe(2);
  expect(await unitsOf('PUT', '/all/exact/deep')).toBe(20);
  expect(await unitsOf('PUT', '/all/exact/deeper')).toBe(2);
});

test('A-151 HEAD needs the scopes of a named GET beside a route for every method', async () => {
  const reader = await door.clientWith(['read:menu']);
  const statuses = ['GET', 'HEAD', 'DELETE'].map(async (method) => (await get('/head', reader, method)).status);
  expect(await Promise.all(statuses)).toEqual([403, 403, 200]);
});

test('A-152 a parameter is one segment with every character that no reader can mistake, and the upstream gets it raw', async () => {
  for (const segment of [
    '7',
    'a.b~c_d-e',
    "!$&'()*+,;=:@",
    'caf%C3%A9',
    '%F0%9F%8D%95',
    'a%20b',
    'x;v=1',
    '...',
    'a%3Fb',
    '%7Bitem%7D',
  ]) {
    const answer = await get(`/shops/${segment}/items/${segment}`);
    expect([segment, answer.status]).toEqual([segment, 200]);
    expect(arrived()).toBe(`GET /shops/${segment}/items/${segment}`);
  }
});

const ambiguous = [
  '.',
  '..',
  '%2e',
  '%2E.',
  '..;x',
  ';x',
  '.;',
  '%2e%2e%3bx',
  'a%2Fb',
  'a%5Cb',
  'a\\b',
  'a%25b',
  'a%252fb',
  'a%00b',
  'a%0Ab',
  'a%7Fb',
  'a%C2%85b',
  'a%',
  'a%4',
  'a%zz',
  'a%C3',
  'a%C0%AF',
  'a%ED%A0%80',
  'a|b',
  'a"b',
  '{item}',
  'a^b',
  '',
  'x'.repeat(1_025),
];

test.each(ambiguous)(
  'A-152 the segment %s is a path that does not exist, as a parameter and below a rest',
  async (segment) => {
    for (const target of [
      `/shops/1/items/${segment}`,
      `/shops/${segment}/items/1`,
      `/all/${segment}/x`,
      `/all/x/${segment}/`,
    ]) {
      const answer = await sendRaw(
        door.port,
        [
          `GET ${target} HTTP/1.1`,
          'host: gateway',
          ...Object.entries(door.asKey).map(([name, value]) => `${name}: ${value}`),
          'connection: close',
          '\r\n',
        ].join('\r\n'),
      );
      expect([target, answer.split('\r\n', 1)[0]]).toEqual([target, expect.stringMatching(/^HTTP\/1\.1 (404|400) /)]);
    }
    expect(upstream.seen).toEqual([]);
  },
);

test('A-152 everything below includes the slash itself and not the path without it; a final slash of a route is needed', async () => {
  expect((await get('/all/')).status).toBe(200);
  expect((await get('/all')).status).toBe(404);
  expect((await get('/things/', door.asKey, 'POST')).status).toBe(200);
  expect((await get('/things', door.asKey, 'POST')).status).toBe(404);
  expect((await get('/things/5/')).status).toBe(200);
  expect((await get('/things/5')).status).toBe(404);
});

test('A-156 a path that a service may read as one of a more specific route reaches no less specific one', async () => {
  for (const path of [
    '%61dmin',
    'admi%6E',
    'admin;x=1',
    'admin%3Bx',
    'admin/',
    '%61dmin/',
    'f%69les/x',
    'files;a/x',
    'files',
    'list',
    'l%69st/',
  ]) {
    for (const headers of [{}, door.asKey])
      expect([path, (await get(`/guarded/${path}`, headers)).status]).toEqual([path, 404]);
  }
  expect(upstream.seen).toEqual([]);
  for (const path of ['admin', 'files/', 'files/x', 'list/'])
    expect([path, (await get(`/guarded/${path}`, {})).status]).toEqual([path, 401]);
  for (const path of ['other', 'other/', 'adm%C3%ADn', 'x;admin', 'admins'])
    expect([path, (await get(`/guarded/${path}`, {})).status]).toEqual([path, 200]);
});

test('A-153 a route of a host comes before one without, and exists for no other host', async () => {
  const only = (scope: string) => door.clientWith([scope]);
  const menu = await only('read:menu');
  const orders = await only('read:orders');
  const status = async (host: string, headers: Headers): Promise<number> =>
    (await get('/hosted', { ...headers, host })).status;
  expect(await status('one.example', menu)).toBe(200);
  expect(await status('ONE.example:8443', orders)).toBe(403);
  expect(await status('two.example', orders)).toBe(403);
  expect(await status('a.below.example', orders)).toBe(200);
  expect(await status('a.b.below.example', menu)).toBe(403);
  expect(await status('below.example', await only('read:account'))).toBe(200);
  expect(await status('xbelow.example', await only('read:account'))).toBe(200);
  expect((await get('/hosted', { ...orders, host: 'one.example' }, 'POST')).status).toBe(200);
});

test('A-154 a public route needs no credential, checks one that is presented, and never names the caller to the upstream', async () => {
  expect((await get('/public/page', {})).status).toBe(200);
  expect((await get('/public/page', door.asBearer)).status).toBe(200);
  for (const { headers } of upstream.seen) {
    expect(Object.keys(headers).filter((name) => /orderpass|authorization|api-key/.test(name))).toEqual([]);
  }
  expect((await get('/public/page', door.asExpired)).status).toBe(401);
  expect((await get('/public/page', { 'x-api-key': 'wrong' })).status).toBe(401);
  expect(upstream.seen).toHaveLength(2);
});

test('A-154 an optional route passes a caller on when there is one; requests without one share the limit of their address', async () => {
  const anonymous = await get('/optional/page', {});
  expect([anonymous.status, upstream.seen[0]?.headers['x-orderpass-assertion']]).toEqual([200, undefined]);
  expect(anonymous.headers.ratelimit).toBeDefined();
  expect((await get('/optional/page')).status).toBe(200);
  expect(upstream.seen[1]?.headers['x-orderpass-assertion']).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  expect((await get('/optional/page', door.asExpired)).status).toBe(401);
});

test('A-155 scopes of a method are required for that method, and the refusal names exactly those that are missing', async () => {
  const reader = await door.bearerWith(['read:menu']);
  expect((await get('/by-method', reader)).status).toBe(200);
  expect((await get('/by-method', reader, 'HEAD')).status).toBe(200);
  const refused = await get('/by-method', reader, 'POST');
  expect(refused.status).toBe(403);
  expect(refused.headers['www-authenticate']).toContain('scope="write:menu"');
});

test('A-155 one of several sets of scopes is enough; a refusal names the set of which the fewest are missing', async () => {
  const answered = async (...scopes: string[]) => get('/any-of', await door.bearerWith(scopes));
  expect((await answered('read:account', 'read:menu', 'write:menu')).status).toBe(200);
  const near = await answered('read:account', 'read:customers');
  expect([near.status, near.headers['www-authenticate']]).toEqual([
    403,
    expect.stringContaining('scope="write:customers"'),
  ]);
  const far = await answered('read:menu', 'write:menu');
  expect(far.headers['www-authenticate']).toContain('scope="read:account"');
  const none = await answered('read:loyalty');
  expect(none.headers['www-authenticate']).toContain('scope="read:account read:menu write:menu"');
});

test('A-153 a path that a service may read as one of its host never reaches a less specific route of every host', async () => {
  const ask = async (method: string, path: string, host: string): Promise<number> =>
    (await sendRequest(door.url, method, path, { headers: { host } })).status;
  const before = upstream.seen.length;
  for (const path of ['/own/files', '/own/files/', '/own/files/x', '/own/%66iles', '/own/files;x'])
    expect([path, [401, 404, 405].includes(await ask('POST', path, 'own.example'))]).toEqual([path, true]);
  expect(await ask('POST', '/own/files', 'own.example')).toBe(405);
  expect(upstream.seen.length).toBe(before);
  expect(await ask('POST', '/own/other', 'own.example')).toBe(200);
  expect(await ask('POST', '/own/files', 'else.example')).toBe(200);
});
