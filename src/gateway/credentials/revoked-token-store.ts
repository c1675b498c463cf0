/** SQL of revoked tokens. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export type RevokedTokenRow = { jti: string; clientId: string; expires: Date };

/** `epoch`: as raised in this transaction. Revoking again changes nothing. */
export const insertRevokedToken = async (tx: Db, token: RevokedTokenRow, epoch: number, now: Date): Promise<void> => {
  await sql`
    insert into gateway.revoked_tokens (jti, client_id, expires, revoked_at, epoch)
    values (${token.jti}, ${token.clientId}, ${token.expires}, ${now}, ${epoch})
    on conflict (jti) do nothing`.execute(tx);
};

/** Those that became visible after `epoch` and have not ended, at most `rowsMax`. `epoch` -1: all. */
export const listRevokedTokens = async (
  db: Db,
  epoch: number,
  now: Date,
  rowsMax: number,
): Promise<{ jti: string; expiresMs: number; revokedAtMs: number }[]> => {
  const { rows } = await sql<{ jti: string; expires: Date; revoked_at: Date }>`
    select jti, expires, revoked_at from gateway.revoked_tokens
    where epoch > ${epoch} and expires > ${now} limit ${rowsMax}`.execute(db);
  return rows.map((row) => ({
    jti: row.jti,
    expiresMs: row.expires.getTime(),
    revokedAtMs: row.revoked_at.getTime(),
  }));
};

export const isTokenRevoked = async (db: Db, jti: string): Promise<boolean> =>
  (await sql`select 1 from gateway.revoked_tokens where jti = ${jti}`.execute(db)).rows.length > 0;

/** A batch at a time, so that no revocation pays for the past; a day late, so that no clock of a gateway is too early. */
export const deleteEndedRevocations = async (tx: Db, now: Date): Promise<void> => {
  await sql`
    delete from gateway.revoked_tokens where jti in (
      select jti from gateway.revoked_tokens where expires < ${now}::timestamptz - interval '1 day'
      order by expires limit 100 for update skip locked)`.execute(tx);
};
