/** Deliveries and attempts in PostgreSQL. Each statement says what it guarantees. */
import { type Kysely, sql } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox.ts';
import { newId } from '#src/platform/ids.ts';

/**
 * One delivery per event and subscribed endpoint, however often the event is dispatched. It waits when an earlier one of
 * the same entity is not finished at that endpoint. Events must come in their sequence, under the dispatch lock.
 */
export const insertDeliveries = async (tx: Kysely<unknown>, event: ClaimedEvent, now: Date): Promise<number> => {
  const { rows } = await sql<{ uid: string }>`
    select uid from webhooks.endpoints where tenant = ${event.tenant} and enabled and ${event.kind} = any(kinds)`.execute(
    tx,
  );
  for (const endpoint of rows) {
    await sql`
      insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
        next_attempt_at, created)
      select ${event.tenant}, ${newId('dlv', now.getTime())}, ${endpoint.uid}, ${event.id}, ${event.event}, ${event.kind},
        ${event.entity}, ${event.seq}, ${event.position}, ${event.body},
        case when earlier then 'waiting' else 'pending' end, case when earlier then null else ${now}::timestamptz end, ${now}
      from (select exists (
        select from webhooks.deliveries where endpoint_uid = ${endpoint.uid} and kind = ${event.kind}
          and entity = ${event.entity} and state in ('pending', 'waiting')
      ) as earlier) as unfinished
      on conflict (endpoint_uid, event_id) do nothing`.execute(tx);
  }
  return rows.length;
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
  signatureHeader: string | null;
};

export type ClaimBounds = {
  limit: number;
  perEndpoint: number;
  /** Deliveries that this worker sends now, by endpoint. */
  inFlight: Readonly<Record<string, number>>;
  leaseToken: string;
  leaseUntil: Date;
};

/** How many due deliveries are looked at for one claim: a bound on its cost. */
const lookedAtMax = 500;

/** Due deliveries that nobody holds, each now leased to the caller; two workers never get the same one. */
export const claimDeliveries = async (
  db: Kysely<unknown>,
  now: Date,
  bounds: ClaimBounds,
): Promise<ClaimedDelivery[]> => {
  const full = Object.entries(bounds.inFlight)
    .filter(([, count]) => count >= bounds.perEndpoint)
    .map(([uid]) => uid);
  const { rows } = await sql<ClaimedDelivery>`
    with due as (
      select uid, endpoint_uid, next_attempt_at from webhooks.deliveries
      where state = 'pending' and next_attempt_at <= ${now} and (lease_until is null or lease_until <= ${now})
        and endpoint_uid <> all(${full}::text[])
      order by next_attempt_at limit ${lookedAtMax}
    ), fair as (
      select uid, row_number() over (partition by endpoint_uid order by next_attempt_at)
        + coalesce((${JSON.stringify(bounds.inFlight)}::jsonb ->> endpoint_uid)::int, 0) as place
      from due
    ), chosen as (
      select uid from webhooks.deliveries
      where uid in (select uid from fair where place <= ${bounds.perEndpoint})
        and state = 'pending' and (lease_until is null or lease_until <= ${now})
      order by next_attempt_at limit ${bounds.limit} for update skip locked
    )
    update webhooks.deliveries as delivery set lease_token = ${bounds.leaseToken}, lease_until = ${bounds.leaseUntil}
    from chosen, webhooks.endpoints as endpoint
    where delivery.uid = chosen.uid and endpoint.uid = delivery.endpoint_uid
    returning delivery.tenant, delivery.uid, delivery.endpoint_uid as "endpointUid", delivery.event_id as "eventId",
      delivery.body, delivery.attempts_count as "attemptsCount", delivery.lease_token as "leaseToken", endpoint.url,
      endpoint.secret, endpoint.signature_header as "signatureHeader"`.execute(db);
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
  totalMs: number;
  address: string | null;
  status: number | null;
  failure: string | null;
  retryAfterSeconds: number | null;
  response: string | null;
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
  const { rows } = await sql<{ kind: string; entity: string }>`
    update webhooks.deliveries set state = ${outcome.state}, attempts_count = attempts_count + 1,
      next_attempt_at = ${outcome.nextAttemptAt}, lease_token = null, lease_until = null, finished = ${finished}
    where uid = ${delivery.uid} and lease_token = ${delivery.leaseToken} and state = 'pending'
    returning kind, entity`.execute(tx);
  const [done] = rows;
  if (done === undefined) return false;
  await sql`
    insert into webhooks.attempts (tenant, uid, delivery_uid, number, started, address, total_ms, status, failure,
      retry_after_seconds, response)
    values (${delivery.tenant}, ${newId('att', attempt.started.getTime())}, ${delivery.uid}, ${delivery.attemptsCount + 1},
      ${attempt.started}, ${attempt.address}, ${attempt.totalMs}, ${attempt.status}, ${attempt.failure},
      ${attempt.retryAfterSeconds}, ${attempt.response})`.execute(tx);
  if (finished !== null) await releaseNext(tx, delivery.endpointUid, done.kind, done.entity, now);
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
