/** A wait that ends early when there is news. News that comes during no wait ends the next one at once. */

export type Wake = {
  now(): void;
  wait(ms: number): Promise<void>;
  /** Lets go of the signal; for a wake that does not live as long as it. */
  close(): void;
};

/** Ends every wait when `signal` is aborted. */
export const createWake = (signal: AbortSignal): Wake => {
  let called = false;
  let end: (() => void) | undefined;
  const now = (): void => {
    called = true;
    end?.();
  };
  // One listener for all waits: thousands of them a minute on a signal that lives as long as the process would pile up.
  signal.addEventListener('abort', now, { once: true });
  return {
    now,
    wait: async (ms) => {
      if (!called && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        end = undefined;
      }
      called = false;
    },
    close: () => signal.removeEventListener('abort', now),
  };
};
