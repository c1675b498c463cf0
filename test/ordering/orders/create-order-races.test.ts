import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateCustomer } from '#src/ordering/customer-operations/update-customer.ts';
import { createGenerator, importMenu } from '#src/ordering/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { whileLocked } from '../../support/contention.ts';
import { type Answer, clientOf, type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, refusalOf, type Shop } from '../../support/orders/order-sender.ts';
import { until } from '../../support/until.ts';

let core: TestOrdering;
let shop: Shop;

beforeAll(async () => {
  core = await startOrdering();
  shop = await openShop(core, { pointValue: 0.1 });
});
afterAll(() => core.close());

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

const withPoints = async (email: string, points: number): Promise<Json> => {
  const { customer } = (await shop.call('POST', '/customer/create', { body: { email } })).json;
  const body = { client_uid: customer.uid, diff_op: 'add', diff_points: points };
  expect((await shop.call('POST', '/loyaltylog/create', { body })).status).toBe(200);
  return customer;
};

const totalOf = async (query: Record<string, string>): Promise<number> =>
  (await shop.call('GET', '/orders/list', { query })).json.total_count;

test('A-119 an external_id again: the same order answers with its first receipt, another one with its uid', async () => {
  const body = { external_id: 'till-1', notes: 'Ring twice', details: [shop.line('P1', { quantity: 2 })] };
  const first = await shop.create(body);
  expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null]);
  expect(first.json.order.external_id).toBe('till-1');
  await shop.done('confirm', first.json.order);
  // For ever: also when its date has passed, and numbers come as text, members in another order.
  core.clock.advance(40 * 24 * 3_600_000);
  const { details, ...rest } = shop.orderOf(body) as { details: Json[] };
  const spelled = { details: [{ quantity: '2', product: details[0].product, options: [] }], table: null, ...rest };
  const pickup = { date: '2026-03-01T13:00:00+02:00' };
  const again = await shop.call('POST', '/order/create', { body: { ...spelled, pickup } });
  core.clock.advance(-40 * 24 * 3_600_000);
  expect([again.status, again.text]).toEqual([200, first.text]);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const other = await shop.create({ ...body, notes: 'Ring once' });
  expect([other.status, other.json.error, other.json.order]).toEqual([409, 'CONFLICT', { uid: first.json.order.uid }]);
  expect(await totalOf({ external_id: 'till-1' })).toBe(1);
  expect(await shop.eventsOf(first.json.order.uid)).toHaveLength(3);
  // A key of its own does not make it another order.
  const keyed = await shop.create(body, { headers: { 'idempotency-key': 'k-1' } });
  expect([keyed.text, keyed.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
});

test('A-119 an external_id belongs to one client and one restaurant, and only its client reads by it', async () => {
  const colleague = clientOf([shop.restuid], { id: 'opc_colleague' });
  const both = clientOf([shop.restuid, core.restaurant.restuid], { id: shop.caller.id });
  const mine = (await shop.create({ external_id: 'shared' })).json.order;
  const theirs = (await shop.create({ external_id: 'shared', notes: 'x' }, { caller: colleague })).json.order;
  expect(theirs.uid).not.toBe(mine.uid);
  const read = (caller: Json, query: Json = {}): Promise<Answer> =>
    shop.call('GET', '/orders/get', { caller, query: { external_id: 'shared', ...query } });
  expect((await read(shop.caller)).json.order.uid).toBe(mine.uid);
  expect((await read(colleague)).json.order.uid).toBe(theirs.uid);
  expect((await read(colleague, { uid: mine.uid })).status).toBe(404);
  expect((await read(both, { restuid: core.restaurant.restuid })).status).toBe(404);
  expect((await read(clientOf([shop.restuid], { id: 'opk_1', kind: 'api_key' }))).json.error).toBe('NOT_FOUND');
});

