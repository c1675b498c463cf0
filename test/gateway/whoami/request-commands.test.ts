/** The list of requests at the command line, over the whole program. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';

type Json = ReturnType<typeof JSON.parse>;

let database: TestDatabase;
let env: Record<string, string>;
let program: RunningProgram;
let restaurants: string[];
let clientId: string;
let client: Record<string, string>;
let key: Record<string, string>;

const json = (...args: string[]): Promise<Json> => runJson(args, env);

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  restaurants = [];
  for (const name of ['Da Ada', 'Da Bea'])
    restaurants.push((await json('restaurant', 'create', '--name', name)).restuid as string);
  const [first = '', second = ''] = restaurants;
  const made = await json('client', 'create', '--name', 'Till', '--restaurant', first, '--restaurant', second);
  clientId = made.client_id as string;
  client = { 'x-client-id': clientId, 'x-client-secret': made.client_secret as string };
  key = await json('key', 'create', '--restaurant', first, '--name', 'Till');
  program = await startProgram(env);
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
});

const call = async (path: string, headers: Record<string, string>, body?: object): Promise<number> => {
  const answer = await fetch(`${program.url}/api/${path}`, {
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  await answer.arrayBuffer();
  return answer.status;
};

test('A-299 A-290 the requests of a client with the restaurant that the body named, by page, filtered, and as counts', async () => {
  const [first = '', second = ''] = restaurants;
  expect(await call('customer/create', client, { restuid: second, email: 'ada@example.com' })).toBe(200);
  expect(await call('customer/create', client, { restuid: first, email: 'no email' })).toBe(400);
  expect(await call('customer/create', client, { email: 'bea@example.com' })).toBe(400);
  expect(await call(`orders/list?restuid=${first}`, client)).toBe(200);
  const list = (...args: string[]): Promise<Json> => json('requests', '--client-id', clientId, ...args);
  await until(async () => (await list()).requests.length === 3);
  const { requests, next_cursor: end } = await list();
  expect(end).toBeNull();
  expect(requests.map((one: Json) => [one.status, one.code, one.restuid])).toEqual([
    [400, 'MISSING_PARAMETER', null],
    [400, 'VALIDATION_ERROR', first],
    [200, null, second],
  ]);
  expect(Object.keys(requests[0])).toEqual([
    ...['caller', 'at', 'request_id', 'method', 'route', 'status', 'code', 'duration_ms', 'idempotency_key', 'restuid'],
  ]);
  const page = await list('--limit', '2');
  expect(page.requests).toEqual(requests.slice(0, 2));
  expect((await list('--limit', '2', '--cursor', page.next_cursor)).requests).toEqual(requests.slice(2));
  for (const [args, count] of [
    [['--status', '4xx'], 2],
    [['--restaurant', second], 1],
    [['--code', 'VALIDATION_ERROR', '--route', 'customer.create'], 1],
    [['--since', new Date(Date.now() + 60_000).toISOString()], 0],
    [['--until', new Date(Date.now() + 60_000).toISOString()], 3],
    [['--request-id', String(requests[1].request_id)], 1],
  ] as const)
    expect([args, (await list(...args)).requests.length]).toEqual([args, count]);
  await until(async () => (await list('--hours', '--route', 'orders.list')).hours.length === 1);
  expect((await list('--hours', '--route', 'orders.list')).hours).toMatchObject([{ reads: 1, writes: 0, refused: 0 }]);
  const shown = await runCommand(['requests', '--client-id', clientId, '--limit', '1'], env);
  expect(shown.stdout).toContain('code=MISSING_PARAMETER');
  expect(shown.stdout).toContain('--cursor ');
});

test('A-299 requests of a key; wrong use is refused with the reason', async () => {
  const { api_key: value = '', key_id: id = '' } = key;
  expect(await call('customer/create', { 'x-api-key': value }, { email: 'eve@example.com' })).toBe(200);
  await until(async () => (await json('requests', '--key', id)).requests.length === 1);
  for (const [args, code, text] of [
    [[], 2, 'log in first'],
    [['--key', id, '--client-id', clientId], 2, 'not both'],
    [['--key', id, '--status', '400'], 2, '--status is 2xx'],
    [['--key', id, '--since', 'soon'], 2, '--since is a time'],
    [['--key', id, '--limit', '0'], 2, '--limit is 1 to 1000'],
    [['--key', id, '--hours', '--code', 'CONFLICT'], 2, '--hours takes no other filter'],
    [['--key', id, '--cursor', 'abc'], 1, 'cursor'],
    [['--key', 'opk_none'], 1, 'There is no key opk_none'],
    [['--client-id', id], 1, 'There is no client'],
  ] as const) {
    const refused = await runCommand(['requests', ...args], { ...env, XDG_CONFIG_HOME: '/nonexistent' });
    expect([args, refused.code, refused.stderr]).toEqual([args, code, expect.stringContaining(text)]);
  }
  const off = await runCommand(['requests', '--key', id], { ...env, ORDERPASS_REQUEST_LOG_DAYS: '0' });
  expect([off.code, off.stderr]).toEqual([1, expect.stringContaining('no requests are kept')]);
});
