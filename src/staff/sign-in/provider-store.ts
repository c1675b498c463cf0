/** Identities of an external provider and the accounts that they are bound to. */
import { type Kysely, sql } from 'kysely';
import { findUser, type UserRow } from '../accounts/user-store.ts';

export const findUserByProvider = async (
  db: Kysely<unknown>,
  issuer: string,
  subject: string,
): Promise<UserRow | undefined> => {
  const { rows } = await sql<{ id: string }>`
    select id from panel.users where oidc_issuer = ${issuer} and oidc_subject = ${subject}`.execute(db);
  return rows[0] && findUser(db, rows[0].id);
};

/** Does nothing when the account already has an identity. */
export const bindProvider = async (
  tx: Kysely<unknown>,
  userId: string,
  issuer: string,
  subject: string,
): Promise<void> => {
  await sql`
    update panel.users set oidc_issuer = ${issuer}, oidc_subject = ${subject}
    where id = ${userId} and oidc_subject is null`.execute(tx);
};
