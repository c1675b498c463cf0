/** How many there are of something that a restaurant may have very many of, without counting them. */
import { type Kysely, sql } from 'kysely';

/** Kept by triggers (migration 0140). */
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

/** Orders are never deleted and their numbers have no gaps: the last one is how many there are. */
export const lastOrderNumber = async (db: Kysely<unknown>, restuid: string): Promise<number> => {
  const { rows } = await sql<{ last: number }>`
    select last from ordering.counters where restuid = ${restuid} and name = 'orders'`.execute(db);
  return rows[0]?.last ?? 0;
};

/** Statuses that an order has not from the start. */
const laterStatuses = ['confirmed', 'timed_out', 'closed', 'cancelled'];

const tallyOf = (status: string): string => `orders_${status}`;

/** Orders in any of these statuses (migration 0150). */
export const readOrderTally = async (
  db: Kysely<unknown>,
  restuid: string,
  statuses: readonly string[],
): Promise<number> => {
  // One statement, so that an order on its way from one status to another is seen in exactly one of them.
  const { rows } = await sql<{ wanted: number; later: number; last: number }>`
    select coalesce(sum(count) filter (where name = any(${statuses.map(tallyOf)}::text[])), 0)::bigint as wanted,
      coalesce(sum(count), 0)::bigint as later,
      coalesce((select last from ordering.counters where restuid = ${restuid} and name = 'orders'), 0) as last
    from ordering.tallies
    where restuid = ${restuid} and name = any(${laterStatuses.map(tallyOf)}::text[])`.execute(db);
  const { wanted = 0, later = 0, last = 0 } = rows[0] ?? {};
  return wanted + (statuses.includes('new') ? last - later : 0);
};
