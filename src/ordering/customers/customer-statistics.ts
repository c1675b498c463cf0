/**
 * Counts orders in a customer's statistics. By the snapshot rule of interface 10.2 neither function raises the record's
 * seq or records an event. Both must run in the transaction that changes the order, and lock the customer.
 */
import type { Kysely } from 'kysely';
import {
  addNumberedOrderByEmail,
  addOrder,
  addOrderByEmail,
  type RemainingDates,
  type StatisticsChange,
  takeOrderOut,
} from './statistics-store.ts';

/** `total` in hundredths; `date`: when the order was received. */
export type CountedOrder = { dmethod: string; creator: string; total: number; date: Date };

type Counting = { restuid: string; customerUid: string; order: CountedOrder };

const changeOf = (order: CountedOrder, orders: 1 | -1): StatisticsChange => ({
  orders,
  pickup: order.dmethod === '0',
  delivery: order.dmethod === '1',
  offline: order.creator === 'restaurant',
  total: order.total,
});

/** Adds an order to the statistics. */
export const countOrder = (tx: Kysely<unknown>, counting: Counting): Promise<void> =>
  addOrder(tx, counting, changeOf(counting.order, 1), counting.order.date);

/** The same by email; undefined when no customer has it. `numbered`: also takes the number of the order. */
export const countOrderByEmail = async (
  tx: Kysely<unknown>,
  { restuid, email, order, numbered }: { restuid: string; email: string; order: CountedOrder; numbered: boolean },
): Promise<{ uid: string; number?: number } | undefined> =>
  (numbered ? addNumberedOrderByEmail : addOrderByEmail)(tx, { restuid, email }, changeOf(order, 1), order.date);

/**
 * Removes an order from the statistics. `remaining`: dates over the customer's other counted orders; null without any.
 */
export const uncountOrder = (tx: Kysely<unknown>, counting: Counting & { remaining: RemainingDates }): Promise<void> =>
  takeOrderOut(tx, counting, changeOf(counting.order, -1), counting.remaining);
