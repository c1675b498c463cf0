/** Deliveries and attempts in PostgreSQL. Each statement says what it guarantees. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { settleLanes } from './lane-store.ts';
import type { Room } from './places.ts';

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
  const unfinished = await lockUnfinished(tx, targets);
  const first = targets.map((target) => {
    const lane = laneOf(target.endpointUid, target.event);
    const isFirst = !unfinished.has(lane);
    unfinished.add(lane);
    return isFirst;
  });
  const column = <T>(of: (event: ClaimedEvent) => T): T[] => events.map(of);
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
      next_attempt_at, created)
    select event.tenant, target.uid, target.endpoint_uid, event.id, event.event, event.kind, event.entity, event.seq,
      event.position, event.body, case when target.first then 'pending' else 'waiting' end,
      case when target.first then ${now}::timestamptz end, ${now}::timestamptz
    from unnest(${targets.map(({ uid }) => uid)}::text[], ${targets.map(({ endpointUid }) => endpointUid)}::text[],
        ${targets.map(({ event }) => event.id)}::text[], ${first}::boolean[]) as target (uid, endpoint_uid, event_id, first)
      join unnest(${column(({ id }) => id)}::text[], ${column(({ tenant }) => tenant)}::text[],
        ${column(({ event }) => event)}::text[], ${column(({ kind }) => kind)}::text[],
        ${column(({ entity }) => entity)}::text[], ${column(({ seq }) => seq)}::bigint[],
        ${column(({ position }) => position)}::bigint[], ${column(({ body }) => body)}::text[])
        as event (id, tenant, event, kind, entity, seq, position, body) on event.id = target.event_id
    on conflict do nothing`.execute(tx);
};

/** What is kept in order: the events of one entity at one endpoint. */
const laneOf = (endpointUid: string, { kind, entity }: { kind: string; entity: string }): string =>
  JSON.stringify([endpointUid, kind, entity]);

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

/**
 * The lanes that have an unfinished delivery. The lock on the last of each keeps it unfinished until the new one exists:
 * were it to finish in between, it would find nobody to release, and the new one would wait for ever.
 */
const lockUnfinished = async (tx: Kysely<unknown>, targets: readonly Target[]): Promise<Set<string>> => {
  const lanes = new Map(targets.map((target) => [laneOf(target.endpointUid, target.event), target]));
  const distinct = [...lanes.values()];
  const { rows } = await sql<{ endpointUid: string; kind: string; entity: string }>`
    select last.endpoint_uid as "endpointUid", last.kind, last.entity
    from unnest(${distinct.map(({ endpointUid }) => endpointUid)}::text[],
      ${distinct.map(({ event }) => event.kind)}::text[],
      ${distinct.map(({ event }) => event.entity)}::text[]) as lane (endpoint_uid, kind, entity)
    cross join lateral (
      select endpoint_uid, kind, entity from webhooks.deliveries as delivery
      where delivery.endpoint_uid = lane.endpoint_uid and delivery.kind = lane.kind and delivery.entity = lane.entity
        and state in ('pending', 'waiting')
      order by position desc limit 1 for no key update
    ) as last`.execute(tx);
  return new Set(rows.map((row) => laneOf(row.endpointUid, row)));
};

export type ClaimedDelivery = {
  tenant: string;
  uid: string;
  endpointUid: string;
  eventId: string;
  body: string;
  attemptsCount: number;
  leaseToken: string;
  url: string;
  secret: Buffer;
  previousSecret: Buffer | null;
  previousSecretExpires: Date | null;
  signatureHeader: string | null;
};

export type Lease = { token: string; until: Date };

/** How many due deliveries are looked at before endpoints are gone through one by one: a bound on a claim's cost. */
const lookedAtMax = 500;

/**
 * The planner knows nothing of a backlog until the table is analyzed, and then takes indexes that lead through all of it
 * and sorts: 70 ms instead of 4 ms beside 300,000 deliveries. For this transaction it is told to walk along the
 * indexes, which costs the same whatever stands behind the first rows.
 */
const walkIndexes = sql`
  select set_config(name, 'off', true)
  from unnest(array['enable_sort', 'enable_incremental_sort', 'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin']) as name`;

/**
 * Due deliveries of one endpoint that nobody holds, the oldest first. Bounds and sorting name both columns, since
 * only the index on both can serve that; with an equality the one on time alone would do, through everybody's backlog.
 */
