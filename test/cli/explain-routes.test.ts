/** Reading the route table from the command line (interface 15). */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { runCommand } from '../support/program.ts';
import { boxOfEarlierStore } from './store/earlier-store.ts';

const scopes = ['read:shop', 'write:shop'].map((name) => ({ name, description: name }));
const route = (id: string, path: string, members: Record<string, unknown> = {}) => ({
  id,
  path,
  scopes: ['read:shop'],
  upstream: 'shop',
  ...members,
});

const routes = [
  route('items', '/shop/items'),
  route('items.write', '/shop/items', { method: ['POST', 'PUT'], scopes: ['write:shop'] }),
  route('item', '/shop/items/{item}', { stripPrefix: '/shop', addPrefix: '/v2' }),
  route('hosted', '/shop/items', { method: '*', hosts: ['one.example'], access: 'public', scopes: undefined }),
  route('below', '/shop/*', { method: '*' }),
];

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-explain-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: string[], table: unknown = { scopes, routes }, more: Record<string, string> = {}) => {
  const file = join(folder, 'routes.json');
  writeFileSync(file, JSON.stringify(table));
  return runCommand(['routes', ...args], {
    ORDERPASS_ROUTES_FILE: file,
    ORDERPASS_UPSTREAMS: 'shop=http://127.0.0.1:9',
    ...more,
  });
};

const explain = async (...args: string[]) => {
  const { code, stdout } = await run(['explain', ...args, '--json']);
  return { code, ...(JSON.parse(stdout) as Record<string, unknown> & { others: { id: string; reason: string }[] }) };
};

test('A-158 explain names the route, what it needs and what the upstream gets, and why each other route does not answer', async () => {
  const found = await explain('get', '/shop/items/7?page=2');
  expect(found).toMatchObject({
    code: 0,
    route: 'item',
    scopes: ['read:shop'],
    class: 'R',
    upstream: 'shop',
    upstream_target: '/v2/items/7?page=2',
  });
  const reasons = Object.fromEntries(found.others.map(({ id, reason }) => [id, reason]));
  expect(reasons).toEqual({
    below: 'item is more specific',
    hosted: 'ends before "7"',
    items: 'ends before "7"',
    'items.write': 'ends before "7"',
  });
});

test('A-158 explain takes a whole URL or --host, and answers for the host', async () => {
  expect(await explain('POST', '/shop/items')).toMatchObject({ route: 'items.write', scopes: ['write:shop'] });
  for (const args of [['https://one.example/shop/items'], ['/shop/items', '--host', 'ONE.example:8443']])
    expect(await explain('POST', ...args)).toMatchObject({ code: 0, route: 'hosted', access: 'public', scopes: [] });
  const { others } = await explain('POST', 'https://two.example/shop/items');
  expect(others.find(({ id }) => id === 'hosted')?.reason).toBe('is for the host one.example');
  expect(others.find(({ id }) => id === 'items')?.reason).toBe('has GET');
});

test('A-158 explain says 404 and 405 as the gateway would, with exit code 1, and names another spelling of a path', async () => {
  const unknown = await explain('GET', '/stores');
  expect(unknown).toMatchObject({ code: 1, route: null, status: 404, others: [] });
  expect(await explain('TRACE', '/shop/x')).toMatchObject({
    code: 1,
    status: 405,
    allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
  });
  const spelled = await explain('GET', '/shop/%69tems');
  expect(spelled).toMatchObject({ code: 1, route: null, status: 404 });
  expect(spelled.others.find(({ id }) => id === 'below')?.reason).toBe(
    'a service may read the path as another spelling of a more specific one',
  );
  expect((await run(['explain', 'GET', 'shop'])).code).toBe(2);
});

