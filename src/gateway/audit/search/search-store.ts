/** SQL of searches of the audit, and of summaries of the events found. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { eventColumns } from '../chain/event-store.ts';
import type { ChainedEvent } from '../event/event.ts';
import { expandEvent, type ShownEvent } from '../event/token-uses.ts';
import {
  type AccessPath,
  accessPathsOf,
  along,
  coversFilter,
  findRare,
  type Place,
  probePaths,
  sortings,
} from './access-path-store.ts';
import { listedAddresses } from './addresses-store.ts';
import { type EventFilter, fitsFilter, requestsOf } from './filter-store.ts';

type Db = Kysely<unknown>;

/** Events that one search reads when no index contains exactly the matching ones. */
const lookMax = 1_000;

export type FoundEvents = {
  events: ShownEvent[];
  /** Position from which to continue; undefined: no older event matches. */
  next: Place | undefined;
  /** Time at which the search stopped although the page is not full; older events were not read. */
  searchedTo: Date | undefined;
};

/** Newest first, one event for each token. `before`: end of the previous page. */
export const searchEvents = async (
  db: Db,
  filter: EventFilter,
  before: Place | undefined,
  limit: number,
): Promise<FoundEvents> => {
  // An empty list of fingerprints matches nothing.
  if (filter.fingerprint?.length === 0) return { events: [], next: undefined, searchedTo: undefined };
  // One extra event shows that there are more; another one, because the first may have no tokens left to show.
  const read = limit + 2;
  const { found, last } = await alongIndexes(db, async (tx) => {
    const { path, isCovered } = await choosePath(tx, filter, before);
    const look = isCovered ? read : Math.max(lookMax, read);
    const fits = isCovered ? sql`true` : fitsFilter(filter);
    return walk(tx, along(path, { filter, before, limit: look }), {
      fits,
      read,
      look,
      sorting: sortings[path.sorting],
    });
  });
  const events: ShownEvent[] = [];
  for (const event of found.flatMap((row) => expandEvent(row, filter))) {
    if (before !== undefined && isShown(event, before)) continue;
    events.push(event);
  }
  const page = events.slice(0, limit);
  if (events.length > limit) return { events: page, next: page.at(-1), searchedTo: undefined };
  const end = found.length === read ? found.at(-1) : last;
  const next = end && { at: end.at, chain: end.chain, seq: end.seq };
  return { events, next, searchedTo: next?.at };
};

/**
 * Runs statements that read the first events of an index. Sorting and sequential scans are switched off: the planner
 * may expect few events, but reading a whole month is never acceptable.
 */
const alongIndexes = <T>(db: Db, act: (tx: Db) => Promise<T>): Promise<T> =>
  inTransaction(db, async (tx) => {
    await sql`select set_config(name, 'off', true) from unnest(array['enable_sort', 'enable_seqscan']) as name`.execute(
      tx,
    );
    return act(tx);
  });

/**
 * Continues searches that stop early until the page is full. Only for filters that match a bounded part of the events.
 */
export const fillPage = async (
  db: Db,
  filter: EventFilter,
  before: Place | undefined,
  limit: number,
): Promise<Pick<FoundEvents, 'events' | 'next'>> => {
  const found: ShownEvent[] = [];
  let place = before;
  do {
    const { events, next } = await searchEvents(db, filter, place, limit - found.length);
    found.push(...events);
    place = next;
  } while (place !== undefined && found.length < limit);
  return { events: found, next: place };
};

/** The newest matching events. See `fillPage` for the filters allowed. */
export const findEvents = async (db: Db, filter: EventFilter, limit: number): Promise<ShownEvent[]> =>
  (await fillPage(db, filter, undefined, limit)).events;

const isShown = (event: ShownEvent, { chain, seq, use = -1 }: Place): boolean =>
  event.chain === chain && event.seq === seq && (event.use ?? 0) <= use;

/**
 * Chooses a path that covers the filter, else the one with the fewest events, else the one that reaches back furthest.
 */
const choosePath = async (
  db: Db,
  filter: EventFilter,
  before: Place | undefined,
): Promise<{ path: AccessPath; isCovered: boolean }> => {
  const paths = accessPathsOf(filter, await findRare(db, filter, lookMax));
  const covering = paths.find((path) => coversFilter(path, filter));
  if (covering !== undefined) return { path: covering, isCovered: true };
  const reaches = paths.length === 1 ? [] : await probePaths(db, paths, { filter, before, limit: lookMax });
  const probed = paths.map((path, i) => ({
    path,
    events: reaches[i]?.events ?? lookMax,
    oldestMs: reaches[i]?.oldest?.getTime() ?? 0,
  }));
  const [best] = probed
    .filter(({ path, events }) => events < lookMax || path.fewOnly !== true)
    .toSorted((a, b) => a.events - b.events || a.oldestMs - b.oldestMs);
  if (best === undefined) throw new Error('no access path to the audit was found');
  return { path: best.path, isCovered: false };
};

type Walked = ChainedEvent & { fits: boolean; place: number; looked: number };

/** The first `read` matching events of a path, and the last event read when older ones may follow. */
const walk = async (
  db: Db,
  path: RawBuilder<unknown>,
  {
    fits,
    read,
    look,
    sorting,
  }: { fits: RawBuilder<unknown>; read: number; look: number; sorting: RawBuilder<unknown> },
): Promise<{ found: Walked[]; last: ChainedEvent | undefined }> => {
  const { rows } = await sql<Walked>`
    with walked as materialized (select *, coalesce(${fits}, false) as fits from (${path}) candidates),
    counted as (
      select *, (row_number() over newest)::int as place, (count(*) over ())::int as looked,
        count(*) filter (where fits) over newest as nth
      from walked window newest as (${sorting} rows between unbounded preceding and current row))
    select ${eventColumns}, fits, place, looked from counted
    where (fits and nth <= ${read}) or place = looked ${sorting}`.execute(db);
  const edge = rows.at(-1);
  return {
    found: rows.filter((row) => row.fits).slice(0, read),
    last: edge !== undefined && edge.looked >= look ? edge : undefined,
  };
};

export type Summary = {
  calls: number;
  /** There are more events than were read; the figures cover the newest `summaryMax`. */
  partial: boolean;
  scopes: string[];
  addresses: string[];
  /** There are more addresses than are listed. */
  moreAddresses: boolean;
  clients: string[];
  first: Date | null;
  last: Date | null;
};

const listedMax = 100;
const summaryMax = 10_000;

/** Sums up the newest events of a credential. Without `action` in the filter: the allowed requests. */
export const summarise = async (db: Db, filter: EventFilter): Promise<Summary> => {
  const asked = { action: 'request.allowed', ...filter };
  const [path] = accessPathsOf(asked, () => true);
  if (path === undefined) throw new Error('no access path to the audit was found');
  const { rows } = await alongIndexes(db, (tx) =>
    sql<Summary>`
    with walked as materialized (
      select *, coalesce(${fitsFilter(asked)}, false) as fits
      from (${along(path, { filter: asked, before: undefined, limit: summaryMax })}) candidates),
    found as materialized (
      select at, ${requestsOf(filter)} as count, scopes, address, client_id from walked where fits)
    select coalesce(sum(count), 0)::int as calls, (select count(*) from walked) >= ${summaryMax} as partial,
      min(at) as first, max(at) as last,
      array(select distinct unnest(scopes) from found order by 1 limit ${listedMax}) as scopes,
      ${listedAddresses},
      array(select distinct client_id from found where client_id is not null order by 1 limit ${listedMax}) as clients
    from found`.execute(tx),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the summary of the audit returned no row');
  return row;
};
