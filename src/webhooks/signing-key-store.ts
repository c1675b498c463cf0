/** Keys of the webhook engine in PostgreSQL. */
import { type Kysely, sql } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';

export type SigningKeyRow = { kid: string; publicJwk: unknown; privateKey: Buffer; created: Date };

export const findSigningKey = async (db: Kysely<unknown>): Promise<SigningKeyRow | undefined> => {
  const { rows } = await sql<SigningKeyRow>`
    select kid, public_jwk as "publicJwk", private_key as "privateKey", created from webhooks.signing_keys
    order by created desc limit 1`.execute(db);
  return rows[0];
};

/** Of two workers that make a key at the same time the first one's is used by both. */
export const insertSigningKeyOnce = (db: Kysely<unknown>, row: SigningKeyRow): Promise<SigningKeyRow> =>
  inTransaction(db, async (tx) => {
    await sql`lock table webhooks.signing_keys in exclusive mode`.execute(tx);
    const earlier = await findSigningKey(tx);
    if (earlier !== undefined) return earlier;
    await sql`
      insert into webhooks.signing_keys (kid, public_jwk, private_key, created)
      values (${row.kid}, ${JSON.stringify(row.publicJwk)}::jsonb, ${row.privateKey}, ${row.created})`.execute(tx);
    return row;
  });
