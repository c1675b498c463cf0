/** SQL of the keys that sign checkpoints. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

/** `publicKey`: 32 bytes. `until`: null for the key that signs now. */
export type KeyRow = { publicKey: Buffer; since: Date; until: Date | null };
type SignedRow = KeyRow & { mac: Buffer };

/** Newest first. */
export const readKeyRows = async (db: Db): Promise<SignedRow[]> =>
  (
    await sql<SignedRow>`
      select public_key as "publicKey", since, until, mac from gateway.audit_checkpoint_keys
      order by until is not null, until desc, since desc`.execute(db)
  ).rows;

/** Until the transaction ends. */
export const lockKeyRows = async (tx: Db): Promise<void> => {
  await sql`lock table gateway.audit_checkpoint_keys in exclusive mode`.execute(tx);
};

export const saveKeyRow = async (tx: Db, { publicKey, since, until, mac }: SignedRow): Promise<void> => {
  await sql`
    insert into gateway.audit_checkpoint_keys (public_key, since, until, mac)
    values (${publicKey}, ${since}, ${until}, ${mac})
    on conflict (public_key) do update set since = excluded.since, until = excluded.until, mac = excluded.mac`.execute(
    tx,
  );
};
