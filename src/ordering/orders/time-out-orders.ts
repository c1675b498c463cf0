/**
 * Times orders out at the end of their countdown (interface 10.7): seconds late at most, exactly once, even after a
 * restart.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { recordAhead } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { findRestaurant } from '../restaurants/restaurant-store.ts';
import { lockForMove, writeChanges } from './change-order.ts';
import { listOverdueOrders, type OverdueOrder } from './order/order-store.ts';
import type { OrderToken } from './order/order-token.ts';
import { moveOrder } from './order/transitions.ts';

/** chosen: far below the 5 s that an order may time out late (interface 10.7). */
const pollMs = 2_000;
const batchMax = 50;

export const createTimeOutOrders = (deps: {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  tokenOf: OrderToken;
}): Service => ({
  name: 'order-countdown',
  run: async (signal) => {
    while (!signal.aborted) {
      const count = await timeOutOnce(deps.db, deps.clock.now(), deps.tokenOf);
      if (count > 0) deps.log.info({ count }, 'orders timed out');
      if (count < batchMax) await pause(pollMs, signal);
    }
  },
});

/**
 * Times out one batch, each order in a transaction of its own. A worker that finds an order locked by a confirmation or
 * by another worker waits, and then finds the order settled. After a failure the other orders continue; the first
 * failure is thrown at the end. Returns the number of orders that timed out.
 */
export const timeOutOnce = async (db: Kysely<unknown>, now: Date, tokenOf: OrderToken): Promise<number> => {
  const failures: unknown[] = [];
  let count = 0;
  for (const overdue of await listOverdueOrders(db, now, batchMax)) {
    try {
      if (await inTransaction(db, (tx) => timeOut(tx, overdue, now, tokenOf))) count += 1;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return count;
};

const timeOut = async (
  tx: Kysely<unknown>,
  { restuid, uid, aheadMs }: OverdueOrder,
  realNow: Date,
  tokenOf: OrderToken,
): Promise<boolean> => {
  const now = new Date(realNow.getTime() + aheadMs);
  recordAhead(tx, aheadMs);
  const order = await lockForMove(tx, restuid, uid, 'time_out', tokenOf);
  const restaurant = await findRestaurant(tx, restuid);
  if (order === undefined || restaurant === undefined) return false;
  const result = moveOrder(order, 'time_out', { now, actor: 'system' });
  if (result.kind === 'moved') await writeChanges(tx, restaurant, 'time_out', result.order, now);
  return result.kind === 'moved';
};
