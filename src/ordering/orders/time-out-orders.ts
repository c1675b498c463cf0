/**
 * Times orders out at the end of their countdown (interface 10.7): seconds late at most, exactly once, even after a
 * restart.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { recordAhead } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction, isLockTimeout } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { findRestaurant } from '../restaurants/restaurant-store.ts';
import { lockForMove, writeChanges } from './change-order.ts';
import { boundLockWait, listOverdueOrders, type OverdueOrder } from './order/order-store.ts';
import type { OrderToken } from './order/order-token.ts';
import { moveOrder } from './order/transitions.ts';

/** chosen: far below the 5 s that an order may time out late (interface 10.7). */
const pollMs = 2_000;
const batchMax = 50;

/** chosen: other changes hold their locks for milliseconds; an order that is locked for longer must not delay the next ones. */
const lockWaitMs = 500;

type TimeOutDeps = { db: Kysely<unknown>; clock: Clock; tokenOf: OrderToken };

export const createTimeOutOrders = (deps: TimeOutDeps & { log: Logger }): Service => ({
  name: 'order-countdown',
  run: async (signal) => {
    while (!signal.aborted) {
      try {
        const count = await timeOutOnce(deps, signal);
        if (count > 0) deps.log.info({ count }, 'orders timed out');
      } catch (error) {
        // A failed service is started again after a pause that grows beyond the 5 s.
        deps.log.error({ err: error }, 'orders could not be timed out and are tried again');
      }
      await pause(pollMs, signal);
    }
  },
});

/**
 * Times out what is overdue, each order in a transaction of its own. A worker that finds an order locked by a confirmation or
 * by another worker waits, and then finds the order settled. An order that stays locked is left for the next call. After a
 * failure the other orders continue; the first failure is thrown at the end. Returns the number of orders that timed out.
 */
export const timeOutOnce = async (deps: TimeOutDeps, signal?: AbortSignal): Promise<number> => {
  const { db, clock } = deps;
  const failures: unknown[] = [];
  const left: string[] = [];
  let count = 0;
  // A look has up to `batchMax` orders of each of its two parts, so with fewer altogether no part was cut off. It ends, because
  // an order that was looked at is either timed out or left out of the next look.
  for (let found = batchMax; found >= batchMax && signal?.aborted !== true; ) {
    const batch = await listOverdueOrders(db, clock.now(), { limit: batchMax, except: left });
    for (const overdue of batch) {
      const outcome = await tryTimeOut(deps, overdue);
      if (outcome === true) count += 1;
      else left.push(overdue.uid);
      if (outcome instanceof Error) failures.push(outcome);
    }
    found = batch.length;
  }
  if (failures.length > 0) throw failures[0];
  return count;
};

/** False: it was settled meanwhile, or is locked. */
const tryTimeOut = async (deps: TimeOutDeps, overdue: OverdueOrder): Promise<boolean | Error> => {
  try {
    return await inTransaction(deps.db, (tx) => timeOut(tx, overdue, deps));
  } catch (error) {
    if (isLockTimeout(error)) return false;
    return error instanceof Error ? error : new Error(String(error));
  }
};

const timeOut = async (
  tx: Kysely<unknown>,
  { restuid, uid, aheadMs }: OverdueOrder,
  { clock, tokenOf }: TimeOutDeps,
): Promise<boolean> => {
  await boundLockWait(tx, lockWaitMs);
  recordAhead(tx, aheadMs);
  const order = await lockForMove(tx, restuid, uid, 'time_out', tokenOf);
  const restaurant = await findRestaurant(tx, restuid);
  if (order === undefined || restaurant === undefined) return false;
  // Read after the wait for the lock: an earlier time would hide the change from callers that list what was updated since.
  const now = new Date(clock.now().getTime() + aheadMs);
  const result = moveOrder(order, 'time_out', { now, actor: 'system' });
  if (result.kind === 'moved') await writeChanges(tx, restaurant, 'time_out', result.order, now);
  return result.kind === 'moved';
};
