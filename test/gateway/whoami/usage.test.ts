/** What a caller sees of its limits and counts, and what lists cost when much is stored. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRequestLists, type RequestFilter } from '#src/gateway/index.ts';
import { statementsOf } from '../../support/statements-of.ts';
import { until } from '../../support/until.ts';
import { clientHeaders, type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';
import { usageOf } from './request-harness.ts';

let harness: Harness;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const get = (target: string, headers: Headers): Promise<Reply> => sendRequest(harness.url, 'GET', target, { headers });

test('A-296 limits, units, the days and the counts of a client are what it used, and nothing of others', async () => {
  const client = await harness.createClient([tenant]);
  const limits = { day: 100_000, month: 500_000, minute: 50_000 };
  await harness.credentials.setLimits('client', client.client_id, limits);
  const headers = clientHeaders(client);
  await until(async () => (await get('/api/whoami', headers)).json.credential?.limits.day === 100_000);
  const { usage: before } = await usageOf(harness.url, headers);
  for (let i = 0; i < 4; i += 1) await get(read, headers);
  await get('/api/menu/none', headers);
  await until(async () => (await usageOf(harness.url, headers)).usage.day_units >= before.day_units + 4);
  await until(async () => {
    const hours: { route: string | null; reads: number }[] = (await usageOf(harness.url, headers)).hours;
    // An hour may end between two of the requests.
    return hours.reduce((sum, { route, reads }) => sum + (route === 'orders.list' ? reads : 0), 0) === 4;
  });
  const answer = await usageOf(harness.url, headers, '?days=3');
  expect(Object.keys(answer)).toEqual([
    ...['success', 'usage', 'hours', 'kept_days', 'pagesize', 'more', 'next_cursor'],
  ]);
  const { usage, hours } = answer;
  expect(usage.limits).toEqual({ minute: 50_000, burst: null, day: 100_000, month: 500_000, concurrency: null });
  expect(usage.days).toHaveLength(3);
  expect(usage.days[2]).toMatchObject({ date: harness.clock.now().toISOString().slice(0, 10), refused_elsewhere: 0 });
  expect(usage.month_units).toBe(usage.day_units);
  expect(usage.rate.find(({ policy }: { policy: string }) => policy === 'day')).toMatchObject({ quota: 100_000 });
  const unknown = hours.find(({ route }: { route: string | null }) => route === null);
  expect(unknown).toMatchObject({ reads: 0, writes: 0, refused: 1, failed: 0 });
  expect(unknown.hour_iso).toMatch(/:00:00Z$/);
  const other = await usageOf(harness.url, clientHeaders(await harness.createClient([tenant])));
  expect(other.hours).toEqual([]);
});

test('A-296 the hours by page: each hour and operation once, newest first, and of one operation alone', async () => {
  const { value, keyId } = await harness.credentials.createApiKey({ tenant, name: 'old' });
  const { db, pool } = harness.database;
  await pool.query('select gateway.make_request_day(now() - n * interval $$1 day$$) from generate_series(0, 6) n');
  await pool.query(
    `insert into gateway.request_hours
     select $1, date_trunc('hour', now()) - h * interval '1 hour', 'route.' || r, h, r, 1, 0
     from generate_series(1, 100) h, generate_series(1, 3) r`,
    [keyId],
  );
  const headers = { 'x-api-key': value };
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const answer: Reply['json'] = await usageOf(
      harness.url,
      headers,
      `?pagesize=70${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    for (const { hour_iso, route } of answer.hours) if (route !== 'whoami.usage') seen.push(`${hour_iso} ${route}`);
    cursor = answer.next_cursor;
  }
  expect(seen).toHaveLength(300);
  expect(new Set(seen).size).toBe(300);
  expect(seen).toEqual(seen.toSorted().reverse());
  expect((await usageOf(harness.url, headers, '?route=route.2&pagesize=100')).hours).toHaveLength(100);
  const lists = createRequestLists({ db, box: harness.box, clock: harness.clock, days: 7 });
  const { keyId: next } = await harness.credentials.rotateApiKey(keyId, 1);
  await pool.query(
    `insert into gateway.request_hours select $1, date_trunc('hour', now()) - interval '1 hour', 'route.1', 5, 5, 5, 5`,
    [next],
  );
  const summed = await lists.hours(next, { route: 'route.1' }, { pagesize: 1, cursor: undefined });
  expect(summed.items).toMatchObject([{ reads: 6, writes: 6, refused: 6, failed: 5 }]);
});

const fill = async (caller: string, count: number): Promise<void> => {
  await harness.database.pool.query(
    `insert into gateway.requests
     select $1, date_trunc('milliseconds', now()) - n * interval '6 days' / $2, n, 'req_' || n, true, 'POST',
       'order.' || (n % 5), 200 + 200 * (n % 10 / 9), case n % 10 when 9 then 'CONFLICT' end, n % 100, 'rst_' || (n % 3), null
     from generate_series(1, $2::int) n`,
    [caller, count],
  );
};

/** Pages of memory that a page of the list touches. */
const costOf = async (caller: string, filter: RequestFilter, cursor?: string): Promise<number> => {
  const { db, pool } = harness.database;
  const lists = createRequestLists({ db, box: harness.box, clock: harness.clock, days: 7 });
  const sent = await statementsOf(() => lists.requests(caller, filter, { pagesize: 50, cursor }));
  let pages = 0;
  for (const { text, values } of sent.filter(({ text }) => /gateway\.requests/.test(text))) {
    const { rows } = await pool.query(`explain (analyze, buffers, format json) ${text}`, values);
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }
  expect(pages).toBeGreaterThan(0);
  return pages;
};

test('A-297 a page costs the same with a hundred times the requests: first, deep, filtered, by id', async () => {
  const { pool, db } = harness.database;
  await pool.query('select gateway.make_request_day(now() - n * interval $$1 day$$) from generate_series(0, 7) n');
  await fill('opc_few', 2_000);
  await fill('opc_many', 200_000);
  await pool.query('analyze gateway.requests');
  const lists = createRequestLists({ db, box: harness.box, clock: harness.clock, days: 7 });
  const deepCursor = async (caller: string, pages: number): Promise<string | undefined> => {
    let cursor: string | undefined;
    for (let i = 0; i < pages; i += 1)
      cursor = (await lists.requests(caller, {}, { pagesize: 50, cursor })).next ?? undefined;
    return cursor;
  };
  const since = new Date(Date.now() - 3 * 86_400_000);
  const asked: [string, RequestFilter, (caller: string) => Promise<string | undefined>][] = [
    ['first', {}, async () => undefined],
    ['deep', {}, (caller) => deepCursor(caller, 30)],
    ['refused', { status: '4xx' }, async () => undefined],
    ['none fits', { code: 'NONE', route: 'order.1' }, async () => undefined],
    ['before', { until: since, tenant: 'rst_1' }, async () => undefined],
    ['by id', { requestId: 'req_1234' }, async () => undefined],
  ];
  const few = new Map<string, number>();
  for (const [name, filter, cursor] of asked) few.set(name, await costOf('opc_few', filter, await cursor('opc_few')));
  for (const [name, filter, cursor] of asked) {
    const many = await costOf('opc_many', filter, await cursor('opc_many'));
    // Indexes of more rows have some more levels, in each of the days.
    expect([name, many <= (few.get(name) ?? 0) * 1.3 + 30, few.get(name), many]).toEqual([
      name,
      true,
      few.get(name),
      many,
    ]);
  }
});
