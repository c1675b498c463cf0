import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { orderingMigrations } from '#src/ordering/index.ts';
import { type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;
let product: string;

beforeAll(async () => {
  core = await startOrdering({ signupPoints: 0, pointsPerUnit: 1 });
  const menu = {
    pos_uid: 'till-1',
    update_mode: 'merge',
    categories: [{ ext_id: 'C1', name: 'Pizza' }],
    products: [{ ext_id: 'P1', category_ext_id: 'C1', name: 'Margherita', price: 7.5 }],
  };
  expect((await core.call('POST', '/menu/import', { body: menu })).json.success).toBe(true);
  product = (await core.call('GET', '/menu/products')).json.products[0].uid;
});
afterAll(() => core.close());

const order = async (client: Record<string, unknown>, quantity = 2): Promise<Json> => {
  const body = {
    client: { first_name: 'Ada', ...client },
    dmethod: '0',
    payment_method: 'cash',
    payment_method_sub: 'cash',
    pickup: { date: new Date(core.clock.now().getTime() + 3_600_000).toISOString() },
    details: [{ product: { uid: product }, quantity }],
  };
  const answer = await core.call('POST', '/order/create', { body });
  expect(answer.text).toContain('"success":true');
  return answer.json.order;
};

const act = async (action: string, { uid, token }: Json): Promise<void> => {
  const answer = await core.call('POST', `/order/${action}`, { body: { uid, token } });
  expect(answer.text).toContain('"success":true');
};

const customerOf = async (email: string): Promise<Json> =>
  (await core.call('GET', '/customerstats/customer', { query: { email } })).json.customer;

const changesOf = (uid: string): Promise<Json[]> => core.events({ kind: 'customers', entity: uid });

test('A-075 an order with a new email creates the customer, and customer.changed shows the committed statistics', async () => {
  await order({ email: 'new@example.com', phone: '+39 1' });
  const customer = await customerOf('NEW@example.com');
  expect(customer).toMatchObject({ first_name: 'Ada', phone: '+39 1', orders_count: 1, pickup_orders_count: 1 });
  const events = await changesOf(customer.uid);
  expect(events.map(({ seq, change }) => [seq, change])).toEqual([[1, 'created']]);
  expect(events[0].customer).toEqual(customer);
});

test('A-074 orders of a known customer change statistics and balance at once and never announce the customer', async () => {
  const { customer: made } = (await core.call('POST', '/customer/create', { body: { email: 'known@example.com' } }))
    .json;
  const placed = await order({ email: 'Known@example.com', first_name: 'Other' });
  expect(await customerOf('known@example.com')).toMatchObject({
    first_name: null,
    orders_count: 1,
    orders_total: 15,
    first_order: '2026-03-01 12:00:00',
    last_order: '2026-03-01 12:00:00',
    last_offline_order: null,
  });
  await act('confirm', placed);
  await act('close', placed);
  expect(await customerOf('known@example.com')).toMatchObject({ loyalty_points: 15, loyalty_seq: 1 });
  await core.call('POST', '/customer/update', { body: { uid: made.uid, city: 'Pisa' } });
  const events = await changesOf(made.uid);
  expect(events.map(({ seq, change }) => [seq, change])).toEqual([
    [1, 'created'],
    [2, 'updated'],
  ]);
  expect(events[1].customer).toMatchObject({ orders_count: 1, loyalty_points: 15 });
});

test('A-076 cancelled orders leave counts, total, first and last dates and points as they were without them', async () => {
  const first = await order({ email: 'cancel@example.com' });
  core.clock.advance(60_000);
  const second = await order({ email: 'cancel@example.com' }, 1);
  const both = await customerOf('cancel@example.com');
  expect(both).toMatchObject({ orders_count: 2, orders_total: 22.5, last_order: '2026-03-01 12:01:00' });
  await act('confirm', first);
  await act('close', first);
  await act('cancel', first);
  const one = await customerOf('cancel@example.com');
  expect(one).toMatchObject({ orders_count: 1, orders_total: 7.5, first_order: '2026-03-01 12:01:00' });
  expect(one).toMatchObject({ loyalty_points: 0, loyalty_seq: 2 });
  await act('cancel', second);
  expect(await customerOf('cancel@example.com')).toMatchObject({
    orders_count: 0,
    pickup_orders_count: 0,
    orders_total: 0,
    first_order: null,
    last_order: null,
  });
  core.clock.advance(-60_000);
});

test('A-073 orders and ledger of a removed customer keep client.uid alone, and closing an order credits no points', async () => {
  const placed = await order({ email: 'gone@example.com', last_name: 'Lovelace', phone: '73' });
  const { uid } = await customerOf('gone@example.com');
  await act('confirm', placed);
  await core.call('POST', '/customer/remove', { body: { uid } });
  await act('close', placed);
  const read = await core.call('GET', '/orders/get', { query: { uid: placed.uid } });
  expect(read.json.order.client).toEqual({ uid, first_name: null, last_name: null, phone: null, email: null });
  expect(read.text).not.toContain('Lovelace');
  expect((await core.call('GET', '/loyaltylog/list', { query: { client_uid: uid } })).json.total_count).toBe(0);
  const again = await order({ email: 'gone@example.com' });
  expect(again.uid).not.toBe(placed.uid);
  expect((await customerOf('gone@example.com')).uid).not.toBe(uid);
});

test('A-073 A-621 the removal of a customer erases every text of their orders, for readers and later events, and no figure', async () => {
  const shop = await openShop(core);
  const options = { size: ['large'], extras: [['ham', 2] as [string, number]] };
  const sent = {
    client: { first_name: 'Ada', last_name: 'Lovelace', email: 'text@example.com', phone: '+39 555 0173' },
    dmethod: '1',
    delivery: {
      date: '2026-03-01T13:00:00+01:00',
      address: { street: 'Via Lovelace', number: '12', city: 'Firenze', zip: '50122', doorbell: 'Lovelace' },
    },
    notes: 'Lovelace, second floor',
    details: [
      shop.line('P1', { options, quantity: 2, notes: 'for Ada Lovelace' }),
      shop.line('P5'),
      shop.line('P1', { notes: 'call 5550173' }),
    ],
    external_id: 'till-621',
  };
  const [open, ended] = [await shop.placed(sent), await shop.placed({ ...sent, external_id: 'till-622' })];
  await shop.done('confirm', open, { text: 'See you soon, Ms Lovelace' });
  await shop.done('cancel', ended, { reason: 'Lovelace called from 5550173' });
  const before = [await shop.read(open.uid), await shop.read(ended.uid)];
  const { uid } = before[0].client;
  expect((await shop.call('POST', '/customer/remove', { body: { uid } })).status).toBe(200);
  await shop.done('close', open);

  const read = await shop.call('GET', '/orders/get', { query: { uid: open.uid } });
  const listed = await shop.call('GET', '/orders/list', { query: { client_uid: uid } });
  const [closed] = (await core.events({ kind: 'orders', entity: open.uid })).slice(-1);
  const { rows } = await sql<{ stored: string }>`
    select o::text as stored from ordering.orders o where customer_uid = ${uid}`.execute(core.db);
  expect(listed.json.orders).toHaveLength(2);
  expect(closed.event).toBe('order.closed');
  for (const text of [read.text, listed.text, JSON.stringify(closed), ...rows.map(({ stored }) => stored)])
    expect(text).not.toMatch(/Lovelace|555 ?0173/);

  const forgotten = (order: Json): Json => ({
    ...order,
    client: { uid, first_name: null, last_name: null, phone: null, email: null },
    details: order.details.map((line: Json) => ({ ...line, notes: null })),
    notes: null,
    delivery: { ...order.delivery, address: null },
    confirmation: { ...order.confirmation, text: null },
    cancellation: order.cancellation && { ...order.cancellation, reason: null },
  });
  const { status, seq, paid, closed: isClosed, updated_iso } = read.json.order;
  expect(read.json.order).toEqual({ ...forgotten(before[0]), status, seq, paid, closed: isClosed, updated_iso });
  expect(await shop.read(ended.uid)).toEqual(forgotten(before[1]));

  // What it was compared with is erased too, so the id is taken by an order that can be looked up.
  for (const again of [await shop.create(sent), await shop.create({ ...sent, notes: 'another' })])
    expect([again.status, again.json.error, again.json.order]).toEqual([409, 'CONFLICT', { uid: open.uid }]);
  expect((await shop.call('GET', '/orders/list', { query: { external_id: 'till-621' } })).json.total_count).toBe(1);
});

test('A-621 the update erases the texts of orders whose customer an earlier release removed, and of no others', async () => {
  const shop = await openShop(core);
  const ofClient = (email: string): Json => ({
    client: { first_name: 'Ada', email },
    notes: 'Lovelace',
    details: [shop.line('P1', { notes: 'for Ada Lovelace' }), shop.line('P5')],
    external_id: email,
  });
  const [kept, gone] = [
    await shop.placed(ofClient('kept@example.com')),
    await shop.placed(ofClient('old@example.com')),
  ];
  const before = [await shop.read(kept.uid), await shop.read(gone.uid)];
  // As the release before did it.
  await sql`update ordering.customers set removed_at = now(), email = null where uid = ${before[1].client.uid}`.execute(
    core.db,
  );
  await sql`update ordering.orders set client = null, address = null where uid = ${gone.uid}`.execute(core.db);
  const migration = orderingMigrations.find(({ name }) => name === 'texts-of-removed-customers');
  await sql.raw(String(migration?.sql)).execute(core.db);
  expect(await shop.read(kept.uid)).toEqual(before[0]);
  const { client, notes, details, total } = await shop.read(gone.uid);
  expect([client.first_name, notes, total]).toEqual([null, null, before[1].total]);
  expect(details).toEqual(before[1].details.map((line: Json) => ({ ...line, notes: null })));
  expect((await shop.create(ofClient('old@example.com'))).json).toMatchObject({
    error: 'CONFLICT',
    order: { uid: gone.uid },
  });
});
