/** Known browsers: those that signed in to an account before, by the digest of their cookie and the account. */
import { type Kysely, sql } from 'kysely';

export const isKnownBrowser = async (db: Kysely<unknown>, digest: Buffer, seenAfter: Date): Promise<boolean> => {
  const { rows } = await sql`
    select 1 from panel.known_browsers where digest = ${digest} and seen_at > ${seenAfter}`.execute(db);
  return rows.length > 0;
};

/** Stores the browser, and deletes the user's longest unseen browsers beyond `browsersMax`. */
export const rememberBrowser = async (
  tx: Kysely<unknown>,
  { userId, digest, now, browsersMax }: { userId: string; digest: Buffer; now: Date; browsersMax: number },
): Promise<void> => {
  await sql`
    insert into panel.known_browsers (digest, user_id, seen_at) values (${digest}, ${userId}, ${now})
    on conflict (digest) do update set seen_at = excluded.seen_at`.execute(tx);
  await sql`
    delete from panel.known_browsers where digest in (
      select digest from panel.known_browsers where user_id = ${userId} order by seen_at desc offset ${browsersMax})`.execute(
    tx,
  );
};

/** After a change of password all browsers are unknown again, because one of them may have leaked the old password. */
export const forgetBrowsers = async (tx: Kysely<unknown>, userId: string): Promise<void> => {
  await sql`delete from panel.known_browsers where user_id = ${userId}`.execute(tx);
};