test('A-119 of 20 parallel orders with one external_id one is made, equal ones get its receipt and others a conflict', async () => {
  const customers = sql`select 1 from ordering.customers where restuid = ${shop.restuid} for update`;
  await shop.placed();
  const answers = await whileLocked(core.db, customers, 3, () =>
    Promise.all(times(20, (i) => shop.create({ external_id: 'race', notes: i % 2 === 0 ? 'even' : 'odd' }))),
  );
  const taken = answers.filter(({ status }) => status === 200);
  expect(taken).toHaveLength(10);
  expect(new Set(taken.map(({ text }) => text)).size).toBe(1);
  expect(taken.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
  for (const { json } of answers.filter(({ status }) => status !== 200)) {
    expect([json.error, json.order]).toEqual(['CONFLICT', { uid: taken[0]?.json.order.uid }]);
  }
  expect(await totalOf({ external_id: 'race' })).toBe(1);
});

test('A-085 more points than there are, or none to speak of, are refused and leave no trace', async () => {
  await withPoints('poor@example.com', 20);
  const client = { first_name: 'Ada', email: 'poor@example.com' };
  const answer = await shop.create({ client, redeem_points: 20.01 }, { headers: { 'idempotency-key': 'k-poor' } });
  expect(refusalOf(answer)).toEqual([422, 'INSUFFICIENT_POINTS', [['redeem_points', 'INSUFFICIENT_POINTS']]]);
  expect(await shop.customer('poor@example.com')).toMatchObject({
    orders_count: 0,
    loyalty_points: 20,
    loyalty_seq: 1,
  });
  const fresh = await shop.create({ client: { first_name: 'Eve', email: 'fresh@example.com' }, redeem_points: 1 });
  expect(fresh.json.error).toBe('INSUFFICIENT_POINTS');
  expect(await shop.customer('fresh@example.com')).toBeUndefined();
  const walkIn = { creator: 'restaurant', client: { first_name: 'Walk-in' }, redeem_points: 1 };
  const notEnabled = [400, 'VALIDATION_ERROR', [['redeem_points', 'NOT_ENABLED']]];
  expect(refusalOf(await shop.create(walkIn))).toEqual(notEnabled);
  const worthless = await openShop(core);
  expect(refusalOf(await worthless.create({ redeem_points: 1 }))).toEqual(notEnabled);
});

test('A-085 of 100 parallel orders for the whole balance exactly one gets it', async () => {
  const { uid } = await withPoints('rich@example.com', 50);
  const client = { first_name: 'Ada', email: 'rich@example.com' };
  const answers = await Promise.all(times(100, () => shop.create({ client, redeem_points: 50 })));
  const taken = answers.filter(({ status }) => status === 200);
  expect(taken).toHaveLength(1);
  expect(taken[0]?.json.order.total).toBe(3.5);
  for (const answer of answers.filter(({ status }) => status !== 200))
    expect([answer.status, answer.json.error]).toEqual([422, 'INSUFFICIENT_POINTS']);
  expect(await shop.customer('rich@example.com')).toMatchObject({
    orders_count: 1,
    orders_total: 3.5,
    loyalty_points: 0,
  });
  const entries = (await shop.call('GET', '/loyaltylog/list', { query: { client_uid: uid, type: 'redemption' } })).json;
  expect(entries.loyaltylogs).toMatchObject([{ diff_points: 50, order_uid: taken[0]?.json.order.uid }]);
});

test('A-075 parallel first orders of one new email make one customer, and numbers run on without gaps', async () => {
  const own = await openShop(core);
  const client = { first_name: 'Ada', email: 'parallel-orders@example.com' };
  const answers = await Promise.all([
    ...times(40, () => own.placed({ client })),
    ...times(10, () => own.create({ client, details: [own.line('P3')] })),
  ]);
  const numbers = answers.slice(0, 40).map(({ number }) => number);
  expect(numbers.sort((a, b) => a - b)).toEqual(times(40, (i) => i + 1));
  const customer = await own.customer('parallel-orders@example.com');
  expect(customer).toMatchObject({ orders_count: 40, pickup_orders_count: 40, orders_total: 340 });
  const events = await core.events({ kind: 'customers', entity: customer.uid });
  expect(events.map(({ change }) => change)).toEqual(['created']);
});

test('a customer is matched by email in any case, else by phone digits, the oldest first, and never edited', async () => {
  const own = await openShop(core);
  const make = async (body: Json): Promise<string> => {
    core.clock.advance(1000);
    return (await own.call('POST', '/customer/create', { body })).json.customer.uid;
  };
  const oldest = await make({ phone: '+39 055 123' });
  const byEmail = await make({ email: 'ada@example.com', phone: '39055123' });
  const customerOf = async (client: Json): Promise<string> =>
    (await own.read((await own.placed({ client: { first_name: 'Other', ...client } })).uid)).client.uid;
  expect(await customerOf({ email: 'ADA@example.com', phone: '999' })).toBe(byEmail);
  expect(await customerOf({ phone: '(39) 055-123' })).toBe(oldest);
  expect(await customerOf({ email: 'new@example.com', phone: '39055 123' })).toBe(oldest);
  expect([oldest, byEmail]).not.toContain(await customerOf({ phone: '055123' }));
  const { customer } = (await own.call('GET', '/customerstats/customer', { query: { uid: oldest } })).json;
  expect(customer).toMatchObject({ email: null, first_name: null, phone: '+39 055 123', orders_count: 2 });
});

/** A menu of one product, whose only option belongs to its category. */
const menuOf = (categoryExtId: string, price: number, operand: number): Json => ({
  categories: [
    {
      ext_id: categoryExtId,
      name: 'Pizza',
      options: [
        {
          ext_id: 'size',
          name: 'Size',
          type: 'single',
          option_values: [{ ext_id: 'large', name: 'Large', price_operand: operand }],
        },
      ],
    },
  ],
  products: [{ ext_id: 'P1', category_ext_id: categoryExtId, name: 'Pizza', price }],
});

test('A-612 an order that meets an import is priced from one version of the menu, and finds a product that changes its category', async () => {
  const { restuid, caller } = await core.addRestaurant();
  const owned = { restuid, owner: caller.id, posUid: 'till-1', mode: 'replace', now: core.clock.now() } as const;
  await inTransaction(core.db, (tx) => importMenu(tx, { ...owned, ...menuOf('C1', 0, 14) }));
  const [product] = (await core.call('GET', '/menu/products', { caller })).json.products;
  const [size] = product.options;
  const large = { uid: size.uid, values: [{ uid: size.option_values[0].uid }] };
  const create = (key: string, options: Json[]): Promise<Answer> =>
    core.call('POST', '/order/create', {
      caller,
      body: { ...shop.orderOf(), details: [{ product: { uid: product.uid }, quantity: 1, options }] },
      headers: { 'idempotency-key': key },
    });
  // Nothing can read categories until the import is committed, and the products can be read before.
  const categories = sql`lock table ordering.categories in access exclusive mode`;
  const during = <T>(menu: Json, start: () => Promise<T>): Promise<T> =>
    whileLocked(core.db, categories, 1, start, (holder) => importMenu(holder, { ...owned, ...menu }));

  const priced = await during(menuOf('C1', 10, 4), () => create('k-price', [large]));
  expect([priced.status, priced.json.order?.total]).toEqual([200, 14]);
  const moved = await during(menuOf('C2', 9, 5), () => create('k-moved', []));
  expect([moved.status, moved.json.order?.total]).toEqual([200, 9]);
  const back = menuOf('C1', 8, 6);
  const read = await during(back, () => core.call('GET', '/menu/product', { caller, query: { uid: product.uid } }));
  expect([read.status, read.json.product?.price]).toEqual([200, 8]);
});

test('A-507 an order with a coupon and points locks the coupon before the tally of points, as a cancellation does', async () => {
  await withPoints('both@example.com', 20);
  const terms = { gencode: 'RACE', discountPerc: 10 };
  await inTransaction(core.db, (tx) => createGenerator(tx, shop.restuid, terms, core.clock.now()));
  const { code } = (await shop.call('POST', '/coupon/generate', { body: { gencode: 'RACE' } })).json.coupon;
  // Each backend has one of 16 tallies.
  await sql`insert into ordering.tallies (restuid, name, slot, count)
    select ${shop.restuid}, 'loyalty_entries', slot, 0 from generate_series(0, 15) as slot on conflict do nothing`.execute(
    core.db,
  );
  const client = { first_name: 'Ada', email: 'both@example.com' };
  let created: Promise<Answer> | undefined;
  await inTransaction(core.db, async (tx) => {
    await sql`select from ordering.coupons where restuid = ${shop.restuid} and code = ${code} for update`.execute(tx);
    created = shop.create({ client, coupon: { code }, redeem_points: 10 });
    await until(async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%ordering.coupons%'`.execute(
        core.db,
      );
      return rows.length > 0;
    });
    const { rows } = await sql`select from ordering.tallies
      where restuid = ${shop.restuid} and name = 'loyalty_entries' for update skip locked`.execute(core.db);
    expect(rows).toHaveLength(16);
  });
  expect((await created)?.status).toBe(200);
});

