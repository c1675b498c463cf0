/** Signing keys in the database: one series of keys for each use. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { SignatureScheme } from './message-signature.ts';

/** What the keys of a series sign: `v1a` of Standard Webhooks, or messages by a scheme of RFC 9421. */
export type KeyUse = 'v1a' | SignatureScheme;

export type SigningKeyRow = { kid: string; publicJwk: unknown; privateKey: Buffer; created: Date; notBefore: Date };

const tableOf = (use: KeyUse): RawBuilder<unknown> =>
  use === 'v1a' ? sql`webhooks.signing_keys` : sql`webhooks.message_keys`;

/**
 * Locks the table until the transaction ends: of two workers that make a key at the same time, one sees the key of the
 * other.
 */
export const lockSigningKeys = async (tx: Kysely<unknown>, use: KeyUse): Promise<void> => {
  await sql`lock table ${tableOf(use)} in exclusive mode`.execute(tx);
};

/** Ordered by the start of signing, latest first. */
export const listSigningKeys = async (db: Kysely<unknown>, use: KeyUse): Promise<SigningKeyRow[]> => {
  const { rows } = await sql<SigningKeyRow>`
    select kid, public_jwk as "publicJwk", private_key as "privateKey", created, not_before as "notBefore"
    from ${tableOf(use)} ${use === 'v1a' ? sql`` : sql`where scheme = ${use}`} order by not_before desc`.execute(db);
  return rows;
};

export const insertSigningKey = async (tx: Kysely<unknown>, use: KeyUse, row: SigningKeyRow): Promise<void> => {
  const values = sql`${row.kid}, ${JSON.stringify(row.publicJwk)}::jsonb, ${row.privateKey}, ${row.created}, ${row.notBefore}`;
  await (use === 'v1a'
    ? sql`insert into webhooks.signing_keys (kid, public_jwk, private_key, created, not_before) values (${values})`
    : sql`
        insert into webhooks.message_keys (kid, public_jwk, private_key, created, not_before, scheme)
        values (${values}, ${use})`
  ).execute(tx);
};

export const deleteSigningKeys = async (tx: Kysely<unknown>, use: KeyUse, kids: readonly string[]): Promise<void> => {
  await sql`delete from ${tableOf(use)} where kid = any (${[...kids]}::text[])`.execute(tx);
};
