/** SQL that finds the holder of a credential by its id. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/** The tenant of a key, by its unique id; revoked keys too. */
export const tenantOfKey = async (db: Db, keyId: string): Promise<string | undefined> =>
  (await sql<{ tenant: string }>`select tenant from gateway.api_keys where key_id = ${keyId}`.execute(db)).rows[0]
    ?.tenant;

/** The client of this id or of this secret, by primary keys; ended ones too. */
export const clientOfId = async (db: Db, id: string): Promise<string | undefined> =>
  (
    await sql<{ client: string }>`
      select client_id as client from gateway.clients where client_id = ${id}
      union all select client_id from gateway.client_secrets where secret_id = ${id}`.execute(db)
  ).rows[0]?.client;
