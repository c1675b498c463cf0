import { afterAll, beforeAll, expect, test } from 'vitest';
import { chartAudit } from '#src/gateway/audit/search/chart-audit.ts';
import { countAudit } from '#src/gateway/audit/search/hours.ts';
import { until } from '../../support/until.ts';
import { bearer, type Harness, openHarness, pick, read, tokenOf } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'panel:ada' });
const sum = (numbers: readonly number[] = []): number => numbers.reduce((total, number) => total + number, 0);

const count = async (): Promise<void> => {
  while (await countAudit(deps()));
};

/** The same figures, computed from the events. */
const eventsBy = async (column: string, action: string): Promise<Record<string, number>> => {
  const { rows } = await harness.database.pool.query(
    `select coalesce(${column}, '') as value, sum(count)::int as n from gateway.audit_events where action = $1 group by 1`,
    [action],
  );
  return Object.fromEntries(rows.map(({ value, n }) => [value, n]));
};

test('charts agree with the events by client, reason, route and address, also when several gateways count repeatedly', async () => {
  const tenant = await harness.createTenant();
  const client = pick(await harness.createClient([tenant], ['read:orders']));
  const token = await tokenOf(harness.url, client);
  const second = await harness.openDoor();
  for (let i = 0; i < 30; i += 1)
    await sendRequest(i % 2 === 0 ? harness.url : second.url, 'GET', read, { headers: bearer(token) });
  for (let i = 0; i < 5; i += 1)
    await sendRequest(second.url, 'GET', '/api/account/subrestaurants', { headers: bearer(token) });
  for (let i = 0; i < 3; i += 1) await sendRequest(harness.url, 'GET', read);
  await until(async () => (await eventsBy("'all'", 'request.allowed')).all === 30);
  await Promise.all([count(), count(), count()]);
  await count();
  const chart = await chartAudit(deps(), { days: 1, dimension: 'client' });
  expect(chart.total.issued).toHaveLength(24);
  const [issued, used, refused] = [chart.total.issued, chart.total.used, chart.total.refused].map(sum);
  expect({ issued, used, refused }).toEqual({ issued: 1, used: 30, refused: 8 });
  for (const [dimension, column] of [
    ['client', 'client_id'],
    ['reason', 'reason'],
    ['route', 'route_id'],
    ['address', 'address'],
  ] as const) {
    const { values } = await chartAudit(deps(), { days: 7, dimension });
    const found = values.map(({ value, series }) => [value, sum(series.refused)] as const).filter(([, n]) => n > 0);
    expect(Object.fromEntries(found), dimension).toEqual(await eventsBy(column, 'request.denied'));
  }
  const own = await chartAudit(deps(), { days: 30, dimension: 'client', value: client.client_id });
  expect([sum(own.total.issued), sum(own.total.used), sum(own.total.refused)]).toEqual([1, 30, 5]);
  await expect(chartAudit(deps(), { days: 2, dimension: 'client' })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
  });
  const { rows } = await harness.database.pool.query(
    "select details from gateway.audit_events where action = 'audit.read' order by at desc limit 1",
  );
  expect(JSON.parse(rows[0].details)).toMatchObject({ read: 'chart', days: 30, value: client.client_id });
});

test('an hour keeps 200 addresses and counts the rest together, and old hours are deleted', async () => {
  const { pool } = harness.database;
  const { rows } = await pool.query('select max(chain) as chain from gateway.audit_chains');
  await pool.query(
    `insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, tenants, scopes, address, details, hash)
     select $1, 1000000 + i, now(), 'request.denied', 'failure', 1, '{}', '{}', '{}', '10.1.' || i / 250 || '.' || i % 250, '{}', '\\x00'
     from generate_series(1, 12000) i`,
    [rows[0].chain],
  );
  await pool.query(
    `insert into gateway.audit_hours (dimension, hour, what, value, count) values ('client', now() - interval '40 days', 'used', 'x', 1)`,
  );
  const before = await chartAudit(deps(), { days: 1, dimension: 'address' });
  await count();
  const { rows: kept } = await pool.query(
    "select value, count::int from gateway.audit_hours where dimension = 'address' and what = 'refused'",
  );
  expect(kept.length).toBeLessThanOrEqual(202);
  expect(kept.length).toBeGreaterThan(150);
  expect(sum(kept.map((row) => row.count)) - sum(before.total.refused)).toBe(12_000);
  expect((await pool.query("select 1 from gateway.audit_hours where value = 'x'")).rows).toEqual([]);
  const { values } = await chartAudit(deps(), { days: 1, dimension: 'address' });
  expect(values[0]).toMatchObject({ value: '*' });
});

test('a chart reads only the hours of its window and dimension', async () => {
  const { pool } = harness.database;
  await pool.query(
    `insert into gateway.audit_hours select d, date_trunc('hour', now()) - make_interval(hours => h), 'used', 'v' || v, 1
     from unnest('{client,route,address}'::text[]) d, generate_series(1, 700) h, generate_series(1, 20) v on conflict do nothing`,
  );
  await pool.query('analyze gateway.audit_hours');
  const plan = await pool.query(`explain select value from gateway.audit_hours where dimension = 'client'
    and hour >= now() - interval '1 day' group by value order by sum(count) desc limit 10`);
  expect(plan.rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('audit_hours_pkey');
});
