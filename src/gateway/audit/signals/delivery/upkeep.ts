/** Bounds what waits for a receiver: a stream that is not read is disabled, with a reason that its receiver can read. */
import type { Kysely } from 'kysely';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { deleteOldEvents, findOverfull } from '../events/queue-store.ts';
import { changeStatus } from '../stream/change-status.ts';
import { lockStream } from '../stream/stream-store.ts';

type Deps = { db: Kysely<unknown>; clock: Clock };

const checkEveryMs = 30_000;
const daysMax = 7;
const eventsMax = 10_000;

export const createSignalUpkeep = (deps: Deps): Service => ({
  name: 'signal-upkeep',
  run: async (signal) => {
    while (!signal.aborted) {
      await boundQueues(deps);
      await pause(checkEveryMs, signal);
    }
  },
});

const boundQueues = async ({ db, clock }: Deps): Promise<void> => {
  const now = clock.now();
  const before = new Date(now.getTime() - daysMax * dayMs);
  for (const streamId of await findOverfull(db, before, eventsMax)) {
    await inTransaction(db, async (tx) => {
      const stream = await lockStream(tx, streamId);
      if (stream === undefined || stream.status === 'disabled') return;
      const reason = `events waited for more than ${daysMax} days, or more than ${eventsMax} of them`;
      await changeStatus(tx, stream, { status: 'disabled', reason }, now, { announced: true });
    });
  }
  await deleteOldEvents(db, before);
};
