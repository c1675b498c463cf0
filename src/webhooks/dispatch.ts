/** Outbox to deliveries. Polling is the truth; a notification only makes it look sooner. */
import type { Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { claimEvents, lockDispatch, markDispatched, outboxChannel } from '#src/platform/db/outbox.ts';
import { createPreparedDatabase } from '#src/platform/db/prepared.ts';
import { inTransaction, withCommit } from '#src/platform/db/transaction.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import { insertDeliveries } from './delivery-store.ts';
import { loopSettings } from './loop-connection.ts';

type DispatchDeps = { pool: Pool; clock: Clock; onDeliveries: () => void };

const batchMax = 200;
const pollMs = 500;

export const createDispatch = (deps: DispatchDeps): Service => ({
  name: 'webhook-dispatch',
  run: async (signal) => {
    const wake = createWake(signal);
    const hints = await listen(deps, wake);
    try {
      while (!signal.aborted) {
        // The service fails and is started again, with a connection that hears hints.
        if (hints.lost !== undefined) throw hints.lost;
        const claimed = await dispatchOnce(hints.db, deps.clock.now());
        if (claimed > 0) deps.onDeliveries();
        if (claimed < batchMax) await wake.wait(pollMs);
      }
    } finally {
      hints.stop();
    }
  },
});

/** One batch in one transaction; returns how many events it took. */
export const dispatchOnce = (db: Kysely<unknown>, now: Date): Promise<number> =>
  inTransaction(db, async (tx) => {
    if (!(await lockDispatch(tx))) return 0;
    const events = await claimEvents(tx, batchMax);
    if (events.length === 0) return 0;
    const ids = events.map(({ id }) => id);
    // The deliveries last: from then on nobody else may look at their endpoints until the commit.
    await withCommit(tx, markDispatched(tx, ids, now));
    await insertDeliveries(tx, events, now);
    return events.length;
  });

type Hints = { db: Kysely<unknown>; lost: Error | undefined; stop(): void };

/** Hints over a connection of its own, which nobody else may use: it listens. The dispatcher works on it as well. */
const listen = async ({ pool }: DispatchDeps, wake: Wake): Promise<Hints> => {
  const client: PoolClient = await pool.connect();
  const hints: Hints = {
    db: createPreparedDatabase(client),
    lost: undefined,
    stop: () => {
      client.off('notification', wake.now);
      client.off('error', onError);
      client.release(true);
    },
  };
  function onError(error: Error): void {
    hints.lost = error;
    wake.now();
  }
  client.on('notification', wake.now);
  client.on('error', onError);
  try {
    await client.query(`${loopSettings}; set application_name = 'webhook-dispatch'; listen ${outboxChannel}`);
  } catch (error) {
    hints.stop();
    throw error;
  }
  return hints;
};
