/** Sessions, found by the digest of their token. */
import { type Kysely, sql } from 'kysely';
import type { UserRow } from '../accounts/user-store.ts';
import { findUser } from '../accounts/user-store.ts';

export type SignInMethod = 'password' | 'totp' | 'recovery' | 'oidc' | 'link' | 'passkey';

export type SessionRow = {
  id: string;
  userId: string;
  createdAt: Date;
  seenAt: Date;
  address: string;
  agent: string;
  method: SignInMethod;
};

type Row = {
  id: string;
  user_id: string;
  created_at: Date;
  seen_at: Date;
  address: string;
  agent: string;
  method: SignInMethod;
};

const toSession = (row: Row): SessionRow => ({
  id: row.id,
  userId: row.user_id,
  createdAt: row.created_at,
  seenAt: row.seen_at,
  address: row.address,
  agent: row.agent,
  method: row.method,
});

const columns = sql`id, user_id, created_at, seen_at, address, agent, method`;

/** Sessions that were last used or created before these moments have ended. */
export type Ends = { seenAfter: Date; createdAfter: Date };

export const insertSession = async (
  tx: Kysely<unknown>,
  { digest, ...session }: SessionRow & { digest: Buffer },
): Promise<void> => {
  await sql`
    insert into panel.sessions (digest, id, user_id, created_at, seen_at, address, agent, method)
    values (${digest}, ${session.id}, ${session.userId}, ${session.createdAt}, ${session.seenAt}, ${session.address},
      ${session.agent}, ${session.method})`.execute(tx);
};

/** The live session with its user; undefined also when the user was disabled. */
export const findSession = async (
  db: Kysely<unknown>,
  digest: Buffer,
  ends: Ends,
): Promise<{ session: SessionRow; hasFlash: boolean; user: UserRow } | undefined> => {
  const { rows } = await sql<Row & { has_flash: boolean }>`
    select ${columns}, flash is not null as has_flash from panel.sessions
    where digest = ${digest} and seen_at > ${ends.seenAfter} and created_at > ${ends.createdAfter}`.execute(db);
  const row = rows[0];
  const user = row && (await findUser(db, row.user_id));
  if (user === undefined || user.disabledAt !== undefined) return undefined;
  return { session: toSession(row as Row), hasFlash: row?.has_flash === true, user };
};

export const touchSession = async (db: Kysely<unknown>, id: string, now: Date): Promise<void> => {
  await sql`update panel.sessions set seen_at = ${now} where id = ${id} and seen_at < ${now}`.execute(db);
};

/**
 * Locks the session until the transaction ends. False: it has ended. The session of a request was found before its transaction, which
 * may have waited for another one that ended it.
 */
export const lockSession = async (tx: Kysely<unknown>, userId: string, id: string): Promise<boolean> => {
  const { rows } = await sql`
    select 1 from panel.sessions where id = ${id} and user_id = ${userId} for update`.execute(tx);
  return rows.length > 0;
};

/** Newest first. */
export const listSessions = async (db: Kysely<unknown>, userId: string, ends: Ends): Promise<SessionRow[]> => {
  const { rows } = await sql<Row>`
    select ${columns} from panel.sessions
    where user_id = ${userId} and seen_at > ${ends.seenAfter} and created_at > ${ends.createdAfter}
    order by created_at desc, id desc limit 200`.execute(db);
  return rows.map(toSession);
};

/** False: the user has no such session. */
export const deleteSession = async (tx: Kysely<unknown>, userId: string, id: string): Promise<boolean> => {
  const { rows } = await sql`
    delete from panel.sessions where user_id = ${userId} and id = ${id} returning id`.execute(tx);
  return rows.length > 0;
};

/** All sessions of a user but one, or those of one method; returns how many ended. */
export const deleteSessions = async (
  tx: Kysely<unknown>,
  userId: string,
  exceptId = '',
  method?: SignInMethod,
): Promise<number> => {
  const ofMethod = method === undefined ? sql`true` : sql`method = ${method}`;
  const { rows } = await sql`
    delete from panel.sessions where user_id = ${userId} and id <> ${exceptId} and ${ofMethod} returning id`.execute(
    tx,
  );
  return rows.length;
};

export const setSessionMethod = async (tx: Kysely<unknown>, id: string, method: SignInMethod): Promise<void> => {
  await sql`update panel.sessions set method = ${method} where id = ${id}`.execute(tx);
};

export const setFlash = async (db: Kysely<unknown>, id: string, flash: string): Promise<void> => {
  await sql`update panel.sessions set flash = ${flash} where id = ${id}`.execute(db);
};

/** Returns and deletes the message. */
export const takeFlash = async (db: Kysely<unknown>, id: string): Promise<string | undefined> => {
  const { rows } = await sql<{ flash: string | null }>`
    with found as (select id, flash from panel.sessions where id = ${id} for update)
    update panel.sessions s set flash = null from found where s.id = found.id returning found.flash`.execute(db);
  return rows[0]?.flash ?? undefined;
};

/** Ends the user's oldest sessions beyond `sessionsMax`. */
export const trimSessions = async (tx: Kysely<unknown>, userId: string, sessionsMax: number): Promise<void> => {
  await sql`
    delete from panel.sessions where user_id = ${userId} and id in (
      select id from panel.sessions where user_id = ${userId} order by seen_at desc, id desc offset ${sessionsMax})`.execute(
    tx,
  );
};

/**
 * A text that changes when a live session of the user begins, is used or ends, or when the user's ways to sign in
 * change.
 */
export const markOfUser = async (db: Kysely<unknown>, id: string, ends: Ends): Promise<string> => {
  const { rows } = await sql<{ mark: string }>`
    select concat_ws(' ', u.password is null, u.totp_since, u.email, u.role,
      (select count(*) from panel.recovery_codes c where c.user_id = u.id),
      (select concat_ws(' ', count(*), max(p.created_at), max(p.used_at)) from panel.passkeys p where p.user_id = u.id),
      (select concat_ws(' ', count(*), max(s.created_at), max(s.seen_at)) from panel.sessions s
       where s.user_id = u.id and s.seen_at > ${ends.seenAfter} and s.created_at > ${ends.createdAfter})) as mark
    from panel.users u where u.id = ${id}`.execute(db);
  return rows[0]?.mark ?? '';
};
