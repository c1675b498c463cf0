/** Making deliveries of what was recorded. */
import { type Kysely, sql } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox.ts';
import { newId } from '#src/platform/ids.ts';
import { laneName, lockLanes, markFollowed, unfinishedLanes } from './lane-store.ts';

type Target = { uid: string; endpointUid: string; event: ClaimedEvent };

/**
 * One delivery per event and subscribed endpoint, however often the event is dispatched. It waits when an earlier one of
 * the same entity is not finished at that endpoint. Events must come in their sequence, under the dispatch lock.
 */
export const insertDeliveries = async (
  tx: Kysely<unknown>,
  events: readonly ClaimedEvent[],
  now: Date,
): Promise<void> => {
  const endpoints = Map.groupBy(
    await lockSubscribed(tx, [...new Set(events.map(({ tenant }) => tenant))]),
    ({ tenant }) => tenant,
  );
  const targets: Target[] = events.flatMap((event) =>
    (endpoints.get(event.tenant) ?? [])
      .filter(({ kinds }) => kinds.includes(event.kind))
      .map(({ uid }) => ({ uid: newId('dlv', now.getTime()), endpointUid: uid, event })),
  );
  if (targets.length === 0) return;
  const lanes = targets.map(({ endpointUid, event: { kind, entity } }) => ({ endpointUid, kind, entity }));
  await lockLanes(tx, lanes);
  const unfinished = await unfinishedLanes(tx, lanes);
  const first = lanes.map((lane) => {
    const name = laneName(lane);
    const isFirst = !unfinished.has(name);
    unfinished.add(name);
    return isFirst;
  });
  // The event's columns once for each target: a join of what two arrays hold would compare each with each.
  const of = <T>(value: (event: ClaimedEvent) => T): T[] => targets.map(({ event }) => value(event));
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
      next_attempt_at, created, followed)
    select tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position,
      case when first then 'pending' else 'waiting' end, case when first then ${now}::timestamptz end, ${now}::timestamptz,
      not first
    from unnest(${of(({ tenant }) => tenant)}::text[], ${targets.map(({ uid }) => uid)}::text[],
      ${targets.map(({ endpointUid }) => endpointUid)}::text[], ${of(({ id }) => id)}::text[],
      ${of(({ event }) => event)}::text[], ${of(({ kind }) => kind)}::text[], ${of(({ entity }) => entity)}::text[],
      ${of(({ seq }) => seq)}::bigint[], ${of(({ position }) => position)}::bigint[], ${first}::boolean[])
      as target (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, first)
    on conflict do nothing`.execute(tx);
  await markFollowed(
    tx,
    lanes.filter((_, index) => first[index] === false),
  );
};

type Subscribed = { tenant: string; uid: string; kinds: string[] };

/**
 * Enabled endpoints. The lock makes whoever disables one wait until its deliveries exist, and then cancels them too;
 * one that is being disabled now is waited for and left out.
 */
const lockSubscribed = async (tx: Kysely<unknown>, tenants: readonly string[]): Promise<Subscribed[]> => {
  const { rows } = await sql<Subscribed>`
    select endpoint.* from unnest(${tenants.toSorted()}::text[]) as wanted (tenant) cross join lateral (
      select tenant, uid, kinds from webhooks.endpoints where tenant = wanted.tenant and enabled
      order by tenant, uid for share
    ) as endpoint`.execute(tx);
  return rows;
};
