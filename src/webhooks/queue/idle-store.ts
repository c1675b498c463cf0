/** Whether the engine has nothing to do at a moment. */
import { type Kysely, sql } from 'kysely';

/** True when no event waits, no endpoint is due and no delivery is being sent. It reads the deliveries that are unfinished. */
export const isEngineIdle = async (db: Kysely<unknown>, now: Date): Promise<boolean> => {
  const { rows } = await sql<{ idle: boolean }>`
    select not (exists (select from outbox.waiting)
      or exists (select from webhooks.ready where due_at <= ${now})
      or exists (select from webhooks.deliveries where state = 'pending' and lease_until is not null)) as idle`.execute(
    db,
  );
  return rows[0]?.idle ?? false;
};
