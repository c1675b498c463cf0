/** SQL that deletes keys and secrets which ended long ago. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

const tables = {
  key: { table: sql.table('gateway.api_keys'), id: sql.ref('key_id') },
  secret: { table: sql.table('gateway.client_secrets'), id: sql.ref('secret_id') },
} as const;

/** Along one index each. A report of a leak revokes too, and keeps the row longer when it comes later. */
const endings = (before: Date) => [
  sql`revoked_at < ${before} and coalesce(leak_reported_at < ${before}, true)`,
  sql`revoked_at is null and expires < ${before}`,
];

/** Deletes at most `limit` of each table and way to end, and returns how many. Rows that are locked stay for the next call. */
export const deleteEnded = async (tx: Db, before: Date, limit: number): Promise<number> => {
  const ids: string[] = [];
  for (const { table, id } of Object.values(tables)) {
    for (const ended of endings(before)) {
      const { rows } = await sql<{ id: string }>`
        delete from ${table} where ctid = any (array(
          select ctid from ${table} where ${ended} limit ${limit} for update skip locked))
        returning ${id} as id`.execute(tx);
      ids.push(...rows.map((row) => row.id));
    }
  }
  if (ids.length === 0) return 0;
  await sql`delete from gateway.credential_use where credential = any (${ids}::text[])`.execute(tx);
  await sql`delete from gateway.credential_changes where credential = any (${ids}::text[])`.execute(tx);
  return ids.length;
};
