import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { makeHistory } from '../../support/orders/order-history.ts';
import { openShop, type Shop } from '../../support/orders/order-sender.ts';
import { type Statement, statementsOf } from '../../support/statements-of.ts';

const orders = 20_000;
const customers = 4_000;

/** Tables that grow with the years. */
const grown = ['orders', 'customers', 'loyalty_entries'];

let core: TestOrdering;
let shop: Shop;

beforeAll(async () => {
  core = await startOrdering();
  core.clock.set(new Date());
  shop = await openShop(core);
  await shop.placed();
  await makeHistory(core.pool, { restuid: shop.restuid, orders, customers });
});
afterAll(() => core.close());

const isData = ({ text }: Statement): boolean => /^\s*(\/\*.*\*\/)?\s*(with|select|insert|update|delete)\b/i.test(text);

/** Tables that a plan reads from one end to the other. */
const scannedIn = (plan: Json): string[] => [
  ...(plan['Node Type'] === 'Seq Scan' ? [String(plan['Relation Name'])] : []),
  ...(plan.Plans ?? []).flatMap(scannedIn),
];

const indexesOf = (plan: Json): string[] => [
  ...(plan['Index Name'] === undefined ? [] : [String(plan['Index Name'])]),
  ...(plan.Plans ?? []).flatMap(indexesOf),
];

const explain = async (how: string, { text, values }: Statement): Promise<string[]> => {
  const { rows } = await core.pool.query<{ 'QUERY PLAN': Json[] }>(`explain (${how}) ${text}`, values);
  return scannedIn(rows[0]?.['QUERY PLAN'][0].Plan).filter((table) => grown.includes(table));
};

/** Statements that read a grown table from one end to the other, as planned for their values and for any. */
const scans = async (act: () => Promise<unknown>): Promise<string[]> => {
  const sent = (await statementsOf(act)).filter(isData);
  expect(sent.length).toBeGreaterThan(0);
  const found: string[] = [];
  for (const statement of sent) {
    const tables = await explain('format json', statement);
    // A statement with a name is planned once and for whatever values come.
    if (statement.text.trimStart().startsWith('/* named */'))
      tables.push(...(await explain('generic_plan, format json', { ...statement, values: [] })));
    if (tables.length > 0) found.push(`${tables.join(', ')}: ${statement.text}`);
  }
  return found;
};

const ok = async (method: string, path: string, query: Record<string, string | number>): Promise<Json> => {
  const answer = await shop.call(method, path, { query });
  expect(answer.text).toContain('"success":true');
  return answer.json;
};

test('the check detects a table scan', async () => {
  const { rows } = await core.pool.query<{ 'QUERY PLAN': Json[] }>(
    `explain (format json) select from ordering.orders where notes = 'none'`,
  );
  expect(scannedIn(rows[0]?.['QUERY PLAN'][0].Plan)).toEqual(['orders']);
});

test('orders are listed, found and taken without reading a grown table from one end to the other', async () => {
  const uid = 'ord_000015000';
  const known = { client: { first_name: 'Ada', email: 'person7@example.com' } };
  const acts: Record<string, () => Promise<unknown>> = {
    'first page': () => ok('GET', '/orders/list', {}),
    'page by cursor': async () => {
      const { next_cursor } = await ok('GET', '/orders/list', { pagesize: 10 });
      return ok('GET', '/orders/list', { pagesize: 10, cursor: next_cursor });
    },
    'of a customer': () => ok('GET', '/orders/list', { client_uid: 'cus_000000007' }),
    'by status': () => ok('GET', '/orders/list', { status: 'new' }),
    'changed since': () => ok('GET', '/orders/list', { updated_from: core.clock.now().toISOString() }),
    get: () => ok('GET', '/orders/get', { uid }),
    'get by external id': () => shop.call('GET', '/orders/get', { query: { external_id: 'e-1' } }),
    'create of a known customer': () => shop.placed(known),
    'create of a new customer': () => shop.placed({ client: { first_name: 'New', email: 'new@example.com' } }),
    'create by phone': () => shop.placed({ client: { first_name: 'Ada', phone: '+39 02 12' } }),
    'create with external id': () => shop.placed({ ...known, external_id: 'e-1' }),
    'create, repeatable': () => shop.create(known, { headers: { 'idempotency-key': 'k-1' } }),
  };
  for (const [name, act] of Object.entries(acts)) expect([name, await scans(act)]).toEqual([name, []]);
});

