/** Upstreams by tenant (interface 22): a group of cells, and the directory that says which cell has a tenant. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { routeTableProblems } from '#src/gateway/config.ts';
import { until } from '../../support/until.ts';
import { clientHeaders, type Door, type Harness, openHarness } from '../harness/gateway-harness.ts';
import {
  type Headers,
  type Reply,
  routeFile,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const route = (id: string, path: string, members: Record<string, unknown> = {}) => ({
  ...{ id, path, scopes: [], upstream: 'shops', body: 'any' },
  ...members,
});

const routes = [
  route('asked', '/asked', { method: ['GET', 'POST'], tenant: '?shop' }),
  route('shop', '/shops/{shop}', { tenant: '{shop}' }),
];
const upstreamsTo = (north: string) => ({
  shops: { cells: { default: 'ordering', north: 'north' } },
  north: { addresses: [north], identity: { kind: 'jwt', audience: 'north-service' } },
});

let folder: string;
let harness: Harness;
let second: Door;
let north: TestUpstream;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-cells-'));
  north = await startUpstream();
  const file = routeFile();
  const routes_file = join(folder, 'routes.json');
  const upstreams = upstreamsTo(north.url);
  writeFileSync(routes_file, JSON.stringify({ ...file, upstreams, routes: [...file.routes, ...routes] }));
  const settings = { routes_file, auth_check: 'on', auth_check_audiences: 'north' };
  harness = await openHarness({ settings });
  second = await harness.openDoor({ settings });
});

afterAll(async () => {
  await harness?.close();
  await north?.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (headers: Headers, target: string, url = harness.url): Promise<Reply> =>
  sendRequest(url, 'GET', target, { headers });

/** Where a request arrived, which is answered with 200. */
const cellOf = async (headers: Headers, target: string, url?: string): Promise<'default' | 'north'> => {
  const before = { default: harness.upstream.seen.length, north: north.seen.length };
  const reply = await get(headers, target, url);
  expect([reply.status, reply.json]).toEqual([200, { success: true }]);
  expect(harness.upstream.seen.length + north.seen.length).toBe(before.default + before.north + 1);
  return north.seen.length > before.north ? 'north' : 'default';
};

const tenantIn = async (cell: string): Promise<string> => {
  const tenant = await harness.createTenant();
  if (cell !== 'default') await harness.credentials.setTenantCell(tenant, cell);
  return tenant;
};

const callerOf = async (...tenants: string[]): Promise<Headers> => clientHeaders(await harness.createClient(tenants));

test('A-360 a request goes to the upstream of the cell of its tenant, with the identity for that upstream', async () => {
  const here = await callerOf(await tenantIn('default'));
  const there = await callerOf(await tenantIn('north'));
  expect([await cellOf(here, '/asked'), await cellOf(there, '/asked')]).toEqual(['default', 'north']);
  const token = String(north.seen.at(-1)?.headers['x-orderpass-token']);
  expect(decodeJwt(token).aud).toBe('north-service');
  expect(north.seen.at(-1)?.headers['x-orderpass-assertion']).toBeUndefined();
  expect(harness.upstream.seen.at(-1)?.headers['x-orderpass-assertion']).toBeDefined();
});

test('A-360 a caller with tenants in several cells names one in the query or the path, and 400 says where when it does not', async () => {
  const [a, b, foreign] = [await tenantIn('default'), await tenantIn('north'), await tenantIn('north')];
  const headers = await callerOf(a, b);
  expect(await cellOf(headers, `/asked?shop=${a}`)).toBe('default');
  expect(await cellOf(headers, `/asked?shop=${b}`)).toBe('north');
  expect(await cellOf(headers, `/shops/${b}`)).toBe('north');
  expect(await cellOf(headers, `/shops/${a}`)).toBe('default');
  const seen = north.seen.length + harness.upstream.seen.length;
  const refused = await get(headers, '/asked');
  expect([refused.status, refused.json.error]).toEqual([400, 'MISSING_PARAMETER']);
  expect(refused.json.errors).toEqual([expect.objectContaining({ pointer: 'shop' })]);
  const twice = await get(headers, `/asked?shop=${a}&shop=${b}`);
  expect([twice.status, twice.json.error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(north.seen.length + harness.upstream.seen.length).toBe(seen);
  // The service refuses it by the identity, which does not list the tenant, so the gateway reveals no cell of others.
  expect(await cellOf(headers, `/asked?shop=${foreign}`)).toBe(await cellOf(headers, '/asked?shop=invented'));
  // With all tenants in one cell nothing has to be named.
  expect(await cellOf(await callerOf(b, foreign), '/asked')).toBe('north');
});

test('A-361 a change of the directory is followed by every gateway, and back, for keys, clients and tokens', async () => {
  const tenant = await tenantIn('default');
  const client = await harness.createClient([tenant]);
  const byClient = clientHeaders(client);
  const { value: key } = await harness.credentials.createApiKey({ tenant, name: 'cells' });
  const issued = await sendRequest(harness.url, 'POST', '/api/oauth/token', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...client }).toString(),
  });
  const callers: Headers[] = [
    byClient,
    { 'x-api-key': key },
    { authorization: `Bearer ${String(issued.json.access_token)}` },
  ];
  const everywhere = async () => {
    const found = new Set<string>();
    for (const headers of callers)
      for (const url of [harness.url, second.url]) found.add(await cellOf(headers, '/asked', url));
    return [...found];
  };
  expect(await everywhere()).toEqual(['default']);
  await harness.credentials.setTenantCell(tenant, 'north');
  await until(async () => (await everywhere()).join() === 'north');
  expect(await harness.credentials.showTenantCell(tenant)).toBe('north');
  await harness.credentials.setTenantCell(tenant, 'default');
  await until(async () => (await everywhere()).join() === 'default');
});

