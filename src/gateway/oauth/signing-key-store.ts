/** SQL of the keys that sign access tokens. */
import type { JWK } from 'jose';
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type SigningKeyRow = { kid: string; publicJwk: JWK; privateSealed: Buffer; notBefore: Date };

/** Keys that still count, the one that became usable last first. */
export const listSigningKeys = async (db: Db): Promise<SigningKeyRow[]> => {
  const { rows } = await sql<{ kid: string; public_jwk: JWK; private_sealed: Buffer; not_before: Date }>`
    select kid, public_jwk, private_sealed, not_before
    from gateway.signing_keys where retired_at is null order by not_before desc, kid`.execute(db);
  return rows.map((row) => ({
    kid: row.kid,
    publicJwk: row.public_jwk,
    privateSealed: row.private_sealed,
    notBefore: row.not_before,
  }));
};

/** Any constant does, as long as no other lock of this program uses it. */
const lockKey = 7_203_517_010;

/** Held to the end of the transaction: of several processes that start together one makes the key, the others find it. */
export const lockSigningKeys = async (tx: Db): Promise<void> => {
  await sql`select pg_advisory_xact_lock(${lockKey})`.execute(tx);
};

export const insertSigningKey = async (tx: Db, key: SigningKeyRow, created: Date): Promise<void> => {
  await sql`
    insert into gateway.signing_keys (kid, public_jwk, private_sealed, created, not_before)
    values (${key.kid}, ${JSON.stringify(key.publicJwk)}::jsonb, ${key.privateSealed}, ${created}, ${key.notBefore})`.execute(
    tx,
  );
};
