/**
 * What one entity has to be sent at one endpoint is a lane: one delivery of it is pending, the later ones wait. An earlier
 * event that joins to be sent again goes before those, unless the pending one is being sent at this moment; then it
 * follows next.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { arrayLiteral } from '#src/platform/db/array-literal.ts';
import type { FeedEvent } from '#src/platform/db/outbox/event-feed.ts';
import { newId } from '#src/platform/ids.ts';
import { lockReadyRows, makeReady } from './schedule-store.ts';

export type Lane = { endpointUid: string; kind: string; entity: string };

export const laneName = ({ endpointUid, kind, entity }: Lane): string => JSON.stringify([endpointUid, kind, entity]);

const distinctLanes = (lanes: readonly Lane[]): Lane[] => [
  ...new Map(lanes.map((lane) => [laneName(lane), lane])).values(),
];

const unnestLanes = (all: readonly Lane[]): RawBuilder<unknown> => {
  const lanes = distinctLanes(all);
  const of = (name: keyof Lane): string => arrayLiteral(lanes.map((lane) => lane[name]));
  return sql`unnest(${of('endpointUid')}::text[], ${of('kind')}::text[], ${of('entity')}::text[]) as lane (endpoint_uid, kind, entity)`;
};

/** The unfinished deliveries of a lane, the first to go first. */
const unfinishedOfLane = sql`
  webhooks.deliveries as unfinished
  where unfinished.endpoint_uid = lane.endpoint_uid and unfinished.kind = lane.kind and unfinished.entity = lane.entity
    and unfinished.state in ('pending', 'waiting')`;

const inSequence = sql`order by unfinished.endpoint_uid, unfinished.kind, unfinished.entity, unfinished.position`;

/**
 * Holds the lanes until the transaction ends: for whoever adds deliveries to them or writes what attempts came to. Were one
 * finished while another is added, it would find nobody to release, and the new one would wait for ever. All at once, in
 * one sequence and before any row of theirs, so that no two block each other.
 */
export const lockLanes = async (tx: Kysely<unknown>, lanes: readonly Lane[]): Promise<void> => {
  if (lanes.length === 0) return;
  const names = arrayLiteral([...new Set(lanes.map(laneName))]);
  await sql`
    select pg_advisory_xact_lock(key)
    from (select distinct hashtextextended(name, 20) as key from unnest(${names}::text[]) as name order by key offset 0)
      as lane`.execute(tx);
};

/** Names of those that have an unfinished delivery. */
export const unfinishedLanes = async (tx: Kysely<unknown>, lanes: readonly Lane[]): Promise<Set<string>> => {
  const { rows } = await sql<Lane>`
    select lane.endpoint_uid as "endpointUid", lane.kind, lane.entity from ${unnestLanes(lanes)}
    cross join lateral (select from ${unfinishedOfLane} limit 1) as head`.execute(tx);
  return new Set(rows.map(laneName));
};

/**
 * Of each lane that has nothing pending the first may go. A statement of its own, under the lanes' locks: it must see what
 * was finished and added before. `madeAfter`: only what was made after it.
 */
export const releaseNext = async (
  tx: Kysely<unknown>,
  lanes: readonly Lane[],
  now: Date,
  madeAfter?: Date,
): Promise<void> => {
  if (lanes.length === 0) return;
  await sql`
    with released as (
    update webhooks.deliveries as delivery set state = 'pending', next_attempt_at = ${now}
    from ${unnestLanes(lanes)}
    cross join lateral (select event_id, uid, state, created from ${unfinishedOfLane} ${inSequence} limit 1) as head
    where delivery.event_id = head.event_id and delivery.uid = head.uid and delivery.state = 'waiting'
      and head.state = 'waiting' and (${madeAfter ?? null}::timestamptz is null or head.created > ${madeAfter ?? null})
      and not exists (select from ${unfinishedOfLane} and unfinished.state = 'pending')
    returning delivery.endpoint_uid, delivery.next_attempt_at
    ) ${makeReady('released')}`.execute(tx);
};

