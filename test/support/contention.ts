/** Makes requests really meet: a row is held until they all wait for it, and only then let go. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { until } from './until.ts';

/**
 * Runs `lock` (a `select … for update`) in a transaction, calls `start`, waits until at least `waitersMin` sessions of
 * this database wait for a lock, calls `meanwhile` with the transaction, then ends it. The pool has ten connections, one of them is the holder's.
 */
export const whileLocked = async <T>(
  db: Kysely<unknown>,
  lock: RawBuilder<unknown>,
  waitersMin: number,
  start: () => Promise<T>,
  meanwhile: (holder: Kysely<unknown>) => unknown = () => undefined,
): Promise<T> => {
  let started: Promise<T> | undefined;
  await inTransaction(db, async (tx) => {
    await lock.execute(tx);
    started = start();
    // A failure is seen by who awaits the result; until then it must not count as unhandled.
    started.catch(() => undefined);
    await until(async () => {
      const { rows } = await sql<{ waiting: number }>`
        select count(distinct l.pid) as waiting from pg_locks l
        where not l.granted and l.pid in (select pid from pg_stat_get_activity(null) where datid =
          (select oid from pg_database where datname = current_database()))`.execute(tx);
      await sql`select pg_stat_clear_snapshot()`.execute(tx);
      return (rows[0]?.waiting ?? 0) >= waitersMin;
    });
    await meanwhile(tx);
  });
  if (started === undefined) throw new Error('nothing was started');
  return started;
};
