/**
 * Turns for look-ups of names that anyone can invent. Each costs a query, so a few run at once, and the others wait without a connection
 * to the store. Sources share the turns, so a flood of invented names from one of them keeps no other from the store.
 */
import { createSharedSemaphore } from '#src/platform/sharing/semaphore.ts';
import { cannotCheck } from './cannot-check.ts';

/** Rejects with OVERLOADED when the source gets no turn in time, or as `work` does. */
export type InLookUpTurn = <T>(source: string, work: () => Promise<T>) => Promise<T>;

/** chosen: half of the connections to the store by default. The wait leaves some of the time for an answer of the store. */
const bounds = { atOnceMax: 6, waitingMax: 256, waitMsMax: 1_000 };

export const createLookUpTurns = (): InLookUpTurn => {
  const turns = createSharedSemaphore(bounds);
  return async (source, work) => {
    const release = await turns.acquire(source, never);
    if (release === undefined) throw cannotCheck('too many look-ups at once');
    return work().finally(release);
  };
};

const never = new AbortController().signal;