/**
 * Of each lane the first goes first: a pending one behind it that nobody holds steps back. A held one stays, since whoever
 * holds it looks at the lane afterwards.
 */
export const stepBack = async (tx: Kysely<unknown>, lanes: readonly Lane[], now: Date): Promise<void> => {
  if (lanes.length === 0) return;
  await sql`
    update webhooks.deliveries as late set state = 'waiting', next_attempt_at = null, lease_token = null, lease_until = null
    from ${unnestLanes(lanes)}
    cross join lateral (select position from ${unfinishedOfLane} ${inSequence} limit 1) as head
    where late.endpoint_uid = lane.endpoint_uid and late.kind = lane.kind and late.entity = lane.entity
      and late.state in ('pending', 'waiting') and late.state = 'pending' and late.position > head.position
      and not ${isHeld(now)}`.execute(tx);
};

/** Of each lane those that are pending: others wait behind them from now on. */
export const markFollowed = async (tx: Kysely<unknown>, lanes: readonly Lane[]): Promise<void> => {
  if (lanes.length === 0) return;
  await sql`
    update webhooks.deliveries as head set followed = true
    from ${unnestLanes(lanes)} cross join lateral (
      select event_id, uid from ${unfinishedOfLane} and unfinished.state = 'pending' and not unfinished.followed
    ) as first
    where head.event_id = first.event_id and head.uid = first.uid`.execute(tx);
};

/** What an endpoint has of an event. */
export type KnownDelivery = { uid: string; eventId: string; state: string; created: Date };

export const knownDeliveries = async (
  tx: Kysely<unknown>,
  endpointUid: string,
  eventIds: readonly string[],
): Promise<KnownDelivery[]> => {
  const { rows } = await sql<KnownDelivery>`
    select uid, event_id as "eventId", state, created from webhooks.deliveries
    where event_id = any(${eventIds}::text[]) and endpoint_uid = ${endpointUid}`.execute(tx);
  return rows;
};

export type Joining = {
  endpointUid: string;
  redeliveryUid: string;
  /** Get a delivery each. */
  events: readonly FeedEvent[];
  /** Not finished yet: they only become part of the redelivery and due at once. */
  adopted: readonly Pick<KnownDelivery, 'uid' | 'eventId'>[];
  /** Of all of them. */
  lanes: readonly Pick<Lane, 'kind' | 'entity'>[];
};

/** Call with the lock of the endpoint, which keeps the dispatcher and other redeliveries away. */
export const joinLanes = async (tx: Kysely<unknown>, joining: Joining, now: Date): Promise<void> => {
  const lanes = joining.lanes.map(({ kind, entity }) => ({ endpointUid: joining.endpointUid, kind, entity }));
  await lockLanes(tx, lanes);
  // Before their rows, as a claim takes them.
  await lockReadyRows(tx, [joining.endpointUid]);
  await insertWaiting(tx, joining, now);
  await markFollowed(tx, lanes);
  if (joining.adopted.length > 0) {
    await sql`
      with adopted as (
        update webhooks.deliveries set redelivery_uid = ${joining.redeliveryUid},
          next_attempt_at = case when state = 'pending' and not ${isHeld(now)} then ${now}::timestamptz else next_attempt_at end
        where event_id = any(${joining.adopted.map(({ eventId }) => eventId)}::text[])
          and endpoint_uid = ${joining.endpointUid} and uid = any(${joining.adopted.map(({ uid }) => uid)}::text[])
          and state in ('pending', 'waiting')
        returning endpoint_uid, state, next_attempt_at, lease_until
      ), due as (
        select endpoint_uid, next_attempt_at from adopted where state = 'pending' and lease_until is null
      ) ${makeReady('due')}`.execute(tx);
  }
  await stepBack(tx, lanes, now);
  await releaseNext(tx, lanes, now);
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
