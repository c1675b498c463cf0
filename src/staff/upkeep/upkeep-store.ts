/** Deletes rows that have ended. */
import { type Kysely, sql } from 'kysely';
import type { Ends } from '../sessions/session-store.ts';

export const dropEnded = async (
  db: Kysely<unknown>,
  { now, sessions, browsersSeenAfter }: { now: Date; sessions: Ends; browsersSeenAfter: Date },
): Promise<void> => {
  await sql`delete from panel.links where expires_at <= ${now}`.execute(db);
  await sql`
    delete from panel.sessions
    where seen_at <= ${sessions.seenAfter} or created_at <= ${sessions.createdAfter}`.execute(db);
  await sql`delete from panel.attempts where ends_at <= ${now}`.execute(db);
  await sql`delete from panel.used_challenges where ends_at <= ${now}`.execute(db);
  await sql`delete from panel.known_browsers where seen_at <= ${browsersSeenAfter}`.execute(db);
};
