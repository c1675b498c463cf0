/**
 * What support asks of the store, on tables as they are after years: no page reads a table from one end to the other.
 */
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  clientOfId,
  findCallingKeys,
  findKeysOf,
  findRefusedCallers,
  keysNamed,
  listElsewhere,
  listEndingKeysOf,
  listFailingCallers,
  listNearLimits,
  listNewestRefusals,
  listOpenTenants,
  listQuarantined,
  pageClients,
  pageGrants,
  readTenantAccess,
  tenantOfKey,
} from '#src/gateway/index.ts';
import {
  countOrders,
  findCustomersByContact,
  findCustomersByStart,
  restaurantOf,
  restaurantsByUid,
  restaurantsWithOrders,
  searchRestaurants,
} from '#src/ordering/index.ts';
import { findUsersByStart } from '#src/staff/index.ts';
import {
  findEndpointsByUrl,
  listFailingEndpoints,
  readEndpointProgress,
  tenantOfDelivery,
  tenantOfEndpoint,
  tenantOfEvent,
} from '#src/webhooks/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { statementsOf } from '../../support/statements-of.ts';

const rows = 20_000;
const grown = [
  ...['clients', 'client_tenants', 'client_secrets', 'credential_use', 'tenants', 'restaurants', 'api_keys'],
  ...['caller_usage', 'denials', 'users', 'customers', 'endpoints'],
];

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
    `insert into gateway.api_keys (tenant, key_id, name, digest, created)
     select 'rst_' || ${id}, 'opk_' || ${id}, 'till', sha256(n::text::bytea), now() from generate_series(1, ${rows}) n`,
    // Most days of use are past ones, and so are most refusals.
    `insert into gateway.caller_usage (caller, day, requests, units, limited, elsewhere)
     select 'opc_' || ${id}, date '2026-01-01' + n / 100, 9, 9, 1, 1 from generate_series(1, ${rows}) n`,
    `insert into gateway.denials (caller, request_id, at, denial)
     select 'opc_' || ${id}, 'req_' || n, now() - n * interval '1 second', '{"reason": "parameters", "code": "VALIDATION_ERROR"}'
     from generate_series(1, ${rows}) n`,
    `insert into panel.users (id, email, role, created_at)
     select 'usr_' || ${id}, 'user' || ${id} || '@example.com', 'support', now() from generate_series(1, ${rows}) n`,
    `insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
     select 'rst_' || ${id}, 'whe_' || ${id}, 'panel', 'panel', 'https://example.com', '{orders}', 'x', now()
     from generate_series(1, ${rows}) n`,
    `insert into ordering.customers (restuid, uid, seq, added, first_name, last_name, email, phone)
     select 'rst_' || ${id}, 'cus_' || ${id}, 1, now(), 'Ada' || n, 'Rossi', 'ada' || n || '@example.com', '+39 ' || (600000 + n)
     from generate_series(1, ${rows}) n`,
    `insert into ordering.customers (restuid, uid, seq, added, first_name, last_name, email, phone)
     select 'rst_000001', 'cus_x' || ${id}, 1 + n, now(), 'Bea' || n, 'Neri', 'bea' || n || '@example.com', '+39 ' || (700000 + n)
     from generate_series(1, ${rows}) n`,
    'vacuum analyze',
  ])
    await database.pool.query(statement);
});

afterAll(() => database?.drop());

type Statement = { text: string; values: unknown[] };
type Plan = {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
};

/** Rows that the scans of a plan read, by table. */
const rowsReadIn = (plan: Plan): [string, number][] => [
  ...(plan['Relation Name'] === undefined
    ? []
    : [
        [
          plan['Relation Name'],
          ((plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0)) * (plan['Actual Loops'] ?? 0),
        ] as [string, number],
      ]),
  ...(plan.Plans ?? []).flatMap(rowsReadIn),
];

