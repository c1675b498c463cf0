/** Limits of routes and of tenants (interface 20.1 and 20.2). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routeTableProblems } from '#src/gateway/config.ts';
import { clientHeaders, type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, routeFile, sendRequest } from '../harness/public-door.ts';

const route = (id: string, path: string, members: Record<string, unknown> = {}) => ({
  id,
  path,
  scopes: [],
  upstream: 'ordering',
  body: 'any',
  ...members,
});

const tenantLimits = { perMinute: 30 };

const routes = [
  route('dear', '/dear', { method: ['GET', 'POST'], limits: { cost: 5 } }),
  route('narrow', '/narrow', { limits: { cost: 2, perMinute: 10 } }),
  route('narrow.other', '/narrow-other', { limits: { perMinute: 10 } }),
  route('sudden', '/sudden', { limits: { burst: 2 } }),
  route('shop', '/shops/{shop}/items', { tenant: '{shop}' }),
  route('asked', '/asked', { tenant: '?restuid' }),
  route('open', '/open/{shop}', { access: 'public', scopes: undefined, tenant: '{shop}' }),
];

let folder: string;
let harness: Harness;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-route-limits-'));
  const routes_file = join(folder, 'routes.json');
  const file = routeFile();
  writeFileSync(routes_file, JSON.stringify({ ...file, tenantLimits, routes: [...file.routes, ...routes] }));
  harness = await openHarness({ settings: { routes_file, rate_minute_units: 600, rate_burst_units: 10_000 } });
});

afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (headers: Headers, target: string, method = 'GET'): Promise<Reply> =>
  sendRequest(harness.url, method, target, { headers });

const callerOf = async (...tenants: string[]): Promise<Headers> => clientHeaders(await harness.createClient(tenants));

/** `r` of each member of the RateLimit field. */
const leftIn = ({ headers }: Reply): Record<string, number> =>
  Object.fromEntries(
    [...String(headers.ratelimit).matchAll(/"([a-z-]+)";r=(\d+)/g)].map(([, name = '', left]) => [name, Number(left)]),
  );

test('A-212 the cost of a route replaces the units of its class, for every method and for all limits of the request', async () => {
  const headers = await callerOf(await harness.createTenant());
  expect(leftIn(await get(headers, '/dear'))).toMatchObject({ minute: 595, 'tenant-minute': 25 });
  expect(leftIn(await get(headers, '/dear', 'POST'))).toMatchObject({ minute: 590, 'tenant-minute': 20 });
  expect(leftIn(await get(headers, read))).toMatchObject({ minute: 589, 'tenant-minute': 19 });
});

test('A-213 a window of a route counts each caller and route alone, both fields list it, and a refusal charges no limit', async () => {
  const tenant = await harness.createTenant();
  const headers = await callerOf(tenant);
  const replies = [];
  for (let i = 0; i < 7; i += 1) replies.push(await get(headers, '/narrow'));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  const refused = replies.at(-1);
  expect(refused?.headers['ratelimit-policy']).toBe(
    '"minute";q=600;w=60, "burst";q=10000;w=1, "route-minute";q=10;w=60, "tenant-minute";q=30;w=60',
  );
  expect(refused && leftIn(refused)).toMatchObject({ minute: 590, 'route-minute': 0, 'tenant-minute': 20 });
  expect(refused?.json.error).toBe('RATE_LIMIT_EXCEEDED');
  const wait = Number(refused?.headers['retry-after']);
  expect([wait > 1, wait <= 60, refused?.json.retry_after]).toEqual([true, true, wait]);
  expect(leftIn(await get(headers, '/narrow-other'))).toMatchObject({ minute: 589, 'route-minute': 9 });
  const other = await get(await callerOf(tenant), '/narrow');
  expect([other.status, leftIn(other)]).toEqual([200, expect.objectContaining({ 'route-minute': 8 })]);
});

test('A-213 Retry-After is the longest wait of the limits that have no room', async () => {
  const tenant = await harness.createTenant();
  const headers = await callerOf(tenant);
  const storm = await Promise.all(Array.from({ length: 12 }, () => get(headers, '/sudden')));
  const bursts = storm.filter(({ status }) => status === 429);
  expect(bursts.length).toBeGreaterThan(0);
  expect(new Set(bursts.map((reply) => reply.headers['retry-after']))).toEqual(new Set(['1']));
  while ((await get(headers, read)).status === 200);
  const both = await Promise.all(Array.from({ length: 4 }, () => get(headers, '/sudden')));
  for (const { status, headers: given } of both)
    expect([status, Number(given['retry-after']) > 1]).toEqual([429, true]);
});

