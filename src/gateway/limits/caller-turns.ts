/**
 * Turns for what the gateway asks the store for one caller alone, beside its credential: what it reads about itself, units of its quotas.
 * A statement that waits for a lock, such as that of an operator's work on a table, holds a connection for up to half a minute. Some of one
 * caller would hold every connection, and then no other caller would get a token. So they wait here, without a connection.
 */
import { createSharedSemaphore } from '#src/platform/sharing/semaphore.ts';
import { overloaded } from '../model/faults.ts';

/** Rejects with OVERLOADED when the caller gets no turn, or as `work` does. */
export type InCallerTurn = <T>(callerId: string, work: () => Promise<T>) => Promise<T>;

/** chosen: a quarter of the connections by default. The wait is that for a connection of the pool (platform/db/pool.ts). */
const bounds = { atOnceMax: 3, eachMax: 2, waitingMax: 256, waitMsMax: 5_000 };

/** `callerId`: must be authenticated. Each use has turns of its own, so that one does not wait for the other. */
export const createCallerTurns = (): InCallerTurn => {
  const turns = createSharedSemaphore(bounds);
  return async (callerId, work) => {
    const release = await turns.acquire(callerId, never);
    if (release === undefined) throw overloaded('too many questions of callers to the store wait');
    return work().finally(release);
  };
};

const never = new AbortController().signal;
