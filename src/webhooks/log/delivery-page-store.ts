/** The log of deliveries for the panel: page by page by keyset. Each query reads a bounded number of rows. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Failure } from '../send/send-result.ts';
import { deliveryColumns, type LoggedDelivery } from './delivery-log-store.ts';

/** Filters by state use the words of the interface, in the API, the command line and the panel. */
const deliveryFilterStates = ['pending', 'waiting', 'succeeded', 'exhausted', 'cancelled'] as const;
type DeliveryFilterState = (typeof deliveryFilterStates)[number];

export type DeliverySearch = {
  tenant: string;
  endpointUid: string | undefined;
  eventId: string | undefined;
  event: string | undefined;
  state: DeliveryFilterState | undefined;
  /** Only deliveries of which an attempt was made. */
  tried?: boolean | undefined;
  redeliveryUid: string | undefined;
  since: Date | undefined;
  /** Only deliveries that were made up to then. */
  through?: Date | undefined;
  after: Place | undefined;
  limit: number;
};

type Place = { created: Date; id: string };

/** The result of the latest attempt. */
type LastAttempt = { started: Date; status: number | null; failure: Failure | null; totalMs: number };

/** `lastAttempt`: null before the first one. */
export type FoundDelivery = LoggedDelivery & { lastAttempt: LastAttempt | null };

/** `lookedTo`: the search stopped here before it found as many rows as the limit; there may be more behind it. */
export type FoundDeliveries = { rows: FoundDelivery[]; lookedTo: Place | undefined };

/** chosen: rows that one search reads at most for each endpoint where no index fits the filter. */
const lookMax = 1_000;

/** Written in the words of the partial index, so that the planner uses it. */
const stateFits: Readonly<Record<DeliveryFilterState, RawBuilder<unknown>>> = {
  pending: sql`state = 'pending'`,
  waiting: sql`state = 'waiting'`,
  succeeded: sql`state = 'succeeded'`,
  exhausted: sql`state = 'exhausted'`,
  cancelled: sql`state = 'cancelled'`,
};

const keptInterval = sql`interval '31 days'`;

/** Includes removed endpoints while their deliveries are kept. */
const endpointsOf = (tenant: string, endpointUid?: string): RawBuilder<unknown> => sql`
  select uid as endpoint_uid from webhooks.endpoints
  where tenant = ${tenant} and (removed is null or removed > now() - ${keptInterval})
    ${endpointUid === undefined ? sql`` : sql`and uid = ${endpointUid}`}`;

