import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createOrderToken } from '#src/ordering/orders/order/order-token.ts';
import { timeOutOnce } from '#src/ordering/orders/time-out-orders.ts';
import { whileLocked } from '../../support/contention.ts';
import { type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, type Shop } from '../../support/orders/order-sender.ts';
import { until } from '../../support/until.ts';

let core: TestOrdering;
let shop: Shop;

const start = '2026-03-01T11:00:00.000Z';
const end = '2026-03-01T11:10:00.000Z';
const beforeEnd = '2026-03-01T11:09:59.999Z';

beforeAll(async () => {
  core = await startOrdering();
});
beforeEach(async () => {
  core.clock.set(start);
  shop = await openShop(core, { countdownMinutes: 10, pointValue: 0.1 });
});
afterEach(async () => {
  // Orders of one test must not be found by the automatic step of the next.
  await timeOutOnce(core.db, new Date('2027-01-01T00:00:00Z'), createOrderToken(core.orderTokenKey));
});
afterAll(() => core.close());

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

const lastEventOf = async (uid: string): Promise<Json> => (await shop.eventsOf(uid)).slice(2);

test('the end of the countdown is exclusive: a millisecond before it confirms, at it is TIMEOUT without any step', async () => {
  const [early, late] = [await shop.placed(), await shop.placed()];
  core.clock.set(beforeEnd);
  expect((await shop.done('confirm', early)).status).toBe('confirmed');
  core.clock.set(end);
  const answer = await shop.act('confirm', late);
  expect([answer.status, answer.json.error]).toEqual([409, 'TIMEOUT']);
  expect(answer.json.order).toMatchObject({ uid: late.uid, status: 'timed_out', seq: 3 });
  expect(answer.json.order.confirmation).toMatchObject({ timeout: true, closed: true, date: '2026-03-01 12:10:00' });
  // After the answer TIMEOUT the order cannot be cancelled, and the automatic step stores the answered state.
  const cancel = await shop.act('cancel', late);
  expect([cancel.status, cancel.json.error, cancel.json.order]).toEqual([409, 'CONFLICT', answer.json.order]);
  expect(await lastEventOf(late.uid)).toEqual([]);
  core.clock.advance(4000);
  expect(await timeOutOnce(core.db, core.clock.now(), createOrderToken(core.orderTokenKey))).toBe(1);
  const { uid, status, seq, confirmation, updated_iso } = await shop.read(late.uid);
  expect({ uid, status, seq, confirmation }).toEqual(answer.json.order);
  expect(await lastEventOf(late.uid)).toEqual([['order.timeout', 3, 2]]);
  // Written late, it is also found late: a reader of changes has not passed it.
  expect(updated_iso).toBe('2026-03-01T12:10:04+01:00');
});

test('A-090 confirms at the very end while the step runs: each of 100 orders leaves new once, with one event', async () => {
  const orders = await Promise.all(times(100, () => shop.placed()));
  core.clock.set(beforeEnd);
  const steps = async (): Promise<void> => {
    for (let i = 0; i < 4; i += 1) await timeOutOnce(core.db, new Date(end), createOrderToken(core.orderTokenKey));
  };
  const [answers] = await Promise.all([
    Promise.all(orders.map((order) => shop.act('confirm', order))),
    steps(),
    steps(),
  ]);
  await timeOutOnce(core.db, new Date(end), createOrderToken(core.orderTokenKey));
  const outcomes: Record<string, number> = { confirmed: 0, timed_out: 0 };
  for (const [index, { uid }] of orders.entries()) {
    const { status } = await shop.read(uid);
    outcomes[status] = (outcomes[status] ?? 0) + 1;
    const confirmed = answers[index]?.status === 200;
    expect([confirmed, status]).toEqual([confirmed, confirmed ? 'confirmed' : 'timed_out']);
    expect(await lastEventOf(uid)).toEqual([[confirmed ? 'order.confirmed' : 'order.timeout', 3, 2]]);
    if (!confirmed) expect(answers[index]?.json.error).toBe('TIMEOUT');
  }
  expect(Object.keys(outcomes).sort()).toEqual(['confirmed', 'timed_out']);
  const counted = (await shop.customer('ada@example.com')).orders_count;
  expect(counted).toBe(outcomes.confirmed);
});

