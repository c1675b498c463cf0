/**
 * Starts attempts a few at a time: so many in one turn of the event loop, the next ones in the next turn. Hundreds that
 * start together would delay incoming answers and the results of queries behind all of them.
 */
export type BatchedStarts = {
  /** Undefined: the caller may start at once. */
  waitForStart(): Promise<void> | undefined;
};

export const createBatchedStarts = (startsMax: number): BatchedStarts => {
  const waiting: (() => void)[] = [];
  let left = startsMax;
  let isScheduled = false;
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(next);
  };
  const next = (): void => {
    isScheduled = false;
    left = startsMax;
    for (const start of waiting.splice(0, startsMax)) {
      left -= 1;
      start();
    }
    if (left < startsMax) schedule();
  };
  return {
    waitForStart: () => {
      schedule();
      if (left === 0 || waiting.length > 0) return new Promise((resolve) => waiting.push(resolve));
      left -= 1;
      return undefined;
    },
  };
};
