/** What tests of the fast path wait for. */
import { sql } from 'kysely';
import { until } from '../../support/until.ts';
import type { Engine } from './engine.ts';

/**
 * Until the schedules of `count` endpoints rest, after deliveries that succeeded: the endpoints are known to answer, and no claim
 * looks at them, which would hold their schedule.
 */
export const untilAtRest = async (engine: Engine, count = 1): Promise<void> => {
  // The next look at the endpoints is due then.
  engine.advance(5_000);
  await until(async () => {
    const { rows } = await sql`select from webhooks.ready where due_at = 'infinity'`.execute(engine.db);
    return rows.length === count;
  });
};

/** Until the dispatcher waits for a lock. `statement`: the beginning of a line of the statement that waits. */
export const untilDispatcherWaits = ({ db }: Engine, statement = ''): Promise<void> =>
  until(async () => {
    const { rows } = await sql`
      select from pg_stat_activity
      where datname = current_database() and application_name = 'webhook-dispatch' and wait_event_type = 'Lock'
        and strpos(query, ${statement}) > 0`.execute(db);
    return rows.length > 0;
  });