test('A-539 explain says what OPTIONS gets without a route of its own, what preflights are allowed, and where browsers are led', async () => {
  const [host, own] = [['https://host.example'], ['https://own.example']];
  const table = {
    scopes,
    cors: { 'api.example': { origins: host } },
    routes: [
      ...[route('plain', '/plain'), route('plain.write', '/plain', { method: 'POST', cors: false })],
      ...[route('any', '/any', { method: '*', cors: { origins: own, methods: ['GET'] } })],
    ],
  };
  const explained = async (...args: string[]) => {
    const { code, stdout } = await run(['explain', ...args, '--json'], table);
    const members = JSON.parse(stdout) as Record<string, unknown>;
    return { ...members, code, answered_by: members.answered_by, preflights: members.preflights };
  };
  // As for every path that the gateway answers, the exit code says that no route does.
  const alone = await explained('OPTIONS', '/plain');
  expect(alone).toMatchObject({ code: 1, route: null, status: 204, allow: 'GET, HEAD, POST, OPTIONS' });
  expect(alone.answered_by).toBe('the gateway itself, since no route at this path names OPTIONS');
  expect(alone.preflights).toEqual({ POST: { set_by: 'route', origins: [] } });
  expect((await explained('OPTIONS', 'https://api.example/plain')).preflights).toMatchObject({
    GET: { set_by: 'host', origins: host },
    POST: { set_by: 'route', origins: [] },
  });
  const any = await explained('OPTIONS', '/any');
  expect(any).toMatchObject({ code: 0, route: 'any', cors: { set_by: 'route', origins: [] } });
  expect(any.preflights).toMatchObject({
    GET: { set_by: 'route', origins: own },
    PUT: { set_by: 'route', origins: [] },
  });
  expect(await explained('GET', '/plain')).toMatchObject({ code: 0, cors: null });
  expect(await explained('GET', '/plain', '--host', 'api.example')).toMatchObject({ cors: { origins: host } });
  expect(await explained('OPTIONS', '/none')).toMatchObject({ code: 1, status: 404 });
  expect(await explained('GET', '/?a')).toMatchObject({ code: 1, status: 404, for_browsers: '302 to /docs' });
  for (const args of [
    ['POST', '/'],
    ['GET', '/none'],
  ])
    expect(await explained(...args)).not.toHaveProperty('for_browsers');
});

test('A-245 explain names the paths that the gateway answers itself, and those that the settings leave to routes', async () => {
  const everything = { scopes, routes: [route('all', '/*', { access: 'public', scopes: undefined })] };
  const explained = async (path: string) => {
    const { code, stdout } = await run(['explain', 'GET', path, '--json'], everything);
    return [code, JSON.parse(stdout) as Record<string, unknown>] as const;
  };
  for (const [path, own] of [
    ['/docs/x?y', '/docs'],
    ['/api/oauth/token', '/api/oauth'],
    ['/healthz', '/healthz'],
    ['/panel', '/panel'],
  ] as const)
    expect(await explained(path)).toEqual([
      1,
      expect.objectContaining({ route: null, answered_by: `the gateway itself, as everything at ${own}` }),
    ]);
  for (const path of ['/healthz/x', '/auth/check']) {
    const [code, members] = await explained(path);
    expect([code, members.route, members.answered_by]).toEqual([0, 'all', undefined]);
  }
});

test('A-633 explain says that the demo answers a path, where the settings allow a demo', async () => {
  const explained = async (path: string, more: Record<string, string> = {}) =>
    JSON.parse((await run(['explain', 'GET', path, '--json'], undefined, more)).stdout) as Record<string, unknown>;
  const text = 'answered by the demo and by no route, if the store has the demo';
  for (const path of ['/demo/receiver', '/demo/receiver/deliveries?x', '/demo/receivers'])
    expect([path, await explained(path)]).toEqual([path, expect.objectContaining({ with_demo: text })]);
  expect(await explained('/demo/x')).not.toHaveProperty('with_demo');
  expect(await explained('/demo/receiver', { NODE_ENV: 'production' })).not.toHaveProperty('with_demo');
  const server = { DATABASE_URL: 'postgresql://user@127.0.0.1:9/none' };
  expect(await explained('/demo/receiver', server)).not.toHaveProperty('with_demo');
});

test('A-205 explain shows the addresses behind a route with their weights, and which of them work', async () => {
  const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const working = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const addresses = [working, { url: 'http://127.0.0.1:9', weight: 3 }];
  try {
    const upstream = { upstream: 'stock' };
    const { stdout } = await run(['explain', 'GET', '/stock', '--json'], {
      ...{ scopes, upstreams: { stock: { addresses } } },
      routes: [route('stock', '/stock', upstream)],
    });
    expect(JSON.parse(stdout)).toMatchObject({
      upstream: 'stock',
      addresses: [
        { address: working, weight: 1, works: true },
        { address: 'http://127.0.0.1:9', weight: 3, works: false },
      ],
    });
  } finally {
    server.close();
  }
});

