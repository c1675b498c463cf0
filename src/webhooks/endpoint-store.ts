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

export const countEndpoints = async (
  db: Kysely<unknown>,
  owner: { tenant: string; kind: string; id: string },
): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from webhooks.endpoints
    where tenant = ${owner.tenant} and owner_kind = ${owner.kind} and owner_id = ${owner.id}`.execute(db);
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

/** Nothing more is sent to it; what was still to be sent is cancelled. */
export const disableEndpoint = async (
  db: Kysely<unknown>,
  uid: string,
  reason: 'gone' | 'failing' | 'owner',
  now: Date,
): Promise<void> => {
  await sql`
    with disabled as (
      update webhooks.endpoints set enabled = false, disabled_reason = ${reason} where uid = ${uid} returning uid
    )
    update webhooks.deliveries set state = 'cancelled', finished = ${now}, next_attempt_at = null, lease_token = null
    where endpoint_uid in (select uid from disabled) and state in ('pending', 'waiting')`.execute(db);
};
