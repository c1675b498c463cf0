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

/** A semaphore for each name, for example one for each tenant. */
type Semaphores = {
  /** As `acquire` of the semaphore of this name. */
  acquire(name: string, signal: AbortSignal): Promise<(() => void) | undefined>;
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

/** A semaphore without holders and waiters is deleted, so the number of names does not matter. */
export const createSemaphores = (bounds: Bounds): Semaphores => {
  const used = new Map<string, { semaphore: Semaphore; users: number }>();

  const enter = (name: string): { semaphore: Semaphore; leave: () => void } => {
    const entry = used.get(name) ?? { semaphore: createSemaphore(bounds), users: 0 };
    used.set(name, entry);
    entry.users += 1;
    const leave = (): void => {
      entry.users -= 1;
      if (entry.users === 0) used.delete(name);
    };
    return { semaphore: entry.semaphore, leave };
  };

  return {
    acquire: async (name, signal) => {
      const { semaphore, leave } = enter(name);
      const release = await semaphore.acquire(signal);
      if (release === undefined) {
        leave();
        return undefined;
      }
      let ended = false;
      return () => {
        if (ended) return;
        ended = true;
        release();
        leave();
      };
    },
  };
};
