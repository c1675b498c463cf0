/** The workers that send, their heartbeats, and the leases of dead ones. */
import { type Kysely, sql } from 'kysely';
import type { Client } from 'pg';
import { heartbeats, scheduling } from '../pacing/bounds.ts';
import { bringForward, lockSchedule } from './schedule-store.ts';

export type Worker = { uid: string; lockKey: string };

/**
 * Takes the advisory lock of the worker, which ends with the session. An earlier session of the same worker may still hold
 * it when the server has not noticed its loss; the heartbeat keeps other workers away all the same.
 */
export const lockWorker = async (client: Client, { lockKey }: Worker): Promise<void> => {
  // A crash of the server may lose the last heartbeat; `heartbeats.deadMs` leaves room for that.
  await client.query('set synchronous_commit = off');
  await client.query('select pg_try_advisory_lock($1::bigint)', [lockKey]);
};

export const registerWorker = async (client: Client, worker: Worker): Promise<void> => {
  const { uid, lockKey } = worker;
  await lockWorker(client, worker);
  await client.query(
    `insert into webhooks.workers (uid, lock_key, seen) values ($1, $2::bigint, clock_timestamp())
     on conflict (uid) do nothing`,
    [uid, lockKey],
  );
};

/** `isHeld`: false when other workers found this one dead and took over its leases. `silent`: other workers. */
export type Heartbeat = { isHeld: boolean; silent: string[] };

/**
 * Finds other workers without a heartbeat for `deadMs` too. Removes the rows of those that cannot hold a lease any more, which
 * are silent for `forgottenMs`.
 */
export const sendHeartbeat = async (
  client: Client,
  uid: string,
  { deadMs, forgottenMs }: { deadMs: number; forgottenMs: number },
): Promise<Heartbeat> => {
  const { rows } = await client.query<Heartbeat & { forgotten: string[] }>(
    `with beat as (update webhooks.workers set seen = clock_timestamp() where uid = $1 returning uid),
       quiet as materialized (
         select uid, seen < clock_timestamp() - $3 * interval '1 millisecond' as forgotten from webhooks.workers
         where uid <> $1 and seen < clock_timestamp() - $2 * interval '1 millisecond'
       )
     select exists (select from beat) as "isHeld", array(select uid from quiet where not forgotten) as silent,
       array(select uid from quiet where forgotten) as forgotten`,
    [uid, deadMs, forgottenMs],
  );
  const { isHeld = false, silent = [], forgotten = [] } = rows[0] ?? {};
  for (const one of forgotten) await deregisterWorker(client, one);
  return { isHeld, silent };
};

export const deregisterWorker = async (client: Client, uid: string): Promise<void> => {
  await client.query('delete from webhooks.workers where uid = $1', [uid]);
};

/**
 * Returns the leases of a worker, unless its session lives or it sent a heartbeat. Returns how many, or undefined when the
 * worker is not dead. Call in a transaction: with its commit the worker is dead for good.
 */
export const takeOverWorker = async (
  tx: Kysely<unknown>,
  uid: string,
  { now, deadMs }: { now: Date; deadMs: number },
): Promise<number | undefined> => {
  const { rows: dead } = await sql`
    select from webhooks.workers
    where uid = ${uid} and seen < clock_timestamp() - ${deadMs} * interval '1 millisecond'
      and pg_try_advisory_xact_lock(lock_key)
    for update skip locked`.execute(tx);
  if (dead.length === 0) return undefined;
  // The next look at an endpoint with attempts in flight is within that time, so only those need to be searched.
  const { rows: leased } = await sql<{ endpointUid: string; eventId: string; uid: string }>`
    select turn.endpoint_uid as "endpointUid", held.event_id as "eventId", held.uid
    from webhooks.ready as turn cross join lateral (
      select event_id, uid, lease_token from webhooks.deliveries as delivery
      where delivery.endpoint_uid = turn.endpoint_uid and state = 'pending' and next_attempt_at <= ${now}
      order by delivery.endpoint_uid, next_attempt_at limit ${heartbeats.searchedMax}
    ) as held
    where turn.due_at <= ${new Date(now.getTime() + scheduling.lookMs)} and starts_with(held.lease_token, ${`${uid}.`})`.execute(
    tx,
  );
  if (leased.length > 0) {
    await lockSchedule(tx, [...new Set(leased.map(({ endpointUid }) => endpointUid))]);
    // A delivery whose result is being written at this moment is skipped: that write returns its lease.
    await sql`
      with free as materialized (
        select delivery.event_id, delivery.endpoint_uid, delivery.uid
        from unnest(${leased.map(({ eventId }) => eventId)}::text[], ${leased.map(({ endpointUid }) => endpointUid)}::text[],
          ${leased.map((one) => one.uid)}::text[]) as wanted (event_id, endpoint_uid, uid)
        join webhooks.deliveries as delivery on delivery.event_id = wanted.event_id
          and delivery.endpoint_uid = wanted.endpoint_uid and delivery.uid = wanted.uid
        where delivery.state = 'pending' and starts_with(delivery.lease_token, ${`${uid}.`})
        for no key update of delivery skip locked
      ), returned as (
        update webhooks.deliveries as delivery set lease_token = null, lease_until = null
        from free where delivery.event_id = free.event_id and delivery.endpoint_uid = free.endpoint_uid
          and delivery.uid = free.uid
        returning delivery.endpoint_uid, delivery.next_attempt_at
      ) ${bringForward('returned')}`.execute(tx);
  }
  await sql`delete from webhooks.workers where uid = ${uid}`.execute(tx);
  return leased.length;
};
