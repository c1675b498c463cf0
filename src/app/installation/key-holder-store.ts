/** The running processes and the master keys with which each could start again. */
import { type Kysely, sql } from 'kysely';
import { sealedIds } from './sealed-root-store.ts';

export type KeyHolderRow = {
  /** Host and process id. */
  name: string;
  role: string;
  /** Ids of the keys. */
  keys: string[];
  /** The release; null of a process that is older than the column. */
  version: string | null;
};

/** False: the schema is older than the table (`ORDERPASS_MIGRATE=off`), or there is none. */
export const hasTable = async (db: Kysely<unknown>, name: 'key_holders' | 'facts'): Promise<boolean> => {
  const { rows } = await sql<{ found: boolean }>`
    select to_regclass(${`platform.${name}`}) is not null as found`.execute(db);
  return rows[0]?.found === true;
};

/** False: the schema is older than the column. */
const hasVersions = async (db: Kysely<unknown>): Promise<boolean> => {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from pg_attribute where attrelid = to_regclass('platform.key_holders') and attname = 'version')
      as found`.execute(db);
  return rows[0]?.found === true;
};

/** `process`: differs from that of every other process. Returns the ids of the keys that open the root, in the same statement. */
export const writeHolder = async (db: Kysely<unknown>, process: string, holder: KeyHolderRow): Promise<string[]> => {
  const { name, role, keys, version } = holder;
  if (await hasVersions(db)) {
    const { rows } = await sql<{ sealedBy: string[] }>`
      insert into platform.key_holders (process, name, role, keys, version, seen)
      values (${process}, ${name}, ${role}, ${keys}::text[], ${version}, now())
      on conflict (process) do update set keys = excluded.keys, version = excluded.version, seen = excluded.seen
      returning ${sealedIds} as "sealedBy"`.execute(db);
    return rows[0]?.sealedBy ?? [];
  }
  const { rows } = await sql<{ sealedBy: string[] }>`
    insert into platform.key_holders (process, name, role, keys, seen)
    values (${process}, ${name}, ${role}, ${keys}::text[], now())
    on conflict (process) do update set keys = excluded.keys, seen = excluded.seen
    returning ${sealedIds} as "sealedBy"`.execute(db);
  return rows[0]?.sealedBy ?? [];
};

/** Also the rows of processes that ended without it. */
export const deleteHolder = async (db: Kysely<unknown>, process: string): Promise<void> => {
  await sql`
    delete from platform.key_holders where process = ${process} or seen < now() - interval '1 hour'`.execute(db);
};

/** Those that were seen within `seconds`. */
export const listHolders = async (db: Kysely<unknown>, seconds: number): Promise<KeyHolderRow[]> => {
  const { rows } = await sql<KeyHolderRow>`
    select name, role, keys, to_jsonb(key_holders) ->> 'version' as version from platform.key_holders
    where seen > now() - make_interval(secs => ${seconds}) order by name, process`.execute(db);
  return rows;
};
