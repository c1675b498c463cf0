/** SQL of the leases of quotas: units that a gateway takes before it spends them. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { QuotaPeriod } from './quota-span.ts';

type Db = Kysely<unknown>;

export type LeaseRequest = {
  period: QuotaPeriod;
  starts: Date;
  quota: number;
  /** Units that this gateway has, that it returns, and that waiting requests need. */
  held: number;
  back: number;
  needed: number;
};

/** `leased`: units that all gateways have taken, those of this answer included. */
export type LeaseAnswer = { period: QuotaPeriod; leased: number; granted: number };

/** A gateway takes this part of what is left, so that blocks shrink as a quota is used up. */
export const blockShare = 50;
export const blockMax = 10_000;

/** What `a` gets: enough for its waiting requests or for a block, and never more than is left. */
const grantOf = (leased: RawBuilder<unknown>): RawBuilder<number> => sql<number>`
  greatest(0, least(a.quota - ${leased}, greatest(a.needed,
    least((a.quota - ${leased} + ${sql.lit(blockShare - 1)}) / ${sql.lit(blockShare)}, ${sql.lit(blockMax)})) - a.held))`;

/**
 * Takes units of one caller (CountedCaller.quotaOf). One statement, which locks each row and computes from its newest version: two gateways never
 * get the same units. `requests`: at most one per period, day before month, so that two statements cannot deadlock.
 */
export const leaseUnits = async (
  db: Db,
  caller: string,
  requests: readonly LeaseRequest[],
): Promise<readonly LeaseAnswer[]> => {
  const before = sql`(lease.leased - a.back)`;
  const asked = (value: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`(select ${value} from asked a where a.period = excluded.period)`;
  const { rows } = await sql<LeaseAnswer>`
    with asked as (
      select * from unnest(${requests.map(({ period }) => period)}::text[],
        ${requests.map(({ starts }) => starts)}::timestamptz[], ${requests.map(({ quota }) => quota)}::bigint[],
        ${requests.map(({ held }) => held)}::bigint[], ${requests.map(({ back }) => back)}::bigint[],
        ${requests.map(({ needed }) => needed)}::bigint[])
        as a (period, starts, quota, held, back, needed)
    )
    insert into gateway.quota_leases as lease (caller, period, starts, leased, granted)
    select ${caller}, a.period, a.starts, ${grantOf(sql`0`)}, ${grantOf(sql`0`)} from asked a order by a.period
    on conflict (caller, period, starts) do update set
      leased = ${asked(sql`${before} + ${grantOf(before)}`)}, granted = ${asked(grantOf(before))}
    returning period, leased, granted`.execute(db);
  return rows;
};

export type ReturnedUnits = { caller: string; period: QuotaPeriod; starts: Date; back: number };

/** Returns units that were not spent; a key and its successor may return to the same row. Rows are locked in the sequence in which `leaseUnits` locks them. */
export const returnUnits = async (db: Db, returned: readonly ReturnedUnits[]): Promise<void> => {
  await sql`
    with given as (
      select caller, period, starts, sum(back)::bigint as back from unnest(
        ${returned.map(({ caller }) => caller)}::text[],
        ${returned.map(({ period }) => period)}::text[], ${returned.map(({ starts }) => starts)}::timestamptz[],
        ${returned.map(({ back }) => back)}::bigint[]) as g (caller, period, starts, back)
      group by caller, period, starts
    ), locked as (
      select l.caller, l.period, l.starts, g.back from gateway.quota_leases l join given g using (caller, period, starts)
      order by l.caller, l.period, l.starts for update of l
    )
    update gateway.quota_leases l set leased = greatest(0, l.leased - k.back) from locked k
    where l.caller = k.caller and l.period = k.period and l.starts = k.starts`.execute(db);
};

/** Deletes leases of days and months that began before, a batch at a time. Returns how many. */
export const deleteOldLeases = async (db: Db, before: Date, rowsMax: number): Promise<number> =>
  Number(
    (
      await sql`
        delete from gateway.quota_leases where ctid = any (array(
          select ctid from gateway.quota_leases where starts < ${before} limit ${rowsMax}
          for update skip locked))`.execute(db)
    ).numAffectedRows ?? 0n,
  );
