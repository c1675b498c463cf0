/**
 * How long the dispatcher may wait for slots instead of leaving events to a claim. Pure but for the state it returns.
 * Waiting is the faster way only while receivers take deliveries about as fast as deliveries could be written for a claim.
 * So each ended attempt adds to the budget, waiting uses it up, and time in which nothing is gained ends it soon.
 */
import { fastPath } from '../pacing/bounds.ts';
import type { Full, Slots } from '../pacing/slots.ts';

export type WaitBudget = {
  /** True when the events may wait for the slot that `full` is about. `nowMs` as of `performance.now()`. */
  mayWait(full: Full, nowMs: number): boolean;
  /** Nothing waits any more: time that passes from now on is not counted as waiting. */
  reset(): void;
};

export const createWaitBudget = (slots: Pick<Slots, 'endedCount'>): WaitBudget => {
  let leftMs: number = fastPath.startCreditMs;
  let countedMs: number | undefined;
  let last: { atMs: number; full: Full; ended: number } | undefined;
  return {
    mayWait: (full, nowMs) => {
      if (!full.isBrief) return false;
      const ended = slots.endedCount(full);
      leftMs += (nowMs - (countedMs ?? nowMs)) * fastPath.wastedShare;
      countedMs = nowMs;
      if (last !== undefined && last.full.endpointUid === full.endpointUid)
        leftMs += Math.max(0, ended - last.ended) / fastPath.endedPerMs;
      leftMs = Math.min(fastPath.creditMsMax, leftMs);
      if (last !== undefined) leftMs -= nowMs - last.atMs;
      if (leftMs > 0) {
        last = { atMs: nowMs, full, ended };
        return true;
      }
      leftMs = Math.max(-fastPath.startCreditMs, leftMs);
      last = undefined;
      return false;
    },
    reset: () => {
      last = undefined;
    },
  };
};
