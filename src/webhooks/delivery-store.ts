/** Making deliveries of what was recorded. */
import { type Kysely, sql } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox.ts';
import { newId } from '#src/platform/ids.ts';
import { laneName, lockLanes, unfinishedLanes } from './lane-store.ts';

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
  const endpoints = await lockSubscribed(tx, [...new Set(events.map(({ tenant }) => tenant))]);
  const targets: Target[] = events.flatMap((event) =>
    endpoints
      .filter(({ tenant, kinds }) => tenant === event.tenant && kinds.includes(event.kind))
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
  const column = <T>(of: (event: ClaimedEvent) => T): T[] => events.map(of);
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
      next_attempt_at, created)
    select event.tenant, target.uid, target.endpoint_uid, event.id, event.event, event.kind, event.entity, event.seq,
      event.position, case when target.first then 'pending' else 'waiting' end,
      case when target.first then ${now}::timestamptz end, ${now}::timestamptz
    from unnest(${targets.map(({ uid }) => uid)}::text[], ${targets.map(({ endpointUid }) => endpointUid)}::text[],
        ${targets.map(({ event }) => event.id)}::text[], ${first}::boolean[]) as target (uid, endpoint_uid, event_id, first)
      join unnest(${column(({ id }) => id)}::text[], ${column(({ tenant }) => tenant)}::text[],
        ${column(({ event }) => event)}::text[], ${column(({ kind }) => kind)}::text[],
        ${column(({ entity }) => entity)}::text[], ${column(({ seq }) => seq)}::bigint[],
        ${column(({ position }) => position)}::bigint[])
        as event (id, tenant, event, kind, entity, seq, position) on event.id = target.event_id
    on conflict do nothing`.execute(tx);
};

type Subscribed = { tenant: string; uid: string; kinds: string[] };

/**
 * Enabled endpoints. The lock makes whoever disables one wait until its deliveries exist, and then cancels them too;
 * one that is being disabled now is waited for and left out.
 */
const lockSubscribed = async (tx: Kysely<unknown>, tenants: readonly string[]): Promise<Subscribed[]> => {
  const { rows } = await sql<Subscribed>`
    select tenant, uid, kinds from webhooks.endpoints where tenant = any(${tenants}::text[]) and enabled
    order by uid for share`.execute(tx);
  return rows;
};
