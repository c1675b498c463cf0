/** Passkeys of users, and challenges that were answered. */
import { type Kysely, sql } from 'kysely';

export type PasskeyRow = {
  id: string;
  userId: string;
  credentialId: Buffer;
  name: string;
  publicKey: Buffer;
  counter: number;
  createdAt: Date;
  usedAt: Date | undefined;
};

type Row = {
  id: string;
  user_id: string;
  credential_id: Buffer;
  name: string;
  public_key: Buffer;
  counter: string | number;
  created_at: Date;
  used_at: Date | null;
};

const columns = sql`id, user_id, credential_id, name, public_key, counter, created_at, used_at`;

const toPasskey = (row: Row): PasskeyRow => ({
  id: row.id,
  userId: row.user_id,
  credentialId: row.credential_id,
  name: row.name,
  publicKey: row.public_key,
  counter: Number(row.counter),
  createdAt: row.created_at,
  usedAt: row.used_at ?? undefined,
});

/** False: the credential is registered already. */
export const insertPasskey = async (tx: Kysely<unknown>, passkey: Omit<PasskeyRow, 'usedAt'>): Promise<boolean> => {
  const { rows } = await sql`
    insert into panel.passkeys (id, user_id, credential_id, name, public_key, counter, created_at)
    values (${passkey.id}, ${passkey.userId}, ${passkey.credentialId}, ${passkey.name}, ${passkey.publicKey},
      ${passkey.counter}, ${passkey.createdAt})
    on conflict (credential_id) do nothing returning id`.execute(tx);
  return rows.length > 0;
};

export const findPasskey = async (db: Kysely<unknown>, credentialId: Buffer): Promise<PasskeyRow | undefined> => {
  const { rows } = await sql<Row>`
    select ${columns} from panel.passkeys where credential_id = ${credentialId}`.execute(db);
  return rows[0] && toPasskey(rows[0]);
};

/** In the order in which they were added. */
export const listPasskeys = async (db: Kysely<unknown>, userId: string): Promise<PasskeyRow[]> => {
  const { rows } = await sql<Row>`
    select ${columns} from panel.passkeys where user_id = ${userId} order by created_at, id`.execute(db);
  return rows.map(toPasskey);
};

/** False: another request used the passkey meanwhile, or it was removed. */
export const notePasskeyUse = async (
  tx: Kysely<unknown>,
  { credentialId, counter }: Pick<PasskeyRow, 'credentialId' | 'counter'>,
  next: { counter: number; usedAt: Date },
): Promise<boolean> => {
  const { rows } = await sql`
    update panel.passkeys set counter = ${next.counter}, used_at = ${next.usedAt}
    where credential_id = ${credentialId} and counter = ${counter} returning id`.execute(tx);
  return rows.length > 0;
};

/** The former name; undefined: the user has no passkey with this id. */
export const renamePasskey = async (
  tx: Kysely<unknown>,
  { userId, id, name }: Pick<PasskeyRow, 'userId' | 'id' | 'name'>,
): Promise<string | undefined> => {
  const { rows } = await sql<{ name: string }>`
    with former as (select name from panel.passkeys where user_id = ${userId} and id = ${id} for update)
    update panel.passkeys p set name = ${name} from former
    where p.user_id = ${userId} and p.id = ${id} returning former.name`.execute(tx);
  return rows[0]?.name;
};

/** The name of the removed passkey; undefined: the user has none with this id. */
export const deletePasskey = async (tx: Kysely<unknown>, userId: string, id: string): Promise<string | undefined> => {
  const { rows } = await sql<{ name: string }>`
    delete from panel.passkeys where user_id = ${userId} and id = ${id} returning name`.execute(tx);
  return rows[0]?.name;
};

/** How many were removed. */
export const deletePasskeys = async (tx: Kysely<unknown>, userId: string): Promise<number> => {
  const { rows } = await sql`delete from panel.passkeys where user_id = ${userId} returning id`.execute(tx);
  return rows.length;
};

/** False: the challenge was answered before. Of two parallel calls one gets false. */
export const useChallenge = async (tx: Kysely<unknown>, digest: Buffer, endsAt: Date): Promise<boolean> => {
  const { rows } = await sql`
    insert into panel.used_challenges (digest, ends_at) values (${digest}, ${endsAt})
    on conflict (digest) do nothing returning ends_at`.execute(tx);
  return rows.length > 0;
};
