/**
 * The queries of a claim. Endpoints are served in turn (`webhooks.ready`, one row each), the one that has been due for
 * longest first, and a few due deliveries of each are leased. So the cost of a claim does not depend on the length of a
 * backlog, and no backlog hides another endpoint.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type EndpointClass, quick, slow, unknown } from '../pacing/concurrency-limit.ts';
import type { Room } from '../pacing/slots.ts';
import type { SignatureScheme } from '../signing/message-signature.ts';
import { bringForward } from './schedule-store.ts';

export type ClaimedDelivery = {
  tenant: string;
  uid: string;
  endpointUid: string;
  eventId: string;
  kind: string;
  entity: string;
  body: string;
  attemptsCount: number;
  /** Since when it was due as its lease was taken: its turn among the deliveries of its endpoint. */
  dueAt: Date;
  leaseToken: string;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  previousSecretExpires: Date | null;
  signatureHeader: string | null;
  signature: SignatureScheme | null;
  v1a: boolean;
  /** Sealed; null where the receiver asks for nothing. */
  auth: Buffer | null;
};

/** An endpoint that is due, with its settings and its health. */
export type DueEndpoint = Pick<
  ClaimedDelivery,
  | 'tenant'
  | 'endpointUid'
  | 'url'
  | 'secret'
  | 'previousSecret'
  | 'previousSecretExpires'
  | 'signatureHeader'
  | 'signature'
  | 'v1a'
  | 'auth'
> & {
  /** While it is the same, no setting of the endpoint has changed. */
  version: string;
  class: EndpointClass;
  dueAt: Date;
  paced: Date | null;
  gate: Date | null;
  recovered: Date | null;
  enabled: boolean;
  cancelling: boolean;
  maxPerSecond: number | null;
  failuresCount: number;
  /** It has a row of health. */
  hasHealth: boolean;
};

/** Locks due endpoints of a class: those that have been due for longest (asc), or those that became due last (desc). */
const lockOf = (
  endpointClass: EndpointClass,
  { now, full, limit, sequence }: { now: Date; full: readonly string[]; limit: number; sequence: 'asc' | 'desc' },
): RawBuilder<unknown> => sql`
  select * from webhooks.ready
  where class = ${endpointClass}::smallint and due_at <= ${now} and due_at < 'infinity'
    and endpoint_uid <> all(${full}::text[])
  order by class ${sql.raw(sequence)}, due_at ${sql.raw(sequence)} limit ${limit} for no key update skip locked`;

const described = sql`
  select tenant, turn.endpoint_uid as "endpointUid", endpoint.xmin::text as version, class, due_at as "dueAt", paced, gate, recovered, enabled,
    cancel_through is not null or withheld_through is not null as cancelling, max_per_second as "maxPerSecond",
    coalesce(failures_count, 0) as "failuresCount",
    health.endpoint_uid is not null as "hasHealth", url, secret, previous_secret as "previousSecret",
    previous_secret_expires as "previousSecretExpires", signature_header as "signatureHeader", signature, v1a, auth`;

const joined = sql`
  join webhooks.endpoints as endpoint on endpoint.uid = turn.endpoint_uid
  left join webhooks.endpoint_health as health on health.endpoint_uid = turn.endpoint_uid`;

/**
 * Locks due endpoints, as many of each class as there are slots, those that have been due for longest first. Endpoints
 * that another worker has locked are skipped.
 */
export const lockDueEndpoints = async (tx: Kysely<unknown>, now: Date, room: Room): Promise<DueEndpoint[]> => {
  const { full } = room;
  const { rows } = await sql<DueEndpoint>`
    with quick as materialized (${lockOf(quick, { now, full, limit: room.free, sequence: 'asc' })}),
      unknown as materialized (${lockOf(unknown, { now, full, limit: room.freeForUnknown, sequence: 'asc' })}),
      slow as materialized (${lockOf(slow, { now, full, limit: room.freeForSlow, sequence: 'asc' })})
    ${described} from (table quick union all table unknown union all table slow) as turn ${joined}`.execute(tx);
  return rows;
};

/** Locks endpoints that became due last, after `since`. */
export const lockLatestDueEndpoints = async (
  tx: Kysely<unknown>,
  now: Date,
  room: Pick<Room, 'free' | 'freeForUnknown' | 'full'>,
  since: Date,
): Promise<DueEndpoint[]> => {
  const { full } = room;
  const { rows } = await sql<DueEndpoint>`
    with quick as materialized (${lockOf(quick, { now, full, limit: room.free, sequence: 'desc' })}),
      unknown as materialized (${lockOf(unknown, { now, full, limit: room.freeForUnknown, sequence: 'desc' })})
    ${described} from (table quick union all table unknown) as turn ${joined} where due_at > ${since}`.execute(tx);
  return rows;
};

/** True when an endpoint is due, whether or not there is a slot for it. */
export const isMoreDue = async (tx: Kysely<unknown>, now: Date): Promise<boolean> => {
  const { rows } = await sql<{ isMore: boolean }>`
    select exists (
      select from unnest(${[quick, unknown, slow]}::smallint[]) as kind (class) cross join lateral (
        select from webhooks.ready as turn
        where turn.class = kind.class and due_at <= ${now} and due_at < 'infinity'
        order by turn.class, due_at limit 1
      ) as first
    ) as "isMore"`.execute(tx);
  return rows[0]?.isMore === true;
};

/** How many deliveries to lease, of those that were due at `before`. */
type LeaseShare = { endpointUid: string; count: number; before: Date };
type Lease = { token: string; now: Date; until: Date };
export type LeasedDelivery = Pick<
  ClaimedDelivery,
  'tenant' | 'uid' | 'endpointUid' | 'eventId' | 'kind' | 'entity' | 'attemptsCount' | 'dueAt'