test('A-158 list shows every route once; check names every problem, and nothing needs a database', async () => {
  const listed = JSON.parse((await run(['list', '--json'])).stdout) as { routes: { id: string; methods: string[] }[] };
  expect(listed.routes.map(({ id, methods }) => [id, methods])).toEqual([
    ['items', ['GET']],
    ['items.write', ['POST', 'PUT']],
    ['item', ['GET']],
    ['hosted', ['*']],
    ['below', ['*']],
  ]);
  expect((await run(['check'])).code).toBe(0);
  const wrong = { scopes, routes: [route('a', '/a', { upstream: 'lost' }), route('a', 'b'), route('c', '/a')] };
  const checked = await run(['check', '--json'], wrong);
  const { valid, problems } = JSON.parse(checked.stdout) as { valid: boolean; problems: string[] };
  expect([checked.code, valid]).toEqual([1, false]);
  expect(problems.join('\n')).toMatch(/routes\.1\.path/);
  expect(problems.join('\n')).toMatch(/c \(\/a\) and a \(\/a\) match the same requests/);
  expect(problems.join('\n')).toMatch(/no address for upstream lost/);
});

test('A-158 check refuses a table that agrees with itself and not with the settings, as a start and a reload do', async () => {
  const origin = 'https://api.example';
  const table = { scopes, upstreams: { shop: { identity: { kind: 'jwt', audience: origin }, tls: {} } }, routes };
  const settings = { ORDERPASS_ORIGIN: origin, ORDERPASS_AUTH_CHECK_AUDIENCES: 'shop,away' };
  const checked = await run(['check', '--json'], table, settings);
  const { valid, problems } = JSON.parse(checked.stdout) as { valid: boolean; problems: string[] };
  expect([checked.code, valid]).toEqual([1, false]);
  expect(problems).toEqual([
    expect.stringContaining('upstreams.shop.tls: needs addresses that begin with https://'),
    expect.stringContaining('upstreams.shop.identity.audience'),
    'upstreams: the setting auth_check_audiences needs an address for away',
  ]);
});

test('A-195 upstream key prints the secret of one service, and refuses one that gets no assertions', async () => {
  const database = await createTestDatabase();
  try {
    const file = join(folder, 'identities.json');
    const upstreams = { shop: { addresses: ['http://127.0.0.1:9'], identity: 'jwt' } };
    const other = route('other', '/other', { upstream: 'other' });
    writeFileSync(file, JSON.stringify({ scopes, upstreams, routes: [...routes, other] }));
    const masterKey = Buffer.alloc(32, 9);
    const keyOf = (name: string) =>
      runCommand(['upstream', 'key', name, '--json'], {
        ...{ ORDERPASS_ROUTES_FILE: file, ORDERPASS_UPSTREAMS: 'other=http://127.0.0.1:9' },
        ...{ DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: masterKey.toString('base64') },
      });
    const key = (await boxOfEarlierStore(database.db, masterKey)).derive('assertion/other').toString('base64');
    expect(JSON.parse((await keyOf('other')).stdout)).toEqual({ upstream: 'other', key });
    for (const name of ['shop', 'nothing'])
      expect(await keyOf(name)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`no upstream ${name}`),
      });
  } finally {
    await database.drop();
  }
});

test('A-219 explain shows what a request costs and which limits it meets beside those of its caller', async () => {
  const limited = route('limited', '/limited/{shop}', { tenant: '{shop}', limits: { cost: 5, perMinute: 100 } });
  const table = { scopes, routes: [...routes, limited], tenantLimits: { perMinute: 1_000, burst: 50 } };
  const explained = async (target: string) =>
    JSON.parse((await run(['explain', 'GET', target, '--json'], table)).stdout) as Record<string, unknown>;
  expect(await explained('/limited/one')).toMatchObject({
    units: 5,
    limits: {
      caller_on_route: { per_minute: 100, burst: null },
      tenant: { per_minute: 1_000, burst: 50, named_by: '{shop}' },
    },
  });
  expect(await explained('/shop/items')).toMatchObject({
    units: 1,
    limits: { caller_on_route: { per_minute: null, burst: null }, tenant: { per_minute: 1_000, named_by: null } },
  });
});
