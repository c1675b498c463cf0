/** Signing keys in the database. */
import { type Kysely, sql } from 'kysely';

export type SigningKeyRow = { kid: string; publicJwk: unknown; privateKey: Buffer; created: Date; notBefore: Date };

/**
 * Locks the table until the transaction ends: of two workers that make a key at the same time, one sees the key of the
 * other.
 */
export const lockSigningKeys = async (tx: Kysely<unknown>): Promise<void> => {
  await sql`lock table webhooks.signing_keys in exclusive mode`.execute(tx);
};

/** Ordered by the start of signing, latest first. */
export const listSigningKeys = async (db: Kysely<unknown>): Promise<SigningKeyRow[]> => {
  const { rows } = await sql<SigningKeyRow>`
    select kid, public_jwk as "publicJwk", private_key as "privateKey", created, not_before as "notBefore"
    from webhooks.signing_keys order by not_before desc`.execute(db);
  return rows;
};

export const insertSigningKey = async (tx: Kysely<unknown>, row: SigningKeyRow): Promise<void> => {
  await sql`
    insert into webhooks.signing_keys (kid, public_jwk, private_key, created, not_before)
    values (${row.kid}, ${JSON.stringify(row.publicJwk)}::jsonb, ${row.privateKey}, ${row.created}, ${row.notBefore})`.execute(
    tx,
  );
};

export const deleteSigningKeys = async (tx: Kysely<unknown>, kids: readonly string[]): Promise<void> => {
  await sql`delete from webhooks.signing_keys where kid = any (${[...kids]}::text[])`.execute(tx);
};
