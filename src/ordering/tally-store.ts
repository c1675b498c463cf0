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
