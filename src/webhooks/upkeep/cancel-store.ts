/** The backlog of endpoints that were disabled. */
import { type Kysely, sql } from 'kysely';
import type { Lane } from '../queue/entity-queue-store.ts';

export type Cancelling = {
  endpointUid: string;
  /** What was made up to then is cancelled; everything as long as the endpoint is disabled. */
  through: Date;
};

const endpointsMax = 100;

export const listCancelling = async (db: Kysely<unknown>): Promise<Cancelling[]> => {
  const { rows } = await sql<Cancelling>`
    select uid as "endpointUid", cancel_through as through from webhooks.endpoints
    where cancel_through is not null order by uid limit ${endpointsMax}`.execute(db);
  return rows;
};

export type Unsent = Lane & { eventId: string; uid: string };

const unfinishedOf = ({ endpointUid, through }: Cancelling) => sql`
  webhooks.deliveries as delivery
  where delivery.endpoint_uid = ${endpointUid} and state in ('pending', 'waiting')
    and (created <= ${through} or not (select enabled from webhooks.endpoints where uid = ${endpointUid}))`;

/** What is to be cancelled and not on its way. */
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

/** What belongs to events from before and is not on its way. */
export const findBefore = async (tx: Kysely<unknown>, before: Date, now: Date, limit: number): Promise<Unsent[]> => {
  const { rows } = await sql<Unsent>`
    select event_id as "eventId", uid, endpoint_uid as "endpointUid", kind, entity from webhooks.deliveries
    where event_id >= 'evt_' and event_id < platform.id_bound('evt', ${before}) and state in ('pending', 'waiting')
      and (lease_until is null or lease_until <= ${now}) limit ${limit}`.execute(tx);
  return rows;
};

/** Under the locks of their lanes. Returns how many it were. */
export const cancelPiece = async (tx: Kysely<unknown>, piece: readonly Unsent[], now: Date): Promise<number> => {
  const { numAffectedRows } = await sql`
    update webhooks.deliveries as delivery set state = 'cancelled', finished = ${now}, next_attempt_at = null
    from unnest(${piece.map(({ eventId }) => eventId)}::text[], ${piece.map(({ uid }) => uid)}::text[]) as wanted (event_id, uid)
    where delivery.event_id = wanted.event_id and delivery.uid = wanted.uid and delivery.state in ('pending', 'waiting')
      and (delivery.lease_until is null or delivery.lease_until <= ${now})`.execute(tx);
  return Number(numAffectedRows ?? 0n);
};

/** Unless something is on its way still, or it was disabled anew. */
export const endCancelling = async (tx: Kysely<unknown>, endpoint: Cancelling): Promise<void> => {
  await sql`
    update webhooks.endpoints set cancel_through = null
    where uid = ${endpoint.endpointUid} and cancel_through = ${endpoint.through}
      and not exists (select from ${unfinishedOf(endpoint)})`.execute(tx);
};
