/** Results of attempts: many are written at once, each only while its lease is held. */
import { type Kysely, sql } from 'kysely';
import { integerArray, smallintArray, textArray, timestampArray } from '#src/platform/db/binary-array.ts';
import { recording } from '../pacing/bounds.ts';
import type { EndpointClass } from '../pacing/concurrency-limit.ts';
import type { Timings } from '../send/send-result.ts';
import type { ClaimedDelivery } from './claim-store.ts';
import { bringForward } from './schedule-store.ts';

export type AttemptRecord = {
  delivery: Pick<ClaimedDelivery, 'eventId' | 'uid' | 'leaseToken' | 'endpointUid' | 'kind' | 'entity' | 'dueAt'>;
  uid: string;
  started: Date;
  ended: Date;
  address: string | null;
  status: number | null;
  failure: string | null;
  retryAfterSeconds: number | null;
  response: string | null;
  timings: Timings;
  state: 'succeeded' | 'pending' | 'exhausted' | 'cancelled';
  nextAttemptAt: Date | null;
};

/** A delivery whose attempt was written. `followed`: later deliveries may wait behind it in its entity queue. */
export type Written = { uid: string; finished: boolean; followed: boolean };

/**
 * Writes attempts and the new states of their deliveries. A worker that others found dead holds no lease and writes nothing.
 * A delivery that was cancelled during its attempt stays cancelled, unless the attempt succeeded. Call with the locks of
 * the entity queues.
 */
export const writeAttempts = async (tx: Kysely<unknown>, attempts: readonly AttemptRecord[]): Promise<Written[]> => {
  const texts = (value: (attempt: AttemptRecord) => string | null): Buffer => textArray(attempts.map(value));
  const integers = (value: (attempt: AttemptRecord) => number | null): Buffer => integerArray(attempts.map(value));
  const times = (value: (attempt: AttemptRecord) => Date | null): Buffer => timestampArray(attempts.map(value));
  const { rows } = await sql<Written>`
    with held as (
      update webhooks.deliveries as delivery
      set attempts_count = attempts_count + 1, lease_token = null, lease_until = null,
        state = case when delivery.state = 'cancelled' and made.state <> 'succeeded' then 'cancelled' else made.state end,
        next_attempt_at = case when delivery.state = 'cancelled' then null else made.next_attempt_at end,
        finished = case when made.state = 'pending' then delivery.finished else made.ended end
      from unnest(
        ${texts(({ delivery }) => delivery.eventId)}::text[], ${texts(({ delivery }) => delivery.uid)}::text[],
        ${texts(({ delivery }) => delivery.endpointUid)}::text[], ${texts(({ delivery }) => delivery.leaseToken)}::text[], ${texts(({ uid }) => uid)}::text[],
        ${times(({ started }) => started)}::timestamptz[], ${times(({ ended }) => ended)}::timestamptz[],
        ${texts(({ address }) => address)}::text[], ${smallintArray(attempts.map(({ status }) => status))}::smallint[],
        ${texts(({ failure }) => failure)}::text[], ${integers(({ retryAfterSeconds }) => retryAfterSeconds)}::integer[],
        ${texts(({ response }) => response)}::text[], ${integers(({ timings }) => timings.dns)}::integer[],
        ${integers(({ timings }) => timings.connect)}::integer[], ${integers(({ timings }) => timings.tls)}::integer[],
        ${integers(({ timings }) => timings.firstByte)}::integer[], ${integers(({ timings }) => timings.total)}::integer[],
        ${texts(({ state }) => state)}::text[], ${times(({ nextAttemptAt }) => nextAttemptAt)}::timestamptz[]
      ) as made (event_id, uid, endpoint_uid, lease_token, attempt_uid, started, ended, address, status, failure, retry_after_seconds,
        response, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, state, next_attempt_at)
      -- The index has the event and the endpoint. By the event alone, each row of an event for thousands of endpoints is
      -- found among all of its deliveries.
      where delivery.event_id = made.event_id and delivery.endpoint_uid = made.endpoint_uid and delivery.uid = made.uid
        and delivery.lease_token = made.lease_token and delivery.state in ('pending', 'cancelled')
      returning delivery.tenant, delivery.uid, delivery.event_id, delivery.attempts_count, delivery.endpoint_uid,
        delivery.state, delivery.followed, delivery.next_attempt_at, made.attempt_uid, made.started, made.address, made.status,
        made.failure, made.retry_after_seconds, made.response, made.dns_ms, made.connect_ms, made.tls_ms,
        made.first_byte_ms, made.total_ms
    ), kept as (
      insert into webhooks.attempts (tenant, uid, event_id, delivery_uid, number, started, address, status, failure,
        retry_after_seconds, response, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms)
      select tenant, attempt_uid, event_id, uid, attempts_count, started, address, status, failure,
        retry_after_seconds, response, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms
      from held
    ), due as (
      select endpoint_uid, next_attempt_at from held where state = 'pending'
    ), ready as (${bringForward('due')})
    select uid, state <> 'pending' as finished, followed from held`.execute(tx);
  return rows;
};

