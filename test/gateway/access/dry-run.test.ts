import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import {
  openDoor,
  type PublicDoor,
  routeFile,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const read = '/api/orders/list';
const other = '/api/menu/categories';

const tried = (route: Record<string, unknown>): Record<string, unknown> =>
  route.id === 'orders.list' ? { ...route, dryRun: { scopes: ['read:customers', 'write:menu'] } } : route;

let upstream: TestUpstream;
let door: PublicDoor;
let folder: string;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url, { perRoute: tried, settings: { auth_check: 'on' } });
  folder = mkdtempSync(join(tmpdir(), 'orderpass-dry-run-'));
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
  rmSync(folder, { recursive: true });
});

type Row = { route: string; caller: string; missing_scopes: string[]; calls: number; last_seen: string };

/** The command, with the route table of the door unless another one is given. */
const report = async (perRoute: typeof tried, ...args: string[]) => {
  const file = join(folder, 'routes.json');
  const table = routeFile();
  writeFileSync(file, JSON.stringify({ ...table, routes: table.routes.map(perRoute) }));
  return runCommand(['policy', 'report', ...args], {
    DATABASE_URL: door.database.url,
    ORDERPASS_MASTER_KEY: door.masterKey,
    ORDERPASS_ROUTES_FILE: file,
  });
};

const rows = async (perRoute = tried): Promise<Row[]> => {
  const { code, stdout, stderr } = await report(perRoute, '--json');
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout).would_break;
};

const written = async (): Promise<number> => {
  const { rows: found } = await door.database.pool.query(
    'select coalesce(sum(calls), 0)::int8 as calls from gateway.policy_dry_run',
  );
  return found[0].calls;
};

test('scopes in a dry run refuse no caller; callers without them are counted by route, caller and scopes', async () => {
  const get = (headers: Record<string, string>, target = read, method = 'GET') =>
    sendRequest(door.url, method, target, { headers });
  const reader = await door.clientWith(['read:orders', 'write:menu']);
  const full = await door.clientWith(routeFile().scopes.map(({ name }) => name));
  const calls: [Record<string, string>, number][] = [
    [door.asKey, 3],
    [reader, 2],
    [full, 4],
    [await door.bearerWith(['read:orders']), 1],
  ];
  for (const [headers, times] of calls) {
    for (let i = 0; i < times; i += 1) expect((await get(headers)).status).toBe(200);
  }
  expect((await get(reader, read, 'HEAD')).status).toBe(200);
  expect((await get(door.asKey, other)).status).toBe(200);
  // What is refused anyway tells nothing about the new scopes.
  expect((await get({ 'x-api-key': 'wrong' })).status).toBe(401);
  expect((await get(await door.clientWith(['read:menu']))).status).toBe(403);
  const asked = await sendRequest(door.url, 'GET', `/auth/check${read}`, { headers: door.asKey });
  expect(asked.status).toBe(200);
  await until(async () => (await written()) === 8);

  const found = await rows();
  const facts = found.map(({ route, missing_scopes, calls: n }) => [route, missing_scopes, n]);
  expect(facts).toHaveLength(3);
  expect(facts).toEqual(
    expect.arrayContaining([
      ['orders.list', ['write:menu'], 4],
      ['orders.list', ['read:customers'], 3],
      ['orders.list', ['read:customers', 'write:menu'], 1],
    ]),
  );
  const ofReader = found.find(({ caller }) => caller === reader['x-client-id']);
  expect(ofReader?.missing_scopes).toEqual(['read:customers']);
  expect(Math.abs(Date.parse(String(ofReader?.last_seen)) - Date.now())).toBeLessThan(60_000);
  expect(found.some(({ caller }) => caller === full['x-client-id'])).toBe(false);

  // Later batches add to the same rows.
  expect((await get(reader)).status).toBe(200);
  await until(async () => (await written()) === 9);
  expect((await rows()).find(({ caller }) => caller === reader['x-client-id'])?.calls).toBe(4);
});

test('the report names only what the route table still tries out, for people and for scripts', async () => {
  expect((await rows()).length).toBe(3);
  const narrower = (route: Record<string, unknown>) =>
    route.id === 'orders.list' ? { ...route, dryRun: { scopes: ['write:menu'] } } : route;
  expect((await rows(narrower)).map(({ missing_scopes }) => missing_scopes)).toEqual([['write:menu'], ['write:menu']]);
  expect(await rows((route) => route)).toEqual([]);
  const text = await report(tried);
  expect(text.stdout.trim().split('\n')).toHaveLength(3);
  expect(text.stdout).toMatch(/orders\.list {2}misses write:menu {2}4 calls, last \d{4}-/);
  expect((await report((route) => route)).stdout).toContain('would be refused');
  expect((await report(tried, '--days', 'x')).code).toBe(2);
});

test('thousands of rows of removed routes hide no caller, and a report that ends early names that there are more', async () => {
  const addRows = (route: string, count: number) =>
    door.database.pool.query(
      `insert into gateway.policy_dry_run (route, caller, missing_scopes, calls, first_seen, last_seen)
       select $1, 'cli_' || n, '{write:menu}', 1, now, now
       from generate_series(1, $2::int) as n, date_trunc('milliseconds', now() + interval '1 s') as now`,
      [route, count],
    );
  await addRows('gone.list', 10_200);
  expect((await rows()).length).toBe(3);
  await addRows('orders.list', 10_200);
  const lines = (await report(tried)).stdout.trim().split('\n');
  expect(lines).toHaveLength(10_001);
  expect(lines.at(-1)).toContain('There are more than these 10000');
});

test('a scope that does not exist cannot be tried out', async () => {
  const wrong = openDoor(upstream.url, { routes: { dryRun: { scopes: ['read:nothing'] } } });
  await expect(wrong).rejects.toThrow('no such scope: read:nothing');
});
