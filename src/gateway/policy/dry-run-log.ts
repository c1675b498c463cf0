/**
 * Counts callers that a dry run would refuse, and writes the counts in batches: the hot path pays one lookup in a Map.
 * Counts wait while the store is unreachable; a crash loses the counts of the last batch.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { sendOnce } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { addDryRunCounts, type DryRunCount } from './dry-run-store.ts';
import type { NoteDryRun } from './try-scopes.ts';

type DryRunLogDeps = { db: Kysely<unknown>; clock: Clock; log: Logger };

const intervalMs = 1_000;
/** Bound on the entries of one batch; further callers are counted with their next call in a later batch. */
const entriesMax = 10_000;

export type DryRunLog = { note: NoteDryRun; service: Service };

export const createDryRunLog = ({ db, clock, log }: DryRunLogDeps): DryRunLog => {
  let counts = new Map<string, DryRunCount>();

  const note: NoteDryRun = (route, caller, missing) => {
    const key = `${route} ${caller} ${missing}`;
    const known = counts.get(key);
    if (known !== undefined) known.calls += 1;
    else if (counts.size < entriesMax) counts.set(key, { route, caller, missing, calls: 1 });
  };

  const flush = async (): Promise<void> => {
    if (counts.size === 0) return;
    const written = counts;
    counts = new Map();
    try {
      const rows = [...written.values()];
      // Not repeated when it was not confirmed, so that no count is too high.
      if (!(await sendOnce(db, (connection) => addDryRunCounts(connection, rows, clock.now()))))
        log.warn('the connection ended before the store confirmed the counts of scope dry runs');
    } catch (error) {
      log.warn({ err: error }, 'cannot write the counts of scope dry runs; trying again');
      for (const [key, entry] of written) {
        const known = counts.get(key);
        if (known !== undefined) known.calls += entry.calls;
        else if (counts.size < entriesMax) counts.set(key, entry);
      }
    }
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await pause(intervalMs, signal);
      await flush();
    }
  };
  return { note, service: { name: 'policy-dry-run', run } };
};
