/** Which hour the next digest of an endpoint is about. */
import { type Kysely, sql } from 'kysely';

const wanting = sql`enabled and digest and removed is null`;

/** Endpoints that have begun to want digests: the hour that runs is their first one. */
export const beginDigests = async (db: Kysely<unknown>, from: Date): Promise<void> => {
  await sql`
    insert into webhooks.digests (endpoint_uid, next_from)
    select uid, ${from}::timestamptz from webhooks.endpoints
    where ${wanting} and not exists (select from webhooks.digests as known where known.endpoint_uid = uid)
    on conflict do nothing`.execute(db);
};

/** Those that do not want any more, or are disabled: when they do again, they begin anew. */
export const endDigests = async (db: Kysely<unknown>): Promise<void> => {
  await sql`
    delete from webhooks.digests where endpoint_uid in (
      select endpoint_uid from webhooks.digests join webhooks.endpoints on uid = endpoint_uid where not (${wanting})
    )`.execute(db);
};

export type DueDigest = {
  endpointUid: string;
  tenant: string;
  kinds: string[];
  nextFrom: Date;
  lastSeq: number | null;
};

/**
 * Endpoints whose next hour ended at `end` or before. Each is held with its endpoint, so that nobody else sends the hour
 * and nobody disables it between; those that are held by others come next time.
 */
export const claimDigests = async (tx: Kysely<unknown>, end: Date, limit: number): Promise<DueDigest[]> => {
  const { rows } = await sql<DueDigest>`
    select endpoint_uid as "endpointUid", tenant, kinds, next_from as "nextFrom", last_seq as "lastSeq"
    from webhooks.digests as digest join webhooks.endpoints on uid = endpoint_uid
    where next_from <= ${end}::timestamptz - interval '1 hour' and ${wanting}
    order by next_from, endpoint_uid limit ${limit}
    for no key update of digest skip locked for share of endpoints skip locked`.execute(tx);
  return rows;
};

export const moveDigestOn = async (
  tx: Kysely<unknown>,
  endpointUid: string,
  { nextFrom, lastSeq }: { nextFrom: Date; lastSeq: number },
): Promise<void> => {
  await sql`
    update webhooks.digests set next_from = ${nextFrom}, last_seq = ${lastSeq}
    where endpoint_uid = ${endpointUid}`.execute(tx);
};

export type DigestDelivery = {
  tenant: string;
  endpointUid: string;
  uid: string;
  eventId: string;
  kind: string;
  seq: number;
  body: string;
};

/** Its body is kept with it, since it is in no outbox. Nothing waits for it, and it waits for nothing. */
export const insertDigestDelivery = async (tx: Kysely<unknown>, row: DigestDelivery, now: Date): Promise<void> => {
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
      next_attempt_at, created)
    values (${row.tenant}, ${row.uid}, ${row.endpointUid}, ${row.eventId}, 'webhook.digest', ${row.kind}, ${row.eventId},
      ${row.seq}, ${row.seq}, ${row.body}, 'pending', ${now}, ${now})`.execute(tx);
};
