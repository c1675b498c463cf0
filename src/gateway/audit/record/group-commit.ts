/**
 * Group commit: decides when to write the events that answers wait for. One statement for every few answers would cost
 * more than the answers do. After a statement for several answers, the next one is delayed by at most two milliseconds,
 * until as many answers wait as the last one covered: clients that send one request after the other have then all sent
 * the next one.
 */
import { startWait, type Wait } from '#src/platform/wake.ts';

export type GroupCommit = {
  /** Resolves when the next statement may run. Only one call at a time. */
  wait(): Promise<void>;
  /** To be called with the number of waiting answers, whenever one is added. */
  added(waiting: number): void;
  /** To be called with the number of answers that a finished statement covered. */
  written(answers: number): void;
};

const gatherMsDefault = 2;

/** `waiting`: returns the number of waiting answers. `gatherMs`: another bound, for tests. */
export const createGroupCommit = (waiting: () => number, gatherMs = gatherMsDefault): GroupCommit => {
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
    added: (count) => {
      if (count >= enough) current?.end();
    },
    written: (answers) => {
      enough = answers;
      // A single answer is never delayed.
      if (answers > 1) untilMs = performance.now() + gatherMs;
    },
  };
};
