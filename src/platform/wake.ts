/** Waits that end early when there is news. */

export type Wait = {
  over: Promise<void>;
  /** Ends it now. */
  end(): void;
};

/** Over after `ms`, or when it is ended. */
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
  /** Lets go of the signal; for a wake that does not live as long as it. */
  close(): void;
};

/** News that comes during no wait ends the next one at once. Ends every wait when `signal` is aborted. */
export const createWake = (signal: AbortSignal): Wake => {
  let called = false;
  let current: Wait | undefined;
  const now = (): void => {
    called = true;
    current?.end();
  };
  // One listener for all waits: thousands of them a minute on a signal that lives as long as the process would pile up.
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
