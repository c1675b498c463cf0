/**
 * The list of deliveries for viewers of their endpoints. Each query reads a bounded number of rows, however many
 * deliveries exist (platform/db/bounded-list.ts gives the reasons). Reads only.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { validationFault } from '#src/contract/fault.ts';
import { type Key, type Listed, type ListQuery, lookMax, pagedMax } from '#src/platform/db/bounded-list.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Viewer } from '../endpoints/endpoint.ts';
import type { DeliveryState } from '../queue/delivery-state.ts';
import { type DeliveryFilter, deliveryColumns, type LoggedDelivery, seenEndpoints } from './delivery-log-store.ts';

type Condition = RawBuilder<unknown>;

const and = (conditions: readonly Condition[]): Condition => sql.join([sql`true`, ...conditions], sql` and `);

/** These states have a partial index in the order of the list. The condition repeats the words of the index. */
const withoutSuccess: Partial<Record<DeliveryState, Condition>> = {
  exhausted: sql`state = 'exhausted' and state in ('exhausted', 'cancelled')`,
  cancelled: sql`state = 'cancelled' and state in ('exhausted', 'cancelled')`,
};

const unfinished = sql`delivery.state in ('pending', 'waiting')`;

type Parts = { narrowing: Condition[]; fitting: Condition[]; isFew: boolean };

/** Conditions that an index serves, and conditions that are checked in each row. */
const partsOf = (filter: DeliveryFilter): Omit<Parts, 'isFew'> => {
  const { eventId, redeliveryUid, since, state, event } = filter;
  const narrowing: Condition[] = [];
  const fitting: Condition[] = [];
  if (eventId !== undefined) narrowing.push(sql`delivery.event_id = ${eventId}`);
  if (redeliveryUid !== undefined) narrowing.push(sql`delivery.redelivery_uid = ${redeliveryUid}`);
  if (since !== undefined) narrowing.push(sql`delivery.created >= ${since}`);
  const isOther = eventId !== undefined || redeliveryUid !== undefined;
  if (state !== undefined) {
    const narrow = isOther ? undefined : withoutSuccess[state];
    if (narrow === undefined) fitting.push(sql`delivery.state = ${state}`);
    else narrowing.push(narrow);
  }
  if (event !== undefined) fitting.push(sql`delivery.event = ${event}`);
  return { narrowing, fitting };
};

const sequence = sql`order by delivery.created desc, delivery.uid desc`;

const behind = (after: Key | undefined): Condition[] =>
  after === undefined ? [] : [sql`(delivery.created, delivery.uid) < (${after[0]}::timestamptz, ${after[1]}::text)`];

/** `isFew`: an index with another sequence finds so few rows that all of them can be read. */
const chooseParts = async (db: Kysely<unknown>, viewer: Viewer, filter: DeliveryFilter): Promise<Parts> => {
  const parts = partsOf(filter);
  const isOne = filter.eventId !== undefined;
  if (isOne || (filter.state !== 'pending' && filter.state !== 'waiting')) return { ...parts, isFew: isOne };
  const some = candidates(viewer, filter, [unfinished], { limit: lookMax + 1, inSequence: false });
  const { rows } = await sql<{ count: number }>`select count(*) as count from (${some}) as delivery`.execute(db);
  const isFew = (rows[0]?.count ?? 0) <= lookMax;
  return isFew ? { ...parts, narrowing: [...parts.narrowing, unfinished], isFew } : { ...parts, isFew };
};

/** Reads deliveries of each endpoint by its index. `inSequence`: the newest first. */
const candidates = (
  viewer: Viewer,
  { endpointUid }: DeliveryFilter,
  narrowing: readonly Condition[],
  { limit, inSequence, isFew = false }: { limit: number; inSequence: boolean; isFew?: boolean },
): Condition => {
  // A subquery with `offset 0` is planned by itself. Otherwise the order of the list could seem the cheaper way.
  const fence = isFew ? sql`offset 0` : sql``;
  // Rows of one endpoint are always read in the order of their index. Otherwise a scan of the table could seem cheaper.
  const newest = sql`${isFew && !inSequence ? sql`` : sequence} limit ${limit}`;
  return sql`
    select delivery.* from (${seenEndpoints(viewer, endpointUid)}) as seen cross join lateral (
      select * from (
        select * from webhooks.deliveries as delivery
        where delivery.tenant = ${viewer.tenant} and delivery.endpoint_uid = seen.endpoint_uid and ${and(narrowing)}
        ${fence}
      ) as delivery ${newest}
    ) as delivery ${inSequence ? newest : sql`limit ${limit}`}`;
};

