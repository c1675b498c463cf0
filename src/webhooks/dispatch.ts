/** Outbox to deliveries. Polling is the truth; a notification only makes it look sooner. */
import type { Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { claimEvents, lockDispatch, markDispatched, outboxChannel } from '#src/platform/db/outbox.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { insertDeliveries } from './delivery-store.ts';
import { createWake, type Wake } from './wake.ts';

type DispatchDeps = { db: Kysely<unknown>; pool: Pool; clock: Clock; log: Logger; onDeliveries: () => void };

const batchMax = 200;
const pollMs = 500;

export const createDispatch = (deps: DispatchDeps): Service => ({
  name: 'webhook-dispatch',
  run: async (signal) => {
    const wake = createWake(signal);
    const stopListening = await listen(deps, wake);
    try {
      while (!signal.aborted) {
        const claimed = await dispatchOnce(deps.db, deps.clock.now());
        if (claimed > 0) deps.onDeliveries();
        if (claimed < batchMax) await wake.wait(pollMs);
      }
    } finally {
      stopListening();
    }
  },
});

/** One batch in one transaction; returns how many events it took. */
export const dispatchOnce = (db: Kysely<unknown>, now: Date): Promise<number> =>
  inTransaction(db, async (tx) => {
    if (!(await lockDispatch(tx))) return 0;
    const events = await claimEvents(tx, batchMax);
    for (const event of events) await insertDeliveries(tx, event, now);
    if (events.length > 0)
      await markDispatched(
        tx,
        events.map(({ position }) => position),
        now,
      );
    return events.length;
  });

/** Hints over a connection of its own. When it is lost the service fails and is started again with a new one. */
const listen = async (deps: DispatchDeps, wake: Wake): Promise<() => void> => {
  const client: PoolClient = await deps.pool.connect();
  const onError = (error: Error): void => {
    deps.log.warn({ err: error }, 'the dispatcher hears no hints any more and goes on by polling');
  };
  client.on('notification', wake.now);
  client.on('error', onError);
  await client.query(`listen ${outboxChannel}`);
  return () => {
    client.off('notification', wake.now);
    client.off('error', onError);
    // Closed, not given back: it listens, and it may be broken.
    client.release(true);
  };
};
