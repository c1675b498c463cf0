/** A wait that ends early when there is news. News that comes during no wait ends the next one at once. */
import { pause } from '#src/platform/supervisor.ts';

export type Wake = { now(): void; wait(ms: number): Promise<void> };

export const createWake = (signal: AbortSignal): Wake => {
  let called = false;
  let waiting: AbortController | undefined;
  return {
    now: () => {
      called = true;
      waiting?.abort();
    },
    wait: async (ms) => {
      if (!called) {
        waiting = new AbortController();
        await pause(ms, AbortSignal.any([signal, waiting.signal]));
        waiting = undefined;
      }
      called = false;
    },
  };
};
