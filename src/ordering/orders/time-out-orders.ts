/** The automatic step at the end of a countdown (interface 10.7): at most seconds late, exactly once, also after a restart. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { findRestaurant } from '../restaurants/restaurant-store.ts';
import { carryOut } from './change-order.ts';
import { lockOverdueOrders } from './order-store.ts';
import { moveOrder } from './transitions.ts';

const pollMs = 1000;
const batchMax = 50;

export const createTimeOutOrders = (deps: { db: Kysely<unknown>; clock: Clock; log: Logger }): Service => ({
  name: 'order-countdown',
  run: async (signal) => {
    while (!signal.aborted) {
      const count = await timeOutOnce(deps.db, deps.clock.now());
      if (count > 0) deps.log.info({ count }, 'orders timed out');
      if (count < batchMax) await pause(pollMs, signal);
    }
  },
});

/** One batch in one transaction; rows that another worker or a confirm holds are left to it. Returns how many there were. */
export const timeOutOnce = (db: Kysely<unknown>, now: Date): Promise<number> =>
  inTransaction(db, async (tx) => {
    const orders = await lockOverdueOrders(tx, now, batchMax);
    for (const order of orders) {
      const restaurant = await findRestaurant(tx, order.restuid);
      const result = moveOrder(order, 'time_out', { now });
      if (restaurant !== undefined && result.kind === 'moved')
        await carryOut(tx, restaurant, 'time_out', result.order, now);
    }
    return orders.length;
  });
