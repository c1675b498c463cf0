/** SQL of the counts by hour and route. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type Counts = { reads: number; writes: number; refused: number; failed: number };

/** `route` '': an operation that does not exist. */
export type HourCount = Counts & { caller: string; hour: Date; route: string };

/** Adds counts of one process in one statement. Sorted, so that two processes cannot deadlock. No row may be listed twice. */
export const addHours = async (db: Db, counts: readonly HourCount[]): Promise<void> => {
  const rows = [...counts].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  await sql`
    insert into gateway.request_hours as held (caller, hour, route, reads, writes, refused, failed)
    select * from unnest(${rows.map(({ caller }) => caller)}::text[], ${rows.map(({ hour }) => hour)}::timestamptz[],
      ${rows.map(({ route }) => route)}::text[], ${rows.map(({ reads }) => reads)}::bigint[],
      ${rows.map(({ writes }) => writes)}::bigint[], ${rows.map(({ refused }) => refused)}::bigint[],
      ${rows.map(({ failed }) => failed)}::bigint[])
    on conflict (caller, hour, route) do update set reads = held.reads + excluded.reads,
      writes = held.writes + excluded.writes, refused = held.refused + excluded.refused,
      failed = held.failed + excluded.failed`.execute(db);
};

const keyOf = ({ caller, hour, route }: HourCount): string => `${caller} ${hour.getTime()} ${route}`;

/** Milliseconds of the hour, and the route. */
export type HourKey = readonly [hourMs: number, route: string];

/**
 * The sums of these callers, the newest hour first, then by route backwards. `since`: hours that began then or later. Each
 * caller is read along its index up to `limit` rows, so the cost does not grow with what is stored.
 */
export const listHours = async (
  db: Db,
  asked: { callers: readonly string[]; since: Date; route: string | undefined; after: HourKey | undefined },
  limit: number,
): Promise<(Counts & { hour: Date; route: string })[]> => {
  const { callers, since, route, after } = asked;
  const further = after === undefined ? sql`` : sql`and (hour, route) < (${new Date(after[0])}, ${after[1]})`;
  const ofRoute = route === undefined ? sql`` : sql`and route = ${route}`;
  const { rows } = await sql<Counts & { hour: Date; route: string }>`
    select hour, route, sum(reads)::bigint as reads, sum(writes)::bigint as writes, sum(refused)::bigint as refused,
      sum(failed)::bigint as failed
    from unnest(${[...callers]}::text[]) as asked (id) cross join lateral (
      select * from gateway.request_hours where caller = asked.id and hour >= ${since} ${ofRoute} ${further}
      order by hour desc, route desc limit ${limit}) as found
    group by hour, route order by hour desc, route desc limit ${limit}`.execute(db);
  return rows;
};
