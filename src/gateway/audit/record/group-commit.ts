/**
 * When to write what answers wait for. A statement for each few of them would cost more than they do, so after one that
 * several waited for the next is put off, for two milliseconds at most, until as many wait as it had written. Then the
 * others of those who ask again and again are here, and to go on waiting would leave everybody idle.
 */
import { startWait, type Wait } from '#src/platform/wake.ts';

export type GatherAnswers = {
  /** Resolves when it is time for the next statement. One at a time. */
  wait(): Promise<void>;
  /** Told of how many wait, whenever there is one more. */
  came(waiting: number): void;
  /** How many waited for the statement that is over. */
  wrote(answers: number): void;
};

const gatherMsDefault = 2;

/** `waiting`: how many wait now. `gatherMs`: another bound, for tests. */
export const createGatherAnswers = (waiting: () => number, gatherMs = gatherMsDefault): GatherAnswers => {
  let untilMs = Number.NEGATIVE_INFINITY;
  let enough = 0;
  let current: Wait | undefined;
  return {
    wait: async () => {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0 || waiting() >= enough) return;
      current = startWait(leftMs);
      await current.over;
      current = undefined;
    },
    came: (count) => {
      if (count >= enough) current?.end();
    },
    wrote: (answers) => {
      enough = answers;
      // Whoever is alone never waits.
      if (answers > 1) untilMs = performance.now() + gatherMs;
    },
  };
};
