/**
 * The connection of the dispatcher. It listens for hints of new events, which only make the dispatcher look sooner. Events
 * that this process records wake it in memory.
 */
import type { Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { createPreparedDatabase } from '#src/platform/db/driver/prepared.ts';
import { hintsOf } from '#src/platform/db/hints/hints.ts';
import { outboxChannel } from '#src/platform/db/outbox/outbox.ts';
import { loopSettings } from '../queue/loop-connection.ts';

export type Hints = { db: Kysely<unknown>; lost: Error | undefined; stop(): void };

/**
 * Opens a connection that only the dispatcher uses, because it listens. The dispatcher also runs its transactions on
 * it.
 */
export const listenForHints = async (pool: Pool, onHint: () => void): Promise<Hints> => {
  const client: PoolClient = await pool.connect();
  const end = hintsOf(pool).receive(client, [outboxChannel], onHint);
  const hints: Hints = {
    db: createPreparedDatabase(client),
    lost: undefined,
    stop: () => {
      end();
      client.off('error', onError);
      client.release(true);
    },
  };
  function onError(error: Error): void {
    hints.lost = error;
    onHint();
  }
  client.on('error', onError);
  try {
    await client.query(`${loopSettings}; set application_name = 'webhook-dispatch'; listen ${outboxChannel}`);
  } catch (error) {
    hints.stop();
    throw error;
  }
  return hints;
};
