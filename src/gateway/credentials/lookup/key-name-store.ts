/** SQL that finds API keys by their names, for the panel's search for anything. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type NamedKey = { tenant: string; keyId: string; name: string };

/** The newest keys of a tenant that are looked through. */
const keysMax = 200;

/** Keys that are not revoked and have exactly this name, ignoring case, along api_keys_names. */
export const keysNamed = async (db: Db, name: string, limit: number): Promise<NamedKey[]> =>
  (
    await sql<NamedKey>`
      select tenant, key_id as "keyId", name from gateway.api_keys
      where lower(name) = lower(${name}::text) and revoked_at is null limit ${limit}`.execute(db)
  ).rows;

/** Keys of the tenants that are not revoked and whose name contains the text, ignoring case, along api_keys_by_age. */
export const findKeysOf = async (
  db: Db,
  tenants: readonly string[],
  text: string,
  limit: number,
): Promise<NamedKey[]> => {
  const { rows } = await sql<NamedKey>`
    select key.tenant, key.key_id as "keyId", key.name
    from unnest(${[...tenants]}::text[]) as asked (id) cross join lateral (
      select tenant, key_id, name, revoked_at from gateway.api_keys where tenant = asked.id
      order by created desc, key_id desc limit ${keysMax}
    ) as key
    where key.revoked_at is null and strpos(lower(key.name), lower(${text}::text)) > 0 limit ${limit}`.execute(db);
  return rows;
};