test('A-762 an order that waits while the customer of its coupon changes the email does not use the coupon that follows them', async () => {
  const [old, now] = ['coupon-old@example.com', 'coupon-new@example.com'];
  const { uid } = await withPoints(old, 1);
  const terms = { gencode: 'FOLLOWS', discountPerc: 10 };
  await inTransaction(core.db, (tx) => createGenerator(tx, shop.restuid, terms, core.clock.now()));
  const made = await shop.call('POST', '/coupon/generate', { body: { gencode: 'FOLLOWS', valid_email: old } });
  const { code } = made.json.coupon;
  const row = sql`select from ordering.customers where restuid = ${shop.restuid} and uid = ${uid} for update`;
  // The order has checked the coupon when it waits for its customer.
  const ordered = await whileLocked(
    core.db,
    row,
    1,
    () => shop.create({ client: { first_name: 'Eve', email: old }, coupon: { code } }),
    (holder) => updateCustomer(holder, shop.restuid, uid, { email: now }, core.clock.now),
  );
  expect(refusalOf(ordered)).toEqual([422, 'COUPON_ERROR', [['/coupon/code', 'COUPON_ERROR']]]);
  expect(await shop.customer(old)).toBeUndefined();
  expect((await shop.create({ client: { first_name: 'Ada', email: now }, coupon: { code } })).status).toBe(200);
});
