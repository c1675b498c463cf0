/** One-time links that let a user set the password. */
import { type Kysely, sql } from 'kysely';

/** Stores a link and ends the previous one of the user. */
export const replaceLink = async (
  tx: Kysely<unknown>,
  link: { userId: string; digest: Buffer; expiresAt: Date },
): Promise<void> => {
  await sql`
    insert into panel.links (user_id, digest, expires_at) values (${link.userId}, ${link.digest}, ${link.expiresAt})
    on conflict (user_id) do update set digest = excluded.digest, expires_at = excluded.expires_at`.execute(tx);
};

/** The user of a valid link; undefined when there is none. */
export const findLink = async (db: Kysely<unknown>, digest: Buffer, now: Date): Promise<string | undefined> => {
  const { rows } = await sql<{ user_id: string }>`
    select user_id from panel.links where digest = ${digest} and expires_at > ${now}`.execute(db);
  return rows[0]?.user_id;
};

/** The same, and uses the link up: of two parallel calls one gets undefined. */
export const useLink = async (tx: Kysely<unknown>, digest: Buffer, now: Date): Promise<string | undefined> => {
  const { rows } = await sql<{ user_id: string }>`
    delete from panel.links where digest = ${digest} and expires_at > ${now} returning user_id`.execute(tx);
  return rows[0]?.user_id;
};

export const endLink = async (tx: Kysely<unknown>, userId: string): Promise<void> => {
  await sql`delete from panel.links where user_id = ${userId}`.execute(tx);
};