const dueOf = (endpointUid: RawBuilder<unknown>, now: Date): RawBuilder<unknown> => sql`
  webhooks.deliveries as delivery
  where state = 'pending' and (delivery.endpoint_uid, next_attempt_at) >= (${endpointUid}, '-infinity')
    and (delivery.endpoint_uid, next_attempt_at) <= (${endpointUid}, ${now})
    and (lease_until is null or lease_until <= ${now})
  order by delivery.endpoint_uid, next_attempt_at`;

/**
 * Due deliveries that nobody holds, each now leased to the caller; two workers never get the same one. Endpoints come in
 * turn, those with the fewest places first, within the room that the worker has. When the oldest due ones are too many
 * to see who else has some, the endpoints with pending deliveries are stepped through by index, so that no backlog is
 * read and none hides another.
 */
export const claimDeliveries = (db: Kysely<unknown>, now: Date, room: Room, lease: Lease): Promise<ClaimedDelivery[]> =>
  inTransaction(db, async (tx) => {
    await walkIndexes.execute(tx);
    return claim(tx, now, room, lease);
  });

const claim = async (tx: Kysely<unknown>, now: Date, room: Room, lease: Lease): Promise<ClaimedDelivery[]> => {
  const leftMax = Math.max(1, ...Object.values(room.endpoints).map(({ left }) => left));
  const { rows } = await sql<ClaimedDelivery>`
    with recursive known as materialized (
      select key as endpoint_uid, (value ->> 'taken')::int as taken, (value ->> 'left')::int as unused,
        (value ->> 'isQuick')::boolean as quick
      from jsonb_each(${JSON.stringify(room.endpoints)}::jsonb)
    ), oldest as materialized (
      select endpoint_uid from webhooks.deliveries where state = 'pending' and next_attempt_at <= ${now}
      order by next_attempt_at limit ${lookedAtMax}
    ), stepped (endpoint_uid) as (
      (select endpoint_uid from webhooks.deliveries
        where state = 'pending' and (select count(*) from oldest) = ${lookedAtMax}
        order by endpoint_uid, next_attempt_at limit 1)
      union all
      select (select after.endpoint_uid from webhooks.deliveries as after
        where after.state = 'pending' and after.endpoint_uid > stepped.endpoint_uid
        order by after.endpoint_uid, after.next_attempt_at limit 1)
      from stepped where stepped.endpoint_uid is not null
    ), turn as (
      select candidate.endpoint_uid, busy, own_left, is_quick, first.next_attempt_at,
        row_number() over (partition by is_quick order by busy, first.next_attempt_at) as rank
      from (select endpoint_uid from oldest union select endpoint_uid from stepped) as candidate
      left join known on known.endpoint_uid = candidate.endpoint_uid
      cross join lateral (
        select coalesce(known.taken, 0) as busy, coalesce(known.unused, 1) as own_left,
          coalesce(known.quick, false) as is_quick
      ) as own
      cross join lateral (select next_attempt_at from ${dueOf(sql`candidate.endpoint_uid`, now)} limit 1) as first
      where own_left > 0
    ), picked as (
      -- An endpoint that is not quick has one place: so many endpoints are so many places.
      select endpoint_uid, busy, own_left from turn where is_quick or rank <= ${room.freeForOthers}::int
      order by busy, next_attempt_at limit ${room.free}
    ), fair as (
      -- A limit that is known in advance: with one per row the planner would read and sort whole backlogs.
      select due.uid, due.next_attempt_at, busy + own_left as place_max,
        busy + row_number() over (partition by picked.endpoint_uid order by due.next_attempt_at) as place
      from picked cross join lateral (
        select uid, next_attempt_at from ${dueOf(sql`picked.endpoint_uid`, now)} limit ${leftMax}
      ) as due
    ), chosen as (
      select uid from webhooks.deliveries
      where uid = any(array(
          select uid from fair where place <= place_max order by place, next_attempt_at limit ${room.free}
        ))
        -- Judged again as the row is now: another worker may have held it and failed since it was looked at. The empty
        -- text keeps the indexes of the backlog out of it: these rows are found by their uid.
        and state || '' = 'pending' and next_attempt_at <= ${now} and (lease_until is null or lease_until <= ${now})
      for no key update skip locked
    )
    update webhooks.deliveries as delivery set lease_token = ${lease.token}, lease_until = ${lease.until}
    from chosen, webhooks.endpoints as endpoint
    where delivery.uid = chosen.uid and endpoint.uid = delivery.endpoint_uid
    returning delivery.tenant, delivery.uid, delivery.endpoint_uid as "endpointUid", delivery.event_id as "eventId",
      delivery.body, delivery.attempts_count as "attemptsCount", delivery.lease_token as "leaseToken", endpoint.url,
      endpoint.secret, endpoint.previous_secret as "previousSecret",
      endpoint.previous_secret_expires as "previousSecretExpires", endpoint.signature_header as "signatureHeader"`.execute(
    tx,
  );
  return rows;
};

