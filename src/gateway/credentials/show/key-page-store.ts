/** SQL of pages of the keys of a tenant, without digests. */
import { type Kysely, sql } from 'kysely';
import type { ShownRow } from './list-store.ts';

type Db = Kysely<unknown>;

export type KeyPage = {
  tenant: string;
  /** true: revoked and expired keys; false: the others. */
  ended: boolean;
  after: { created: Date; id: string } | undefined;
  limit: number;
  now: Date;
};

const columns = sql`
  key_id as id, name, created, expires, revoked_at is not null as revoked, quarantined_reason as "quarantinedReason",
  leak_reported_at is not null as leaked`;

/** Newest first. */
export const listKeyPage = async (db: Db, { tenant, ended, after, limit, now }: KeyPage): Promise<ShownRow[]> =>
  (
    await sql<ShownRow>`
      select ${columns} from gateway.api_keys
      where tenant = ${tenant} and (revoked_at is not null or coalesce(expires <= ${now}, false)) = ${ended}
        ${after === undefined ? sql`` : sql`and (created, key_id) < (${after.created}, ${after.id})`}
      order by created desc, key_id desc limit ${limit}`.execute(db)
  ).rows;

export const findKeyRow = async (db: Db, tenant: string, keyId: string): Promise<ShownRow | undefined> =>
  (
    await sql<ShownRow>`
      select ${columns} from gateway.api_keys where tenant = ${tenant} and key_id = ${keyId}`.execute(db)
  ).rows[0];

/** The tenants of the list whose API access is on. */
export const listOpenTenants = async (db: Db, tenants: readonly string[]): Promise<string[]> =>
  (
    await sql<{ id: string }>`
      select id from gateway.tenants where id = any(${tenants}::text[]) and api_enabled and gone_at is null`.execute(db)
  ).rows.map(({ id }) => id);

/** The keys of the list for which the tenant has a newer, used key with the same name, as a rotation makes it. */
export const findKeysWithUsedSuccessor = async (
  db: Db,
  keyIds: readonly string[],
  now: Date,
): Promise<ReadonlySet<string>> => {
  if (keyIds.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    select k.key_id as id from gateway.api_keys k
    where k.key_id = any(${keyIds}::text[]) and exists (
      select 1 from gateway.api_keys n join gateway.credential_use u on u.credential = n.key_id
      where n.tenant = k.tenant and n.created > k.created and n.name = k.name and n.revoked_at is null
        and n.quarantined_reason is null and (n.expires is null or n.expires > ${now}))`.execute(db);
  return new Set(rows.map(({ id }) => id));
};

/** A key that a name may mean. */
type NamedKey = { id: string; tenant: string };

/**
 * Keys of this name, ignoring case, newest first: those in use, or else those that have ended. `tenant` undefined: those of
 * all tenants.
 */
export const findKeysByName = async (
  db: Db,
  { name, tenant, now, limit }: { name: string; tenant: string | undefined; now: Date; limit: number },
): Promise<NamedKey[]> => {
  const { rows } = await sql<NamedKey & { ended: boolean }>`
    select key_id as id, tenant, revoked_at is not null or coalesce(expires <= ${now}, false) as ended
    from gateway.api_keys
    where lower(name) = lower(${name}) and (${tenant ?? null}::text is null or tenant = ${tenant ?? null})
    order by ended, created desc, key_id desc limit ${limit}`.execute(db);
  const live = rows.filter(({ ended }) => !ended);
  return (live.length > 0 ? live : rows).map(({ id, tenant: of }) => ({ id, tenant: of }));
};
