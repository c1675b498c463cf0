/** Redeliveries and their progress through the recorded events. */
import { type Kysely, sql } from 'kysely';
import type { Viewer } from '../endpoints/endpoint.ts';
import type { DeliveryState } from '../queue/delivery-state.ts';
import { retentionMs } from '../queue/retention-period.ts';

export type Redelivery = {
  tenant: string;
  uid: string;
  endpointUid: string;
  since: Date;
  until: Date | null;
  /** Includes events whose delivery succeeded. */
  everything: boolean;
  /** Places in the feed: the last one that was read, and the last one to read. */
  afterPlace: number;
  lastPlace: number;
  queued: number;
  state: 'running' | 'done';
  created: Date;
};

/** Returns false when a redelivery of this endpoint is running. */
export const insertRedelivery = async (tx: Kysely<unknown>, row: Redelivery): Promise<boolean> => {
  const result = await sql`
    insert into webhooks.redeliveries (tenant, uid, endpoint_uid, since, until, everything, after_position, last_position,
      queued, state, created, touched)
    values (${row.tenant}, ${row.uid}, ${row.endpointUid}, ${row.since}, ${row.until}, ${row.everything},
      ${row.afterPlace}, ${row.lastPlace}, ${row.queued}, ${row.state}, ${row.created}, ${row.created})
    on conflict (endpoint_uid) where state = 'running' do nothing`.execute(tx);
  return (result.numAffectedRows ?? 0n) > 0n;
};

/** `queued`: events that got a delivery. `counts`: those deliveries by state; those that a later redelivery took over are cancelled. */
export type RedeliveryProgress = Pick<Redelivery, 'uid' | 'endpointUid' | 'queued' | 'state' | 'created'> & {
  counts: Record<DeliveryState, number>;
  /** When the last finished delivery was finished. */
  lastFinished: Date | null;
};

/** `running`: events are still being queued. `sending`: all are, and some are not finished. `finished`: nothing is left to do. */
export const redeliveryStates = ['running', 'sending', 'finished'] as const;

export const redeliveryStateOf = ({ state, counts }: RedeliveryProgress): (typeof redeliveryStates)[number] => {
  if (state === 'running') return 'running';
  return counts.pending + counts.waiting > 0 ? 'sending' : 'finished';
};

/** True when the redelivery exists and the viewer sees its endpoint. */
export const isRedeliverySeen = async (
  db: Kysely<unknown>,
  { tenant, client }: Viewer,
  uid: string,
): Promise<boolean> => {
  const { rows } = await sql`
    select from webhooks.redeliveries as redelivery join webhooks.endpoints as endpoint on endpoint.uid = redelivery.endpoint_uid
    where redelivery.tenant = ${tenant} and redelivery.uid = ${uid}
      ${client === undefined ? sql`` : sql`and owner_kind = 'api_client' and owner_id = ${client}`}`.execute(db);
  return rows.length > 0;
};

/** The cost grows with the number of its own deliveries: a million take up to a second. */
export const readProgress = async (
  db: Kysely<unknown>,
  uid: string,
  now: Date,
): Promise<RedeliveryProgress | undefined> => {
  const { rows } = await sql<
    Omit<RedeliveryProgress, 'counts'> & { since: Date; counts: Partial<Record<DeliveryState, number>> }
  >`
    select redelivery.uid, redelivery.since, redelivery.endpoint_uid as "endpointUid", queued, redelivery.state, redelivery.created,
      coalesce(found.counts, '{}') as counts, found.last as "lastFinished"
    from webhooks.redeliveries as redelivery cross join lateral (
      select jsonb_object_agg(state, count) as counts, max(last) as last from (
        select state, count(*) as count, max(finished) as last from webhooks.deliveries
        where redelivery_uid = redelivery.uid group by state
      ) as of_state
    ) as found
    where redelivery.uid = ${uid}`.execute(db);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { since, ...progress } = row;
  const counts = { pending: 0, waiting: 0, succeeded: 0, exhausted: 0, cancelled: 0, ...row.counts };
  if (since.getTime() >= now.getTime() - retentionMs) counts.cancelled += takenCount(row.queued, counts);
  return { ...progress, counts };
};

/**
 * Deliveries that a later redelivery took over. They belong to that one only, so that they are no longer among the counted ones.
 * This holds while the log keeps the deliveries of all events: it drops those of events beyond the retention.
 */
const takenCount = (queued: number, counts: Record<DeliveryState, number>): number =>
  Math.max(0, queued - Object.values(counts).reduce((sum, count) => sum + count, 0));

/** Removes redeliveries that are done and were made before; their deliveries are dropped as well. */
export const dropRedeliveries = async (db: Kysely<unknown>, before: Date): Promise<void> => {
  await sql`delete from webhooks.redeliveries where state = 'done' and created < ${before}`.execute(db);
};

/**
 * Locks the running redelivery that waits for longest and that no other worker has locked, until the transaction ends.
 */
export const claimRedelivery = async (tx: Kysely<unknown>): Promise<Redelivery | undefined> => {
  const { rows } = await sql<Redelivery>`
    select tenant, uid, endpoint_uid as "endpointUid", since, until, everything, after_position as "afterPlace",
      last_position as "lastPlace", queued, state, created
    from webhooks.redeliveries where state = 'running' order by touched, uid limit 1 for update skip locked`.execute(
    tx,
  );
  return rows[0];
};

export const saveProgress = async (tx: Kysely<unknown>, row: Redelivery, now: Date): Promise<void> => {
  await sql`
    update webhooks.redeliveries set after_position = ${row.afterPlace}, queued = ${row.queued}, state = ${row.state},
      touched = ${now}
    where uid = ${row.uid}`.execute(tx);
};

/** The other running redeliveries are claimed before it. */
export const putLast = async (db: Kysely<unknown>, uid: string, now: Date): Promise<void> => {
  await sql`update webhooks.redeliveries set touched = ${now} where uid = ${uid}`.execute(db);
};
