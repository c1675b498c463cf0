/** SQL of the use of credentials by the day. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type UsageCount = {
  caller: string;
  /** Beginning of the day, UTC. */
  day: Date;
  requests: number;
  units: number;
  limited: number;
  elsewhere: number;
  elsewhereLast: Date | null;
  elsewhereAddress: string | null;
};

/** Adds the counts of one process in one statement. Rows are sorted, so that two processes cannot deadlock. */
export const addUsage = async (db: Db, counts: readonly UsageCount[]): Promise<void> => {
  const rows = [...counts].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  await sql`
    insert into gateway.caller_usage as held
      (caller, day, requests, units, limited, elsewhere, elsewhere_last, elsewhere_address)
    select * from unnest(${rows.map((row) => row.caller)}::text[], ${rows.map((row) => row.day)}::timestamptz[],
      ${rows.map((row) => row.requests)}::bigint[], ${rows.map((row) => row.units)}::bigint[],
      ${rows.map((row) => row.limited)}::bigint[], ${rows.map((row) => row.elsewhere)}::bigint[],
      ${rows.map((row) => row.elsewhereLast)}::timestamptz[], ${rows.map((row) => row.elsewhereAddress)}::text[])
    on conflict (caller, day) do update set requests = held.requests + excluded.requests,
      units = held.units + excluded.units, limited = held.limited + excluded.limited,
      elsewhere = held.elsewhere + excluded.elsewhere,
      elsewhere_last = coalesce(excluded.elsewhere_last, held.elsewhere_last),
      elsewhere_address = coalesce(excluded.elsewhere_address, held.elsewhere_address)`.execute(db);
};

const keyOf = ({ caller, day }: UsageCount): string => `${caller} ${day.getTime()}`;

/** Days of one caller with any use, oldest first. */
export const listUsageDays = async (db: Db, caller: string, since: Date): Promise<UsageCount[]> =>
  (
    await sql<UsageCount>`
      select caller, day, requests, units, limited, elsewhere, elsewhere_last as "elsewhereLast",
        elsewhere_address as "elsewhereAddress"
      from gateway.caller_usage where caller = ${caller} and day >= ${since} order by day`.execute(db)
  ).rows;

export type CallerTotals = Pick<UsageCount, 'caller' | 'requests' | 'units' | 'limited' | 'elsewhere'>;

/** The callers with most units since then. */
export const listTopCallers = async (db: Db, since: Date, rowsMax: number): Promise<CallerTotals[]> =>
  (
    await sql<CallerTotals>`
      select caller, sum(requests)::bigint as requests, sum(units)::bigint as units, sum(limited)::bigint as limited,
        sum(elsewhere)::bigint as elsewhere
      from gateway.caller_usage where day >= ${since} group by caller
      order by sum(units) desc, caller limit ${rowsMax}`.execute(db)
  ).rows;

/** Units since a day, of callers with any. */
export const sumUnits = async (
  db: Db,
  callers: readonly string[],
  since: Date,
): Promise<{ caller: string; units: number }[]> =>
  (
    await sql<{ caller: string; units: number }>`
      select caller, sum(units)::bigint as units from gateway.caller_usage
      where caller = any (${callers}::text[]) and day >= ${since} group by caller`.execute(db)
  ).rows;

/** The last call of the caller from an address outside its list, and how many there were since then. */
export const findElsewhere = async (
  db: Db,
  caller: string,
  since: Date,
): Promise<{ calls: number; last: Date; address: string } | undefined> =>
  (
    await sql<{ calls: number; last: Date; address: string }>`
      select sum(elsewhere) over ()::bigint as calls, elsewhere_last as last, elsewhere_address as address
      from gateway.caller_usage where caller = ${caller} and day >= ${since} and elsewhere > 0
      order by elsewhere_last desc limit 1`.execute(db)
  ).rows[0];

/** Deletes old days, a batch at a time. Returns how many. */
export const deleteOldUsage = async (db: Db, before: Date, rowsMax: number): Promise<number> =>
  Number(
    (
      await sql`
        delete from gateway.caller_usage where ctid = any (array(
          select ctid from gateway.caller_usage where day < ${before} limit ${rowsMax}
          for update skip locked))`.execute(db)
    ).numAffectedRows ?? 0n,
  );
