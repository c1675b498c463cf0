/** The unfinished deliveries of disabled endpoints. */
import { type Kysely, sql } from 'kysely';
import type { EntityQueue } from '../queue/entity-queue-store.ts';

export type Cancelling = {
  endpointUid: string;
  /** Deliveries that were made until then are cancelled; all of them while the endpoint is disabled. */
  through: Date;
};

/** Endpoints whose unfinished deliveries are being cancelled, by uid, after `after`. */
export const listCancelling = async (db: Kysely<unknown>, after: string, limit: number): Promise<Cancelling[]> => {
  const { rows } = await sql<Cancelling>`
    select uid as "endpointUid", cancel_through as through from webhooks.endpoints
    where cancel_through is not null and uid > ${after} order by uid limit ${limit}`.execute(db);
  return rows;
};

export type Unsent = EntityQueue & { eventId: string; uid: string };

const unfinishedOf = ({ endpointUid, through }: Cancelling) => sql`
  webhooks.deliveries as delivery
  where delivery.endpoint_uid = ${endpointUid} and state in ('pending', 'waiting')
    and (created <= ${through} or not (select enabled from webhooks.endpoints where uid = ${endpointUid}))`;

/** Deliveries to cancel, without those whose attempt is in flight. */
export const findPiece = async (
  tx: Kysely<unknown>,
  endpoint: Cancelling,
  now: Date,
  limit: number,
): Promise<Unsent[]> => {
  const { rows } = await sql<Unsent>`
    select event_id as "eventId", uid, endpoint_uid as "endpointUid", kind, entity
    from ${unfinishedOf(endpoint)} and (lease_until is null or lease_until <= ${now}) limit ${limit}`.execute(tx);
  return rows;
};

/** Deliveries of events from before, without those whose attempt is in flight. */
export const findBefore = async (tx: Kysely<unknown>, before: Date, now: Date, limit: number): Promise<Unsent[]> => {
  const { rows } = await sql<Unsent>`
    select event_id as "eventId", uid, endpoint_uid as "endpointUid", kind, entity from webhooks.deliveries
    where event_id >= 'evt_' and event_id < platform.id_bound('evt', ${before}) and state in ('pending', 'waiting')
      and (lease_until is null or lease_until <= ${now}) limit ${limit}`.execute(tx);
  return rows;
};

/** Call with the locks of the entity queues. Returns how many deliveries were cancelled. */
export const cancelPiece = async (tx: Kysely<unknown>, piece: readonly Unsent[], now: Date): Promise<number> => {
  const { numAffectedRows } = await sql`
    update webhooks.deliveries as delivery set state = 'cancelled', finished = ${now}, next_attempt_at = null
    from unnest(${piece.map(({ eventId }) => eventId)}::text[], ${piece.map(({ endpointUid }) => endpointUid)}::text[],
      ${piece.map(({ uid }) => uid)}::text[]) as wanted (event_id, endpoint_uid, uid)
    where delivery.event_id = wanted.event_id and delivery.endpoint_uid = wanted.endpoint_uid
      and delivery.uid = wanted.uid and delivery.state in ('pending', 'waiting')
      and (delivery.lease_until is null or delivery.lease_until <= ${now})`.execute(tx);
  return Number(numAffectedRows ?? 0n);
};

/** Ends the cancelling, unless an attempt is still in flight or the endpoint was disabled again. */
export const endCancelling = async (tx: Kysely<unknown>, endpoint: Cancelling): Promise<void> => {
  await sql`
    update webhooks.endpoints set cancel_through = null
    where uid = ${endpoint.endpointUid} and cancel_through = ${endpoint.through}
      and not exists (select from ${unfinishedOf(endpoint)})`.execute(tx);
};
