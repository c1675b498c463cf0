/** SQL of the facts that the holder of a credential may read about it. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type IssuedFacts = { name: string; issued: Date; ends: Date | null };

export const readKeyFacts = async (db: Db, keyId: string): Promise<IssuedFacts | undefined> =>
  (
    await sql<IssuedFacts>`
      select name, created as issued, expires as ends from gateway.api_keys where key_id = ${keyId}`.execute(db)
  ).rows[0];

/** Of one secret of the client. */
export const readSecretFacts = async (db: Db, clientId: string, secretId: string): Promise<IssuedFacts | undefined> =>
  (
    await sql<IssuedFacts>`
      select c.name, s.created as issued, s.expires as ends
      from gateway.clients c join gateway.client_secrets s on s.client_id = c.client_id
      where c.client_id = ${clientId} and s.secret_id = ${secretId}`.execute(db)
  ).rows[0];

export const readClientName = async (db: Db, clientId: string): Promise<string | undefined> =>
  (await sql<{ name: string }>`select name from gateway.clients where client_id = ${clientId}`.execute(db)).rows[0]
    ?.name;

export type TenantFacts = { id: string; apiEnabled: boolean; facts: Record<string, unknown> };

/** Of those tenants, the first by id. */
export const readTenantFacts = async (db: Db, ids: readonly string[], rowsMax: number): Promise<TenantFacts[]> =>
  (
    await sql<TenantFacts>`
      select id, api_enabled as "apiEnabled", facts from gateway.tenants
      where id = any(${[...ids]}::text[]) order by id limit ${rowsMax}`.execute(db)
  ).rows;
