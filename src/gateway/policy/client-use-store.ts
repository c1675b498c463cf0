/** SQL of the recent calls of a client. */
import { type Kysely, sql } from 'kysely';

type UsedRow = {
  allowed: boolean;
  routeId: string | null;
  /** Of a refusal. */
  reason: string | null;
  /** Scopes that the route required at the time. */
  scopes: string[];
  calls: number;
  last: Date;
};

export type UsedRows = { rows: UsedRow[]; entries: number; oldest: Date | null };

/**
 * At most `kindsMax` kinds of calls, the allowed ones before the refusals, each latest first, from the newest `entriesMax` events
 * since `since`. The answer of the service makes no other kind of an allowed call, and refusals leave no allowed call out.
 */
export const sumClientUse = async (
  db: Kysely<unknown>,
  clientId: string,
  { since, entriesMax, kindsMax }: { since: Date; entriesMax: number; kindsMax: number },
): Promise<UsedRows> => {
  const { rows } = await sql<UsedRow & { entries: number; oldest: Date | null }>`
    with found as materialized (
      select at, action = 'request.allowed' as allowed, route_id, scopes, count,
        case when action = 'request.denied' then reason end as reason
      from gateway.audit_events
      where client_id = ${clientId} and at >= ${since} and action in ('request.allowed', 'request.denied')
      order by at desc limit ${entriesMax})
    select allowed, route_id as "routeId", reason, scopes, sum(count)::bigint as calls,
      max(at) as last, (select count(*)::int from found) as entries, (select min(at) from found) as oldest
    from found group by allowed, route_id, reason, scopes order by allowed desc, max(at) desc limit ${kindsMax}`.execute(
    db,
  );
  return {
    rows: rows.map(({ entries: _entries, oldest: _oldest, ...row }) => ({ ...row, calls: Number(row.calls) })),
    entries: rows[0]?.entries ?? 0,
    oldest: rows[0]?.oldest ?? null,
  };
};

/** Time of the last allowed or refused call of the client; undefined when the audit has none. */
export const newestCall = async (db: Kysely<unknown>, clientId: string): Promise<Date | undefined> => {
  const { rows } = await sql<{ at: Date }>`
    select at from gateway.audit_events
    where client_id = ${clientId} and action in ('request.allowed', 'request.denied') order by at desc limit 1`.execute(
    db,
  );
  return rows[0]?.at;
};

/** Time of the oldest event that the audit holds; undefined when it holds none. */
export const oldestEvent = async (db: Kysely<unknown>): Promise<Date | undefined> => {
  const { rows } = await sql<{ at: Date }>`select at from gateway.audit_events order by at limit 1`.execute(db);
  return rows[0]?.at;
};
