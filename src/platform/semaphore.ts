/**
 * A semaphore: at most `atOnceMax` holders at a time. Later callers wait in order, in a bounded queue and for a bounded
 * time.
 */

export type Semaphore = {
  /**
   * Resolves to the release function once the caller holds the semaphore. Resolves to undefined when the queue is full, the
   * wait took too long, or `signal` was aborted.
   */
  acquire(signal: AbortSignal): Promise<(() => void) | undefined>;
};

type Bounds = { atOnceMax: number; waitingMax: number; waitMsMax: number };

export const createSemaphore = ({ atOnceMax, waitingMax, waitMsMax }: Bounds): Semaphore => {
  let taken = 0;
  const waiting: ((held: boolean) => void)[] = [];

  /** The release function of one holder; a second call does nothing. */
  const ender = (): (() => void) => {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      // The next waiter becomes the holder directly, so a new caller cannot overtake it.
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next(true);
    };
  };

  const wait = (signal: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const finish = (held: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        resolve(held);
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(finish), 1);
        finish(false);
      };
      const timer = setTimeout(leave, waitMsMax);
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(finish);
    });

  return {
    acquire: async (signal) => {
      if (signal.aborted) return undefined;
      if (taken < atOnceMax) taken += 1;
      else if (waiting.length >= waitingMax || !(await wait(signal))) return undefined;
      return ender();
    },
  };
};