test('A-361 a request that runs while its tenant gets another cell ends where it began', async () => {
  const tenant = await tenantIn('default');
  const headers = await callerOf(tenant);
  const { answer } = harness.upstream;
  let finish = (): void => undefined;
  harness.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'text/plain' }).write('began ');
    finish = () => void res.end('and ended here');
  };
  const running = get(headers, '/asked');
  const { length } = harness.upstream.seen;
  await until(() => harness.upstream.seen.length > length);
  harness.upstream.answer = answer;
  await harness.credentials.setTenantCell(tenant, 'north');
  for (const url of [harness.url, second.url])
    await until(async () => (await cellOf(headers, '/asked', url)) === 'north');
  finish();
  expect((await running).text).toBe('began and ended here');
});

test('A-361 a cell that the file of routes does not have is 503 with Retry-After for its tenants only', async () => {
  const headers = await callerOf(await tenantIn('elsewhere'));
  const refused = await get(headers, '/asked');
  expect([refused.status, refused.json.error]).toEqual([503, 'OVERLOADED']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(JSON.stringify(refused.json)).not.toContain('elsewhere');
  expect(await cellOf(await callerOf(await tenantIn('north')), '/asked')).toBe('north');
});

test('A-360 /auth/check gives the identity for the upstream of the cell', async () => {
  const check = async (headers: Headers) =>
    sendRequest(harness.url, 'GET', '/auth/check', {
      headers: { ...headers, 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/asked' },
    });
  const there = await check(await callerOf(await tenantIn('north')));
  expect(there.status).toBe(200);
  expect(decodeJwt(String(there.headers['x-orderpass-token'])).aud).toBe('north-service');
  const both = await check(await callerOf(await tenantIn('north'), await tenantIn('default')));
  expect([both.status === 200, both.headers['x-orderpass-token']]).toEqual([false, undefined]);
});

test('A-362 every mistake in a group of cells has its path', () => {
  const problemsOf = (upstreams: Record<string, unknown>, members: Record<string, unknown> = {}): readonly string[] => {
    const file = join(folder, 'wrong.json');
    const base = routeFile();
    const one = route('asked', '/asked', { tenant: '?shop', ...members });
    writeFileSync(file, JSON.stringify({ ...base, upstreams, routes: [...base.routes, one] }));
    return routeTableProblems(file, ['ordering']);
  };
  const right = upstreamsTo(north.url);
  expect(problemsOf(right)).toEqual([]);
  expect(problemsOf({ ...right, shops: { cells: { north: 'north' } } })).toEqual([
    expect.stringMatching(/^upstreams\.shops\.cells: needs `default`/),
  ]);
  expect(problemsOf({ ...right, shops: { ...right.shops, preserveHost: true, addresses: [north.url] } })).toEqual([
    expect.stringMatching(/^upstreams\.shops\.(addresses|preserveHost): stands at the upstreams/),
    expect.stringMatching(/^upstreams\.shops\.(addresses|preserveHost): stands at the upstreams/),
  ]);
  expect(problemsOf({ ...right, shops: { cells: { default: 'self', north: 'north' } } })).toEqual([
    expect.stringMatching(/^upstreams\.shops\.cells\.default: operations of the gateway/),
  ]);
  expect(problemsOf({ ...right, shops: { cells: { default: 'shops', north: 'north' } } })).toContainEqual(
    expect.stringMatching(/^upstreams\.shops\.cells\.default: shops is a group/),
  );
  expect(problemsOf({ shops: { cells: { default: 'ordering', north: 'nowhere' } } })).toEqual([
    'upstreams.shops.cells.north: no address for upstream nowhere',
  ]);
  expect(problemsOf(right, { tenant: undefined })).toEqual([expect.stringMatching(/^routes\.\d+\.tenant: say where/)]);
  expect(problemsOf(right, { access: 'public', scopes: undefined })).toEqual([
    expect.stringMatching(/^routes\.\d+\.access: shops has cells/),
  ]);
});
