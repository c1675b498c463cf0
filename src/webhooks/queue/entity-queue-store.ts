/**
 * The entity queue: the deliveries of one entity to one endpoint. One of them is pending, and later ones wait behind
 * it. A redelivered earlier event goes before them, unless the attempt of the pending one is in flight; then it goes
 * next.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { textArray, timestampArray } from '#src/platform/db/binary-array.ts';
import type { FeedEvent } from '#src/platform/db/outbox/event-feed.ts';
import { newId } from '#src/platform/ids.ts';
import { bringForward, lockSchedule } from './schedule-store.ts';

export type EntityQueue = { endpointUid: string; kind: string; entity: string };

export const entityQueueName = ({ endpointUid, kind, entity }: EntityQueue): string =>
  JSON.stringify([endpointUid, kind, entity]);

const distinctQueues = <T extends EntityQueue>(queues: readonly T[]): T[] => [
  ...new Map(queues.map((queue) => [entityQueueName(queue), queue])).values(),
];

const unnestQueues = (all: readonly EntityQueue[]): RawBuilder<unknown> => {
  const queues = distinctQueues(all);
  const of = (name: keyof EntityQueue): Buffer => textArray(queues.map((queue) => queue[name]));
  return sql`unnest(${of('endpointUid')}::text[], ${of('kind')}::text[], ${of('entity')}::text[]) as queue (endpoint_uid, kind, entity)`;
};

/** The unfinished deliveries of a queue, to be ordered by `inSequence`. */
const unfinishedInQueue = sql`
  webhooks.deliveries as unfinished
  where unfinished.endpoint_uid = queue.endpoint_uid and unfinished.kind = queue.kind and unfinished.entity = queue.entity
    and unfinished.state in ('pending', 'waiting')`;

const inSequence = sql`order by unfinished.endpoint_uid, unfinished.kind, unfinished.entity, unfinished.position`;

/**
 * Locks the queues until the transaction ends. A transaction that adds deliveries or writes results takes these locks
 * first. Without them a delivery could be added while the pending one is finished, and then nothing would release it.
 * All locks are taken at once and in one sequence, before any row lock, so that transactions cannot deadlock.
 */
export const lockEntityQueues = async (tx: Kysely<unknown>, queues: readonly EntityQueue[]): Promise<void> => {
  if (queues.length === 0) return;
  const names = textArray([...new Set(queues.map(entityQueueName))]);
  await sql`
    select pg_advisory_xact_lock(key)
    from (select distinct hashtextextended(name, 20) as key from unnest(${names}::text[]) as name order by key offset 0)
      as queue`.execute(tx);
};

/** Names of the queues with an unfinished delivery. */
export const findUnfinishedQueues = async (
  tx: Kysely<unknown>,
  queues: readonly EntityQueue[],
): Promise<Set<string>> => {
  const { rows } = await sql<EntityQueue>`
    select queue.endpoint_uid as "endpointUid", queue.kind, queue.entity from ${unnestQueues(queues)}
    cross join lateral (select from ${unfinishedInQueue} limit 1) as head`.execute(tx);
  return new Set(rows.map(entityQueueName));
};

/** `turn`: since when the delivery that has ended was due. Without it the next one is due now. */
export type EndedQueue = EntityQueue & { turn?: Date };

const unnestEnded = (all: readonly EndedQueue[], now: Date): RawBuilder<unknown> => {
  const queues = distinctQueues(all);
  const of = (name: keyof EntityQueue): Buffer => textArray(queues.map((queue) => queue[name]));
  const turns = timestampArray(queues.map(({ turn = now }) => turn));
  return sql`unnest(${of('endpointUid')}::text[], ${of('kind')}::text[], ${of('entity')}::text[], ${turns}::timestamptz[])
      as queue (endpoint_uid, kind, entity, turn)`;
};

