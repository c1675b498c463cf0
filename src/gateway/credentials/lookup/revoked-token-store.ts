/** SQL of revoked tokens. */
import { type Kysely, sql } from 'kysely';
import type { EpochPart } from './epoch-store.ts';

type Db = Kysely<unknown>;

/** `leaked`: its value was reported as leaked. */
export type RevokedTokenRow = { jti: string; clientId: string; expires: Date; leaked?: boolean };

/** `state`: from `raiseTokenEpoch` in this transaction. Revoking a token again changes nothing. */
export const insertRevokedToken = async (
  tx: Db,
  token: RevokedTokenRow,
  { epoch, mark }: EpochPart,
  now: Date,
): Promise<void> => {
  await sql`
    insert into gateway.revoked_tokens (jti, client_id, expires, revoked_at, epoch, mark, leak_reported_at)
    values (${token.jti}, ${token.clientId}, ${token.expires}, ${now}, ${epoch}, ${mark}, ${token.leaked === true ? now : null})
    on conflict (jti) do nothing`.execute(tx);
};

/**
 * Makes gateways read the row again. `state`: from `raiseTokenEpoch` in this transaction. The earlier number loses its row, so a
 * gateway that knows only this number reads all rows.
 */
export const renewRevokedToken = async (tx: Db, jti: string, { epoch, mark }: EpochPart): Promise<void> => {
  await sql`update gateway.revoked_tokens set epoch = ${epoch}, mark = ${mark} where jti = ${jti}`.execute(tx);
};

export type ListedRevocation = {
  jti: string;
  expiresMs: number;
  revokedAtMs: number;
  epoch: number;
  leakedMs: number | null;
};

/**
 * Revocations of tokens that have not expired, at most `rowsMax`. `known`: returns only those after that state;
 * `continues` is false when the store does not hold that state, so that earlier revocations may be missing as well.
 */
export const listRevokedTokens = async (
  db: Db,
  known: EpochPart | undefined,
  now: Date,
  rowsMax: number,
): Promise<{ rows: ListedRevocation[]; continues: boolean }> => {
  const { rows } = await sql<{
    jti: string;
    expires: Date;
    revoked_at: Date;
    epoch: number;
    leaked_at: Date | null;
    is_known: boolean;
  }>`
    select jti, expires, revoked_at, epoch, leak_reported_at as leaked_at, ${isKnown(known)} as is_known from gateway.revoked_tokens
    where epoch >= ${known?.epoch ?? 0} and (expires > ${now} or ${isKnown(known)})
    order by epoch limit ${rowsMax + 1}`.execute(db);
  return {
    rows: rows
      .filter(({ is_known: known }) => !known)
      .map((row) => ({
        jti: row.jti,
        expiresMs: row.expires.getTime(),
        revokedAtMs: row.revoked_at.getTime(),
        epoch: row.epoch,
        leakedMs: row.leaked_at?.getTime() ?? null,
      })),
    continues: rows.some(({ is_known: known }) => known),
  };
};

const isKnown = (known: EpochPart | undefined) =>
  known === undefined ? sql`false` : sql`(epoch = ${known.epoch} and mark is not distinct from ${known.mark}::uuid)`;

export const isTokenRevoked = async (db: Db, jti: string): Promise<boolean> =>
  (await sql`select 1 from gateway.revoked_tokens where jti = ${jti}`.execute(db)).rows.length > 0;

/** Deletes a bounded batch of expired rows, a day late to allow for clock differences between gateways. */
export const deleteEndedRevocations = async (tx: Db, now: Date): Promise<void> => {
  await sql`
    delete from gateway.revoked_tokens where jti in (
      select jti from gateway.revoked_tokens where expires < ${now}::timestamptz - interval '1 day'
      order by expires limit 100 for update skip locked)`.execute(tx);
};
