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