const all = (conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> =>
  sql.join([sql`true`, ...conditions], sql` and `);

/** Conditions that an index serves, but for the state. */
const narrowing = ({ after, since, through, redeliveryUid }: DeliverySearch): RawBuilder<unknown>[] => [
  ...(after === undefined ? [] : [sql`(delivery.created, delivery.uid) < (${after.created}, ${after.id})`]),
  ...(since === undefined ? [] : [sql`delivery.created >= ${since}`]),
  ...(through === undefined ? [] : [sql`delivery.created <= ${through}`]),
  ...(redeliveryUid === undefined ? [] : [sql`delivery.redelivery_uid = ${redeliveryUid}`]),
];

/** Conditions that are checked in each row, but for the state. */
const fitting = ({ event, tried }: Pick<DeliverySearch, 'event' | 'tried'>): RawBuilder<unknown>[] => [
  ...(event === undefined ? [] : [sql`event = ${event}`]),
  ...(tried === true ? [sql`attempts_count > 0`] : []),
];

const newestFirst = sql`order by delivery.created desc, delivery.uid desc`;
const unfinished = sql`state in ('pending', 'waiting')`;
/** In the order of the index of unfinished deliveries, so that no other index is followed. */
const byEntity = sql`order by delivery.endpoint_uid, delivery.kind, delivery.entity, delivery.position`;
/** In the order of the index of due deliveries: those that are tried again later come first. */
const latestTryFirst = sql`order by delivery.endpoint_uid desc, delivery.next_attempt_at desc`;

type Look = { conditions: readonly RawBuilder<unknown>[]; sequence: RawBuilder<unknown>; limit: number };

/** Rows of `delivery` that an index finds: those of one event, or of each endpoint up to the limit. */
const lookAt = (search: DeliverySearch, { conditions, sequence, limit }: Look): RawBuilder<unknown> => {
  const { tenant, endpointUid, eventId } = search;
  return eventId === undefined
    ? sql`
      select delivery.* from (${endpointsOf(tenant, endpointUid)}) as seen cross join lateral (
        select * from webhooks.deliveries as delivery
        where delivery.tenant = ${tenant} and delivery.endpoint_uid = seen.endpoint_uid and ${all(conditions)}
        ${sequence} limit ${limit}
      ) as delivery`
    : sql`
      select delivery.* from webhooks.deliveries as delivery
      where delivery.tenant = ${tenant} and delivery.event_id = ${eventId} and ${all(conditions)}
        ${endpointUid === undefined ? sql`` : sql`and delivery.endpoint_uid = ${endpointUid}`}`;
};

/**
 * The planner has no statistics about the number of deliveries of one endpoint. Where it mistakes a large endpoint for a
 * small one it would read and sort all of them, so here it may only follow an index.
 */
const alongIndexes = <T>(db: Kysely<unknown>, read: (tx: Kysely<unknown>) => Promise<T>): Promise<T> =>
  inTransaction(db, async (tx) => {
    await sql`select set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)`.execute(
      tx,
    );
    return read(tx);
  });

/** Whether all unfinished deliveries can be read, because there are few. */
const areFewUnfinished = async (db: Kysely<unknown>, search: DeliverySearch): Promise<boolean> => {
  const limit = lookMax + 1;
  const some = lookAt(search, { conditions: [unfinished], sequence: byEntity, limit });
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (${some} limit ${limit}) as delivery`.execute(db);
  return (rows[0]?.count ?? 0) <= lookMax;
};

/** Which rows are looked at. Without further conditions only as many are read as are shown. */
const lookOf = async (db: Kysely<unknown>, search: DeliverySearch): Promise<Look> => {
  const { state, eventId, limit } = search;
  const conditions = narrowing(search);
  const isWhole = fitting(search).length === 0;
  switch (state) {
    case 'exhausted':
    case 'cancelled':
      return {
        conditions: [...conditions, stateFits[state]],
        sequence: newestFirst,
        limit: isWhole ? limit : lookMax,
      };
    case 'pending':
    case 'waiting':
      if (eventId === undefined && (await areFewUnfinished(db, search)))
        return { conditions: [...conditions, unfinished], sequence: byEntity, limit: lookMax + 1 };
      return { conditions, sequence: newestFirst, limit: lookMax };
    default:
      return { conditions, sequence: newestFirst, limit: isWhole && state === undefined ? limit : lookMax };
  }
};

const lastAttempt = sql`(
  select jsonb_build_object('started', attempt.started, 'status', attempt.status, 'failure', attempt.failure, 'totalMs', attempt.total_ms)
  from webhooks.attempts as attempt where attempt.delivery_uid = delivery.uid and attempt.event_id = delivery.event_id
  order by attempt.number desc limit 1) as "lastAttempt"`;

type FoundRow = LoggedDelivery & {
  lastAttempt: (Omit<LastAttempt, 'started'> & { started: string }) | null;
  looked: number;
  edgeCreated: Date;
  edgeUid: string;
};

/** Newest first. */
export const searchDeliveries = (db: Kysely<unknown>, search: DeliverySearch): Promise<FoundDeliveries> =>
  alongIndexes(db, async (tx) => {
    const { limit, state } = search;
    const look = await lookOf(tx, search);
    const fits = [...fitting(search), ...(state === undefined ? [] : [stateFits[state]])];
    const { rows } = await sql<FoundRow>`
      with looked as materialized (${lookAt(search, look)} ${newestFirst} limit ${look.limit}),
      edge as (select count(*) as looked, min(created) as "edgeCreated", (array_agg(uid order by created, uid))[1] as "edgeUid" from looked),
      found as (
        select ${deliveryColumns}, ${lastAttempt} from looked as delivery where ${all(fits)} ${newestFirst} limit ${limit}
      )
      select * from edge left join found on true order by found.created desc, found.uid desc`.execute(tx);
    const [first] = rows;
    const found = rows.filter(({ uid }) => (uid as string | null) !== null);
    const isMore = first !== undefined && first.looked === look.limit && found.length < limit;
    return {
      rows: found.map(({ looked: _looked, edgeCreated: _created, edgeUid: _uid, ...row }) => ({
        ...row,
        lastAttempt: row.lastAttempt && { ...row.lastAttempt, started: new Date(row.lastAttempt.started) },
      })),
      lookedTo: isMore ? { created: first.edgeCreated, id: first.edgeUid } : undefined,
    };
  });

/** chosen: up to so many deliveries are counted for each tab of the log. */
const countedMax = 1_000;
/** chosen: rows that a count reads at most where it checks each of them. */
const countedLookMax = 2_000;

/** `isMore`: there are more than were counted. */
type BoundedCount = { count: number; isMore: boolean };

const tabNames = ['all', 'failed', 'retrying', 'delivered'] as const;
export type TabCounts = Record<(typeof tabNames)[number], BoundedCount>;

type Tab = { narrows?: RawBuilder<unknown>; fits?: RawBuilder<unknown>; sequence: RawBuilder<unknown> };

const tabs: Readonly<Record<keyof TabCounts, Tab>> = {
  all: { sequence: newestFirst },
  failed: { narrows: stateFits.exhausted, sequence: newestFirst },
  retrying: { narrows: stateFits.pending, fits: sql`attempts_count > 0`, sequence: latestTryFirst },
  delivered: { fits: stateFits.succeeded, sequence: newestFirst },
};

/** Counts by state, whatever the state of the search. Each count reads a bounded number of rows by an index. */
export const countDeliveries = (db: Kysely<unknown>, search: DeliverySearch): Promise<TabCounts> =>
  alongIndexes(db, async (tx) => {
    const whole = { ...search, tried: false, after: undefined };
    const limitOf = ({ fits }: Tab): number =>
      fits === undefined && fitting(whole).length === 0 ? countedMax + 1 : countedLookMax;
    const counts = tabNames.map((name) => {
      const { narrows, fits, sequence } = tabs[name];
      const limit = limitOf(tabs[name]);
      const conditions = [...narrowing(whole), ...(narrows === undefined ? [] : [narrows])];
      return sql`
        select ${name}::text as name, count(*) as looked,
          count(*) filter (where ${all([...fitting(whole), ...(fits === undefined ? [] : [fits])])}) as count
        from (${lookAt(whole, { conditions, sequence, limit })} limit ${limit}) as delivery`;
    });
    const { rows } = await sql<{ name: keyof TabCounts; looked: number; count: number }>`
      ${sql.join(counts, sql` union all `)}`.execute(tx);
    const of = (name: keyof TabCounts): BoundedCount => {
      const { looked = 0, count = 0 } = rows.find((row) => row.name === name) ?? {};
      return {
        count: Math.min(count, countedMax),
        isMore: count > countedMax || looked >= limitOf(tabs[name]),
      };
    };
    return { all: of('all'), failed: of('failed'), retrying: of('retrying'), delivered: of('delivered') };
  });

/** chosen: newest deliveries whose changes the mark shows; a page of the log shows fewer. */
const markedMax = 50;

/** chosen: newest endpoints of a client whose changes the mark shows; a page of its list shows as many. */
const markedEndpointsMax = 50;

/** A text that changes when the newest deliveries or the health of an endpoint change. */
export const readDeliveryMark = (db: Kysely<unknown>, tenant: string): Promise<string> =>
  readMark(db, sql`select * from webhooks.endpoints where tenant = ${tenant} and removed is null`);

/** The same for the endpoints that a client made, for any tenant. */
export const readClientMark = (db: Kysely<unknown>, clientId: string): Promise<string> =>
  readMark(
    db,
    sql`
      select * from webhooks.endpoints
      where owner_kind = 'api_client' and owner_id = ${clientId} and removed is null
      order by uid desc limit ${markedEndpointsMax}`,
  );

const readMark = async (db: Kysely<unknown>, endpoints: RawBuilder<unknown>): Promise<string> => {
  const { rows } = await sql<{ mark: string | null }>`
    select md5(string_agg(concat_ws(' ', seen.uid, seen.enabled, seen.url, health.failures_count, health.last_failure,
      health.last_success is null, newest.text), ',' order by seen.uid)) as mark
    from (${endpoints}) as seen
    left join webhooks.endpoint_health as health on health.endpoint_uid = seen.uid
    left join lateral (
      select string_agg(concat(uid, state, attempts_count), ',') as text from (
        select uid, state, attempts_count from webhooks.deliveries as delivery
        where delivery.tenant = seen.tenant and delivery.endpoint_uid = seen.uid ${newestFirst} limit ${markedMax}
      ) as delivery
    ) as newest on true`.execute(db);
  return rows[0]?.mark ?? '';
};
