/**
 * A semaphore: at most `atOnceMax` holders at a time. Later callers wait in order, in a bounded queue and for a bounded
 * time.
 */
import { createTally } from './tally.ts';
import { createWaiters } from './waiters.ts';

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

/** `eachMax`: what one name may hold, also while no other name waits. Default: all of it. */
type SharedBounds = Bounds & { eachMax?: number };

export const createSemaphore = (bounds: Bounds): Semaphore => {
  const shared = createSharedSemaphore(bounds);
  return { acquire: (signal) => shared.acquire('', signal) };
};

/**
 * One semaphore that several names share. A name may hold all of it while no other name waits; what is released goes to the name that
 * holds least, and among these to the one whose last turn is longest ago. In a full queue a caller takes the turn of the newest
 * waiter of the name with most of them, where its own name has fewer by two or more.
 */
export const createSharedSemaphore = (bounds: SharedBounds): Semaphores & { waiting(): number } => {
  const { atOnceMax, waitingMax, waitMsMax, eachMax = atOnceMax } = bounds;
  const held = createTally();
  let taken = 0;
  /** Each with what ends its wait. */
  const waiters = createWaiters<(isHeld: boolean) => void>();

  const mayTake = (name: string): boolean => taken < atOnceMax && held.of(name) < eachMax;

  const take = (name: string): void => {
    taken += 1;
    held.add(name);
  };

  /** The release function of one holder; a second call does nothing. */
  const ender = (name: string): (() => void) => {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      taken -= 1;
      held.drop(name);
      // The next waiter becomes the holder directly, so a new caller cannot overtake it.
      const next = waiters.next(held.of);
      if (next === undefined || !mayTake(next.name)) return;
      waiters.serve(next);
      take(next.name);
      next.value(true);
    };
  };

  /** True when there is room for one more waiter of the name. */
  const makeRoom = (name: string): boolean => {
    if (waiters.size < waitingMax) return true;
    const yielding = waiters.yielding(name);
    yielding?.value(false);
    return yielding !== undefined;
  };

  const wait = (name: string, signal: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const finish = (isHeld: boolean): void => {
        waiters.remove(waiter);
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        resolve(isHeld);
      };
      const waiter = waiters.add(name, finish);
      const leave = (): void => finish(false);
      const timer = setTimeout(leave, waitMsMax);
      signal.addEventListener('abort', leave, { once: true });
    });

  return {
    acquire: async (name, signal) => {
      if (signal.aborted) return undefined;
      if (mayTake(name)) take(name);
      else if (!makeRoom(name) || !(await wait(name, signal))) return undefined;
      return ender(name);
    },
    waiting: () => waiters.size,
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

type Turns = {
  /** As `acquire` of a semaphore, for one of `each` that counts for `sharer` among all. The function ends the turn. */
  acquire(of: { each: string; sharer: string }, signal: AbortSignal): Promise<(() => void) | undefined>;
};

type TurnBounds = Record<'ofEach' | 'ofAll', Omit<Bounds, 'waitMsMax'>> & Pick<Bounds, 'waitMsMax'>;

/** Turns with bounds for each name, and for all names together, which sharers share. `waitMsMax` is for both waits together. */
export const createTurns = ({ ofEach, ofAll, waitMsMax }: TurnBounds): Turns => {
  const names = createSemaphores({ ...ofEach, waitMsMax });
  const all = createSharedSemaphore({ ...ofAll, waitMsMax });
  return {
    acquire: async ({ each, sharer }, signal) => {
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(waitMsMax)]);
      // In this sequence, so that those who wait for their name are none of those who wait for all.
      const leaveEach = await names.acquire(each, inTime);
      const leaveAll = leaveEach && (await all.acquire(sharer, inTime));
      const leave = (): void => {
        leaveAll?.();
        leaveEach?.();
      };
      if (leaveAll !== undefined) return leave;
      leave();
      return undefined;
    },
  };
};
