/** SQL of the dry runs of scopes. */
import { type Kysely, sql } from 'kysely';

export type DryRunCount = { route: string; caller: string; missing: string; calls: number };

/** Adds to what is counted already. `counts`: each (route, caller, missing) at most once. */
export const addDryRunCounts = async (
  db: Kysely<unknown>,
  counts: readonly DryRunCount[],
  seen: Date,
): Promise<void> => {
  // Every process writes in the same sequence, so that two of them cannot deadlock.
  const rows = counts.map(({ route, caller, missing, calls }) => ({
    route,
    caller,
    missing: missing.split(' '),
    calls,
  }));
  await sql`
    insert into gateway.policy_dry_run as d (route, caller, missing_scopes, calls, first_seen, last_seen)
    select route, caller, missing, calls, ${seen}::timestamptz, ${seen}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as c (route text, caller text, missing text[], calls bigint)
    order by route, caller, missing
    on conflict (route, caller, missing_scopes) do update
    set calls = d.calls + excluded.calls, last_seen = greatest(d.last_seen, excluded.last_seen)`.execute(db);
};

export type DryRunRow = {
  route: string;
  caller: string;
  missingScopes: string[];
  calls: number;
  firstSeen: Date;
  lastSeen: Date;
};

const columns = sql`route, caller, missing_scopes as "missingScopes", calls, first_seen as "firstSeen", last_seen as "lastSeen"`;

export type DryRunPlace = Pick<DryRunRow, 'lastSeen' | 'route' | 'caller' | 'missingScopes'>;

/** The latest first, after `before`. */
export const pageDryRunCounts = async (
  db: Kysely<unknown>,
  since: Date,
  before: DryRunPlace | undefined,
  limit: number,
): Promise<DryRunRow[]> => {
  const after =
    before === undefined
      ? sql`true`
      : sql`(last_seen, route, caller, missing_scopes)
          < (${before.lastSeen}, ${before.route}, ${before.caller}, ${before.missingScopes}::text[])`;
  const { rows } = await sql<DryRunRow>`
    select ${columns} from gateway.policy_dry_run where last_seen >= ${since} and ${after}
    order by last_seen desc, route desc, caller desc, missing_scopes desc limit ${limit}`.execute(db);
  return rows;
};
