/** API keys that end soon, for notices. */
import { type Kysely, sql } from 'kysely';

export type EndingKey = { tenant: string; keyId: string; name: string; expires: Date };

/** Live keys whose end is after `from` and not after `to`, the next end first. */
export const listEndingKeys = async (
  db: Kysely<unknown>,
  { from, to, limit }: { from: Date; to: Date; limit: number },
): Promise<EndingKey[]> => {
  const { rows } = await sql<EndingKey>`
    select tenant, key_id as "keyId", name, expires from gateway.api_keys
    where revoked_at is null and expires > ${from} and expires <= ${to}
    order by expires, key_id limit ${limit}`.execute(db);
  return rows;
};
