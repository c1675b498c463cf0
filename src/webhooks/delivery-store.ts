/** Making deliveries, and the lanes that keep those of an entity in order at each endpoint. */
import { type Kysely, sql } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox.ts';
import { newId } from '#src/platform/ids.ts';

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
    const name = nameOf(lane);
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

/** What is kept in order: the events of one entity at one endpoint. */
export type Lane = { endpointUid: string; kind: string; entity: string };

const nameOf = ({ endpointUid, kind, entity }: Lane): string => JSON.stringify([endpointUid, kind, entity]);

const distinctLanes = (lanes: readonly Lane[]): Lane[] => [
  ...new Map(lanes.map((lane) => [nameOf(lane), lane])).values(),
];

/**
 * Holds the lanes until the transaction ends: for whoever adds a delivery to one or finishes one in it. Were one finished
 * while another is added, it would find nobody to release, and the new one would wait for ever. All at once, in one
 * sequence and before any row, so that no two block each other.
 */
export const lockLanes = async (tx: Kysely<unknown>, lanes: readonly Lane[]): Promise<void> => {
  if (lanes.length === 0) return;
  const names = distinctLanes(lanes).map(nameOf);
  await sql`
    select pg_advisory_xact_lock(key)
    from (select distinct hashtextextended(name, 20) as key from unnest(${names}::text[]) as name order by key offset 0)
      as lane`.execute(tx);
};

/** Those that have an unfinished delivery, by name. */
const unfinishedLanes = async (tx: Kysely<unknown>, lanes: readonly Lane[]): Promise<Set<string>> => {
  const { rows } = await sql<Lane>`
    select lane.endpoint_uid as "endpointUid", lane.kind, lane.entity
    from ${unnestLanes(lanes)}
    where exists (
      select from webhooks.deliveries as delivery
      where delivery.endpoint_uid = lane.endpoint_uid and delivery.kind = lane.kind and delivery.entity = lane.entity
        and state in ('pending', 'waiting')
    )`.execute(tx);
  return new Set(rows.map(nameOf));
};

/**
 * Of each lane the oldest unfinished delivery may go, if it waits. A statement of its own, under the lanes' locks: it
 * must see what was finished and added before. `madeAfter`: only what was made after it.
 */
export const releaseNext = async (
  tx: Kysely<unknown>,
  lanes: readonly Lane[],
  now: Date,
  madeAfter?: Date,
): Promise<void> => {
  if (lanes.length === 0) return;
  await sql`
    update webhooks.deliveries as delivery set state = 'pending', next_attempt_at = ${now}
    from ${unnestLanes(lanes)}
    cross join lateral (
      select event_id, uid, state, created from webhooks.deliveries as unfinished
      where unfinished.endpoint_uid = lane.endpoint_uid and unfinished.kind = lane.kind
        and unfinished.entity = lane.entity and unfinished.state in ('pending', 'waiting')
      order by unfinished.endpoint_uid, unfinished.kind, unfinished.entity, position limit 1
    ) as head
    where delivery.event_id = head.event_id and delivery.uid = head.uid and delivery.state = 'waiting'
      and head.state = 'waiting' and (${madeAfter ?? null}::timestamptz is null or head.created > ${madeAfter ?? null})`.execute(
    tx,
  );
};

const unnestLanes = (all: readonly Lane[]) => {
  const lanes = distinctLanes(all);
  return sql`unnest(${lanes.map(({ endpointUid }) => endpointUid)}::text[], ${lanes.map(({ kind }) => kind)}::text[],
    ${lanes.map(({ entity }) => entity)}::text[]) as lane (endpoint_uid, kind, entity)`;
};
