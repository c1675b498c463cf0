/** Stored totals of large lists, so that a list does not count its rows. */
import { type Kysely, sql } from 'kysely';

/** Triggers maintain these totals. */
export const readTally = async (
  db: Kysely<unknown>,
  restuid: string,
  name: 'customers' | 'loyalty_entries',
): Promise<number> => {
  const { rows } = await sql<{ total: number }>`
    select coalesce(sum(count), 0)::bigint as total from ordering.tallies
    where restuid = ${restuid} and name = ${name}`.execute(db);
  return rows[0]?.total ?? 0;
};

/** Orders are never deleted and their numbers have no gaps, so the last number is the number of orders. */
export const lastOrderNumber = async (db: Kysely<unknown>, restuid: string): Promise<number> => {
  const { rows } = await sql<{ last: number }>`
    select last from ordering.counters where restuid = ${restuid} and name = 'orders'`.execute(db);
  return rows[0]?.last ?? 0;
};

/** Statuses that an order can only reach after its creation. */
const laterStatuses = ['confirmed', 'timed_out', 'closed', 'cancelled'];

const tallyOf = (status: string): string => `orders_${status}`;

/** The number of orders in any of these statuses. Triggers maintain one total per status. */
export const readOrderTally = async (
  db: Kysely<unknown>,
  restuid: string,
  statuses: readonly string[],
): Promise<number> => {
  // One statement sees an order that changes its status in exactly one of the two statuses.
  const { rows } = await sql<{ wanted: number; later: number; last: number }>`
    select coalesce(sum(count) filter (where name = any(${statuses.map(tallyOf)}::text[])), 0)::bigint as wanted,
      coalesce(sum(count), 0)::bigint as later,
      coalesce((select last from ordering.counters where restuid = ${restuid} and name = 'orders'), 0) as last
    from ordering.tallies
    where restuid = ${restuid} and name = any(${laterStatuses.map(tallyOf)}::text[])`.execute(db);
  const { wanted = 0, later = 0, last = 0 } = rows[0] ?? {};
  return wanted + (statuses.includes('new') ? last - later : 0);
};

/**
 * A text that differs after every new order and every move. It takes no dates, which the clock of a sandbox may set back. A new
 * order has a new number, and no order returns to an earlier status, so moves cannot cancel out in the totals.
 */
export const markOfOrders = async (db: Kysely<unknown>, restuid: string): Promise<string> => {
  const { rows } = await sql<{ name: string; count: number }>`
    select name, last as count from ordering.counters where restuid = ${restuid} and name = 'orders'
    union all
    (select name, sum(count)::bigint from ordering.tallies
     where restuid = ${restuid} and name = any(${laterStatuses.map(tallyOf)}::text[]) group by name order by name)`.execute(
    db,
  );
  return rows.map(({ name, count }) => `${name} ${count}`).join();
};
