/** The order statistics on a customer record. Every change is one statement, so parallel orders add up. */

import type { Kysely } from 'kysely';
import { fragment, statement } from '#src/platform/db/driver/statement.ts';

export type CustomerOfOrder = { restuid: string; customerUid: string };

export type StatisticsChange = {
  /** 1 adds an order, -1 removes one. */
  orders: 1 | -1;
  pickup: boolean;
  delivery: boolean;
  offline: boolean;
  /** Hundredths. */
  total: number;
};

const counts = ({ orders, pickup, delivery, offline, total }: StatisticsChange) => fragment`
  orders_count = orders_count + ${orders},
  pickup_orders_count = pickup_orders_count + ${pickup ? orders : 0},
  delivery_orders_count = delivery_orders_count + ${delivery ? orders : 0},
  offline_orders_count = offline_orders_count + ${offline ? orders : 0},
  orders_total = orders_total + ${orders * total}::bigint`;

const added = (change: StatisticsChange, date: Date) => fragment`
  ${counts(change)}, first_order = least(first_order, ${date}), last_order = greatest(last_order, ${date}),
  last_offline_order = case when ${change.offline}::boolean
    then greatest(last_offline_order, ${date}) else last_offline_order end`;

export const addOrder = async (
  tx: Kysely<unknown>,
  { restuid, customerUid }: CustomerOfOrder,
  change: StatisticsChange,
  date: Date,
): Promise<void> => {
  await statement`
    update ordering.customers set ${added(change, date)}
    where restuid = ${restuid} and uid = ${customerUid}`.execute(tx);
};

type EmailOfOrder = { restuid: string; email: string };

const addedByEmail = ({ restuid, email }: EmailOfOrder, change: StatisticsChange, date: Date) => fragment`
  update ordering.customers set ${added(change, date)}
  where restuid = ${restuid} and lower(email) = lower(${email}::text) and removed_at is null returning uid`;

/** The row stays locked until the transaction ends. */
export const addOrderByEmail = async (
  tx: Kysely<unknown>,
  named: EmailOfOrder,
  change: StatisticsChange,
  date: Date,
): Promise<{ uid: string } | undefined> => {
  const { rows } = await statement<{ uid: string }>`${addedByEmail(named, change, date)}`.execute(tx);
  return rows[0];
};

/**
 * The same, and in the same round trip the next order number of the restaurant (nextOrderNumber). If the customer does
 * not exist, no number is taken.
 */
export const addNumberedOrderByEmail = async (
  tx: Kysely<unknown>,
  named: EmailOfOrder,
  change: StatisticsChange,
  date: Date,
): Promise<{ uid: string; number: number } | undefined> => {
  const { rows } = await statement<{ uid: string; number: number }>`
    with counted as (${addedByEmail(named, change, date)}), numbered as (
      insert into ordering.counters (restuid, name, last) select ${named.restuid}, 'orders', 1 from counted
      on conflict (restuid, name) do update set last = ordering.counters.last + 1 returning last
    )
    select counted.uid, numbered.last as number from counted, numbered`.execute(tx);
  return rows[0];
};

export type RemainingDates = { firstOrder: Date | null; lastOrder: Date | null; lastOfflineOrder: Date | null };

export const takeOrderOut = async (
  tx: Kysely<unknown>,
  { restuid, customerUid }: CustomerOfOrder,
  change: StatisticsChange,
  remaining: RemainingDates,
): Promise<void> => {
  await statement`
    update ordering.customers set ${counts(change)}, first_order = ${remaining.firstOrder},
      last_order = ${remaining.lastOrder}, last_offline_order = ${remaining.lastOfflineOrder}
    where restuid = ${restuid} and uid = ${customerUid}`.execute(tx);
};