test('A-214 the units of a tenant are those of all its callers together, and no other tenant is refused', async () => {
  const [first, second] = [await harness.createTenant(), await harness.createTenant()];
  const callers = [await callerOf(first), await callerOf(first)];
  for (let i = 0; i < 30; i += 1) expect((await get(callers[i % 2] ?? {}, read)).status).toBe(200);
  for (const caller of callers) {
    const refused = await get(caller, read);
    expect([refused.status, leftIn(refused)['tenant-minute']]).toEqual([429, 0]);
  }
  const { value: api_key } = await harness.credentials.createApiKey({ tenant: first, name: 'till' });
  expect((await get({ 'x-api-key': api_key }, read)).status).toBe(429);
  expect((await get(await callerOf(second), read)).status).toBe(200);
});

test('A-214 a caller of several tenants uses the units of the tenant that its request names where the route says', async () => {
  const [first, second, foreign] = [
    await harness.createTenant(),
    await harness.createTenant(),
    await harness.createTenant(),
  ];
  const headers = await callerOf(first, second);
  const leftFor = async (target: string) => leftIn(await get(headers, target))['tenant-minute'];
  expect(await leftFor(`/shops/${first}/items`)).toBe(29);
  expect(await leftFor(`/asked?a=1&restuid=${first}`)).toBe(28);
  expect(await leftFor(`/shops/${first.replace('t', '%74')}/items`)).toBe(27);
  // A service may read these as the same tenant.
  expect(await leftFor(`/shops/${first};x/items`)).toBe(26);
  expect(await leftFor(`/shops/${first}%3Bx/items`)).toBe(25);
  expect(await leftFor(`/shops/${first.replace('t', '%74')};v=1/items`)).toBe(24);
  expect(await leftFor(`/shops/${second}/items`)).toBe(29);
  // Neither a tenant that the caller does not reach nor a route that names none.
  expect(await leftFor(`/shops/${foreign}/items`)).toBeUndefined();
  expect(await leftFor('/asked')).toBeUndefined();
  expect(leftIn(await get({}, `/open/${foreign}`))['tenant-minute']).toBeUndefined();
  expect(leftIn(await get(await callerOf(foreign), read))['tenant-minute']).toBe(29);
  const twice = await get(headers, `/asked?restuid=${first}&restuid=${second}`);
  expect([twice.status, twice.json.errors?.[0]?.pointer]).toEqual([400, 'restuid']);
});

test('A-218 limits that no request could meet, and a tenant that the path lacks, are named with their paths', () => {
  const wrong = [
    route('a', '/a', { limits: { cost: 5, perMinute: 4 } }),
    route('b', '/b', { method: 'POST', class: 'H', limits: { burst: 19 } }),
    route('c', '/c', { limits: { cost: 31 } }),
    route('d', '/d/{one}', { tenant: '{two}' }),
    route('e', '/e', { tenant: 'two' }),
    route('f', '/f', { limits: { cost: 0, perHour: 5 } }),
  ];
  const file = join(folder, 'wrong.json');
  const places = (routesOf: unknown[], limits: unknown) => {
    writeFileSync(file, JSON.stringify({ tenantLimits: limits, routes: routesOf }));
    return routeTableProblems(file, ['ordering']).map((problem) => problem.split(': ', 1)[0]);
  };
  expect(places(wrong.slice(0, 4), tenantLimits)).toEqual([
    'routes.0.limits.perMinute',
    'routes.1.limits.burst',
    'routes.2.limits.cost',
    'routes.3.tenant',
  ]);
  expect(places(wrong, { perMinute: 0 }).toSorted()).toEqual([
    'routes.0.limits.perMinute',
    'routes.1.limits.burst',
    'routes.3.tenant',
    'routes.4.tenant',
    'routes.5.limits',
    'routes.5.limits.cost',
    'tenantLimits.perMinute',
  ]);
});

test('A-558 a limit below the units of the cheapest method of a route is named, whatever gives it its class', () => {
  const file = join(folder, 'cheapest.json');
  const placesOf = (routes: unknown[], limits?: unknown) => {
    writeFileSync(file, JSON.stringify({ ...(limits !== undefined && { tenantLimits: limits }), routes }));
    return routeTableProblems(file, ['ordering']).map((problem) => problem.split(': ', 1)[0]);
  };
  const routes = [
    route('write', '/write', { method: 'POST', limits: { perMinute: 1 } }),
    route('writes', '/writes', { method: ['PUT', 'DELETE'], limits: { burst: 1 } }),
    route('both', '/both', { method: ['GET', 'POST'], limits: { burst: 1 } }),
    route('cheap', '/cheap', { method: 'POST', limits: { cost: 1, burst: 1 } }),
    route('enough', '/enough', { method: 'POST', limits: { burst: 2 } }),
  ];
  expect(placesOf(routes)).toEqual(['routes.0.limits.perMinute', 'routes.1.limits.burst']);
  const others = [
    route('post', '/post', { method: 'POST' }),
    { id: 'open', path: '/open', method: 'POST', access: 'public', upstream: 'ordering' },
    route('get', '/get', {}),
  ];
  expect(placesOf(others, { burst: 1 })).toEqual(['routes.0.class']);
});
