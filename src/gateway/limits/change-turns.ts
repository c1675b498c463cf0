/**
 * Turns for changes that callers ask for themselves, any number of them. A change locks the chain of changes of the audit, so changes run
 * one after the other over all gateways, and one that waits for the lock holds a connection to the store. Some tens of changes of one
 * caller would hold every connection, and then no other caller would get a token. So changes wait here, without a connection.
 */
import { createSharedSemaphore } from '#src/platform/sharing/semaphore.ts';
import { overloaded } from '../model/faults.ts';

/** Rejects with OVERLOADED when the caller gets no turn, or as `work` does. */
export type InChangeTurn = <T>(callerId: string, work: () => Promise<T>) => Promise<T>;

/** chosen: one waits for the lock while the other has it, so no time is lost between two. */
const bounds = { atOnceMax: 2, waitingMax: 100, waitMsMax: 10_000 };

/** `callerId`: must be authenticated. */
export const createChangeTurns = (): InChangeTurn => {
  const turns = createSharedSemaphore(bounds);
  return async (callerId, work) => {
    const release = await turns.acquire(callerId, never);
    if (release === undefined) throw overloaded('too many changes of callers wait');
    return work().finally(release);
  };
};

const never = new AbortController().signal;
