/**
 * Deliveries of earlier events that join what is still to be sent. What one entity has to be sent at one endpoint is a
 * lane: one delivery of it is pending, the later ones wait. An earlier event that joins goes before those, unless the
 * pending one is being sent at this moment; then it follows next.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { FeedEvent } from '#src/platform/db/event-feed.ts';
import { newId } from '#src/platform/ids.ts';

export type Lane = { kind: string; entity: string };

/** What an endpoint has of an event. */
export type KnownDelivery = { uid: string; eventId: string; state: string };

export const knownDeliveries = async (
  tx: Kysely<unknown>,
  endpointUid: string,
  eventIds: readonly string[],
): Promise<KnownDelivery[]> => {
  const { rows } = await sql<KnownDelivery>`
    select uid, event_id as "eventId", state from webhooks.deliveries
    where event_id = any(${eventIds}::text[]) and endpoint_uid = ${endpointUid}`.execute(tx);
  return rows;
};

export type Joining = {
  endpointUid: string;
  redeliveryUid: string;
  /** Get a delivery each. */
  events: readonly FeedEvent[];
  /** Not finished yet: they only become part of the redelivery and due at once. */
  adopted: readonly string[];
  lanes: readonly Lane[];
};

/** Call with the lock of the endpoint, which keeps the dispatcher and other redeliveries away. */
export const joinLanes = async (tx: Kysely<unknown>, joining: Joining, now: Date): Promise<void> => {
  await lockPending(tx, joining);
  await insertWaiting(tx, joining, now);
  if (joining.adopted.length > 0) {
    await sql`
      update webhooks.deliveries set redelivery_uid = ${joining.redeliveryUid},
        next_attempt_at = case when state = 'pending' and not ${isHeld(now)} then ${now}::timestamptz else next_attempt_at end
      where uid = any(${joining.adopted}::text[]) and state in ('pending', 'waiting')`.execute(tx);
  }
  await settleLanes(tx, joining.endpointUid, joining.lanes, now);
};

const isHeld = (now: Date): RawBuilder<unknown> => sql`(lease_until is not null and lease_until > ${now})`;

const lanesOf = (lanes: readonly Lane[]): RawBuilder<unknown> =>
  sql`unnest(${lanes.map(({ kind }) => kind)}::text[], ${lanes.map(({ entity }) => entity)}::text[]) as lane (kind, entity)`;

/**
 * Until the transaction ends none of them is claimed or finished. While one lock is waited for, its holder may finish and
 * release the next of its lane: looked at again until nothing is new.
 */
const lockPending = async (tx: Kysely<unknown>, { endpointUid, lanes }: Joining): Promise<void> => {
  let before = '';
  for (;;) {
    const { rows } = await sql<{ uid: string }>`
      select uid from webhooks.deliveries where uid in (
        select delivery.uid from ${lanesOf(lanes)} cross join lateral (
          select uid from webhooks.deliveries
          where endpoint_uid = ${endpointUid} and kind = lane.kind and entity = lane.entity
            and state in ('pending', 'waiting') and state = 'pending'
        ) as delivery
      ) and state = 'pending' order by position for no key update`.execute(tx);
    const found = rows.map(({ uid }) => uid).join();
    if (found === before) return;
    before = found;
  }
};

const insertWaiting = async (
  tx: Kysely<unknown>,
  { endpointUid, redeliveryUid, events }: Joining,
  now: Date,
): Promise<void> => {
  if (events.length === 0) return;
  const rows = events.map(
    ({ tenant, id, event, kind, entity, seq, position, body }) =>
      sql`(${tenant}, ${newId('dlv', now.getTime())}, ${endpointUid}, ${id}, ${event}, ${kind}, ${entity},
        ${seq}::bigint, ${position}::bigint, ${body}, 'waiting', ${now}::timestamptz, ${redeliveryUid})`,
  );
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
      created, redelivery_uid)
    values ${sql.join(rows)} on conflict do nothing`.execute(tx);
};

/**
 * Of each lane the earliest goes first: a pending one that nobody holds steps back behind it. A lane with a held one stays
 * as it is, since whoever holds it looks at the lane afterwards.
 */
export const settleLanes = async (
  tx: Kysely<unknown>,
  endpointUid: string,
  lanes: readonly Lane[],
  now: Date,
): Promise<void> => {
  await sql`
    update webhooks.deliveries as late set state = 'waiting', next_attempt_at = null, lease_token = null, lease_until = null
    from ${lanesOf(lanes)} cross join lateral (
      select uid, position from webhooks.deliveries
      where endpoint_uid = ${endpointUid} and kind = lane.kind and entity = lane.entity
        and state in ('pending', 'waiting')
      order by position limit 1
    ) as first
    where late.endpoint_uid = ${endpointUid} and late.kind = lane.kind and late.entity = lane.entity
      and late.state in ('pending', 'waiting') and late.state = 'pending' and late.position > first.position
      and not ${isHeld(now)}`.execute(tx);
  await sql`
    update webhooks.deliveries set state = 'pending', next_attempt_at = ${now}
    where uid in (
      select first.uid from ${lanesOf(lanes)} cross join lateral (
        select uid, state from webhooks.deliveries
        where endpoint_uid = ${endpointUid} and kind = lane.kind and entity = lane.entity
          and state in ('pending', 'waiting')
        order by position limit 1
      ) as first
      where first.state = 'waiting' and not exists (
        select from webhooks.deliveries as held
        where held.endpoint_uid = ${endpointUid} and held.kind = lane.kind and held.entity = lane.entity
          and held.state in ('pending', 'waiting') and held.state = 'pending'
      )
    ) and state = 'waiting'`.execute(tx);
};
