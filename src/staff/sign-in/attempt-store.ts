/**
 * Attempts to sign in, by window. They are counted before the check, so that parallel attempts cannot exceed a limit.
 */
import { type Kysely, sql } from 'kysely';

export type Attempts = { count: number; endsAt: Date };

/** Counts an attempt; returns the number of attempts in the window. */
export const countAttempt = async (
  db: Kysely<unknown>,
  digest: Buffer,
  now: Date,
  windowMs: number,
): Promise<Attempts> => {
  const { rows } = await sql<{ count: number; ends_at: Date }>`
    insert into panel.attempts as known (digest, count, ends_at)
    values (${digest}, 1, ${new Date(now.getTime() + windowMs)})
    on conflict (digest) do update set
      count = case when known.ends_at <= ${now} then 1 else least(known.count, 1000000) + 1 end,
      ends_at = case when known.ends_at <= ${now} then excluded.ends_at else known.ends_at end
    returning count, ends_at`.execute(db);
  const row = rows[0];
  if (row === undefined) throw new Error('counting a sign-in attempt returned no row');
  return { count: row.count, endsAt: row.ends_at };
};

/** The attempts of the running window, without counting another; undefined when there is none. */
export const readAttempts = async (db: Kysely<unknown>, digest: Buffer, now: Date): Promise<Attempts | undefined> => {
  const { rows } = await sql<{ count: number; ends_at: Date }>`
    select count, ends_at from panel.attempts where digest = ${digest} and ends_at > ${now}`.execute(db);
  const row = rows[0];
  return row && { count: row.count, endsAt: row.ends_at };
};

/** Takes back the count of a right attempt. */
export const takeBack = async (db: Kysely<unknown>, digest: Buffer): Promise<void> => {
  await sql`update panel.attempts set count = greatest(0, count - 1) where digest = ${digest}`.execute(db);
};

export const forgetAttempts = async (db: Kysely<unknown>, digest: Buffer): Promise<void> => {
  await sql`delete from panel.attempts where digest = ${digest}`.execute(db);
};
