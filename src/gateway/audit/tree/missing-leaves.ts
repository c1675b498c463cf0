/**
 * Which events the retention cannot have dropped, although they lie before the signed beginning of their chain: with the master
 * key that beginning can be moved. The retention drops whole months, of all chains. So a dropped event is older than the month of
 * the oldest stored one, and it was not written a week after the beginning of that month, when stored events had been written.
 */
import { dayMs, hourMs } from '#src/platform/clock.ts';
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import { pageLeaves } from './add-leaves.ts';
import type { ComparedLeaf } from './tree-store.ts';

/** chosen: an event may wait as long as the store is away, since its time is that of the request. */
const waitedMsMax = 7 * dayMs;
/** Two events of one moment may lie on both sides of the end of a month (../retention). */
const edgeMs = hourMs;
const foundMax = 100;

export type MissingLeaves = {
  /** Takes every leaf, in the order of the tree. */
  add(leaf: ComparedLeaf): void;
  /** At most 100. `oldest`: time of the oldest stored event, as it was read last: the retention may have run meanwhile. */
  found(oldest: Date): AuditProblem[];
};

/** `oldest`: time of the oldest stored event. */
export const createMissingLeaves = (oldest: Date): MissingLeaves => {
  const missing: { chain: number; seq: number; afterMs: number }[] = [];
  let chain = -1;
  /** Of leaves whose chains follow each other: when a lower one comes, another reading of the heads has begun. */
  let run = { leaves: 0, latestMs: 0 };
  /** What is added from here on was written after this time. */
  let writtenAfterMs = 0;
  return {
    add: (leaf) => {
      if (leaf.chain < chain) {
        // A longer run may have been cut by the end of its process, and then later leaves can be older.
        if (run.leaves < pageLeaves) writtenAfterMs = Math.max(writtenAfterMs, run.latestMs);
        run = { leaves: 0, latestMs: 0 };
      }
      chain = leaf.chain;
      run.leaves += 1;
      run.latestMs = Math.max(run.latestMs, leaf.at?.getTime() ?? 0);
      if (leaf.stored !== null || leaf.anchor === null || leaf.seq > leaf.anchor) return;
      if (writtenAfterMs >= boundMs(oldest) && missing.length < foundMax)
        missing.push({ chain, seq: leaf.seq, afterMs: writtenAfterMs });
    },
    found: (latest) =>
      missing
        .filter(({ afterMs }) => afterMs >= boundMs(latest))
        .map(({ chain: of, seq }) => ({ chain: of, seq, problem: auditProblems.eventMissing })),
  };
};

/** The retention drops nothing that was written from this time on. */
const boundMs = (oldest: Date): number => {
  const month = new Date(oldest.getTime() + edgeMs);
  return Date.UTC(month.getUTCFullYear(), month.getUTCMonth()) + waitedMsMax;
};
