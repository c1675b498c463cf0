/** Attempts to sign in within a window, counted before they are judged, so that many at once cannot pass a bound. */
import { type Kysely, sql } from 'kysely';

export type Attempts = { count: number; endsAt: Date };

/** Counts one and returns all of the window. */
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
  if (row === undefined) throw new Error('an attempt was not counted');
  return { count: row.count, endsAt: row.ends_at };
};

/** The answer was right: what it was counted for is taken back. */
export const takeBack = async (db: Kysely<unknown>, digest: Buffer, attempts: number): Promise<void> => {
  await sql`update panel.attempts set count = greatest(0, count - ${attempts}) where digest = ${digest}`.execute(db);
};