test('A-090 an order that a confirm and two steps wait for together leaves new once', async () => {
  for (const round of times(10, (i) => i)) {
    core.clock.set(start);
    const order = await shop.placed();
    core.clock.set(beforeEnd);
    const row = sql`select 1 from ordering.orders where restuid = ${shop.restuid} and uid = ${order.uid} for update`;
    await whileLocked(core.db, row, 3, () => {
      const step = (): Promise<Json> => timeOutOnce(core.db, new Date(end), createOrderToken(core.orderTokenKey));
      const confirm = (): Promise<Json> => shop.act('confirm', order);
      return Promise.all(round % 2 === 0 ? [confirm(), step(), step()] : [step(), confirm(), step()]);
    });
    expect(await lastEventOf(order.uid)).toHaveLength(1);
  }
});

test('A-091 the service finds after a restart what ended meanwhile, and takes points and statistics back', async () => {
  const { customer } = (await shop.call('POST', '/customer/create', { body: { email: 'ada@example.com' } })).json;
  const points = { client_uid: customer.uid, diff_op: 'add', diff_points: 30 };
  await shop.call('POST', '/loyaltylog/create', { body: points });
  const order = await shop.placed({ redeem_points: 30 });
  expect(await shop.customer('ada@example.com')).toMatchObject({ loyalty_points: 0, orders_count: 1 });
  core.clock.set('2026-03-01T14:00:00Z');
  const service = core.services.find(({ name }) => name === 'order-countdown');
  const stop = new AbortController();
  const running = service?.run(stop.signal);
  await until(async () => (await shop.read(order.uid)).status === 'timed_out', 5000);
  stop.abort();
  await running;
  expect(await lastEventOf(order.uid)).toEqual([['order.timeout', 3, 2]]);
  expect(await shop.customer('ada@example.com')).toMatchObject({
    loyalty_points: 30,
    orders_count: 0,
    last_order: null,
  });
});

test('a failing time-out of one order does not delay the others', async () => {
  const [broken, fine] = [await shop.placed(), await shop.placed()];
  const fail = sql`create function fail_one() returns trigger language plpgsql as
    $$ begin if new.status = 'timed_out' then raise exception 'broken'; end if; return new; end $$`;
  await fail.execute(core.db);
  await sql`create trigger fail_one before update on ordering.orders for each row
    when (old.uid = ${sql.lit(broken.uid)}) execute function fail_one()`.execute(core.db);
  await expect(timeOutOnce(core.db, new Date(end), createOrderToken(core.orderTokenKey))).rejects.toThrow('broken');
  expect([(await shop.read(broken.uid)).status, (await shop.read(fine.uid)).status]).toEqual(['new', 'timed_out']);
  await sql`drop trigger fail_one on ordering.orders`.execute(core.db);
  expect(await timeOutOnce(core.db, new Date(end), createOrderToken(core.orderTokenKey))).toBe(1);
});

test('of 20 parallel confirms one succeeds; orders that move while their customer is removed all come to an end', async () => {
  const order = await shop.placed();
  const answers = await Promise.all(times(20, () => shop.act('confirm', order)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...times(19, () => 409)]);
  expect(await lastEventOf(order.uid)).toEqual([['order.confirmed', 3, 2]]);
  for (const round of times(8, (i) => i)) {
    const email = `removed${round}@example.com`;
    const client = { first_name: 'Ada', email };
    const orders = await Promise.all(times(6, () => shop.placed({ client })));
    const { uid } = await shop.customer(email);
    const moves = await Promise.all([
      ...orders.map((each) => shop.act('cancel', each)),
      shop.call('POST', '/customer/remove', { body: { uid } }),
      shop.create({ client }),
    ]);
    expect(moves.map(({ status }) => status)).toEqual(times(8, () => 200));
    const left = (await shop.call('GET', '/orders/list', { query: { client_uid: uid } })).json.orders;
    const named = left.filter((each: Json) => each.client.email !== null);
    expect(named).toEqual([]);
  }
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(core.db);
  expect(rows[0]?.deadlocks).toBe(0);
});
