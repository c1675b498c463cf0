/**
 * What support asks of the store, on tables as they are after years: no page reads a table from one end to the other.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { listOpenTenants, pageClients, pageGrants } from '#src/gateway/index.ts';
import { restaurantsByUid, searchRestaurants } from '#src/ordering/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const rows = 20_000;
const grown = ['clients', 'client_tenants', 'client_secrets', 'credential_use', 'tenants', 'restaurants'];

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  const id = `lpad(n::text, 6, '0')`;
  for (const statement of [
    `insert into ordering.restaurants (uid, name, time_zone, api_time_zone, currency, language, confirmation_required,
       countdown_minutes, points_per_unit, signup_points)
     select 'rst_' || ${id}, 'Osteria ' || md5(n::text) || case when n % 100 = 0 then ' Rara' else '' end, 'UTC', 'UTC',
       'EUR', 'en', true, 10, 1, 0 from generate_series(1, ${rows}) n`,
    `insert into gateway.tenants (id, created) select 'rst_' || ${id}, now() from generate_series(1, ${rows}) n`,
    `insert into gateway.clients (client_id, name, created)
     select 'opc_' || ${id}, 'App ' || md5(n::text) || case when n % 100 = 0 then ' Rara' else '' end,
       now() - n * interval '1 minute' from generate_series(1, ${rows}) n`,
    `insert into gateway.client_secrets (secret_id, client_id, digest, created)
     select 'ops_' || ${id}, 'opc_' || ${id}, 'x', now() from generate_series(1, ${rows}) n`,
    `insert into gateway.client_tenants (tenant, client_id, granted_at)
     select 'rst_' || ${id}, 'opc_' || ${id}, now() from generate_series(1, ${rows}) n`,
    `insert into gateway.client_tenants (tenant, client_id, granted_at)
     select 'rst_' || ${id}, 'opc_000001', now() from generate_series(2, ${rows}) n`,
    `insert into gateway.credential_use (credential, last_used, last_address)
     select 'ops_' || ${id}, now(), '::1' from generate_series(1, ${rows}) n`,
    'vacuum analyze',
  ])
    await database.pool.query(statement);
});

afterAll(() => database?.drop());

type Statement = { text: string; values: unknown[] };
type Plan = { 'Node Type': string; 'Relation Name'?: string; Plans?: Plan[] };

const scannedIn = (plan: Plan): string[] => [
  ...(plan['Node Type'] === 'Seq Scan' ? [String(plan['Relation Name'])] : []),
  ...(plan.Plans ?? []).flatMap(scannedIn),
];

/** Watches the driver and changes nothing of it. */
const scans = async (act: () => Promise<unknown>): Promise<string[]> => {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await act();
  const sent = query.mock.calls.map(
    ([asked, values]: unknown[]): Statement =>
      typeof asked === 'string' ? { text: asked, values: (values ?? []) as unknown[] } : (asked as Statement),
  );
  query.mockRestore();
  const found: string[] = [];
  for (const { text, values } of sent.filter(({ text }) => /^\s*(\/\*.*\*\/)?\s*(with|select)\b/i.test(text))) {
    const { rows: plans } = await database.pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (format json) ${text}`,
      values,
    );
    const tables = plans.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => scannedIn(Plan)));
    found.push(...tables.filter((table) => grown.includes(table)).map((table) => `${table}: ${text}`));
  }
  expect(sent.length).toBeGreaterThan(0);
  return found;
};

test('no list or search of support reads a grown table from one end to the other', async () => {
  const { db } = database;
  const middle = 'rst_010000';
  const first = await pageClients(db, { limit: 25 });
  expect(first.clients).toHaveLength(25);
  expect((await pageClients(db, { search: 'rara', limit: 25 })).clients).toHaveLength(25);
  expect((await searchRestaurants(db, { search: 'rar', before: undefined, limit: 26 })).length).toBe(26);
  expect((await pageGrants(db, 'opc_000001', { limit: 25 })).next).toBe('rst_000025');
  for (const act of [
    () => searchRestaurants(db, { search: '', before: undefined, limit: 26 }),
    () => searchRestaurants(db, { search: '', before: middle, limit: 26 }),
    () => searchRestaurants(db, { search: 'rara', before: middle, limit: 26 }),
    () => searchRestaurants(db, { search: 'rst_0100', before: undefined, limit: 26 }),
    () => searchRestaurants(db, { search: 'osteria', before: undefined, limit: 26 }),
    () => restaurantsByUid(db, [middle, 'rst_000001']),
    () => listOpenTenants(db, [middle, 'rst_000001']),
    () => pageClients(db, { limit: 25 }),
    () => pageClients(db, { cursor: first.next ?? '', limit: 25 }),
    () => pageClients(db, { search: 'rara', limit: 25 }),
    () => pageClients(db, { search: 'app', live: true, limit: 25 }),
    () => pageClients(db, { search: 'opc_000777', limit: 25 }),
    () => pageClients(db, { search: 'ops_000777', limit: 25 }),
    () => pageClients(db, { tenant: middle, limit: 25 }),
    () => pageGrants(db, 'opc_000001', { after: middle, limit: 25 }),
  ])
    expect(await scans(act)).toEqual([]);
  const [found] = (await pageClients(db, { search: 'ops_000777', limit: 25 })).clients;
  expect(found?.clientId).toBe('opc_000777');
});