/**
 * Makes the first waiting delivery of each queue pending where none is pending. Call with the locks of the queues, in a
 * statement of its own, because it has to see what the statements before it have written. `madeAfter`: only deliveries
 * that were made after it.
 *
 * Of the deliveries of an endpoint the one that has been due for longest is sent first. The released one counts as due since it was
 * made, or since the turn of the one before it where that came later: if it were due only now, each delivery of the queue would
 * wait for the whole backlog of the endpoint. The endpoint keeps its own turn, as it does when a delivery is inserted.
 */
export const releaseNext = async (
  tx: Kysely<unknown>,
  queues: readonly EndedQueue[],
  now: Date,
  madeAfter?: Date,
): Promise<void> => {
  if (queues.length === 0) return;
  await sql`
    with released as (
    update webhooks.deliveries as delivery set state = 'pending',
      next_attempt_at = least(${now}, greatest(queue.turn, head.created))
    from ${unnestEnded(queues, now)}
    cross join lateral (select event_id, uid, state, created from ${unfinishedInQueue} ${inSequence} limit 1) as head
    where delivery.event_id = head.event_id and delivery.endpoint_uid = queue.endpoint_uid and delivery.uid = head.uid
      and delivery.state = 'waiting'
      and head.state = 'waiting' and (${madeAfter ?? null}::timestamptz is null or head.created > ${madeAfter ?? null})
      and not exists (select from ${unfinishedInQueue} and unfinished.state = 'pending')
    returning delivery.endpoint_uid, ${now}::timestamptz as next_attempt_at
    ) ${bringForward('released')}`.execute(tx);
};

/**
 * A pending delivery behind an earlier unfinished one waits again, unless it is leased: the transaction that writes its
 * result calls this again.
 */
export const yieldToEarlier = async (tx: Kysely<unknown>, queues: readonly EntityQueue[], now: Date): Promise<void> => {
  if (queues.length === 0) return;
  await sql`
    update webhooks.deliveries as late set state = 'waiting', next_attempt_at = null, lease_token = null, lease_until = null
    from ${unnestQueues(queues)}
    cross join lateral (select position from ${unfinishedInQueue} ${inSequence} limit 1) as head
    where late.endpoint_uid = queue.endpoint_uid and late.kind = queue.kind and late.entity = queue.entity
      and late.state in ('pending', 'waiting') and late.state = 'pending' and late.position > head.position
      and not ${isHeld(now)}`.execute(tx);
};

/** Marks the pending delivery of each queue: later ones wait behind it from now on. */
export const markFollowed = async (tx: Kysely<unknown>, queues: readonly EntityQueue[]): Promise<void> => {
  if (queues.length === 0) return;
  await sql`
    update webhooks.deliveries as head set followed = true
    from ${unnestQueues(queues)} cross join lateral (
      select event_id, uid from ${unfinishedInQueue} and unfinished.state = 'pending' and not unfinished.followed
    ) as first
    where head.event_id = first.event_id and head.endpoint_uid = queue.endpoint_uid and head.uid = first.uid`.execute(
    tx,
  );
};

/** The delivery of an event at an endpoint. */
type KnownDelivery = {
  uid: string;
  eventId: string;
  state: string;
  created: Date;
  attemptsCount: number;
  /** While it is in flight or about to be sent. */
  leaseUntil: Date | null;
};

export const knownDeliveries = async (
  tx: Kysely<unknown>,
  endpointUid: string,
  eventIds: readonly string[],
): Promise<KnownDelivery[]> => {
  const { rows } = await sql<KnownDelivery>`
    select uid, event_id as "eventId", state, created, attempts_count as "attemptsCount", lease_until as "leaseUntil"
    from webhooks.deliveries
    where event_id = any(${eventIds}::text[]) and endpoint_uid = ${endpointUid}`.execute(tx);
  return rows;
};

type Joining = {
  endpointUid: string;
  redeliveryUid: string;
  events: readonly FeedEvent[];
  /** Unfinished deliveries of some of them. The other events get a new delivery. */
  unfinished: readonly Pick<KnownDelivery, 'uid' | 'eventId'>[];
};

