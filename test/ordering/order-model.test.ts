import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Command, createOrderModel, type ModelCustomer, type ModelOrder } from '../support/order-model.ts';
import { openShop, type Shop } from '../support/order-sender.ts';
import { type Json, startOrdering, type TestOrdering } from '../support/ordering.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

type Model = ReturnType<typeof createOrderModel>;
type Placed = { receipt: Json; model: ModelOrder };

/** Two guests of the client's own, and one that all clients serve and none removes or takes points from. */
const own = fc.constantFrom('one', 'two');
const guest = fc.constantFrom('one', 'two', 'shared');
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ type: fc.constant('order'), who: guest, quantity: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constantFrom('confirm', 'close', 'cancel'), which: fc.nat({ max: 9 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('points'),
      who: own,
      op: fc.constantFrom('add', 'subtract'),
      points: fc.integer({ min: 1, max: 40 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('remove'), who: own }) },
) as fc.Arbitrary<Command>;

/** One client's commands one after another; each answer must be what the model says. */
const play = async (shop: Shop, model: Model, name: string, commands: readonly Command[]): Promise<Placed[]> => {
  const orders: Placed[] = [];
  const emailOf = (who: string): string => `${who === 'shared' ? 'all' : name}-${who}@example.com`;
  for (const step of commands) {
    if (step.type === 'order') {
      const email = emailOf(step.who);
      const details = [shop.line('P1', { quantity: step.quantity })];
      const receipt = await shop.placed({ client: { first_name: 'Ada', email }, details });
      orders.push({ receipt, model: model.order(email, step.quantity) });
    } else if (step.type === 'points') {
      const body = { client_email: emailOf(step.who), diff_op: step.op, diff_points: step.points };
      const { json } = await shop.call('POST', '/loyaltylog/create', { body });
      expect(json.error).toBe(model.points(emailOf(step.who), step.op, step.points));
    } else if (step.type === 'remove') {
      const { json } = await shop.call('POST', '/customer/remove', { body: { email: emailOf(step.who) } });
      expect(json.error).toBe(model.remove(emailOf(step.who)));
    } else {
      const moved = orders[step.which % Math.max(orders.length, 1)];
      if (moved === undefined) continue;
      const { json } = await shop.act(step.type, moved.receipt);
      expect(json.error).toBe(model.move(step.type, moved.model));
    }
  }
  return orders;
};

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

const compareCustomer = async (shop: Shop, customer: ModelCustomer, events: Json[]): Promise<void> => {
  const { email, totals, balance, entries } = customer;
  const read: Json = await shop.customer(email);
  expect(read).toMatchObject({
    orders_count: totals.size,
    pickup_orders_count: totals.size,
    orders_total: [...totals.values()].reduce((sum, total) => sum + total, 0) / 100,
    loyalty_points: balance / 100,
    loyalty_seq: entries,
  });
  const posted = events.filter(({ loyaltylog }) => loyaltylog?.client.uid === read.uid);
  expect(posted.map(({ loyaltylog }) => loyaltylog.seq)).toEqual(upTo(entries));
  let sum = 0;
  for (const { loyaltylog } of posted) {
    sum += loyaltylog.diff_points * (loyaltylog.diff_op === 'add' ? 100 : -100);
    expect(loyaltylog.loyalty_points).toBe(Math.round(sum) / 100);
  }
};

const compare = async (shop: Shop, model: Model, orders: readonly Placed[]): Promise<void> => {
  const events = (await core.events()).filter(({ restuid }) => restuid === shop.restuid);
  for (const customer of model.customers) if (!customer.removed) await compareCustomer(shop, customer, events);
  const changes = events
    .filter(({ event }) => event === 'customer.changed')
    .map(({ seq, change }) => `${seq} ${change}`);
  const expected = model.customers.flatMap(({ removed }) => ['1 created', ...(removed ? ['2 removed'] : [])]);
  expect(changes.sort()).toEqual(expected.sort());

  const numbers: number[] = [];
  for (const { receipt, model: order } of orders) {
    const read = await shop.read(receipt.uid);
    numbers.push(read.number);
    expect(read).toMatchObject({ status: order.status, total: order.total / 100 });
    const recorded = await shop.eventsOf(receipt.uid);
    expect(recorded.map(([event]) => event)).toEqual(order.events);
    expect(recorded.map(([, seq]) => seq)).toEqual(upTo(order.events.length));
    expect(recorded.map(([, , previous]) => previous)).toEqual([null, ...upTo(order.events.length - 1)]);
  }
  expect(numbers.sort((a, b) => a - b)).toEqual(upTo(orders.length));
};

test('whatever parallel clients do with orders, points and customers, answers, statistics, balances, sequences and events are those of a simple model', async () => {
  const clients = fc.array(fc.array(command, { minLength: 4, maxLength: 16 }), { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(clients, async (plans) => {
      const shop = await openShop(core);
      const model = createOrderModel(850);
      const placed = await Promise.all(plans.map((plan, index) => play(shop, model, `c${index}`, plan)));
      await compare(shop, model, placed.flat());
    }),
    { numRuns: 20, endOnFailure: true },
  );
}, 120_000);
