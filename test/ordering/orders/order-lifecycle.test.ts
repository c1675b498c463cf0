import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrderToken } from '#src/ordering/orders/order/order-token.ts';
import { timeOutOnce } from '#src/ordering/orders/time-out-orders.ts';
import { type Json, startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { openShop, refusalOf, type Shop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;
let shop: Shop;

beforeAll(async () => {
  core = await startOrdering();
  shop = await openShop(core, { countdownMinutes: 10, pointsPerUnit: 1, pointValue: 0.1 });
});
afterAll(() => core.close());

const countdownMs = 10 * 60_000;

/** Runs the automatic step as if the countdown of every order so far had ended. */
const endCountdowns = async (): Promise<void> => {
  const clock = { now: () => new Date(core.clock.now().getTime() + countdownMs) };
  await timeOutOnce({ db: core.db, clock, tokenOf: createOrderToken(core.orderTokenKey) });
};

const orderIn = async (status: string, change: Json = {}): Promise<Json> => {
  const order = await shop.placed(change);
  if (status === 'confirmed' || status === 'closed') await shop.done('confirm', order);
  if (status === 'closed') await shop.done('close', order);
  if (status === 'cancelled') await shop.done('cancel', order);
  if (status === 'timed_out') await endCountdowns();
  expect((await shop.read(order.uid)).status).toBe(status);
  return order;
};

// Interface 10.7, cell by cell: the next status, or the code of the refusal.
const table: Record<string, Record<string, string>> = {
  new: { confirm: 'confirmed', close: 'CONFLICT', cancel: 'cancelled' },
  confirmed: { confirm: 'CONFLICT', close: 'closed', cancel: 'cancelled' },
  timed_out: { confirm: 'TIMEOUT', close: 'CONFLICT', cancel: 'CONFLICT' },
  closed: { confirm: 'CONFLICT', close: 'CONFLICT', cancel: 'cancelled' },
  cancelled: { confirm: 'CONFLICT', close: 'CONFLICT', cancel: 'CONFLICT' },
};
const eventOf: Record<string, string> = {
  confirm: 'order.confirmed',
  close: 'order.closed',
  cancel: 'order.cancelled',
};

for (const [status, moves] of Object.entries(table)) {
  for (const [move, expected] of Object.entries(moves)) {
    test(`A-089 ${move} of an order that is ${status}: ${expected}`, async () => {
      const order = await orderIn(status);
      const before = await shop.read(order.uid);
      const events = await shop.eventsOf(order.uid);
      const answer = await shop.act(move, order);
      const after = await shop.read(order.uid);
      const { uid, status: shown, seq, confirmation } = after;
      expect(answer.json.order).toEqual({ uid, status: shown, seq, confirmation });
      if (expected === expected.toUpperCase()) {
        expect([answer.status, answer.json.error]).toEqual([409, expected]);
        expect(after).toEqual(before);
        expect(await shop.eventsOf(order.uid)).toEqual(events);
      } else {
        expect([answer.status, shown, seq]).toEqual([200, expected, before.seq + 1]);
        expect(await shop.eventsOf(order.uid)).toEqual([...events, [eventOf[move], seq, before.seq]]);
        const recorded = await core.events({ kind: 'orders', entity: order.uid });
        expect(recorded.at(-1).order).toEqual(after);
      }
    });
  }
}

test('A-089 refused moves take no seq: the event after them follows the one before them', async () => {
  const order = await shop.placed();
  const refused = async (...moves: string[]): Promise<void> => {
    for (const move of moves) expect((await shop.act(move, order)).status).toBe(409);
    expect((await shop.act('cancel', { ...order, token: 'wrong' })).status).toBe(400);
  };
  await refused('close', 'close');
  await shop.done('confirm', order);
  await refused('confirm');
  await shop.done('close', order);
  await refused('confirm', 'close');
  await shop.done('cancel', order);
  await refused('confirm', 'close', 'cancel');
  expect(await shop.eventsOf(order.uid)).toEqual([
    ['order.new', 1, null],
    ['order.countdown_started', 2, 1],
    ['order.confirmed', 3, 2],
    ['order.closed', 4, 3],
    ['order.cancelled', 5, 4],
  ]);
});

test('A-089 the end of the countdown takes new orders only', async () => {
  const orders = await Promise.all(['new', 'confirmed', 'closed', 'cancelled'].map((status) => orderIn(status)));
  const before = await Promise.all(orders.map(({ uid }) => shop.read(uid)));
  await endCountdowns();
  const after = await Promise.all(orders.map(({ uid }) => shop.read(uid)));
  expect(after.slice(1)).toEqual(before.slice(1));
  expect(after[0]).toMatchObject({
    status: 'timed_out',
    seq: 3,
    confirmation: { confirmed: false, timeout: true, closed: true, date: '2026-03-01 12:10:00' },
  });
  const events = await core.events({ kind: 'orders', entity: orders[0]?.uid });
  expect(events.at(-1)).toMatchObject({ event: 'order.timeout', seq: 3, previous_seq: 2 });
  const { uid, token } = orders[0] ?? {};
  expect(events.at(-1).order).toEqual({ uid, token, confirmation: { confirmed: false, timeout: true } });
});

test('A-092 a wrong token is INVALID_TOKEN in every state and for every move; an unknown order is NOT_FOUND', async () => {
  const other = await shop.placed();
  for (const status of Object.keys(table)) {
    const { uid, token } = await orderIn(status);
    for (const move of Object.keys(eventOf)) {
      for (const wrong of [other.token, `${token}x`, token.slice(1), 'è', 'x'.repeat(255)]) {
        expect(refusalOf(await shop.act(move, { uid, token: wrong }))).toEqual([
          400,
          'INVALID_TOKEN',
          [['token', 'INVALID_TOKEN']],
        ]);
      }
    }
    expect((await shop.read(uid)).status).toBe(status);
  }
  expect((await shop.act('confirm', { uid: 'ord_invented', token: other.token })).json.error).toBe('NOT_FOUND');
  expect(refusalOf(await shop.act('confirm', { uid: other.uid }))).toEqual([
    400,
    'MISSING_PARAMETER',
    [['token', 'REQUIRED']],
  ]);
});

test('A-029 orders of another restaurant answer as invented ones do, with their right token too', async () => {
  const theirs = await openShop(core);
  const order = await theirs.placed({ external_id: 'theirs' });
  const requestId = { headers: { 'x-request-id': 'same' } };
  const bare = ({ status, text }: { status: number; text: string }) => [status, text];
  for (const move of Object.keys(eventOf)) {
    const ask = (uid: string) =>
      shop.call('POST', `/order/${move}`, { body: { uid, token: order.token }, ...requestId }).then(bare);
    expect(await ask(order.uid)).toEqual(await ask('ord_invented'));
  }
  const get = (query: Json) => shop.call('GET', '/orders/get', { query, ...requestId }).then(bare);
  expect(await get({ uid: order.uid })).toEqual(await get({ uid: 'ord_invented' }));
  expect(await get({ external_id: 'theirs' })).toEqual(await get({ external_id: 'invented' }));
  expect((await get({ uid: order.uid }))[0]).toBe(404);
  expect((await theirs.read(order.uid)).status).toBe('new');
});

test('notes of a confirmation and reasons of a cancellation are kept, blank ones are none, long ones refused', async () => {
  const order = await shop.placed();
  expect(refusalOf(await shop.act('confirm', order, { text: 'x'.repeat(501) }))[2]).toEqual([['text', 'LENGTH']]);
  const state = await shop.done('confirm', order, { text: ' In 20 minutes ' });
  expect(state.confirmation).toMatchObject({ text: 'In 20 minutes', confirmed: true, date: '2026-03-01 12:00:00' });
  await shop.done('cancel', order, { reason: '' });
  expect((await shop.read(order.uid)).cancellation).toEqual({
    date: '2026-03-01 12:00:00',
    date_iso: '2026-03-01T12:00:00+01:00',
    reason: null,
    by: 'api',
  });
});

test('cash is paid once the order is closed, an invoice is not, external is from the start', async () => {
  for (const [payment_method, before, after] of [
    ['cash', false, true],
    ['invoice', false, false],
    ['external', true, true],
  ]) {
    const order = await orderIn('confirmed', { payment_method });
    expect((await shop.read(order.uid)).paid).toBe(before);
    await shop.done('close', order);
    expect(await shop.read(order.uid)).toMatchObject({ paid: after, closed: true });
  }
});

test('A-127 moves made while the kind is off raise seq and are not recorded; the next event names the last one seen', async () => {
  const order = await shop.placed();
  await core.setKinds({ orders: false }, shop.restuid);
  await shop.done('confirm', order);
  await core.setKinds({ orders: true }, shop.restuid);
  await shop.done('close', order);
  expect((await shop.eventsOf(order.uid)).at(-1)).toEqual(['order.closed', 4, 2]);
});

test('A-093 closing adds points, cancelling takes them back and returns the redeemed points', async () => {
  const email = 'points@example.com';
  const { customer } = (await shop.call('POST', '/customer/create', { body: { email } })).json;
  const movement = { client_uid: customer.uid, diff_points: 20 };
  await shop.call('POST', '/loyaltylog/create', { body: { ...movement, diff_op: 'add' } });
  const before = await shop.customer(email);
  const order = await orderIn('closed', { client: { first_name: 'Ada', email }, redeem_points: 15 });
  // 8.50 less 1.50 for the points are 7 points.
  expect(await shop.customer(email)).toMatchObject({ loyalty_points: 12, orders_count: 1, orders_total: 7 });
  await shop.done('cancel', order);
  expect(await shop.customer(email)).toEqual({ ...before, loyalty_points: 20, loyalty_seq: 5 });
  const log = await shop.call('GET', '/loyaltylog/list', { query: { order_uid: order.uid } });
  const entries = log.json.loyaltylogs.map((entry: Json) => [entry.seq, entry.type, entry.diff_op, entry.diff_points]);
  expect(entries.sort()).toEqual([
    [2, 'redemption', 'subtract', 15],
    [3, 'order', 'add', 7],
    [4, 'order_cancelled', 'subtract', 7],
    [5, 'order_cancelled', 'add', 15],
  ]);
  const second = await orderIn('closed', { client: { first_name: 'Ada', email } });
  await shop.call('POST', '/loyaltylog/create', { body: { ...movement, diff_op: 'subtract', diff_points: 25 } });
  await shop.done('cancel', second);
  // 8.5 were given and 3.5 are left: at most the balance is taken.
  expect(await shop.customer(email)).toMatchObject({ loyalty_points: 0 });
});

test('A-076 a cancelled or timed-out order leaves the statistics as they were without it', async () => {
  const email = 'dates@example.com';
  const client = { first_name: 'Ada', email };
  const make = async (minute: number, change: Json = {}): Promise<Json> => {
    core.clock.set(`2026-03-01T11:0${minute}:00Z`);
    return shop.placed({ client, ...change });
  };
  const home = { date: '2026-03-01T12:00:00Z', address: { street: 'Via Roma', city: 'Firenze' } };
  const kept = await make(2, { creator: 'restaurant' });
  const alone = await shop.customer(email);
  const offline = await make(3, { creator: 'restaurant', details: [shop.line('P5')] });
  const delivered = await make(4, { dmethod: '1', pickup: null, delivery: home });
  // Received by another process whose clock is behind.
  const earliest = await make(1);
  const dates = async (): Promise<Json> => {
    const { first_order, last_order, last_offline_order, ...counts } = await shop.customer(email);
    const minutes = [first_order, last_order, last_offline_order].map((date) => date?.slice(14, 16) ?? null);
    return [counts.orders_count, counts.delivery_orders_count, counts.offline_orders_count, ...minutes];
  };
  expect(await dates()).toEqual([4, 1, 2, '01', '04', '03']);
  await shop.done('cancel', earliest);
  expect(await dates()).toEqual([3, 1, 2, '02', '04', '03']);
  await shop.done('cancel', offline);
  expect(await dates()).toEqual([2, 1, 1, '02', '04', '02']);
  core.clock.set('2026-03-01T11:05:00Z');
  await endCountdowns();
  expect((await shop.read(delivered.uid)).status).toBe('timed_out');
  expect(await shop.customer(email)).toEqual(alone);
  await shop.done('cancel', kept);
  expect(await dates()).toEqual([0, 0, 0, null, null, null]);
  expect(await shop.customer(email)).toMatchObject({ pickup_orders_count: 0, orders_total: 0 });
  const events = await core.events({ kind: 'customers', entity: alone.uid });
  expect(events.map(({ change }) => change)).toEqual(['created']);
  core.clock.set('2026-03-01T11:00:00Z');
});