/** What a batch says about one endpoint, by its attempts after the last success or by all when there was none. */
export type HealthChange = {
  endpointUid: string;
  lastSuccess: Date | null;
  failuresCount: number;
  firstFailure: Date | null;
  lastFailure: Date | null;
};

export type Health = { endpointUid: string; failingSince: Date; failuresCount: number; warned: Date | null };

/** For endpoints without a row of health yet. */
export const insertHealth = async (tx: Kysely<unknown>, endpointUids: readonly string[]): Promise<void> => {
  if (endpointUids.length === 0) return;
  await sql`
    insert into webhooks.endpoint_health (endpoint_uid)
    select uid from unnest(${endpointUids}::text[]) as uid order by uid on conflict do nothing`.execute(tx);
};

/** Returns the endpoints that fail now. Locks the rows in the order of their uids. */
export const writeHealth = async (tx: Kysely<unknown>, changes: readonly HealthChange[]): Promise<Health[]> => {
  const sorted = changes.toSorted((left, right) => (left.endpointUid < right.endpointUid ? -1 : 1));
  const times = (value: (change: HealthChange) => Date | null): Buffer => timestampArray(sorted.map(value));
  const { rows } = await sql<Health>`
    with locked as materialized (
      select change.*
      from unnest(${textArray(sorted.map(({ endpointUid }) => endpointUid))}::text[],
        ${times(({ lastSuccess }) => lastSuccess)}::timestamptz[],
        ${integerArray(sorted.map(({ failuresCount }) => failuresCount))}::integer[],
        ${times(({ firstFailure }) => firstFailure)}::timestamptz[],
        ${times(({ lastFailure }) => lastFailure)}::timestamptz[])
        as change (endpoint_uid, last_success, failures_count, first_failure, last_failure)
      cross join lateral (
        select from webhooks.endpoint_health as health
        where health.endpoint_uid = change.endpoint_uid
          and (change.failures_count > 0 or health.failing_since is not null or health.last_success is null
            or health.last_success < change.last_success - ${recording.successEveryMs} * interval '1 millisecond')
        for no key update
      ) as health
    )
    update webhooks.endpoint_health as health set
      failing_since = case when change.last_success is null then coalesce(health.failing_since, change.first_failure)
        else change.first_failure end,
      failures_count = case when change.last_success is null then health.failures_count else 0 end + change.failures_count,
      warned = case when change.last_success is null then health.warned end,
      last_success = coalesce(change.last_success, health.last_success),
      last_failure = coalesce(change.last_failure, health.last_failure)
    from locked as change where health.endpoint_uid = change.endpoint_uid
    returning health.endpoint_uid as "endpointUid", health.failing_since as "failingSince",
      health.failures_count as "failuresCount", health.warned`.execute(tx);
  return rows.filter(({ failingSince }) => (failingSince as Date | null) !== null);
};

export type ScheduleChange = {
  endpointUid: string;
  class: EndpointClass;
  /** Null: the stored value stays. */
  gate: Date | null;
  recovered: Date | null;
};

/** Writes what the claims of all workers have to know of an endpoint. */
export const writeScheduleChanges = async (tx: Kysely<unknown>, changes: readonly ScheduleChange[]): Promise<void> => {
  if (changes.length === 0) return;
  const sorted = changes.toSorted((left, right) => (left.endpointUid < right.endpointUid ? -1 : 1));
  const of = <T>(value: (change: ScheduleChange) => T): T[] => sorted.map(value);
  await sql`
    update webhooks.ready as known set class = change.class, recovered = coalesce(change.recovered, known.recovered),
      gate = case when change.recovered is null then coalesce(change.gate, known.gate) end,
      due_at = least(known.due_at, change.recovered)
    from unnest(${of(({ endpointUid }) => endpointUid)}::text[], ${of((change) => change.class)}::smallint[],
      ${of(({ gate }) => gate)}::timestamptz[], ${of(({ recovered }) => recovered)}::timestamptz[])
      as change (endpoint_uid, class, gate, recovered)
    where known.endpoint_uid = change.endpoint_uid`.execute(tx);
};

export const holdsLease = async (tx: Kysely<unknown>, { delivery }: AttemptRecord): Promise<boolean> => {
  const { rows } = await sql`
    select from webhooks.deliveries
    where event_id = ${delivery.eventId} and endpoint_uid = ${delivery.endpointUid} and uid = ${delivery.uid}
      and lease_token = ${delivery.leaseToken}`.execute(tx);
  return rows.length > 0;
};

/** Returns the endpoints whose owner was not warned before. */
export const writeWarned = async (
  tx: Kysely<unknown>,
  endpointUids: readonly string[],
  now: Date,
): Promise<{ endpointUid: string; tenant: string }[]> => {
  if (endpointUids.length === 0) return [];
  const { rows } = await sql<{ endpointUid: string; tenant: string }>`
    update webhooks.endpoint_health as health set warned = ${now}
    from webhooks.endpoints as endpoint
    where health.endpoint_uid = any(${endpointUids}::text[]) and warned is null and endpoint.uid = health.endpoint_uid
    returning health.endpoint_uid as "endpointUid", endpoint.tenant`.execute(tx);
  return rows;
};
