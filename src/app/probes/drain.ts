/**
 * The time between the signal to stop and the end of listening. Load balancers see that this process is not ready and send
 * their requests elsewhere, while everything that still comes is answered.
 */
import { pause } from '#src/platform/supervisor.ts';

export type Drain = {
  isDraining(): boolean;
  /** Called when the drain begins: answers announce the end of their connections from then on. */
  onBegin(listener: () => void): void;
  /** Resolves after `ms`; also with 0 the process is not ready from then on. */
  run(ms: number): Promise<void>;
};

export const createDrain = (): Drain => {
  const listeners: (() => void)[] = [];
  let isDraining = false;
  return {
    isDraining: () => isDraining,
    onBegin: (listener) => void listeners.push(listener),
    run: async (ms) => {
      isDraining = true;
      for (const listener of listeners) listener();
      if (ms > 0) await pause(ms, new AbortController().signal);
    },
  };
};