/**
 * Adds deliveries of a redelivery to their queues. An unfinished delivery that was tried ends, and a new one takes its slot in the
 * queue: each redelivery brings an attempt forward, and a few of them would use up all attempts of one delivery. Other
 * unfinished ones become part of the redelivery and due now. Call with the lock of the endpoint, which keeps the dispatcher
 * and other redeliveries out.
 */
export const joinEntityQueues = async (tx: Kysely<unknown>, joining: Joining, now: Date): Promise<void> => {
  const { endpointUid, events, unfinished } = joining;
  const queues = events.map(({ kind, entity }) => ({ endpointUid, kind, entity }));
  await lockEntityQueues(tx, queues);
  // The schedule is locked before the deliveries, as in a claim.
  await lockSchedule(tx, [endpointUid]);
  const ended = await endTried(tx, joining, now);
  const kept = unfinished.filter(({ eventId }) => !ended.has(eventId));
  const keptEvents = new Set(kept.map(({ eventId }) => eventId));
  await insertWaiting(tx, { ...joining, events: events.filter(({ id }) => !keptEvents.has(id)) }, now);
  await markFollowed(tx, queues);
  await adopt(tx, { ...joining, unfinished: kept }, now);
  await yieldToEarlier(tx, queues, now);
  await releaseNext(tx, queues, now);
};

const isOneOf = ({ endpointUid, unfinished }: Joining): RawBuilder<unknown> => sql`
  event_id = any(${unfinished.map(({ eventId }) => eventId)}::text[]) and endpoint_uid = ${endpointUid}
    and uid = any(${unfinished.map(({ uid }) => uid)}::text[]) and state in ('pending', 'waiting')`;

/** Returns the events whose delivery has ended. One whose attempt is in flight goes on: it has no attempt brought forward. */
const endTried = async (tx: Kysely<unknown>, joining: Joining, now: Date): Promise<Set<string>> => {
  if (joining.unfinished.length === 0) return new Set();
  const { rows } = await sql<{ eventId: string }>`
    update webhooks.deliveries set state = 'cancelled', finished = ${now}, next_attempt_at = null
    where ${isOneOf(joining)} and attempts_count > 0 and not ${isHeld(now)}
    returning event_id as "eventId"`.execute(tx);
  return new Set(rows.map(({ eventId }) => eventId));
};

const adopt = async (tx: Kysely<unknown>, joining: Joining, now: Date): Promise<void> => {
  if (joining.unfinished.length === 0) return;
  await sql`
    with adopted as (
      update webhooks.deliveries set redelivery_uid = ${joining.redeliveryUid},
        next_attempt_at = case when state = 'pending' and not ${isHeld(now)} then ${now}::timestamptz else next_attempt_at end
      where ${isOneOf(joining)}
      returning endpoint_uid, state, next_attempt_at, lease_until
    ), due as (
      select endpoint_uid, next_attempt_at from adopted where state = 'pending' and lease_until is null
    ) ${bringForward('due')}`.execute(tx);
};

const isHeld = (now: Date): RawBuilder<unknown> => sql`(lease_until is not null and lease_until > ${now})`;

const insertWaiting = async (
  tx: Kysely<unknown>,
  { endpointUid, redeliveryUid, events }: Joining,
  now: Date,
): Promise<void> => {
  if (events.length === 0) return;
  const rows = events.map(
    ({ tenant, id, event, kind, entity, seq, position }) =>
      sql`(${tenant}, ${newId('dlv', now.getTime())}, ${endpointUid}, ${id}, ${event}, ${kind}, ${entity},
        ${seq}::bigint, ${position}::bigint, 'waiting', ${now}::timestamptz, ${redeliveryUid})`,
  );
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
      created, redelivery_uid)
    values ${sql.join(rows)} on conflict do nothing`.execute(tx);
};
