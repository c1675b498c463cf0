/** SQL of API keys that end soon and need a decision, for notices and start pages. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { dayMs } from '#src/platform/clock.ts';

export type EndingKey = { tenant: string; keyId: string; name: string; expires: Date };

/** The newest keys of a tenant that are looked through. */
const keysMax = 200;
/** A rotation gives its key an end at once: its holder has so long to exchange the key before the end needs attention. */
const exchangeMs = dayMs;

/** True for a key with a live successor that was used, or was made just now. */
const isReplaced = (now: Date): RawBuilder<boolean> => sql`exists (
  select 1 from gateway.api_keys next
  where next.tenant = key.tenant and next.successor_of = key.key_id and next.revoked_at is null
    and next.quarantined_reason is null and (next.expires is null or next.expires > ${now})
    and (next.created > ${new Date(now.getTime() - exchangeMs)}
      or exists (select 1 from gateway.credential_use used where used.credential = next.key_id)))`;

/** Live keys without a used successor whose end is after `from` and not after `to`, the next end first, without the first `skip`. */
export const listEndingKeys = async (
  db: Kysely<unknown>,
  { from, to, limit, skip = 0 }: { from: Date; to: Date; limit: number; skip?: number },
): Promise<EndingKey[]> => {
  const { rows } = await sql<EndingKey>`
    select tenant, key_id as "keyId", name, expires from gateway.api_keys key
    where revoked_at is null and expires > ${from} and expires <= ${to} and not ${isReplaced(from)}
    order by expires, key_id limit ${limit} offset ${skip}`.execute(db);
  return rows;
};

/** The same of these tenants. Each tenant is read along api_keys_by_age. */
export const listEndingKeysOf = async (
  db: Kysely<unknown>,
  tenants: readonly string[],
  span: { now: Date; until: Date },
  limit: number,
): Promise<EndingKey[]> => {
  const { rows } = await sql<EndingKey>`
    select key.tenant, key.key_id as "keyId", key.name, key.expires
    from unnest(${[...tenants]}::text[]) as asked (id) cross join lateral (
      select tenant, key_id, name, expires, revoked_at from gateway.api_keys where tenant = asked.id
      order by created desc, key_id desc limit ${keysMax}
    ) as key
    where key.revoked_at is null and key.expires > ${span.now} and key.expires <= ${span.until}
      and not ${isReplaced(span.now)}
    order by key.expires, key.key_id limit ${limit}`.execute(db);
  return rows;
};
