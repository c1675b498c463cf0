/** Second factor of a user: sealed secret, last step used, recovery codes. */
import { type Kysely, sql } from 'kysely';

/** Stores a proposed secret. It never replaces a confirmed one. */
export const proposeTotp = async (tx: Kysely<unknown>, userId: string, sealed: Buffer): Promise<void> => {
  await sql`
    update panel.users set totp_secret = ${sealed}, totp_step = 0 where id = ${userId} and totp_since is null`.execute(
    tx,
  );
};

export const confirmTotp = async (tx: Kysely<unknown>, userId: string, now: Date): Promise<void> => {
  await sql`
    update panel.users set totp_since = ${now} where id = ${userId} and totp_since is null`.execute(tx);
};

/** False: this step or a later one was used before. */
export const useStep = async (tx: Kysely<unknown>, userId: string, step: number): Promise<boolean> => {
  const { rows } = await sql`
    update panel.users set totp_step = ${step} where id = ${userId} and totp_step < ${step} returning id`.execute(tx);
  return rows.length > 0;
};

export const removeTotp = async (tx: Kysely<unknown>, userId: string): Promise<void> => {
  await sql`update panel.users set totp_secret = null, totp_since = null, totp_step = 0 where id = ${userId}`.execute(
    tx,
  );
  await sql`delete from panel.recovery_codes where user_id = ${userId}`.execute(tx);
};

export const replaceRecoveryCodes = async (
  tx: Kysely<unknown>,
  userId: string,
  digests: readonly Buffer[],
): Promise<void> => {
  await sql`delete from panel.recovery_codes where user_id = ${userId}`.execute(tx);
  for (const digest of digests)
    await sql`insert into panel.recovery_codes (user_id, digest) values (${userId}, ${digest})`.execute(tx);
};

/** Uses up a recovery code. False: the user has no such code. */
export const useRecoveryCode = async (tx: Kysely<unknown>, userId: string, digest: Buffer): Promise<boolean> => {
  const { rows } = await sql`
    delete from panel.recovery_codes where user_id = ${userId} and digest = ${digest} returning user_id`.execute(tx);
  return rows.length > 0;
};

export const countRecoveryCodes = async (db: Kysely<unknown>, userId: string): Promise<number> => {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from panel.recovery_codes where user_id = ${userId}`.execute(db);
  return rows[0]?.count ?? 0;
};
