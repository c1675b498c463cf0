/**
 * Admits large bodies to the import process. What it does with one takes a lot of memory, so few are worked on at a time. A client that
 * sends slowly must not hold one of these slots, so more bodies may be on their way, and the end of each is held back until there is a
 * slot for it. Callers share both, and one caller does not get all of those that may be on their way.
 */
import { createSharedSemaphore, createTurns } from '#src/platform/sharing/semaphore.ts';

/** Both waits together. */
const waitMsMax = 20_000;
const workBounds = { atOnceMax: 2, waitingMax: 32, waitMsMax };
/** The import process keeps what has arrived: at most the largest body of the operation for each. */
const sendBounds = {
  ofEach: { atOnceMax: 2, waitingMax: 32 },
  ofAll: { atOnceMax: 6, waitingMax: 32 },
  waitMsMax,
};

export type Admitted = {
  /** Resolves when the process may have the end of the body; false: it may not within the time. */
  mayEnd(): Promise<boolean>;
  /** To be called when the answer has begun, or is not needed any more. A second call does nothing. */
  leave(): void;
};

export type LargeBodies = {
  /** Resolves when the body may be sent; undefined: not within the time, or too many wait. */
  admit(callerId: string, signal: AbortSignal): Promise<Admitted | undefined>;
};

export const createLargeBodies = (): LargeBodies => {
  const sending = createTurns(sendBounds);
  const working = createSharedSemaphore(workBounds);
  return {
    admit: async (callerId, signal) => {
      const askedMs = performance.now();
      const endSending = await sending.acquire({ each: callerId, sharer: callerId }, signal);
      if (endSending === undefined) return undefined;
      const waitLeftMs = Math.max(0, Math.ceil(waitMsMax - (performance.now() - askedMs)));
      let hasLeft = false;
      let endWork: (() => void) | undefined;
      const leave = (): void => {
        hasLeft = true;
        endSending();
        endWork?.();
      };
      const mayEnd = async (): Promise<boolean> => {
        endWork = await working.acquire(callerId, AbortSignal.any([signal, AbortSignal.timeout(waitLeftMs)]));
        if (hasLeft) endWork?.();
        else if (endWork !== undefined) endSending();
        return !hasLeft && endWork !== undefined;
      };
      return { mayEnd, leave };
    },
  };
};