type DeliveryCounts = Record<DeliveryState, number>;

type Row = LoggedDelivery & { looked: number; early: number; edgeCreated: Date; edgeUid: string };

/** Newest first. Throws VALIDATION_ERROR for a page that is not reached by number. */
const listDeliveries = async (
  db: Kysely<unknown>,
  viewer: Viewer,
  filter: DeliveryFilter,
  query: ListQuery,
): Promise<Omit<Listed<LoggedDelivery>, 'total'>> => {
  const { narrowing, fitting, isFew } = await chooseParts(db, viewer, filter);
  const { pagesize, after } = query;
  const offset = Math.min(query.offset, pagedMax);
  const isWhole = fitting.length === 0;
  const limit = isWhole ? offset + pagesize + 1 : isFew || offset > 0 ? pagedMax : lookMax;
  const looked = candidates(viewer, filter, [...narrowing, ...behind(after)], { limit, inSequence: true, isFew });
  const { rows } = await sql<Row>`
    with looked as materialized (${looked}),
    walked as (select *, (${and(fitting)}) as fits, row_number() over (${sequence}) as place from looked as delivery),
    sums as (
      select count(*) as looked, count(*) filter (where fits and place <= ${lookMax}) as early from walked
    ),
    edge as (select created as "edgeCreated", uid as "edgeUid" from walked order by place desc limit 1),
    found as (
      select ${deliveryColumns} from walked as delivery where fits ${sequence} offset ${offset} limit ${pagesize + 1}
    )
    select * from sums left join edge on true left join found on true order by found.created desc, found.uid desc`.execute(
    db,
  );
  const [first] = rows;
  const found = rows.filter(({ uid }) => (uid as string | null) !== null);
  if (offset < query.offset && found.length > 0)
    throw pageBeyond(`a list has pages for its first ${pagedMax} items; follow next_cursor from the first page`);
  const isCut = !isWhole && first !== undefined && first.looked >= limit;
  if (isCut && query.offset > 0 && (first.early < pagesize || found.length === 0))
    throw pageBeyond(
      'with these filters a page by number does not reach so far; follow next_cursor from the first page',
    );
  const shown = found.slice(0, pagesize);
  const last = found.length > pagesize ? shown.at(-1) : undefined;
  return {
    rows: shown.map(({ looked: _looked, early: _early, edgeCreated: _created, edgeUid: _uid, ...row }) => row),
    more: last !== undefined || isCut,
    last:
      last !== undefined
        ? [last.created.toISOString(), last.uid]
        : isCut
          ? [first.edgeCreated.toISOString(), first.edgeUid]
          : undefined,
  };
};

const pageBeyond = (message: string) => validationFault([{ pointer: 'page', code: 'RANGE', message }]);

/** chosen: deliveries of one state or one redelivery lie scattered in the table, so counting each costs a page. */
const countedMax = 500;

/** How many deliveries of each state fit the filter; null when there are more than are counted. */
const countDeliveries = async (
  db: Kysely<unknown>,
  viewer: Viewer,
  filter: DeliveryFilter,
): Promise<DeliveryCounts | null> => {
  const { narrowing, fitting } = await chooseParts(db, viewer, filter);
  const some = candidates(viewer, filter, narrowing, { limit: countedMax + 1, inSequence: false });
  const { rows } = await sql<{ state: DeliveryState; looked: number; count: number }>`
    select state, count(*) as looked, count(*) filter (where ${and(fitting)}) as count
    from (${some}) as delivery group by state`.execute(db);
  if (rows.reduce((sum, { looked }) => sum + looked, 0) > countedMax) return null;
  const counts = { pending: 0, waiting: 0, succeeded: 0, exhausted: 0, cancelled: 0 };
  for (const { state, count } of rows) counts[state] = count;
  return counts;
};

/**
 * The list and its counts. The planner has no statistics about the number of deliveries of one endpoint. Where it
 * mistakes a large endpoint for a small one it would read and sort all of them, so here it may only follow an index.
 */
export const readDeliveries = (
  db: Kysely<unknown>,
  viewer: Viewer,
  filter: DeliveryFilter,
  query: ListQuery,
): Promise<Listed<LoggedDelivery> & { counts: DeliveryCounts | null }> =>
  inTransaction(db, async (tx) => {
    await sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)`.execute(
      tx,
    );
    const listed = await listDeliveries(tx, viewer, filter, query);
    const counts = await countDeliveries(tx, viewer, filter);
    const sum = counts === null ? null : Object.values(counts).reduce((some, count) => some + count, 0);
    return { ...listed, counts, total: query.total === undefined ? sum : query.total };
  });