/** Gives a lease back without an attempt: nothing was sent. */
export const returnLease = async (
  db: Kysely<unknown>,
  delivery: ClaimedDelivery,
  nextAttemptAt: Date,
): Promise<void> => {
  await sql`
    update webhooks.deliveries set lease_token = null, lease_until = null, next_attempt_at = ${nextAttemptAt}
    where uid = ${delivery.uid} and lease_token = ${delivery.leaseToken}`.execute(db);
};

export type AttemptRecord = {
  started: Date;
  address: string | null;
  status: number | null;
  failure: string | null;
  retryAfterSeconds: number | null;
  response: string | null;
  timings: {
    dns: number | null;
    connect: number | null;
    tls: number | null;
    firstByte: number | null;
    total: number;
  };
};

export type Outcome =
  | { state: 'succeeded' | 'exhausted'; nextAttemptAt: null }
  | { state: 'pending'; nextAttemptAt: Date };

/**
 * The attempt, its outcome and the release of the entity's next delivery, all or nothing, and only while the lease is
 * held: a worker that was taken for dead writes nothing. Returns false when the lease was lost.
 */
export const recordAttempt = async (
  tx: Kysely<unknown>,
  delivery: ClaimedDelivery,
  attempt: AttemptRecord,
  outcome: Outcome,
  now: Date,
): Promise<boolean> => {
  const finished = outcome.state === 'pending' ? null : now;
  const { timings } = attempt;
  const { rows } = await sql<{ kind: string; entity: string }>`
    with held as (
      update webhooks.deliveries set state = ${outcome.state}, attempts_count = attempts_count + 1,
        next_attempt_at = ${outcome.nextAttemptAt}, lease_token = null, lease_until = null, finished = ${finished}
      where uid = ${delivery.uid} and lease_token = ${delivery.leaseToken} and state = 'pending'
      returning tenant, uid, attempts_count, kind, entity
    ), kept as (
      insert into webhooks.attempts (tenant, uid, delivery_uid, number, started, address, status, failure,
        retry_after_seconds, response, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms)
      select tenant, ${newId('att', attempt.started.getTime())}, uid, attempts_count, ${attempt.started}::timestamptz,
        ${attempt.address}, ${attempt.status}::smallint, ${attempt.failure}, ${attempt.retryAfterSeconds}::integer,
        ${attempt.response}, ${timings.dns}::integer, ${timings.connect}::integer, ${timings.tls}::integer,
        ${timings.firstByte}::integer, ${timings.total}::integer
      from held
    )
    select kind, entity from held`.execute(tx);
  const [held] = rows;
  if (held === undefined) return false;
  // A statement of its own: it must see what the dispatcher committed while the one above waited for its lock.
  if (finished !== null) await releaseNext(tx, delivery.endpointUid, held.kind, held.entity, now);
  // While it was held, an earlier event may have joined to be sent again: that one goes first now.
  else await settleLanes(tx, delivery.endpointUid, [held], now);
  return true;
};

/** The oldest waiting delivery of the entity at this endpoint may go. */
const releaseNext = async (
  tx: Kysely<unknown>,
  endpointUid: string,
  kind: string,
  entity: string,
  now: Date,
): Promise<void> => {
  await sql`
    update webhooks.deliveries set state = 'pending', next_attempt_at = ${now}
    where uid = (
      select uid from webhooks.deliveries
      where endpoint_uid = ${endpointUid} and kind = ${kind} and entity = ${entity} and state in ('pending', 'waiting')
      order by position limit 1
    ) and state = 'waiting'`.execute(tx);
};