const rowsRead = async (act: () => Promise<unknown>): Promise<Record<string, number>> => {
  const read: Record<string, number> = {};
  const sent = await statementsOf(act);
  for (const { text, values } of sent.filter(({ text }) => /^\s*(\/\*.*\*\/)?\s*(with|select)\b/i.test(text))) {
    const { rows: plans } = await database.pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, timing off, format json) ${text}`,
      values,
    );
    for (const [table, count] of plans.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => rowsReadIn(Plan))))
      read[table] = (read[table] ?? 0) + count;
  }
  return read;
};

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

test('neither the start page nor the search for anything reads a grown table from one end to the other', async () => {
  const { db } = database;
  const [tenant, other] = ['rst_010000', 'rst_000001'];
  const tenants = [tenant, other];
  const day = new Date('2026-04-01T00:00:00Z');
  const requestId = 'req_01jz00000aaaaaaaaaaaaaaa';
  expect(await restaurantOf(db, 'customer', 'cus_019999', undefined)).toBe('rst_019999');
  expect(await restaurantOf(db, 'customer', 'cus_019999', tenants)).toBeUndefined();
  expect(await findUsersByStart(db, 'user00012', 10)).toHaveLength(10);
  expect(await listNewestRefusals(db, 5)).toHaveLength(5);
  expect(await listElsewhere(db, day, 5)).toHaveLength(5);
  for (const act of [
    () => countOrders(db, [{ restuid: tenant, from: day, until: new Date() }]),
    () => restaurantsWithOrders(db, tenants),
    () => listEndingKeysOf(db, tenants, { now: day, until: new Date() }, 5),
    () => readTenantAccess(db, tenants),
    () => listFailingEndpoints(db, tenants, 5),
    () => readEndpointProgress(db, tenants),
    () => listQuarantined(db, day, 5),
    () => listNearLimits(db, { day, month: day, share: 0.8 }, 5),
    () => listElsewhere(db, day, 5),
    () => listFailingCallers(db, { day, since: day }, 5),
    () => listNewestRefusals(db, 5),
    () => restaurantOf(db, 'customer', 'cus_000001', undefined),
    () => restaurantOf(db, 'order', 'ord_000001', tenants),
    () => tenantOfKey(db, 'opk_000777'),
    () => clientOfId(db, 'ops_000777'),
    () => tenantOfEndpoint(db, 'whe_000777'),
    () => tenantOfEvent(db, 'evt_000777'),
    () => tenantOfDelivery(db, 'dlv_01jz00000aaaaaaaaaaaaaaaa'),
    () => findRefusedCallers(db, requestId, 5),
    () => findCallingKeys(db, tenants, requestId, 5),
    () => findUsersByStart(db, 'user0001', 10),
    () => searchRestaurants(db, { search: '', before: undefined, limit: 200 }),
    () => keysNamed(db, 'no such till', 10),
    () => findKeysOf(db, tenants, 'till', 10),
    () => findEndpointsByUrl(db, tenants, 'example', 10),
    () => findCustomersByStart(db, tenants, 'bea19999', 10),
    () => findCustomersByStart(db, tenants, '+39 7199', 10),
    () => findCustomersByStart(db, tenants, 'Bea19999 Ne', 10),
    () => findCustomersByContact(db, 'ADA19999@example.com', 10),
    () => findCustomersByContact(db, '0039 619 999', 10),
  ])
    expect(await scans(act)).toEqual([]);
});

test('A-470 the search for customers of a name, email or phone reads few rows of a restaurant that has many', async () => {
  const { db } = database;
  const tenants = ['rst_010000', 'rst_000001'];
  const uids = async (found: Promise<readonly { uid: string }[]>): Promise<string[]> =>
    (await found).map(({ uid }) => uid);
  expect(await uids(findCustomersByStart(db, tenants, 'BEA19999', 10))).toEqual(['cus_x019999']);
  expect(await uids(findCustomersByStart(db, tenants, '+39 719-999', 10))).toEqual(['cus_x019999']);
  expect(await uids(findCustomersByStart(db, tenants, 'bea19999 ne', 10))).toEqual(['cus_x019999']);
  expect(await uids(findCustomersByStart(db, tenants, 'bea', 10))).toHaveLength(10);
  expect(await uids(findCustomersByContact(db, 'ADA19999@example.com', 10))).toEqual(['cus_019999']);
  expect(await uids(findCustomersByContact(db, '+39 619999', 10))).toEqual(['cus_019999']);
  // The restaurant is not among the newest 5,000.
  expect(await uids(findCustomersByContact(db, 'bea19999@example.com', 10))).toEqual([]);
  for (const text of ['bea', 'neri', '+39 7', 'bea19999 n']) {
    const read = await rowsRead(() => findCustomersByStart(db, tenants, text, 10));
    expect(read.customers ?? 0, text).toBeLessThanOrEqual(2 * 6 * 10);
  }
  const read = await rowsRead(() => findCustomersByContact(db, 'ada19999@example.com', 10));
  expect(read.restaurants).toBeLessThanOrEqual(5_000);
  expect(read.customers ?? 0).toBeLessThanOrEqual(1);
});

test('the search for an id and the list of quarantines read no more than their bounds, whatever there is', async () => {
  const { db } = database;
  const day = new Date();
  // The oldest of 20,000 restaurants: the search looks through the newest 5,000 and stops.
  expect(await restaurantOf(db, 'customer', 'cus_000001', undefined)).toBeUndefined();
  const looked = await rowsRead(() => restaurantOf(db, 'customer', 'cus_000001', undefined));
  expect(looked.restaurants).toBe(5_000);
  expect(looked.customers ?? 0).toBeLessThanOrEqual(5_000);
  // Of 2,000 changes of state the newest 500 are looked through; one client in five is still quarantined.
  await database.pool.query(
    `update gateway.clients set quarantined_reason = 'leaked' where right(client_id, 1) in ('4', '8')`,
  );
  await database.pool.query(`select gateway.audit_partition(now())`);
  await database.pool.query(
    `insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, client_id, tenants, scopes,
       details, hash)
     select 9, n, now() - n * interval '1 second', 'client.state_changed', 'success', 1, '{}',
       'opc_' || lpad(n::text, 6, '0'), '{}', '{}', '{}', '' from generate_series(1, 2000) n`,
  );
  await database.pool.query('vacuum analyze gateway.clients');
  await database.pool.query('vacuum analyze gateway.audit_events');
  const found = await listQuarantined(db, day, 5);
  expect(found.map(({ id }) => id)).toEqual(['opc_000004', 'opc_000008', 'opc_000014', 'opc_000018', 'opc_000024']);
  const read = await rowsRead(() => listQuarantined(db, day, 5));
  const events = Object.entries(read).filter(([table]) => table.startsWith('audit_events'));
  expect(events.reduce((sum, [, rows]) => sum + rows, 0)).toBeLessThanOrEqual(510);
  // A candidate may be a client, or the client of a secret.
  expect(read.clients).toBeLessThanOrEqual(1_020);
  expect(read.api_keys ?? 0).toBeLessThanOrEqual(500);
  // Behind the newest changes there are as many as are asked for, without the time of their quarantine.
  const more = await listQuarantined(db, day, 150);
  expect(more).toHaveLength(150);
  expect(more.slice(100).every(({ since }) => since === null)).toBe(true);
  expect(await scans(() => listQuarantined(db, day, 5))).toEqual([]);
});

test('A-553 a caller that is not busy and whose requests all fail is among those that fail, however many are busier', async () => {
  const { db, pool } = database;
  const day = new Date('2026-12-01T00:00:00Z');
  const hour = new Date(Date.now() - (Date.now() % 3_600_000));
  await pool.query(
    `insert into gateway.caller_usage (caller, day, requests, units, limited, elsewhere)
     select 'opc_' || lpad(n::text, 6, '0'), $1, case when n = 777 then 300 else 10_000 end, 9, 0, 0
     from generate_series(501, 1_000) n`,
    [day],
  );
  await pool.query(`select gateway.make_request_day($1)`, [hour]);
  await pool.query(
    `insert into gateway.request_hours (caller, hour, route, reads, writes, refused, failed)
     values ('opc_000777', $1, 'orders.list', 0, 0, 300, 0)`,
    [hour],
  );
  await pool.query(
    `insert into gateway.denials (caller, request_id, at, denial)
     values ('opc_000777', 'req_slow', now(), '{"reason": "parameters", "code": "VALIDATION_ERROR"}')`,
  );
  const found = await listFailingCallers(db, { day, since: hour }, 5);
  expect(found).toMatchObject([{ id: 'opc_000777', refused: 300 }]);
});
