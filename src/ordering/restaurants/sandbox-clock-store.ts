/** SQL of the clocks of sandboxes. */
import { type Kysely, sql } from 'kysely';

/** Milliseconds that the clock is ahead; 0 without a row. */
export const findAhead = async (db: Kysely<unknown>, restuid: string): Promise<number> =>
  (
    await sql<{ ahead: number }>`
      select ahead_ms::float8 as ahead from ordering.sandbox_clocks where restuid = ${restuid}`.execute(db)
  ).rows[0]?.ahead ?? 0;

/** Locks the restaurant, so that two moves of its clock follow each other. */
export const lockClock = async (tx: Kysely<unknown>, restuid: string): Promise<number> => {
  await sql`select 1 from ordering.restaurants where uid = ${restuid} for no key update`.execute(tx);
  return findAhead(tx, restuid);
};

export const saveAhead = async (tx: Kysely<unknown>, restuid: string, aheadMs: number): Promise<void> => {
  await (aheadMs === 0
    ? sql`delete from ordering.sandbox_clocks where restuid = ${restuid}`
    : sql`
        insert into ordering.sandbox_clocks (restuid, ahead_ms) values (${restuid}, ${aheadMs})
        on conflict (restuid) do update set ahead_ms = excluded.ahead_ms`
  ).execute(tx);
};
