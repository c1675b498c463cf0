/**
 * Tables that are partitioned by week over a key that begins with the time (`prefix_` and nine digits). Weeks are created
 * ahead and dropped as a whole. Rows of the default partition belong to no week and are deleted one by one.
 */
import { type Kysely, sql } from 'kysely';
import { dayMs } from '../../clock.ts';

/** A row of `platform.weekly_tables`: the functions of the owner that make and drop weeks refuse every other table. */
export type WeeklyTable = {
  schema: string;
  name: string;
  /** The column whose ids the weeks are ranges of. */
  key: string;
  prefix: string;
};

const weekMs = 7 * dayMs;
/** A lock that waits blocks every later reader and writer of the table, so the wait is short and retried later. */
const lockWaitMs = 2_000;
/** The bound between two statements of such a transaction, on a busy machine. */
const idleMsMax = 3_000;

export const weekOf = (moment: Date): number => Math.floor(moment.getTime() / weekMs);

export const endOfWeek = (week: number): Date => new Date((week + 1) * weekMs);

/** Creates the week of `moment` if it is missing. */
export const ensureWeek = async (tx: Kysely<unknown>, table: WeeklyTable, moment: Date): Promise<void> => {
  await waitBriefly(tx);
  await sql`
    select platform.make_week(${table.schema}, ${table.name}, ${moment})`.execute(tx);
};

/** The weeks of the table, the oldest first. */
export const listWeeks = async (db: Kysely<unknown>, table: WeeklyTable): Promise<number[]> => {
  const { rows } = await sql<{ week: number }>`
    select substring(child.relname from '_w([0-9]+)$')::bigint as week
    from pg_inherits join pg_class as child on child.oid = inhrelid
    where inhparent = ${`${table.schema}.${table.name}`}::regclass and child.relname ~ '_w[0-9]+$'
    order by 1`.execute(db);
  return rows.map(({ week }) => week);
};

/** Runs in a transaction. A missing week is no error. */
export const dropWeek = async (tx: Kysely<unknown>, { schema, name }: WeeklyTable, week: number): Promise<void> => {
  await waitBriefly(tx);
  await sql`select platform.drop_week(${schema}, ${name}, ${week})`.execute(tx);
};

/** Deletes rows of the default partition with a time before `before`, at most `limit`; returns how many. */
export const deleteStrays = async (
  db: Kysely<unknown>,
  { schema, name, key, prefix }: WeeklyTable,
  before: Date,
  limit: number,
): Promise<number> => {
  const strays = sql.id(schema, `${name}_default`);
  const { numAffectedRows } = await sql`
    delete from ${strays} where ctid = any(array(
      select ctid from ${strays}
      where ${sql.id(key)} >= ${`${prefix}_`} and ${sql.id(key)} < platform.id_bound(${prefix}, ${before}) limit ${limit}
    ))`.execute(db);
  return Number(numAffectedRows ?? 0n);
};

/**
 * Limits how long this transaction can block others. The lock on the whole table stops every reader, so a process that is
 * stopped while it holds the lock (SIGSTOP, a paused container) loses its session after `idleMsMax`.
 */
const waitBriefly = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`select set_config('lock_timeout', ${`${lockWaitMs}ms`}, true),
    set_config('idle_in_transaction_session_timeout', ${`${idleMsMax}ms`}, true)`.execute(tx);
};
