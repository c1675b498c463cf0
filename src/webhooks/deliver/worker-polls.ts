/** The loops of a worker share one look at the store, which the claim loop makes. Each loop polls by itself when the look is late. */
import { createPoll, type Poll } from '#src/platform/wake.ts';
import { looking } from '../pacing/bounds.ts';
import type { Look } from '../queue/look-store.ts';

export type WorkerPolls = Record<'dispatch' | 'redeliver' | 'cancel' | 'withhold' | 'rights', Poll> & {
  /** Wakes the loops that have work. `isSettling`: the dispatcher has some without an event. */
  settle(found: Look, isSettling: boolean): void;
};

export const createWorkerPolls = (everyMs: number): WorkerPolls => {
  const pollMs = everyMs + looking.lateMs;
  const dispatch = createPoll({ pollMs, quietMs: Math.max(pollMs, looking.dispatchMs) });
  const redeliver = createPoll({ pollMs, quietMs: looking.removingMs });
  // The look sees all of their work.
  const cancel = createPoll({ pollMs, quietMs: Number.POSITIVE_INFINITY });
  const withhold = createPoll({ pollMs, quietMs: Number.POSITIVE_INFINITY });
  const rights = createPoll({ pollMs, quietMs: looking.rightsMs });
  let rightsBefore: string | undefined;
  const settleOne = (poll: Poll, hasWork: boolean): void => (hasWork ? poll.now() : poll.none());
  return {
    dispatch,
    redeliver,
    cancel,
    withhold,
    rights,
    settle: (found, isSettling) => {
      settleOne(dispatch, found.isEventWaiting || isSettling);
      settleOne(redeliver, found.isRedelivering);
      settleOne(cancel, found.isCancelling);
      settleOne(withhold, found.isWithholding);
      if (found.rights === null) return;
      settleOne(rights, found.rights !== rightsBefore);
      rightsBefore = found.rights;
    },
  };
};
