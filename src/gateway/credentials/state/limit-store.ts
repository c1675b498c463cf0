/** SQL of the limits and networks of single credentials. */
import { type Kysely, sql } from 'kysely';
import type { OwnLimits } from '../../model/own-limits.ts';

type Db = Kysely<unknown>;

/** Credentials with limits and networks: API clients, with all their secrets and tokens, and API keys. */
export type LimitedKind = 'client' | 'key';

export type Limited = { limits: OwnLimits | null; allowIp: readonly string[] | null };

export type CallerLimits = Limited & { id: string; kind: LimitedKind; name: string };

const tables = {
  client: { table: sql.table('gateway.clients'), id: sql.ref('client_id') },
  key: { table: sql.table('gateway.api_keys'), id: sql.ref('key_id') },
} as const;

/** Keeps others from changing the client or key until the transaction ends. */
export const lockCredential = async (tx: Db, kind: LimitedKind, id: string): Promise<void> => {
  await sql`select 1 from ${tables[kind].table} where ${tables[kind].id} = ${id} for no key update`.execute(tx);
};

/** Locked to the end of the transaction. Undefined: there is no such credential. */
export const lockLimits = async (tx: Db, kind: LimitedKind, id: string): Promise<Limited | undefined> =>
  (
    await sql<Limited>`
      select limits, allow_ip as "allowIp" from ${tables[kind].table} where ${tables[kind].id} = ${id}
      for no key update`.execute(tx)
  ).rows[0];

/** Null: the defaults. */
export const updateLimits = async (tx: Db, kind: LimitedKind, id: string, limits: OwnLimits | null): Promise<void> => {
  const json = limits === null ? null : JSON.stringify(limits);
  await sql`
    update ${tables[kind].table} set limits = ${json}::jsonb where ${tables[kind].id} = ${id}`.execute(tx);
};

/** Null: from everywhere. */
export const updateAllowIp = async (
  tx: Db,
  kind: LimitedKind,
  id: string,
  networks: readonly string[] | null,
): Promise<void> => {
  await sql`
    update ${tables[kind].table} set allow_ip = ${networks}::text[] where ${tables[kind].id} = ${id}`.execute(tx);
};

/** The successor of a rotated key has the same limits and networks and goes on with its quotas; its holder sees the requests of both. */
export const makeSuccessor = async (tx: Db, from: string, to: string): Promise<void> => {
  await sql`
    update gateway.api_keys k set limits = o.limits, allow_ip = o.allow_ip, successor_of = o.key_id,
      quota_of = coalesce(o.quota_of, o.key_id)
    from gateway.api_keys o where o.key_id = ${from} and k.key_id = ${to}`.execute(tx);
};

/** Clients and keys with these ids, live or ended. */
export const findCallerLimits = async (db: Db, ids: readonly string[]): Promise<CallerLimits[]> =>
  (
    await sql<CallerLimits>`
      select client_id as id, 'client' as kind, name, limits, allow_ip as "allowIp" from gateway.clients
      where client_id = any (${ids}::text[])
      union all
      select key_id, 'key', name, limits, allow_ip from gateway.api_keys where key_id = any (${ids}::text[])`.execute(
      db,
    )
  ).rows;
