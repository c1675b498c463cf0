/** Takes over the leases of dead workers, beside the heartbeats, which must not wait for it. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { heartbeats } from '../pacing/bounds.ts';
import { takeOverWorker } from '../queue/worker-store.ts';

type TakeOverDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  /** Leases of a dead worker were returned, so deliveries are due. */
  onTakenOver: () => void;
};

type TakeOver = {
  /** Starts to take over from workers without a heartbeat, unless it is at work already. */
  start(uids: readonly string[]): void;
  finished(): Promise<void>;
};

export const createTakeOver = ({ db, clock, log, onTakenOver }: TakeOverDeps): TakeOver => {
  let running: Promise<void> | undefined;
  const run = async (uids: readonly string[]): Promise<void> => {
    for (const uid of uids) {
      const bounds = { now: clock.now(), deadMs: heartbeats.deadMs };
      const count = await inTransaction(db, (tx) => takeOverWorker(tx, uid, bounds));
      if (count === undefined) continue;
      log.warn({ worker: uid, count }, 'a worker is dead: its unfinished deliveries are sent again');
      onTakenOver();
    }
  };
  return {
    start: (uids) => {
      if (running !== undefined || uids.length === 0) return;
      running = run(uids)
        .catch((error: unknown) => log.warn({ err: error }, 'the leases of a dead worker could not be returned'))
        .finally(() => {
          running = undefined;
        });
    },
    finished: async () => running,
  };
};
