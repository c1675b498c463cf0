/** A connection for a loop that runs the same few statements all the time. */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import { createPreparedDatabase } from '#src/platform/db/driver/prepared.ts';

export type Loop = { db: Kysely<unknown>; release(): void };

/**
 * The planner knows nothing of a backlog until the table is analyzed, and then takes ways that lead through all of it and
 * sorts. On these connections it is told to walk along the indexes, which costs the same whatever stands behind the
 * first rows, and to keep each plan.
 */
export const loopSettings = `
  set enable_sort = off; set enable_incremental_sort = off; set enable_seqscan = off; set enable_bitmapscan = off;
  set enable_hashjoin = off; set enable_mergejoin = off; set plan_cache_mode = force_generic_plan; set jit = off`;

/**
 * For outcomes: their commit does not wait for the disk. A server that crashes forgets those of the last moment, all of
 * them after some point and none before, and what they were about is sent again under the same id when its lease is over.
 * Leases wait for the disk: one that was forgotten could be given to a second worker while the first still sends.
 */
const inBackground = '; set synchronous_commit = off';

/** `forOutcomes`: what is written may be lost with a crash of the server. */
export const openLoop = async (pool: Pool, { forOutcomes = false } = {}): Promise<Loop> => {
  const client = await pool.connect();
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    // Closed, not given back: the next user of it would inherit the settings.
    client.release(true);
  };
  try {
    await client.query(`${loopSettings}${forOutcomes ? inBackground : ''}`);
  } catch (error) {
    release();
    throw error;
  }
  return { db: createPreparedDatabase(client), release };
};
