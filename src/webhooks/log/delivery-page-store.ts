/** The log of deliveries for the panel: page by page by keyset. Each query reads a bounded number of rows. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
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
  redeliveryUid: string | undefined;
  since: Date | undefined;
  after: Place | undefined;
  limit: number;
};

type Place = { created: Date; id: string };

/** `lookedTo`: the search stopped here before it found as many rows as the limit; there may be more behind it. */
export type FoundDeliveries = { rows: LoggedDelivery[]; lookedTo: Place | undefined };

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

/** Conditions that an index serves. */
const narrowing = (search: DeliverySearch): RawBuilder<unknown> =>
  sql.join(
    [
      sql`true`,
      ...(search.after === undefined
        ? []
        : [sql`(delivery.created, delivery.uid) < (${search.after.created}, ${search.after.id})`]),
      ...(search.since === undefined ? [] : [sql`delivery.created >= ${search.since}`]),
      ...(search.state === 'exhausted' || search.state === 'cancelled' ? [stateFits[search.state]] : []),
    ],
    sql` and `,
  );

const fitting = ({ event, state, redeliveryUid }: DeliverySearch): RawBuilder<unknown> =>
  sql.join(
    [
      sql`true`,
      ...(event === undefined ? [] : [sql`event = ${event}`]),
      ...(state === undefined ? [] : [stateFits[state]]),
      ...(redeliveryUid === undefined ? [] : [sql`redelivery_uid = ${redeliveryUid}`]),
    ],
    sql` and `,
  );

/** Without further conditions only as many rows are read as are shown. */
const lookOf = (search: DeliverySearch): number => {
  const { event, state, redeliveryUid, limit } = search;
  const isNarrowed = state === undefined || state === 'exhausted' || state === 'cancelled';
  return isNarrowed && event === undefined && redeliveryUid === undefined ? limit : lookMax;
};

const newestFirst = sql`order by delivery.created desc, delivery.uid desc`;

/** Newest first. */
export const searchDeliveries = async (db: Kysely<unknown>, search: DeliverySearch): Promise<FoundDeliveries> => {
  const { tenant, endpointUid, eventId, limit } = search;
  const look = lookOf(search);
  const looked =
    eventId === undefined
      ? sql`
        select delivery.* from (${endpointsOf(tenant, endpointUid)}) as seen cross join lateral (
          select * from webhooks.deliveries as delivery
          where delivery.tenant = ${tenant} and delivery.endpoint_uid = seen.endpoint_uid and ${narrowing(search)}
          ${newestFirst} limit ${look}
        ) as delivery ${newestFirst} limit ${look}`
      : sql`
        select delivery.* from webhooks.deliveries as delivery
        where delivery.tenant = ${tenant} and delivery.event_id = ${eventId} and ${narrowing(search)}
          ${endpointUid === undefined ? sql`` : sql`and delivery.endpoint_uid = ${endpointUid}`}
        ${newestFirst} limit ${look}`;
  const { rows } = await sql<LoggedDelivery & { looked: number; edgeCreated: Date; edgeUid: string }>`
    with looked as materialized (${looked}),
    edge as (select count(*) as looked, min(created) as "edgeCreated", (array_agg(uid order by created, uid))[1] as "edgeUid" from looked),
    found as (select ${deliveryColumns} from looked as delivery where ${fitting(search)} ${newestFirst} limit ${limit})
    select * from edge left join found on true order by found.created desc, found.uid desc`.execute(db);
  const [first] = rows;
  const found = rows.filter(({ uid }) => (uid as string | null) !== null);
  const isMore = first !== undefined && first.looked === look && found.length < limit;
  return {
    rows: found.map(({ looked: _looked, edgeCreated: _created, edgeUid: _uid, ...row }) => row),
    lookedTo: isMore ? { created: first.edgeCreated, id: first.edgeUid } : undefined,
  };
};

/** chosen: newest deliveries whose changes the mark shows; a page of the log shows fewer. */
const markedMax = 50;

/** A text that changes when the newest deliveries or the health of an endpoint change. */
export const readDeliveryMark = async (db: Kysely<unknown>, tenant: string): Promise<string> => {
  const { rows } = await sql<{ mark: string | null }>`
    select md5(string_agg(concat_ws(' ', seen.uid, seen.enabled, seen.url, health.failures_count, health.last_failure,
      health.last_success is null, newest.text), ',' order by seen.uid)) as mark
    from webhooks.endpoints as seen
    left join webhooks.endpoint_health as health on health.endpoint_uid = seen.uid
    left join lateral (
      select string_agg(concat(uid, state, attempts_count), ',') as text from (
        select uid, state, attempts_count from webhooks.deliveries as delivery
        where delivery.tenant = ${tenant} and delivery.endpoint_uid = seen.uid ${newestFirst} limit ${markedMax}
      ) as delivery
    ) as newest on true
    where seen.tenant = ${tenant} and seen.removed is null`.execute(db);
  return rows[0]?.mark ?? '';
};

export type HistoryStep = {
  start: Date;
  /** Confirmed by the first attempt, and by a later one. */
  atOnce: number;
  later: number;
  failed: number;
  cancelled: number;
  /** Every attempt has failed so far, and another one follows. */
  retrying: number;
  /** Not attempted yet. */
  open: number;
  /** The number of failed attempts of all these deliveries. */
  failedAttempts: number;
};

/** Deliveries that one step counts at most, the newest first. */
export const historyStepMax = 500;

type HistorySpan = { tenant: string; endpointUid: string; from: Date; stepMs: number; steps: number };

/** Deliveries of each span of time by their result, oldest span first. Spans without deliveries are zeros. */
export const readHistory = async (
  db: Kysely<unknown>,
  { tenant, endpointUid, from, stepMs, steps }: HistorySpan,
): Promise<HistoryStep[]> => {
  const { rows } = await sql<HistoryStep>`
    select step.start, count(*) filter (where state = 'succeeded' and attempts_count <= 1) as "atOnce",
      count(*) filter (where state = 'succeeded' and attempts_count > 1) as later,
      count(*) filter (where state = 'exhausted') as failed, count(*) filter (where state = 'cancelled') as cancelled,
      count(*) filter (where state in ('pending', 'waiting') and attempts_count > 0) as retrying,
      count(*) filter (where state in ('pending', 'waiting') and attempts_count = 0) as open,
      coalesce(sum(attempts_count - case when state = 'succeeded' then 1 else 0 end), 0)::int as "failedAttempts"
    from (
      select ${from}::timestamptz + number * ${stepMs}::float8 * interval '1 millisecond' as start
      from generate_series(0, ${steps}::integer - 1) as number
    ) as step
    left join lateral (
      select state, attempts_count from webhooks.deliveries as delivery
      where delivery.tenant = ${tenant} and delivery.endpoint_uid = ${endpointUid} and delivery.created >= step.start
        and delivery.created < step.start + ${stepMs}::float8 * interval '1 millisecond'
      ${newestFirst} limit ${historyStepMax}
    ) as delivery on true
    group by step.start order by step.start`.execute(db);
  return rows;
};
