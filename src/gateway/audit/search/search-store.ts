/** SQL of searches of the audit, and of what their findings come to. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { eventColumns } from '../chain/event-store.ts';
import type { ChainedEvent } from '../event/event.ts';
import { expandEvent, type ShownEvent } from '../event/token-uses.ts';
import { along, findRare, isWhole, newestFirst, type Place, probeWays, type Way, waysOf } from './access-path-store.ts';
import { type EventFilter, fitsFilter, requestsOf } from './filter-store.ts';

type Db = Kysely<unknown>;

/** Events that one search looks through where no index leads to exactly those that fit. */
export const lookMax = 1_000;

export type FoundEvents = {
  events: ShownEvent[];
  /** To go on after; undefined: there is nothing older that fits. */
  next: Place | undefined;
  /** The page is short or empty because the search stopped there; what is older was not looked through. */
  searchedTo: Date | undefined;
};

/** Newest first, an event for each token; `before`: where the page before ended. */
export const searchEvents = async (
  db: Db,
  filter: EventFilter,
  before: Place | undefined,
  limit: number,
): Promise<FoundEvents> => {
  // Any of none.
  if (filter.fingerprint?.length === 0) return { events: [], next: undefined, searchedTo: undefined };
  // One more says that there is more; the event in which the page before ended may have nothing left.
  const read = limit + 2;
  const { found, last } = await alongIndexes(db, async (tx) => {
    const { way, whole } = await chooseWay(tx, filter, before);
    const look = whole ? read : Math.max(lookMax, read);
    const fits = whole ? sql`true` : fitsFilter(filter);
    return walk(tx, along(way, { filter, before, limit: look }), { fits, read, look });
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
 * For statements that take the first events of an index: to sort all events, or to read all of a month, is no choice, however
 * few the planner expects.
 */
const alongIndexes = <T>(db: Db, act: (tx: Db) => Promise<T>): Promise<T> =>
  inTransaction(db, async (tx) => {
    await sql`select set_config(name, 'off', true) from unnest(array['enable_sort', 'enable_seqscan']) as name`.execute(
      tx,
    );
    return act(tx);
  });

/** Goes on where a search stops early, until the page is full. For filters of which one alone has a bounded number of events. */
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

/** The newest events that fit, as `fillPage` has them. */
export const findEvents = async (db: Db, filter: EventFilter, limit: number): Promise<ShownEvent[]> =>
  (await fillPage(db, filter, undefined, limit)).events;

const isShown = (event: ShownEvent, { chain, seq, use = -1 }: Place): boolean =>
  event.chain === chain && event.seq === seq && (event.use ?? 0) <= use;

/** One that has only what fits; else the one with the fewest events; else the one that reaches back furthest. */
const chooseWay = async (
  db: Db,
  filter: EventFilter,
  before: Place | undefined,
): Promise<{ way: Way; whole: boolean }> => {
  const ways = waysOf(filter, await findRare(db, filter, lookMax));
  const whole = ways.find((way) => isWhole(way, filter));
  if (whole !== undefined) return { way: whole, whole: true };
  const reaches = ways.length === 1 ? [] : await probeWays(db, ways, { filter, before, limit: lookMax });
  const probed = ways.map((way, i) => ({
    way,
    events: reaches[i]?.events ?? lookMax,
    oldestMs: reaches[i]?.oldest?.getTime() ?? 0,
  }));
  const [best] = probed
    .filter(({ way, events }) => events < lookMax || way.fewOnly !== true)
    .toSorted((a, b) => a.events - b.events || a.oldestMs - b.oldestMs);
  if (best === undefined) throw new Error('there is a way with every event');
  return { way: best.way, whole: false };
};

type Walked = ChainedEvent & { fits: boolean; place: number; looked: number };

/** The first `read` events of a way that fit, and the last that was looked at when there may be more behind it. */
const walk = async (
  db: Db,
  way: RawBuilder<unknown>,
  { fits, read, look }: { fits: RawBuilder<unknown>; read: number; look: number },
): Promise<{ found: Walked[]; last: ChainedEvent | undefined }> => {
  const { rows } = await sql<Walked>`
    with walked as materialized (select *, coalesce(${fits}, false) as fits from (${way}) candidates),
    counted as (
      select *, (row_number() over newest)::int as place, (count(*) over ())::int as looked,
        count(*) filter (where fits) over newest as nth
      from walked window newest as (${newestFirst} rows between unbounded preceding and current row))
    select ${eventColumns}, fits, place, looked from counted
    where (fits and nth <= ${read}) or place = looked ${newestFirst}`.execute(db);
  const edge = rows.at(-1);
  return {
    found: rows.filter((row) => row.fits).slice(0, read),
    last: edge !== undefined && edge.looked >= look ? edge : undefined,
  };
};

export type Summary = {
  calls: number;
  /** There are more events than were read: the figures are of the newest `summaryMax`. */
  partial: boolean;
  scopes: string[];
  addresses: string[];
  clients: string[];
  first: Date | null;
  last: Date | null;
};

const listedMax = 100;
export const summaryMax = 10_000;

/** What the newest events of a credential come to; those that were let through without an `action`. */
export const summarise = async (db: Db, filter: EventFilter): Promise<Summary> => {
  const asked = { action: 'request.allowed', ...filter };
  const [way] = waysOf(asked, () => true);
  if (way === undefined) throw new Error('there is a way with every event');
  const { rows } = await alongIndexes(db, (tx) =>
    sql<Summary>`
    with walked as materialized (
      select *, coalesce(${fitsFilter(asked)}, false) as fits
      from (${along(way, { filter: asked, before: undefined, limit: summaryMax })}) candidates),
    found as materialized (
      select at, ${requestsOf(filter)} as count, scopes, address, client_id from walked where fits)
    select coalesce(sum(count), 0)::int as calls, (select count(*) from walked) >= ${summaryMax} as partial,
      min(at) as first, max(at) as last,
      array(select distinct unnest(scopes) from found order by 1 limit ${listedMax}) as scopes,
      array(select distinct address from found where address is not null order by 1 limit ${listedMax}) as addresses,
      array(select distinct client_id from found where client_id is not null order by 1 limit ${listedMax}) as clients
    from found`.execute(tx),
  );
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate has one row');
  return row;
};
