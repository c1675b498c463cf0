/** Deliveries and their attempts for viewers of their endpoints. Reads only. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { readBodies } from '#src/platform/db/outbox/outbox.ts';
import { timeOfId } from '#src/platform/ids.ts';
import type { Viewer } from '../endpoints/endpoint.ts';
import { visibleTo } from '../endpoints/endpoint-store.ts';
import type { DeliveryState } from '../queue/delivery-state.ts';
import type { Failure } from '../send/send-result.ts';
import type { TriedNext } from './next-try.ts';

export type LoggedDelivery = {
  uid: string;
  endpointUid: string;
  eventId: string;
  event: string;
  kind: string;
  entity: string;
  seq: number;
  state: DeliveryState;
  attemptsCount: number;
  nextAttemptAt: Date | null;
  heldUntil: Date | null;
  isGivenUp: boolean;
  redeliveryUid: string | null;
  created: Date;
};

export type LoggedAttempt = {
  uid: string;
  number: number;
  started: Date;
  address: string | null;
  status: number | null;
  failure: Failure | null;
  retryAfterSeconds: number | null;
  response: string | null;
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
};

export type DeliveryFilter = {
  endpointUid?: string | undefined;
  eventId?: string | undefined;
  event?: string | undefined;
  state?: DeliveryState | undefined;
  redeliveryUid?: string | undefined;
  since?: Date | undefined;
};

/** Columns of `delivery` for TriedNext. They are read only for rows that are shown. */
const triedNext = sql`
  delivery.next_attempt_at as "nextAttemptAt",
  (select gate from webhooks.ready where endpoint_uid = delivery.endpoint_uid) as "heldUntil",
  not exists (
    select from webhooks.endpoints as target where target.uid = delivery.endpoint_uid and target.enabled
      and (target.cancel_through is null or target.cancel_through < delivery.created)
  ) as "isGivenUp"`;

/** Columns of `delivery` for LoggedDelivery. */
export const deliveryColumns = sql`
  delivery.uid, delivery.endpoint_uid as "endpointUid", event_id as "eventId", event, kind, entity, seq, state,
  attempts_count as "attemptsCount", redelivery_uid as "redeliveryUid", delivery.created, ${triedNext}`;

/** Includes the deliveries of removed endpoints, which their owner may still need to understand. */
export const seenEndpoints = ({ tenant, client }: Viewer, endpointUid: string | undefined): RawBuilder<unknown> => sql`
  select uid as endpoint_uid from webhooks.endpoints where tenant = ${tenant}
    ${client === undefined ? sql`` : sql`and owner_kind = 'api_client' and owner_id = ${client}`}
    ${endpointUid === undefined ? sql`` : sql`and uid = ${endpointUid}`}`;

export const findDelivery = async (
  db: Kysely<unknown>,
  viewer: Viewer,
  uid: string,
): Promise<(LoggedDelivery & { body: string | null }) | undefined> => {
  // The id holds the time of its creation, so no index by id is needed.
  const created = timeOfId('dlv', uid);
  if (created === undefined) return undefined;
  const { rows } = await sql<LoggedDelivery & { body: string | null }>`
    select ${deliveryColumns}, body from (${seenEndpoints(viewer, undefined)}) as seen
    cross join lateral (
      select * from webhooks.deliveries
      where tenant = ${viewer.tenant} and endpoint_uid = seen.endpoint_uid and created = ${created} and uid = ${uid}
      limit 1
    ) as delivery`.execute(db);
  const [row] = rows;
  if (row === undefined || row.body !== null) return row;
  const bodies = await readBodies(db, [row.eventId]);
  return { ...row, body: bodies.get(row.eventId) ?? null };
};

/** Oldest first. */
export const listAttempts = async (db: Kysely<unknown>, deliveryUid: string): Promise<LoggedAttempt[]> => {
  const { rows } = await sql<LoggedAttempt>`
    select uid, number, started, address, status, failure, retry_after_seconds as "retryAfterSeconds", response,
      dns_ms as "dnsMs", connect_ms as "connectMs", tls_ms as "tlsMs", first_byte_ms as "firstByteMs",
      total_ms as "totalMs"
    from webhooks.attempts where delivery_uid = ${deliveryUid} order by number, started`.execute(db);
  return rows;
};

type EventDelivery = {
  eventId: string;
  endpointUid: string;
  state: DeliveryState;
  attemptsCount: number;
} & TriedNext;

/** The latest delivery of each event at each endpoint that the viewer sees now. */
export const latestDeliveries = async (
  db: Kysely<unknown>,
  viewer: Viewer,
  eventIds: readonly string[],
): Promise<EventDelivery[]> => {
  const { rows } = await sql<EventDelivery>`
    select distinct on (delivery.event_id, delivery.endpoint_uid) delivery.event_id as "eventId",
      delivery.endpoint_uid as "endpointUid", delivery.state, delivery.attempts_count as "attemptsCount",
      ${triedNext}
    from webhooks.deliveries as delivery join webhooks.endpoints as endpoint on endpoint.uid = delivery.endpoint_uid
    where delivery.event_id = any(${eventIds}::text[]) and ${visibleTo(viewer)}
    order by delivery.event_id, delivery.endpoint_uid, delivery.uid desc`.execute(db);
  return rows;
};
