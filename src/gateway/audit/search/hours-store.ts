/** SQL of the hourly counts of events. */
import { type Kysely, sql } from 'kysely';
import { networkText } from './filter-store.ts';

type Db = Kysely<unknown>;

/** Takes the lock to the end of the transaction; false while another gateway counts. */
export const lockHours = async (tx: Db): Promise<boolean> => {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtext('gateway.audit_hours')) as locked`.execute(tx);
  return rows[0]?.locked === true;
};

export type Uncounted = { chain: number; after: number };

/** Chains with uncounted events, oldest first. The chain of changes has no events that are counted. */
export const listUncounted = async (tx: Db, limit: number): Promise<Uncounted[]> => {
  const { rows } = await sql<Uncounted>`
    select c.chain, greatest(c.anchor_seq, coalesce(p.seq, 0))::bigint as after
    from gateway.audit_chains c left join gateway.audit_hour_positions p on p.chain = c.chain
    where c.chain <> 0 and not (c.closed and coalesce(p.seq, 0) >= c.seq)
      and exists (select 1 from gateway.audit_events e
                  where e.chain = c.chain and e.seq > greatest(c.anchor_seq, coalesce(p.seq, 0)))
    order by c.chain limit ${limit}`.execute(tx);
  return rows;
};

/**
 * Counts at most `limit` next events of a chain, moves its position, and returns their number. An hour has at most
 * `valuesMax` separate values of a dimension, the most frequent of a page first; the rest is counted under '*'. Without
 * the bound, callers could fill the table with addresses. Those of IPv6 are counted by their network, since a caller has all of it.
 */
export const countPage = async (
  tx: Db,
  { chain, after }: Uncounted,
  { limit, valuesMax, since }: { limit: number; valuesMax: number; since: Date },
): Promise<number> => {
  const { rows } = await sql<{ events: number }>`
    with page as (
      select seq, at, action, outcome, reason, route_id, address, client_id, credential_id, count
      from gateway.audit_events where chain = ${chain} and seq > ${after} order by seq limit ${limit}
    ), spread as (
      select d.dimension, date_trunc('hour', p.at, 'UTC') as hour,
        case p.action when 'token.issued' then 'issued' when 'request.allowed' then 'used' else 'refused' end as what,
        coalesce(d.value, '') as value, sum(p.count)::bigint as count
      from page p cross join lateral (values
        ('all', ''), ('client', coalesce(p.client_id, p.credential_id)), ('reason', p.reason), ('route', p.route_id),
        ('address', ${networkText(sql`p.address`)})) as d (dimension, value)
      where p.action in ('token.issued', 'request.allowed', 'request.denied', 'token.refused') and p.at >= ${since}
        and (d.dimension <> 'reason' or p.outcome = 'failure')
      group by 1, 2, 3, 4
    ), taken as (
      select g.dimension, g.hour, g.what,
        (select count(*) from gateway.audit_hours h
         where h.dimension = g.dimension and h.hour = g.hour and h.what = g.what) as values
      from (select distinct dimension, hour, what from spread) g
    ), fresh as (
      select s.*, h.value is not null as known,
        row_number() over (partition by s.dimension, s.hour, s.what, h.value is not null order by s.count desc) as place
      from spread s left join gateway.audit_hours h using (dimension, hour, what, value)
    ), added as (
      insert into gateway.audit_hours as held (dimension, hour, what, value, count)
      select f.dimension, f.hour, f.what, k.value, sum(f.count)::bigint
      from fresh f join taken t using (dimension, hour, what)
        cross join lateral (select case when f.known or f.value = '' or t.values + f.place <= ${valuesMax}
                                   then f.value else '*' end as value) k
      group by 1, 2, 3, 4
      on conflict (dimension, hour, what, value) do update set count = held.count + excluded.count
    ), moved as (
      insert into gateway.audit_hour_positions as held (chain, seq) select ${chain}, max(seq) from page having count(*) > 0
      on conflict (chain) do update set seq = excluded.seq
    )
    select count(*)::int as events from page`.execute(tx);
  return rows[0]?.events ?? 0;
};

/** Deletes a bounded batch. */
export const deleteOldHours = async (tx: Db, before: Date): Promise<void> => {
  await sql`
    delete from gateway.audit_hours where ctid = any (array(
      select h.ctid from (values ('all'), ('client'), ('reason'), ('route'), ('address')) as d (dimension)
        cross join lateral (select ctid from gateway.audit_hours a
                            where a.dimension = d.dimension and a.hour < ${before} limit 2000) h))`.execute(tx);
};

export const chartDimensions = ['client', 'reason', 'route', 'address'] as const;
export type ChartDimension = (typeof chartDimensions)[number];

export type Counted = { value: string; what: 'issued' | 'used' | 'refused'; bucket: number; count: number };

export type ChartWindow = { from: Date; bucketSeconds: number; buckets: number };

/** Sums by bucket: one series for each of `values`; without `of`, one series of everything under ''. */
export const sumHours = async (
  db: Db,
  { from, bucketSeconds, buckets }: ChartWindow,
  of: { dimension: ChartDimension; values: readonly string[] } | undefined,
): Promise<Counted[]> => {
  const { rows } = await sql<Counted>`
    select value, what, floor(extract(epoch from hour - ${from}::timestamptz) / ${bucketSeconds})::int as bucket,
      sum(count)::bigint as count
    from gateway.audit_hours
    where dimension = ${of?.dimension ?? 'all'} and hour >= ${from}
      and hour < ${from}::timestamptz + make_interval(secs => ${bucketSeconds * buckets})
      and ${of === undefined ? sql`true` : sql`value = any (${of.values}::text[])`}
    group by 1, 2, 3`.execute(db);
  return rows;
};

/** The most frequent values of a dimension in the window. */
export const topValues = async (
  db: Db,
  { from, bucketSeconds, buckets }: ChartWindow,
  dimension: ChartDimension,
  limit: number,
): Promise<string[]> => {
  const { rows } = await sql<{ value: string }>`
    select value from gateway.audit_hours
    where dimension = ${dimension} and hour >= ${from}
      and hour < ${from}::timestamptz + make_interval(secs => ${bucketSeconds * buckets})
    group by value order by sum(count) desc, value limit ${limit}`.execute(db);
  return rows.map(({ value }) => value);
};

/**
 * Addresses with refused requests since `from` and no counted request that was allowed or token that was issued, the most
 * refused first. Those beyond the bound of an hour have no address.
 */
export const listOnlyRefused = async (
  db: Db,
  from: Date,
  limit: number,
): Promise<{ address: string; count: number }[]> => {
  const { rows } = await sql<{ address: string; count: number }>`
    select value as address, sum(count)::bigint as count from gateway.audit_hours
    where dimension = 'address' and hour >= ${from} and value not in ('', '*')
    group by value having bool_and(what = 'refused')
    order by sum(count) desc, value limit ${limit}`.execute(db);
  return rows;
};
