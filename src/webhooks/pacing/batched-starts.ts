/**
 * Work in steps: so many may begin at once, the next ones when the process has looked at what else came in. Hundreds that
 * begin together keep answers, and the store that would have the next ones ready, waiting for all of them.
 */
export type Steps = {
  /** Undefined: at once. */
  turn(): Promise<void> | undefined;
};

export const createSteps = (stepMax: number): Steps => {
  const waiting: (() => void)[] = [];
  let left = stepMax;
  let isScheduled = false;
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(next);
  };
  const next = (): void => {
    isScheduled = false;
    left = stepMax;
    for (const go of waiting.splice(0, stepMax)) {
      left -= 1;
      go();
    }
    if (left < stepMax) schedule();
  };
  return {
    turn: () => {
      schedule();
      if (left === 0 || waiting.length > 0) return new Promise((resolve) => waiting.push(resolve));
      left -= 1;
      return undefined;
    },
  };
};
