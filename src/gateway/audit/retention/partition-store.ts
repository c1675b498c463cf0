/** SQL of the monthly partitions of the events. */
import { type Kysely, sql } from 'kysely';
import type { ChainEnd } from '../chain/chain.ts';
import { ensurePartition } from '../chain/event-store.ts';

type Db = Kysely<unknown>;

/**
 * A lock that waits, such as for the end of a pg_dump, blocks every later reader and writer of the audit. So the wait is short,
 * and the caller tries again later.
 */
const lockWaitMs = 2_000;

const waitBriefly = async (tx: Db): Promise<void> => {
  await sql`select set_config('lock_timeout', ${`${lockWaitMs}ms`}, true)`.execute(tx);
};

/** Makes the month of `moment` unless it exists. Runs in a transaction. */
export const makeMonth = async (tx: Db, moment: Date): Promise<void> => {
  await waitBriefly(tx);
  await ensurePartition(tx, moment);
};

/**
 * `table`: its name in SQL. `endsAt`: from the catalogue of PostgreSQL; undefined unless the partition is a month that `audit_partition` made.
 */
export type Partition = { name: string; table: string; endsAt: Date | undefined };

/** Oldest first, unknown partitions last. */
export const listPartitions = async (db: Db): Promise<Partition[]> => {
  const { rows } = await sql<{ name: string; table: string; endsAt: Date | null }>`
    with bounds as (
      select c.relname as name, c.oid::regclass::text as "table", c.relnamespace = 'gateway'::regnamespace as own,
        (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \\(''([^'']+)''\\)'))[1]::timestamptz as first,
        (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \\(''([^'']+)''\\)'))[1]::timestamptz as last
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'gateway.audit_events'::regclass
    )
    select name, "table", case
      when own and name = 'audit_events_' || to_char(first at time zone 'UTC', 'YYYYMM')
        and last at time zone 'UTC' = (first at time zone 'UTC') + interval '1 month' then last end as "endsAt"
    from bounds order by 2, 1`.execute(db);
  return rows.map(({ name, table, endsAt }) => ({ name, table, endsAt: endsAt ?? undefined }));
};

/**
 * The last event of each chain in a partition, the lowest chain first. It steps through the key from chain to chain: a month may hold
 * millions of events, and reading them all would take longer than a statement may.
 */
export const lastOfPartition = async (tx: Db, name: string): Promise<(ChainEnd & { chain: number })[]> => {
  const month = sql.table(`gateway.${name}`);
  const { rows } = await sql<ChainEnd & { chain: number }>`
    with recursive chains as (
      (select chain from ${month} order by chain limit 1)
      union all
      select (select chain from ${month} where chain > before.chain order by chain limit 1)
      from chains before where before.chain is not null
    )
    select chains.chain, last.seq, encode(last.hash, 'hex') as hash
    from chains cross join lateral (
      select seq, hash from ${month} where chain = chains.chain order by seq desc limit 1
    ) last
    order by chains.chain`.execute(tx);
  return rows;
};

/**
 * The latest time of an event of the chain, up to number `seq`, in these partitions (`table`). Each is asked by its name, and by its key: the
 * audit as a whole would be read with the month whose events these are.
 */
export const latestIn = async (
  db: Db,
  partitions: readonly string[],
  chain: number,
  seq: number,
): Promise<Date | undefined> => {
  if (partitions.length === 0) return undefined;
  // `offset 0` keeps the planner from walking an index by time to its end.
  const found = partitions.map(
    (table) => sql`(select at from ${sql.raw(table)} where chain = ${chain} and seq <= ${seq} offset 0)`,
  );
  const { rows } = await sql<{ at: Date | null }>`
    select max(at) as at from (${sql.join(found, sql` union all `)}) found`.execute(db);
  return rows[0]?.at ?? undefined;
};

/**
 * Deletes the events before a new beginning. Two events of one moment may lie on both sides of the end of a month. `latest`: bounds
 * the times of those events, so that the statement is planned for the months up to it only.
 */
export const deleteBefore = async (tx: Db, chain: number, seq: number, latest: Date): Promise<void> => {
  await sql`
    delete from gateway.audit_events where chain = ${chain} and seq <= ${seq} and at <= ${latest}`.execute(tx);
};

/** Runs in a transaction. */
export const dropPartition = async (tx: Db, name: string): Promise<void> => {
  await waitBriefly(tx);
  await sql`select gateway.drop_audit_partition(${name})`.execute(tx);
};
