/** The hour of the next digest of each endpoint. */
import { type Kysely, sql } from 'kysely';
import { sentKinds } from '../endpoints/endpoint-store.ts';

/** A digest is sent as long as the owner may read one of the kinds. */
const wanting = sql`enabled and digest and removed is null and not kinds <@ withheld_kinds`;

/** False when there is nothing to begin, to send or to end. */
export const areDigestsAsked = async (db: Kysely<unknown>): Promise<boolean> => {
  const { rows } = await sql<{ asked: boolean }>`
    select exists (select from webhooks.digests) or exists (select from webhooks.endpoints where ${wanting}) as asked`.execute(
    db,
  );
  return rows[0]?.asked === true;
};

/** For endpoints that asked for digests since: their first hour is the running one. */
export const beginDigests = async (db: Kysely<unknown>, from: Date): Promise<void> => {
  await sql`
    insert into webhooks.digests (endpoint_uid, next_from)
    select uid, ${from}::timestamptz from webhooks.endpoints
    where ${wanting} and not exists (select from webhooks.digests as known where known.endpoint_uid = uid)
    on conflict do nothing`.execute(db);
};

/** For endpoints that are disabled or do not want digests any more. If they want them again they start over. */
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
 * Endpoints whose next hour ended at `end` or before. Locks their rows, so that no other worker sends the hour and no
 * transaction disables them meanwhile. Rows that are locked already are left to the next time.
 */
export const claimDigests = async (tx: Kysely<unknown>, end: Date, limit: number): Promise<DueDigest[]> => {
  const { rows } = await sql<DueDigest>`
    select endpoint_uid as "endpointUid", tenant, ${sentKinds}, next_from as "nextFrom", last_seq as "lastSeq"
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

type DigestDelivery = {
  tenant: string;
  endpointUid: string;
  uid: string;
  eventId: string;
  kind: string;
  seq: number;
  body: string;
};

/**
 * Inserts the delivery with its body, because the event is not in the outbox. It belongs to no entity queue with
 * others.
 */
export const insertDigestDelivery = async (tx: Kysely<unknown>, row: DigestDelivery, now: Date): Promise<void> => {
  await sql`
    insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, body, state,
      next_attempt_at, created)
    values (${row.tenant}, ${row.uid}, ${row.endpointUid}, ${row.eventId}, 'webhook.digest', ${row.kind}, ${row.eventId},
      ${row.seq}, ${row.seq}, ${row.body}, 'pending', ${now}, ${now})`.execute(tx);
};
