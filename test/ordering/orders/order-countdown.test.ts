import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createStaffOrders } from '#src/ordering/index.ts';
import { createOrderToken } from '#src/ordering/orders/order/order-token.ts';
import { createTimeOutOrders, timeOutOnce } from '#src/ordering/orders/time-out-orders.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
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
  await timeOutAt('2027-01-01T00:00:00Z');
});
afterAll(() => core.close());

const timeOutAt = (now: Date | string): Promise<number> => {
  const clock = { now: () => new Date(now) };
  return timeOutOnce({ db: core.db, clock, tokenOf: createOrderToken(core.orderTokenKey) });
};

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
  expect(await timeOutAt(core.clock.now())).toBe(1);
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
    for (let i = 0; i < 4; i += 1) await timeOutAt(end);
  };
  const [answers] = await Promise.all([
    Promise.all(orders.map((order) => shop.act('confirm', order))),
    steps(),
    steps(),
  ]);
  await timeOutAt(end);
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
    // A step waits for half a second only, so it need not be among those that wait.
    await whileLocked(core.db, row, 1, () => {
      const step = (): Promise<Json> => timeOutAt(end);
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
  await until(async () => (await shop.read(order.uid)).status === 'timed_out');
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
  await expect(timeOutAt(end)).rejects.toThrow('broken');
  expect([(await shop.read(broken.uid)).status, (await shop.read(fine.uid)).status]).toEqual(['new', 'timed_out']);
  await sql`drop trigger fail_one on ordering.orders`.execute(core.db);
  expect(await timeOutAt(end)).toBe(1);
});

test('A-504 orders whose customer is locked for long are left for the next look, and later ones time out beside them', async () => {
  const held = await Promise.all(
    times(2, () => shop.placed({ client: { first_name: 'Bea', email: 'bea@example.com' } })),
  );
  core.clock.advance(1000);
  const free = await shop.placed();
  const { uid } = await shop.customer('bea@example.com');
  const row = sql`select 1 from ordering.customers where restuid = ${shop.restuid} and uid = ${uid} for update`;
  const late = '2026-03-01T11:10:01.000Z';
  await inTransaction(core.db, async (tx) => {
    await row.execute(tx);
    expect(await timeOutAt(late)).toBe(1);
  });
  const statuses = async (): Promise<string[]> =>
    Promise.all([...held, free].map(async (order) => (await shop.read(order.uid)).status));
  expect(await statuses()).toEqual(['new', 'new', 'timed_out']);
  expect(await timeOutAt(late)).toBe(2);
  expect(await statuses()).toEqual(['timed_out', 'timed_out', 'timed_out']);
});

test('A-504 each order is changed at the time of its own step, so that a reader of changes does not miss it after a long step', async () => {
  const orders = [await shop.placed(), await shop.placed()];
  let nowMs = new Date(end).getTime();
  const clock = {
    now: () => {
      nowMs += 1000;
      return new Date(nowMs);
    },
  };
  expect(await timeOutOnce({ db: core.db, clock, tokenOf: createOrderToken(core.orderTokenKey) })).toBe(2);
  const changed = await Promise.all(orders.map(async ({ uid }) => (await shop.read(uid)).updated_iso));
  expect(changed.sort()).toEqual(['2026-03-01T12:10:02+01:00', '2026-03-01T12:10:03+01:00']);
});

test('A-622 one call times out more orders than fit one look, those of sandboxes whose clock is ahead among them', async () => {
  for (let count = 0; count < 60; count += 1) await shop.placed();
  core.clock.set('2026-03-01T11:05:00.000Z');
  const sandbox = await openShop(core, { sandbox: true, countdownMinutes: 10 });
  const { uid } = await sandbox.placed();
  expect((await sandbox.call('POST', '/sandbox/clock', { body: { advance_seconds: 600 } })).status).toBe(200);
  expect(await timeOutAt(end)).toBe(61);
  expect((await sandbox.read(uid)).status).toBe('timed_out');
  expect(await timeOutAt(end)).toBe(0);
});

