/** Waits that a call can end early. */

export type Wait = {
  over: Promise<void>;
  /** Ends it now. */
  end(): void;
};

/** Over after `ms`, or when `end` is called. */
export const startWait = (ms: number): Wait => {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return {
    over,
    end: () => {
      clearTimeout(timer);
      resolve();
    },
  };
};

export type Wake = {
  now(): void;
  wait(ms: number): Promise<void>;
  /** Removes the listener from the signal; for a wake with a shorter life than the signal. */
  close(): void;
};

/** A call of `now` during no wait ends the next wait at once. Every wait ends when `signal` is aborted. */
export const createWake = (signal: AbortSignal): Wake => {
  let called = false;
  let current: Wait | undefined;
  const now = (): void => {
    called = true;
    current?.end();
  };
  // One listener for all waits: thousands of listeners a minute would pile up on a signal that lives as long as the process.
  signal.addEventListener('abort', now, { once: true });
  return {
    now,
    wait: async (ms) => {
      if (!called && !signal.aborted) {
        current = startWait(ms);
        await current.over;
        current = undefined;
      }
      called = false;
    },
    close: () => signal.removeEventListener('abort', now),
  };
};

/** A loop that shares a look at the store with others: it polls by itself only while the look is late. */
export type Poll = {
  /** There is work: ends the wait, or the next one. */
  now(): void;
  /** The look found no work: the wait goes on. */
  none(): void;
  /** For one run of the loop. The wait ends after `now`, or when the loop has to look by itself. */
  begin(signal: AbortSignal): () => Promise<void>;
};

/**
 * A wait ends by itself `pollMs` after its beginning or after the last call of `none`, and `quietMs` after its beginning in any
 * case. `pollMs` must be longer than the time between two looks.
 */
export const createPoll = ({ pollMs, quietMs }: { pollMs: number; quietMs: number }): Poll => {
  let wake: Wake | undefined;
  let isCalled = false;
  let foundNoneMs = Number.NEGATIVE_INFINITY;
  return {
    now: () => {
      isCalled = true;
      wake?.now();
    },
    none: () => {
      foundNoneMs = performance.now();
    },
    begin: (signal) => {
      const own = createWake(signal);
      wake = own;
      return async () => {
        const startedMs = performance.now();
        while (!isCalled && !signal.aborted) {
          const endsMs = Math.min(Math.max(startedMs, foundNoneMs) + pollMs, startedMs + quietMs);
          const leftMs = endsMs - performance.now();
          if (leftMs <= 0) break;
          await own.wait(leftMs);
        }
        isCalled = false;
      };
    },
  };
};