> & {
  /** Null when the outbox has the body. */
  body: string | null;
};

/**
 * Leases the oldest due deliveries of each endpoint that are not leased. The caller has locked the endpoints, so two
 * workers never lease the same delivery. Statements that wait for a row lock see what its holder wrote. Conditions and
 * sorting name both columns, because only the index on both serves them.
 */
export const leaseDue = async (
  tx: Kysely<unknown>,
  turns: readonly LeaseShare[],
  lease: Lease,
): Promise<LeasedDelivery[]> => {
  if (turns.length === 0) return [];
  const { rows } = await sql<LeasedDelivery>`
    with chosen as materialized (
      select due.event_id, due.uid, turn.endpoint_uid
      from unnest(${turns.map(({ endpointUid }) => endpointUid)}::text[], ${turns.map(({ count }) => count)}::integer[],
        ${turns.map(({ before }) => before)}::timestamptz[]) as turn (endpoint_uid, count, before)
      cross join lateral (
        select event_id, uid from webhooks.deliveries as delivery
        where state = 'pending' and (delivery.endpoint_uid, next_attempt_at) >= (turn.endpoint_uid, '-infinity')
          and (delivery.endpoint_uid, next_attempt_at) <= (turn.endpoint_uid, turn.before)
          and (lease_until is null or lease_until <= ${lease.now})
        order by delivery.endpoint_uid, next_attempt_at limit turn.count
      ) as due
    )
    update webhooks.deliveries as delivery set lease_token = ${lease.token}, lease_until = ${lease.until}
    from chosen
    -- Only pending deliveries have a next attempt. A condition on the state would make the planner scan all pending
    -- ones.
    where delivery.event_id = chosen.event_id and delivery.endpoint_uid = chosen.endpoint_uid
      and delivery.uid = chosen.uid and delivery.next_attempt_at <= ${lease.now}
      and (delivery.lease_until is null or delivery.lease_until <= ${lease.now})
    returning delivery.tenant, delivery.uid, delivery.endpoint_uid as "endpointUid", delivery.event_id as "eventId",
      delivery.kind, delivery.entity, delivery.attempts_count as "attemptsCount", delivery.next_attempt_at as "dueAt",
      delivery.body`.execute(tx);
  return rows;
};

export type Ahead = {
  endpointUid: string;
  /** When the first delivery that is not leased is or was due. */
  nextAt: Date | null;
  /** A due delivery is leased; its worker may die. */
  isLeased: boolean;
};

/**
 * The next delivery of endpoints. It may be due already: a delivery that a claim chose may be recorded before the claim leases
 * it, after its lease has ended, and the claim then leases fewer than are due.
 */
export const lookAhead = async (tx: Kysely<unknown>, endpointUids: readonly string[], now: Date): Promise<Ahead[]> => {
  if (endpointUids.length === 0) return [];
  const ofTurn = sql`state = 'pending' and delivery.endpoint_uid = turn.endpoint_uid`;
  const { rows } = await sql<Ahead>`
    select endpoint_uid as "endpointUid",
      (select next_attempt_at from webhooks.deliveries as delivery
        where ${ofTurn} and (lease_until is null or lease_until <= ${now})
        order by delivery.endpoint_uid, next_attempt_at limit 1) as "nextAt",
      exists (select from webhooks.deliveries as delivery
        where ${ofTurn} and next_attempt_at <= ${now} and lease_until > ${now}) as "isLeased"
    from unnest(${endpointUids}::text[]) as turn (endpoint_uid)`.execute(tx);
  return rows;
};

/** When to look at an endpoint next. `dueAt`: null for not before it gets a new delivery. */
export type ScheduleEntry = {
  endpointUid: string;
  dueAt: Date | null;
  paced: Date | null;
  gate: Date | null;
  class: EndpointClass;
};

/** Saves the schedule of endpoints that the caller has locked. */
export const saveSchedule = async (tx: Kysely<unknown>, turns: readonly ScheduleEntry[]): Promise<void> => {
  if (turns.length === 0) return;
  await sql`
    update webhooks.ready as known
    set due_at = coalesce(turn.due_at, 'infinity'), paced = turn.paced, gate = turn.gate, class = turn.class
    from unnest(${turns.map(({ endpointUid }) => endpointUid)}::text[], ${turns.map(({ dueAt }) => dueAt)}::timestamptz[],
      ${turns.map(({ paced }) => paced)}::timestamptz[], ${turns.map(({ gate }) => gate)}::timestamptz[],
      ${turns.map((turn) => turn.class)}::smallint[]) as turn (endpoint_uid, due_at, paced, gate, class)
    where known.endpoint_uid = turn.endpoint_uid`.execute(tx);
};

/** Returns a lease without an attempt. A time that has passed keeps the turn of the delivery; its endpoint keeps its own. */
export const returnLease = async (
  db: Kysely<unknown>,
  delivery: Pick<ClaimedDelivery, 'eventId' | 'endpointUid' | 'uid' | 'leaseToken'>,
  nextAttemptAt: Date,
  now: Date,
): Promise<void> => {
  await sql`
    with returned as (
      update webhooks.deliveries set lease_token = null, lease_until = null, next_attempt_at = ${nextAttemptAt}
      where event_id = ${delivery.eventId} and endpoint_uid = ${delivery.endpointUid} and uid = ${delivery.uid}
        and lease_token = ${delivery.leaseToken} and state = 'pending'
      returning endpoint_uid, greatest(next_attempt_at, ${now}) as next_attempt_at
    ) ${bringForward('returned')}`.execute(db);
};
