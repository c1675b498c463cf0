/** SQL of the keys that sign access tokens. */
import type { JWK } from 'jose';
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type SigningKeyRow = {
  kid: string;
  publicJwk: JWK;
  privateSealed: Buffer;
  notBefore: Date;
  /** Longest life of a token that any gateway may have signed with it, in seconds. */
  tokenSecondsMax: number;
};

/** Keys that still count, the one that became usable last first. */
export const listSigningKeys = async (db: Db): Promise<SigningKeyRow[]> => {
  const { rows } = await sql<{
    kid: string;
    public_jwk: JWK;
    private_sealed: Buffer;
    not_before: Date;
    token_seconds_max: number;
  }>`
    select kid, public_jwk, private_sealed, not_before, token_seconds_max
    from gateway.signing_keys where retired_at is null order by not_before desc, kid`.execute(db);
  return rows.map((row) => ({
    kid: row.kid,
    publicJwk: row.public_jwk,
    privateSealed: row.private_sealed,
    notBefore: row.not_before,
    tokenSecondsMax: row.token_seconds_max,
  }));
};

/** With retired keys: for tokens signed long ago, never to accept a request. */
export const findPublicKey = async (db: Db, kid: string): Promise<JWK | undefined> =>
  (await sql<{ public_jwk: JWK }>`select public_jwk from gateway.signing_keys where kid = ${kid}`.execute(db)).rows[0]
    ?.public_jwk;

/** A constant that no other lock of this program uses. */
const lockKey = 7_203_517_010;

/** Held until the end of the transaction, so that of several processes that start together only one makes the key. */
export const lockSigningKeys = async (tx: Db): Promise<void> => {
  await sql`select pg_advisory_xact_lock(${lockKey})`.execute(tx);
};

export const insertSigningKey = async (tx: Db, key: SigningKeyRow, created: Date): Promise<void> => {
  await sql`
    insert into gateway.signing_keys (kid, public_jwk, private_sealed, created, not_before, token_seconds_max)
    values (${key.kid}, ${JSON.stringify(key.publicJwk)}::jsonb, ${key.privateSealed}, ${created}, ${key.notBefore},
      ${key.tokenSecondsMax})`.execute(tx);
};

/** False when every live key is recorded with at least this lifetime already. */
export const raiseTokenSeconds = async (tx: Db, seconds: number): Promise<boolean> => {
  const { numAffectedRows } = await sql`
    update gateway.signing_keys set token_seconds_max = ${seconds}
    where retired_at is null and token_seconds_max < ${seconds}`.execute(tx);
  return (numAffectedRows ?? 0n) > 0n;
};

/** Retires the keys for good. */
export const retireSigningKeys = async (tx: Db, kids: readonly string[], now: Date): Promise<void> => {
  await sql`
    update gateway.signing_keys set retired_at = ${now}, private_sealed = ''::bytea
    where kid = any (${kids}::text[]) and retired_at is null`.execute(tx);
};
