/** Endpoints in PostgreSQL. */
import { type Kysely, sql } from 'kysely';

export type EndpointRow = {
  tenant: string;
  uid: string;
  ownerKind: 'api_client' | 'panel';
  ownerId: string;
  url: string;
  kinds: readonly string[];
  secret: Buffer;
  created: Date;
};

export const insertEndpoint = async (db: Kysely<unknown>, row: EndpointRow): Promise<void> => {
  await sql`
    insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
    values (${row.tenant}, ${row.uid}, ${row.ownerKind}, ${row.ownerId}, ${row.url}, ${row.kinds}::text[],
      ${row.secret}, ${row.created})`.execute(db);
};

/** Holds off other creations of the same owner until the transaction ends, so that none is counted too late. */
export const countEndpoints = async (
  tx: Kysely<unknown>,
  owner: { tenant: string; kind: string; id: string },
): Promise<number> => {
  const name = JSON.stringify(['webhooks.endpoints', owner.tenant, owner.kind, owner.id]);
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from webhooks.endpoints
    where tenant = ${owner.tenant} and owner_kind = ${owner.kind} and owner_id = ${owner.id}`.execute(tx);
  return rows[0]?.count ?? 0;
};

/** Returns false when there is no such endpoint. */
export const updateEndpointUrl = async (
  db: Kysely<unknown>,
  tenant: string,
  uid: string,
  url: string,
): Promise<boolean> => {
  const result = await sql`
    update webhooks.endpoints set url = ${url} where tenant = ${tenant} and uid = ${uid}`.execute(db);
  return (result.numAffectedRows ?? 0n) > 0n;
};

/** Before any of its deliveries, as the dispatcher does: two that take the same locks the other way round block each other. */
export const lockEndpoint = async (tx: Kysely<unknown>, uid: string): Promise<void> => {
  await sql`select from webhooks.endpoints where uid = ${uid} for no key update`.execute(tx);
};

/**
 * Nothing more is sent to it; what was still to be sent is cancelled. Two statements: the second sees the deliveries that
 * were made while the first waited, and locks in their sequence, as whoever releases the next one of an entity does.
 */
export const disableEndpoint = async (
  tx: Kysely<unknown>,
  uid: string,
  reason: 'gone' | 'failing' | 'owner',
  now: Date,
): Promise<void> => {
  await sql`update webhooks.endpoints set enabled = false, disabled_reason = ${reason} where uid = ${uid}`.execute(tx);
  await sql`
    update webhooks.deliveries set state = 'cancelled', finished = ${now}, next_attempt_at = null, lease_token = null,
      lease_until = null
    where uid in (
      select uid from webhooks.deliveries where endpoint_uid = ${uid} and state in ('pending', 'waiting')
      order by position for no key update
    )`.execute(tx);
};
