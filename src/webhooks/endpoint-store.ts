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

/**
 * Nothing more is sent to it, and nothing more is made for it when this has committed: the dispatcher holds the row while
 * it makes deliveries. What was still to be sent is cancelled afterwards, a piece at a time (`cancel-backlog.ts`). False
 * when it was disabled already.
 */
export const disableEndpoint = async (
  tx: Kysely<unknown>,
  uid: string,
  reason: 'gone' | 'failing' | 'owner',
  now: Date,
): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    update webhooks.endpoints set enabled = false, disabled_reason = ${reason}, cancel_through = ${now}
    where uid = ${uid} and enabled`.execute(tx);
  return numAffectedRows === 1n;
};

/** The rule of interface 12.4, judged as the row is now: a success may have been written since. */
export const disableFailing = async (
  tx: Kysely<unknown>,
  uid: string,
  rule: { failingSinceBefore: Date; failuresMin: number },
  now: Date,
): Promise<boolean> => {
  const { rows } = await sql`
    select from webhooks.endpoint_health
    where endpoint_uid = ${uid} and failing_since <= ${rule.failingSinceBefore} and failures_count >= ${rule.failuresMin}
    for no key update`.execute(tx);
  return rows.length > 0 && (await disableEndpoint(tx, uid, 'failing', now));
};
