/** SQL of the keys that sign security events. */
import type { JWK } from 'jose';
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type SignalKeyRow = { kid: string; publicJwk: JWK; privateSealed: Buffer; notBefore: Date };

/** Ordered by the start of signing, latest first. */
export const listSignalKeys = async (db: Db): Promise<SignalKeyRow[]> =>
  (
    await sql<SignalKeyRow>`
      select kid, public_jwk as "publicJwk", private_sealed as "privateSealed",
        coalesce(not_before, created) as "notBefore"
      from gateway.signal_keys order by coalesce(not_before, created) desc, kid`.execute(db)
  ).rows;

/** A constant that no other lock of this program uses. */
const lockKey = 7_203_517_031;

/** Of several processes that start together only one makes the key. */
export const lockSignalKeys = async (tx: Db): Promise<void> => {
  await sql`select pg_advisory_xact_lock(${lockKey})`.execute(tx);
};

export const insertSignalKey = async (tx: Db, key: SignalKeyRow, created: Date): Promise<void> => {
  await sql`
    insert into gateway.signal_keys (kid, public_jwk, private_sealed, created, not_before)
    values (${key.kid}, ${JSON.stringify(key.publicJwk)}::jsonb, ${key.privateSealed}, ${created}, ${key.notBefore})`.execute(
    tx,
  );
};

export const deleteSignalKeys = async (tx: Db, kids: readonly string[]): Promise<void> => {
  await sql`delete from gateway.signal_keys where kid = any (${[...kids]}::text[])`.execute(tx);
};