test('customers and ledger entries are listed and found without reading a grown table from one end to the other', async () => {
  const acts: Record<string, () => Promise<unknown>> = {
    'first page of customers': () => ok('GET', '/customerstats/customers', {}),
    'customer by email': () => ok('GET', '/customerstats/customer', { email: 'person7@example.com' }),
    'customer by uid': () => ok('GET', '/customerstats/customer', { uid: 'cus_000000007' }),
    'first page of the ledger': () => ok('GET', '/loyaltylog/list', {}),
    'ledger of a customer': () => ok('GET', '/loyaltylog/list', { client_uid: 'cus_000000007' }),
  };
  for (const [name, act] of Object.entries(acts)) expect([name, await scans(act)]).toEqual([name, []]);
});

test('a customer is found by email in the one index that is unique, whatever the email, in a handful of pages', async () => {
  const sent = await statementsOf(() => ok('GET', '/customerstats/customer', { email: 'PERSON7@example.com' }));
  const [found, ...more] = sent.filter(({ text }) => text.includes('ordering.customers'));
  expect(more).toEqual([]);
  const planOf = async (how: string, values: unknown[]): Promise<Json> =>
    (await core.pool.query<{ 'QUERY PLAN': Json[] }>(`explain (${how}, format json) ${found?.text}`, values)).rows[0]?.[
      'QUERY PLAN'
    ][0].Plan;
  for (const plan of [await planOf('analyze, buffers', found?.values ?? []), await planOf('generic_plan', [])])
    expect(indexesOf(plan)).toContain('customers_email');
  const { 'Shared Hit Blocks': hit, 'Shared Read Blocks': read } = await planOf(
    'analyze, buffers',
    found?.values ?? [],
  );
  expect(hit + read).toBeLessThanOrEqual(8);
});

test('the totals of unfiltered lists are exact and no statement counts rows for them', async () => {
  const count = async (table: string, more = ''): Promise<number> => {
    const { rows } = await core.pool.query<{ count: number }>(
      `select count(*) from ordering.${table} where restuid = $1 ${more}`,
      [shop.restuid],
    );
    return rows[0]?.count ?? -1;
  };
  await shop.call('POST', '/customer/remove', { body: { uid: 'cus_000000009' } });
  await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      shop.call('POST', '/customer/create', { body: { email: `many${i}@example.com` } }),
    ),
  );
  await shop.call('POST', '/loyaltylog/create', {
    body: { client_uid: 'cus_000000007', diff_op: 'add', diff_points: 5 },
  });
  const totals: Json[] = [];
  const statements = await statementsOf(async () => {
    for (const path of ['/orders/list', '/customerstats/customers', '/loyaltylog/list'])
      totals.push((await ok('GET', path, { pagesize: 1 })).total_count);
    for (const { query } of statusFilters)
      totals.push((await ok('GET', '/orders/list', { ...query, pagesize: 1 })).total_count);
  });
  expect(statements.filter(({ text }) => text.includes('count(*)'))).toEqual([]);
  expect(totals).toEqual([
    await count('orders'),
    await count('customers', 'and removed_at is null'),
    await count('loyalty_entries'),
    ...(await Promise.all(statusFilters.map(({ where }) => count('orders', `and ${where}`)))),
  ]);
});

const statusFilters: { query: Record<string, string>; where: string }[] = [
  ...['new', 'confirmed', 'timed_out', 'closed', 'cancelled'].map((status) => ({
    query: { status },
    where: `status = '${status}'`,
  })),
  { query: { status: 'new,closed' }, where: `status in ('new', 'closed')` },
  { query: { closed: '0' }, where: `status <> 'closed'` },
  { query: { closed: '1' }, where: `status = 'closed'` },
  { query: { closed: '1', status: 'new,confirmed' }, where: 'false' },
];

test('the totals of every status follow all moves of parallel orders, also of those that are undone', async () => {
  const rounds = Array.from({ length: 12 }, async (_, i) => {
    const order = await shop.placed({ creator: i % 3 === 0 ? 'restaurant' : 'customer' });
    if (i % 3 !== 0 && i % 2 === 0) await shop.done('confirm', order);
    // Refused for the half of them, and rolled back.
    await shop.act('close', order);
    if (i % 4 === 0) await shop.done('cancel', order);
  });
  await Promise.all(rounds);
  const { rows } = await core.pool.query<{ status: string; count: number }>(
    'select status, count(*) from ordering.orders where restuid = $1 group by status',
    [shop.restuid],
  );
  for (const status of ['new', 'confirmed', 'timed_out', 'closed', 'cancelled']) {
    const { total_count } = await ok('GET', '/orders/list', { status, pagesize: 1 });
    expect([status, total_count]).toEqual([status, rows.find((row) => row.status === status)?.count ?? 0]);
  }
  expect(rows.map(({ status }) => status)).toEqual(expect.arrayContaining(['new', 'closed', 'cancelled']));
});
