/** Which workers send, and the leases of those that are dead. */
import { type Kysely, sql } from 'kysely';
import type { Client } from 'pg';
import { lockReadyRows, lookMs, makeReady } from './schedule-store.ts';

export type Worker = { uid: string; lockKey: string };

/** Deliveries of one endpoint that are looked through for leases of a dead worker: leased ones are among the first due. */
const lookMax = 2_000;

/**
 * The lock goes with the session. It may be held still by a session of the same worker that the server does not know to be
 * lost; being seen keeps others away all the same.
 */
export const lockWorker = async (client: Client, { lockKey }: Worker): Promise<void> => {
  // A crash of the server may forget that it was seen in the last moment: who judges by that leaves room for it.
  await client.query('set synchronous_commit = off');
  await client.query('select pg_try_advisory_lock($1::bigint)', [lockKey]);
};

export const enterWorker = async (client: Client, worker: Worker): Promise<void> => {
  const { uid, lockKey } = worker;
  await lockWorker(client, worker);
  await client.query(
    `insert into webhooks.workers (uid, lock_key, seen) values ($1, $2::bigint, clock_timestamp())
     on conflict (uid) do nothing`,
    [uid, lockKey],
  );
};

/** False: it was taken for dead, and its leases were given to others. */
export const noteSeen = async (client: Client, uid: string): Promise<boolean> => {
  const { rowCount } = await client.query('update webhooks.workers set seen = clock_timestamp() where uid = $1', [uid]);
  return rowCount === 1;
};

export const leaveWorker = async (client: Client, uid: string): Promise<void> => {
  await client.query('delete from webhooks.workers where uid = $1', [uid]);
};

/** Others that were not seen for so long, and none that can still have a lease: rows of those are removed. */
export const listUnseen = async (
  client: Client,
  uid: string,
  { deadMs, forgottenMs }: { deadMs: number; forgottenMs: number },
): Promise<string[]> => {
  const { rows } = await client.query<{ uid: string; forgotten: boolean }>(
    `select uid, seen < clock_timestamp() - $3 * interval '1 millisecond' as forgotten from webhooks.workers
     where uid <> $1 and seen < clock_timestamp() - $2 * interval '1 millisecond'`,
    [uid, deadMs, forgottenMs],
  );
  for (const one of rows) if (one.forgotten) await leaveWorker(client, one.uid);
  return rows.filter(({ forgotten }) => !forgotten).map((one) => one.uid);
};

/**
 * Gives back what the worker had leased, unless its session lives or it was seen again. Returns how many, undefined when it
 * is not dead. In one transaction: it is dead for good when this commits.
 */
export const buryWorker = async (
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
  // Endpoints that something is on its way to are looked at again within that time.
  const { rows: leased } = await sql<{ endpointUid: string; eventId: string; uid: string }>`
    select turn.endpoint_uid as "endpointUid", held.event_id as "eventId", held.uid
    from webhooks.ready as turn cross join lateral (
      select event_id, uid, lease_token from webhooks.deliveries as delivery
      where delivery.endpoint_uid = turn.endpoint_uid and state = 'pending' and next_attempt_at <= ${now}
      order by delivery.endpoint_uid, next_attempt_at limit ${lookMax}
    ) as held
    where turn.due_at <= ${new Date(now.getTime() + lookMs)} and starts_with(held.lease_token, ${`${uid}.`})`.execute(
    tx,
  );
  if (leased.length > 0) {
    await lockReadyRows(tx, [...new Set(leased.map(({ endpointUid }) => endpointUid))]);
    // One whose outcome is being written at this moment is left to that.
    await sql`
      with free as materialized (
        select delivery.event_id, delivery.uid
        from unnest(${leased.map(({ eventId }) => eventId)}::text[], ${leased.map((one) => one.uid)}::text[])
          as wanted (event_id, uid)
        join webhooks.deliveries as delivery on delivery.event_id = wanted.event_id and delivery.uid = wanted.uid
        where delivery.state = 'pending' and starts_with(delivery.lease_token, ${`${uid}.`})
        for no key update of delivery skip locked
      ), returned as (
        update webhooks.deliveries as delivery set lease_token = null, lease_until = null
        from free where delivery.event_id = free.event_id and delivery.uid = free.uid
        returning delivery.endpoint_uid, delivery.next_attempt_at
      ) ${makeReady('returned')}`.execute(tx);
  }
  await sql`delete from webhooks.workers where uid = ${uid}`.execute(tx);
  return leased.length;
};
