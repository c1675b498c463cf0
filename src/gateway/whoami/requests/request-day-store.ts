/** SQL of the days of the request log, which functions of the owner make and drop. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/** A lock that waits blocks every later reader and writer of the table, so the wait is short; the caller tries again later. */
const lockWaitMs = 2_000;

const waitBriefly = async (tx: Db): Promise<void> => {
  await sql`select set_config('lock_timeout', ${`${lockWaitMs}ms`}, true)`.execute(tx);
};

/** Runs in a transaction. An existing day is left as it is. */
export const makeDay = async (tx: Db, moment: Date): Promise<void> => {
  await waitBriefly(tx);
  await sql`select gateway.make_request_day(${moment})`.execute(tx);
};

/** YYYYMMDD, the oldest first. */
export const listDays = async (db: Db): Promise<string[]> =>
  (
    await sql<{ day: string }>`
      select distinct right(child.relname, 8) as day from pg_inherits join pg_class as child on child.oid = inhrelid
      where inhparent in ('gateway.requests'::regclass, 'gateway.request_hours'::regclass)
        and child.relname ~ '^request(s|_hours)_[0-9]{8}$'
      order by 1`.execute(db)
  ).rows.map(({ day }) => day);

/** Runs in a transaction. */
export const dropDay = async (tx: Db, day: string): Promise<void> => {
  await waitBriefly(tx);
  await sql`select gateway.drop_request_day(${day})`.execute(tx);
};
