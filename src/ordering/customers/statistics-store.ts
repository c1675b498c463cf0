/** The snapshot of a customer's orders on the record. Every change is one statement, so parallel orders add up. */
import { type Kysely, sql } from 'kysely';

export type StatisticsChange = {
  restuid: string;
  customerUid: string;
  /** 1: an order counts from now on; -1: it does no longer. */
  orders: 1 | -1;
  pickup: boolean;
  delivery: boolean;
  offline: boolean;
  /** Hundredths. */
  total: number;
};

const counts = ({ orders, pickup, delivery, offline, total }: StatisticsChange) => sql`
  orders_count = orders_count + ${orders},
  pickup_orders_count = pickup_orders_count + ${pickup ? orders : 0},
  delivery_orders_count = delivery_orders_count + ${delivery ? orders : 0},
  offline_orders_count = offline_orders_count + ${offline ? orders : 0},
  orders_total = orders_total + ${orders * total}::bigint`;

export const addOrder = async (tx: Kysely<unknown>, change: StatisticsChange, date: Date): Promise<void> => {
  await sql`
    update ordering.customers set ${counts(change)},
      first_order = least(first_order, ${date}), last_order = greatest(last_order, ${date}),
      last_offline_order = case when ${change.offline}::boolean
        then greatest(last_offline_order, ${date}) else last_offline_order end
    where restuid = ${change.restuid} and uid = ${change.customerUid}`.execute(tx);
};

export type RemainingDates = { firstOrder: Date | null; lastOrder: Date | null; lastOfflineOrder: Date | null };

export const takeOrderOut = async (
  tx: Kysely<unknown>,
  change: StatisticsChange,
  remaining: RemainingDates,
): Promise<void> => {
  await sql`
    update ordering.customers set ${counts(change)}, first_order = ${remaining.firstOrder},
      last_order = ${remaining.lastOrder}, last_offline_order = ${remaining.lastOfflineOrder}
    where restuid = ${change.restuid} and uid = ${change.customerUid}`.execute(tx);
};
