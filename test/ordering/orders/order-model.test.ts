import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOrderToken } from '#src/ordering/orders/order/order-token.ts';
import { timeOutOnce } from '#src/ordering/orders/time-out-orders.ts';
import { startOrdering, type TestOrdering } from '../../support/ordering.ts';
import { createOrderModel } from '../../support/orders/order-model.ts';
import { command, compare, type OrderHarness, play } from '../../support/orders/order-play.ts';
import { openShop } from '../../support/orders/order-sender.ts';

let core: TestOrdering;

beforeAll(async () => {
  core = await startOrdering();
});
afterAll(() => core.close());

const openOrderHarness = async (): Promise<OrderHarness> => {
  const shop = await openShop(core, { pointValue: 0.1, countdownMinutes: 10 });
  const events = async () => (await core.events()).filter(({ restuid }) => restuid === shop.restuid);
  return { call: shop.call, productUid: shop.product('P1').uid, events };
};

test('answers, statistics, balances, sequences and events of parallel clients equal those of a simple model, even when countdowns end under three workers', async () => {
  const clients = fc.array(fc.array(command, { minLength: 4, maxLength: 16 }), { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(clients, async (plans) => {
      const harness = await openOrderHarness();
      const model = createOrderModel(850);
      const placed = await Promise.all(plans.map((plan, index) => play(harness, model, `c${index}`, plan)));
      const orders = placed.flat();
      await compare(harness, model, orders);
      core.clock.advance(10 * 60_000);
      const step = async (): Promise<number> => {
        let count = 0;
        for (let found = 1; found > 0; count += found)
          found = await timeOutOnce({ ...core, tokenOf: createOrderToken(core.orderTokenKey) });
        return count;
      };
      const counts = await Promise.all([step(), step(), step()]);
      const late = orders.filter(({ model: order }) => model.timeOut(order));
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(late.length);
      await compare(harness, model, orders);
    }),
    { numRuns: 20, endOnFailure: true },
  );
});