/** Holds the row of the order until a move waits for it, sets the clock, and lets the move go on. */
const movedAfterWait = <T>(uid: unknown, to: string, move: () => Promise<T>): Promise<T> => {
  const row = sql`select 1 from ordering.orders where restuid = ${shop.restuid} and uid = ${uid} for update`;
  return whileLocked(core.db, row, 1, move, () => core.clock.set(to));
};

test('A-534 a move that waits for a lock is decided and noted at the time after the wait, by the API and by staff', async () => {
  const staff = createStaffOrders(core.db, core.orderTokenKey);
  const byStaff = (move: 'confirm' | 'cancel', uid: string): Promise<void> => {
    const change = { restuid: shop.restuid, uid, move, actor: 'panel:1', reason: null, readNow: core.clock.now };
    return staff.move(change, async () => undefined);
  };
  const later = '2026-03-01T11:05:00.000Z';
  const [ofApi, ofStaff] = [await shop.placed(), await shop.placed()];
  expect((await movedAfterWait(ofApi.uid, later, () => shop.act('cancel', ofApi))).status).toBe(200);
  core.clock.set(start);
  await movedAfterWait(ofStaff.uid, later, () => byStaff('cancel', ofStaff.uid));
  for (const { uid } of [ofApi, ofStaff]) {
    expect((await shop.read(uid)).updated_iso).toBe('2026-03-01T12:05:00+01:00');
    expect((await staff.find(shop.restuid, uid))?.moves?.at(-1)).toMatchObject({ to: 'cancelled', at: later });
  }

  // The countdown ends during the wait.
  core.clock.set(start);
  const [late, lateOfStaff] = [await shop.placed(), await shop.placed()];
  const answer = await movedAfterWait(late.uid, end, () => shop.act('confirm', late));
  expect([answer.status, answer.json.error]).toEqual([409, 'TIMEOUT']);
  core.clock.set(beforeEnd);
  await expect(movedAfterWait(lateOfStaff.uid, end, () => byStaff('confirm', lateOfStaff.uid))).rejects.toMatchObject({
    code: 'TIMEOUT',
  });
});

test('A-534 a new order that waits for its number is listed as updated after the wait, and its countdown begins then', async () => {
  await shop.placed();
  const counter = sql`select 1 from ordering.counters where restuid = ${shop.restuid} for update`;
  const order = await whileLocked(
    core.db,
    counter,
    1,
    () => shop.placed(),
    () => core.clock.advance(60_000),
  );
  expect(order.countdown_end).toBe('2026-03-01T12:11:00+01:00');
  const query = { updated_from: '2026-03-01T11:01:00Z' };
  const listed: Json[] = (await shop.call('GET', '/orders/list', { query })).json.orders;
  expect(listed.map(({ uid }) => uid)).toEqual([order.uid]);
});

test('A-504 the service tries again by itself after failures, without a pause that grows', async () => {
  const order = await shop.placed();
  const logged: unknown[] = [];
  const stop = new AbortController();
  const log = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
  const clock = { now: () => new Date(end) };
  const tokenOf = createOrderToken(core.orderTokenKey);
  await sql`alter table ordering.orders rename to orders_away`.execute(core.db);
  const running = createTimeOutOrders({ db: core.db, clock, tokenOf, log }).run(stop.signal);
  await until(() => logged.length === 2);
  await sql`alter table ordering.orders_away rename to orders`.execute(core.db);
  await until(async () => (await shop.read(order.uid)).status === 'timed_out');
  stop.abort();
  await running;
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

test('A-526 the mark of the orders changes with each order and move, also after a clock was set back', async () => {
  const { mark } = createStaffOrders(core.db, core.orderTokenKey);
  core.clock.set('2026-03-08T11:00:00.000Z');
  for (let count = 0; count < 21; count += 1) await shop.placed();
  core.clock.set(start);
  const marks = [await mark(shop.restuid)];
  const order = await shop.placed();
  marks.push(await mark(shop.restuid));
  for (const move of ['confirm', 'close', 'cancel'] as const) {
    expect((await shop.act(move, order)).status).toBe(200);
    marks.push(await mark(shop.restuid));
  }
  expect(new Set(marks).size).toBe(5);
  expect(await mark(shop.restuid)).toBe(marks.at(-1));
});
