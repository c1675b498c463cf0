/** Random commands of clients on a restaurant, played against it and against the model, and the two compared. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Answer, CallOptions, Json } from '../ordering.ts';
import type { Command, createOrderModel, ModelCustomer, ModelOrder } from './order-model.ts';

export type Model = ReturnType<typeof createOrderModel>;
export type Placed = { receipt: Json; model: ModelOrder };

/** A restaurant as its clients reach it: ten minutes of countdown, a point per unit, 0.1 for a point. */
export type OrderHarness = {
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  productUid: string;
  /** Bodies of all events of the restaurant, oldest first. */
  events(): Promise<Json[]>;
};

/** Two guests of the client's own, and one that all clients serve and none removes or takes points from. */
const own = fc.constantFrom('one', 'two');
const guest = fc.constantFrom('one', 'two', 'shared');
const quantity = fc.integer({ min: 1, max: 9 });
const points = fc.integer({ min: 1, max: 40 });

export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('order'), who: guest, quantity }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('order'), who: own, quantity, redeem: points }) },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constantFrom('confirm', 'close', 'cancel'), which: fc.nat({ max: 9 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('points'), who: own, op: fc.constantFrom('add', 'subtract'), points }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('remove'), who: own }) },
) as fc.Arbitrary<Command>;

/** One client's commands one after another; each answer must be what the model says. */
export const play = async (
  harness: OrderHarness,
  model: Model,
  name: string,
  commands: readonly Command[],
): Promise<Placed[]> => {
  const orders: Placed[] = [];
  const emailOf = (who: string): string => `${who === 'shared' ? 'all' : name}-${who}@example.com`;
  const post = async (path: string, body: Json): Promise<Json> => (await harness.call('POST', path, { body })).json;
  for (const step of commands) {
    if (step.type === 'order') {
      const { order: receipt, error } = await post('/order/create', {
        client: { first_name: 'Ada', email: emailOf(step.who) },
        dmethod: '0t',
        table: '7',
        payment_method: 'cash',
        payment_method_sub: 'pos',
        details: [{ product: { uid: harness.productUid }, quantity: step.quantity }],
        ...(step.redeem === undefined ? undefined : { redeem_points: step.redeem }),
      });
      const made = model.order(emailOf(step.who), step.quantity, step.redeem ?? 0);
      expect(error).toBe(made === undefined ? 'INSUFFICIENT_POINTS' : undefined);
      if (made !== undefined) orders.push({ receipt, model: made });
    } else if (step.type === 'points') {
      const body = { client_email: emailOf(step.who), diff_op: step.op, diff_points: step.points };
      const { error } = await post('/loyaltylog/create', body);
      expect(error).toBe(model.points(emailOf(step.who), step.op, step.points));
    } else if (step.type === 'remove') {
      const { error } = await post('/customer/remove', { email: emailOf(step.who) });
      expect(error).toBe(model.remove(emailOf(step.who)));
    } else {
      const moved = orders[step.which % Math.max(orders.length, 1)];
      if (moved === undefined) continue;
      const { uid, token } = moved.receipt;
      const { error } = await post(`/order/${step.type}`, { uid, token });
      expect(error).toBe(model.move(step.type, moved.model));
    }
  }
  return orders;
};

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

const read = async (harness: OrderHarness, path: string, query: Record<string, string>): Promise<Json> =>
  (await harness.call('GET', path, { query })).json;

const compareCustomer = async (harness: OrderHarness, model: ModelCustomer, events: Json[]): Promise<void> => {
  const { email, totals, balance, entries } = model;
  const { customer } = await read(harness, '/customerstats/customer', { email });
  expect(customer).toMatchObject({
    orders_count: totals.size,
    orders_total: [...totals.values()].reduce((sum, total) => sum + total, 0) / 100,
    loyalty_points: balance / 100,
    loyalty_seq: entries,
  });
  const posted = events.filter(({ loyaltylog }) => loyaltylog?.client.uid === customer.uid);
  expect(posted.map(({ loyaltylog }) => loyaltylog.seq)).toEqual(upTo(entries));
  let sum = 0;
  for (const { loyaltylog } of posted) {
    sum += loyaltylog.diff_points * (loyaltylog.diff_op === 'add' ? 100 : -100);
    expect(sum).toBeGreaterThanOrEqual(0);
    expect(loyaltylog.loyalty_points).toBe(Math.round(sum) / 100);
  }
};

/** Statistics, balances, sequences, numbers and events of everything that was ever done in the harness. */
export const compare = async (harness: OrderHarness, model: Model, orders: readonly Placed[]): Promise<void> => {
  const events = await harness.events();
  for (const customer of model.customers) if (!customer.removed) await compareCustomer(harness, customer, events);
  const changes = events
    .filter(({ event }) => event === 'customer.changed')
    .map(({ seq, change }) => `${seq} ${change}`);
  const expected = model.customers.flatMap(({ removed }) => ['1 created', ...(removed ? ['2 removed'] : [])]);
  expect(changes.sort()).toEqual(expected.sort());

  const recorded = Map.groupBy(
    events.filter(({ event }) => event.startsWith('order.')),
    ({ order }) => order.uid,
  );
  expect(recorded.size).toBe(orders.length);
  const numbers: number[] = [];
  for (const { receipt, model: order } of orders) {
    const { order: shown } = await read(harness, '/orders/get', { uid: receipt.uid });
    numbers.push(shown.number);
    expect(shown).toMatchObject({ status: order.status, total: order.total / 100, token: receipt.token });
    const ofOrder = recorded.get(receipt.uid) ?? [];
    expect(ofOrder.map(({ event }) => event)).toEqual(order.events);
    expect(ofOrder.map(({ seq }) => seq)).toEqual(upTo(order.events.length));
    expect(ofOrder.map(({ previous_seq }) => previous_seq)).toEqual([null, ...upTo(order.events.length - 1)]);
  }
  expect(numbers.sort((a, b) => a - b)).toEqual(upTo(orders.length));
  for (const status of ['new', 'confirmed', 'timed_out', 'closed', 'cancelled']) {
    const { total_count } = await read(harness, '/orders/list', { status, pagesize: '1' });
    expect([status, total_count]).toEqual([
      status,
      orders.filter(({ model: order }) => order.status === status).length,
    ]);
  }
};
