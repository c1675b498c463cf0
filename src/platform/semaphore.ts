/** At most so many at once; the others wait for their turn, in their order and not for ever. */

export type Turns = {
  /** Resolves when it is one's turn, to what ends it; undefined when there is none to be had, or `signal` was aborted. */
  take(signal: AbortSignal): Promise<(() => void) | undefined>;
};

type Bounds = { atOnceMax: number; waitingMax: number; waitMsMax: number };

export const createTurns = ({ atOnceMax, waitingMax, waitMsMax }: Bounds): Turns => {
  let taken = 0;
  const waiting: ((turn: boolean) => void)[] = [];

  /** Ends one turn, once. */
  const ender = (): (() => void) => {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      // The turn goes from hand to hand, so nobody who comes now can be faster than who waits.
      const next = waiting.shift();
      if (next === undefined) taken -= 1;
      else next(true);
    };
  };

  const wait = (signal: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const finish = (turn: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
        resolve(turn);
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
    take: async (signal) => {
      if (signal.aborted) return undefined;
      if (taken < atOnceMax) taken += 1;
      else if (waiting.length >= waitingMax || !(await wait(signal))) return undefined;
      return ender();
    },
  };
};
