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

/** For callers with a name, for example one for each tenant. */
type Semaphores = {
  /** As `acquire` of a semaphore, for a caller of this name. */
  acquire(name: string, signal: AbortSignal): Promise<(() => void) | undefined>;
};

type Bounds = { atOnceMax: number; waitingMax: number; waitMsMax: number };

export const createSemaphore = (bounds: Bounds): Semaphore => {
  const shared = createSharedSemaphore(bounds);
  return { acquire: (signal) => shared.acquire('', signal) };
};

type Waiter = { name: string; finish: (held: boolean) => void };

/**
 * One semaphore that several names share. A name may hold all of it while no other name waits; what is released goes to the name that
 * holds least, and among these to the one that has waited for longest. In a full queue a caller takes the turn of the newest
 * waiter of the name with most of them, where its own name has fewer by two or more.
 */
export const createSharedSemaphore = ({ atOnceMax, waitingMax, waitMsMax }: Bounds): Semaphores => {
  const held = new Map<string, number>();
  let taken = 0;
  const waiting: Waiter[] = [];
  const heldBy = (name: string): number => held.get(name) ?? 0;
  const waitersOf = (name: string): number => waiting.filter((one) => one.name === name).length;

  const take = (name: string): void => {
    taken += 1;
    held.set(name, heldBy(name) + 1);
  };

  const drop = (name: string): void => {
    taken -= 1;
    if (heldBy(name) > 1) held.set(name, heldBy(name) - 1);
    else held.delete(name);
  };

  const remove = (waiter: Waiter): void => void waiting.splice(waiting.indexOf(waiter), 1);

  const nextWaiter = (): Waiter | undefined => {
    let next = waiting[0];
    for (const one of waiting) if (next !== undefined && heldBy(one.name) < heldBy(next.name)) next = one;
    return next;
  };

  /** The release function of one holder; a second call does nothing. */
  const ender = (name: string): (() => void) => {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      drop(name);
      // The next waiter becomes the holder directly, so a new caller cannot overtake it.
      const next = nextWaiter();
      if (next === undefined) return;
      remove(next);
      take(next.name);
      next.finish(true);
    };
  };

  /** True when there is room for one more waiter of the name. */
  const makeRoom = (name: string): boolean => {
    if (waiting.length < waitingMax) return true;
    const most = Math.max(...waiting.map((one) => waitersOf(one.name)));
    const newest = waiting.findLast((one) => waitersOf(one.name) === most);
    if (newest === undefined || most <= waitersOf(name) + 1) return false;
    remove(newest);
    newest.finish(false);
    return true;
  };

  const wait = (name: string, signal: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const finish = (isHeld: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        resolve(isHeld);
      };
      const waiter: Waiter = { name, finish };
      const leave = (): void => {
        remove(waiter);
        finish(false);
      };
      const timer = setTimeout(leave, waitMsMax);
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(waiter);
    });

  return {
    acquire: async (name, signal) => {
      if (signal.aborted) return undefined;
      if (taken < atOnceMax) take(name);
      else if (!makeRoom(name) || !(await wait(name, signal))) return undefined;
      return ender(name);
    },
  };
};

/** A semaphore for each name. One without holders and waiters is deleted, so the number of names does not matter. */
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
