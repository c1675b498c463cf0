/** A connection for a loop that runs the same few statements again and again. */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import { createPreparedDatabase } from '#src/platform/db/driver/prepared.ts';

export type Loop = { db: Kysely<unknown>; release(): void };

/**
 * Planner settings. Until a table with a new backlog is analyzed, the planner would choose plans that read and sort all
 * of it. With these settings it follows indexes, whose cost does not depend on the length of a backlog, and it keeps
 * each plan.
 */
export const loopSettings = `
  set enable_sort = off; set enable_incremental_sort = off; set enable_seqscan = off; set enable_bitmapscan = off;
  set enable_hashjoin = off; set enable_mergejoin = off; set enable_memoize = off; set plan_cache_mode = force_generic_plan; set jit = off`;

/**
 * For results of attempts: the commit does not wait for the disk. A crash of the server may lose the last results;
 * their deliveries are sent again under the same event id when their leases end. Leases wait for the disk, because a
 * lost lease could be given to a second worker while the first one still sends.
 */
const asyncCommit = '; set synchronous_commit = off';

/** `forOutcomes`: a crash of the server may lose what is written last. */
export const openLoop = async (pool: Pool, { forOutcomes = false } = {}): Promise<Loop> => {
  const client = await pool.connect();
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    // The connection is closed, because its next user in the pool would inherit the settings.
    client.release(true);
  };
  try {
    await client.query(`${loopSettings}${forOutcomes ? asyncCommit : ''}`);
  } catch (error) {
    release();
    throw error;
  }
  return { db: createPreparedDatabase(client), release };
};
