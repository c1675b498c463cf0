/**
 * What is known of one import while it runs and after. While it runs it is told by a connection of its own, since nobody
 * sees what its transaction has not committed; how it ended is written in that transaction.
 */
import type { Kysely } from 'kysely';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import { createPace } from '#src/platform/pace.ts';
import type { Progress } from './progress.ts';
import { noCounts } from './report/report.ts';
import { reportText } from './report/report-text.ts';
import type { ImportOutcome } from './run-import.ts';
import { deleteImport, forgetOldImports, type ImportRecord, saveImport, saveReport } from './write/record-store.ts';
import { forgetBefore, historyOwner, listRevertible, revertibleMax } from './write/undo-store.ts';

export type OpenImport = {
  progress: Progress;
  /** Writes how it ended into the transaction. Returns the record and its report as text. */
  finish(tx: Kysely<unknown>, outcome: ImportOutcome): Promise<{ record: ImportRecord; report: string }>;
  /** After its transaction was given up. Never throws: the caller has a fault to tell already. */
  fail(outcome?: ImportOutcome): Promise<{ record: ImportRecord }>;
  /** Nothing remains to be told: what was asked for was not there, or is told elsewhere. Never throws. */
  discard(): Promise<void>;
};

type Deps = {
  /** Not the import's transaction. */
  db: Kysely<unknown>;
  log: Logger;
  /** A monotonic reading in milliseconds. */
  elapsedMs?: () => number;
};

type Opening = Pick<ImportRecord, 'kind' | 'posUid' | 'updateMode'> & {
  restuid: string;
  owner: string | null;
  now: Date;
};

/** Sooner nobody would look, and a short import costs nothing more. */
const everyMs = 250;

/** The transaction holds a connection while this waits for another: not longer than that. */
const waitMsMax = 1000;

export const openImport = ({ db, log, elapsedMs = () => performance.now() }: Deps, opening: Opening): OpenImport => {
  const { restuid, owner, now } = opening;
  const first = firstRecord(opening);
  let underWay: Promise<void> | undefined;
  let told = elapsedMs();
  let isTold = false;
  const tell = (record: ImportRecord): Promise<void> =>
    saveImport(db, restuid, { ...record, plan: null }).catch((error: unknown) =>
      log.warn({ err: error }, 'the progress of an import was not noted'),
    );
  return {
    progress: (percent) => {
      if (underWay !== undefined || elapsedMs() - told < everyMs) return;
      told = elapsedMs();
      isTold = true;
      underWay = tell({ ...first, percent }).finally(() => {
        underWay = undefined;
      });
    },
    finish: async (tx, outcome) => {
      // One row: what tells of progress must not come after what tells of the end.
      await underWay;
      return note(tx, first, { restuid, owner, now }, outcome);
    },
    discard: async () => {
      await underWay;
      if (!isTold) return;
      await deleteImport(db, restuid, first.uid).catch((error: unknown) =>
        log.warn({ err: error }, 'the progress of an import was not taken back'),
      );
    },
    fail: async (outcome) => {
      await underWay;
      const record = outcome === undefined ? { ...first, state: 'failed' as const } : recordOf(first, outcome);
      await Promise.race([tell(record), new Promise((resolve) => setTimeout(resolve, waitMsMax))]);
      return { record };
    },
  };
};

/** An import that nobody watches. */
export const noteImport = async (tx: Kysely<unknown>, opening: Opening, outcome: ImportOutcome): Promise<void> => {
  await note(tx, firstRecord(opening), opening, outcome);
};

const firstRecord = ({ owner, now, kind, posUid, updateMode }: Opening): ImportRecord => ({
  uid: newId('imp', now.getTime()),
  clientId: historyOwner(owner),
  kind,
  state: 'running',
  percent: 0,
  posUid,
  updateMode,
  version: null,
  baseVersion: null,
  planId: null,
  planExpires: null,
  created: now,
  counts: noCounts(),
  removalPercent: 0,
});

/** How it ended, into the transaction; what is too old to be asked for is forgotten. */
const note = async (
  tx: Kysely<unknown>,
  first: ImportRecord,
  { restuid, owner, now }: Pick<Opening, 'restuid' | 'owner' | 'now'>,
  outcome: ImportOutcome,
): Promise<{ record: ImportRecord; report: string }> => {
  const record = recordOf(first, outcome);
  const report = await reportText(outcome, createPace());
  await saveImport(tx, restuid, { ...record, plan: outcome.plan?.names ?? null });
  await saveReport(tx, restuid, record.uid, report);
  await forgetOldImports(tx, restuid, owner, now);
  if (outcome.version === null || outcome.version === outcome.baseVersion) return { record, report };
  const revertible = await listRevertible(tx, restuid, owner);
  if (revertible.length === revertibleMax) await forgetBefore(tx, restuid, owner, revertible.at(-1) ?? 0);
  return { record, report };
};

const recordOf = (first: ImportRecord, outcome: ImportOutcome): ImportRecord => ({
  ...first,
  state: outcome.state,
  percent: outcome.state === 'applied' ? 100 : 0,
  version: outcome.version,
  baseVersion: outcome.baseVersion,
  planId: outcome.plan?.id ?? null,
  planExpires: outcome.plan?.expires ?? null,
  counts: outcome.counts,
  removalPercent: outcome.removalPercent,
});
