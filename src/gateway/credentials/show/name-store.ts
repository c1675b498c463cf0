/** The names that people gave to tenants, clients and keys, for lists that show names before ids. */
import { type Kysely, sql } from 'kysely';

export type NamedIds = { tenants: readonly string[]; clients: readonly string[]; credentials: readonly string[] };

/** By id. An id without an entry is unknown, or has no name. */
export type CredentialNames = {
  tenants: ReadonlyMap<string, string>;
  clients: ReadonlyMap<string, string>;
  /** Of API keys. */
  keys: ReadonlyMap<string, string>;
  /** Of client secrets: the name of the client. */
  secrets: ReadonlyMap<string, string>;
};

type Row = { kind: 'tenant' | 'client' | 'key' | 'secret'; id: string; name: string };

/** Ended ones have names too. */
export const readNames = async (
  db: Kysely<unknown>,
  { tenants, clients, credentials }: NamedIds,
): Promise<CredentialNames> => {
  const { rows } = await sql<Row>`
    select 'tenant' as kind, id, coalesce(facts->>'name', '') as name from gateway.tenants
      where id = any (${[...tenants]}::text[])
    union all select 'client', client_id, name from gateway.clients where client_id = any (${[...clients]}::text[])
    union all select 'key', key_id, name from gateway.api_keys where key_id = any (${[...credentials]}::text[])
    union all select 'secret', s.secret_id, c.name from gateway.client_secrets s join gateway.clients c using (client_id)
      where s.secret_id = any (${[...credentials]}::text[])`.execute(db);
  const of = (kind: Row['kind']): Map<string, string> =>
    new Map(rows.filter((row) => row.kind === kind && row.name !== '').map(({ id, name }) => [id, name]));
  return { tenants: of('tenant'), clients: of('client'), keys: of('key'), secrets: of('secret') };
};
