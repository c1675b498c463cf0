/**
 * The record of one import, while it runs and afterwards. Progress is written on a connection of its own, because other
 * connections cannot see the import's transaction before it commits. The outcome is written in that transaction.
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
import { forgetOldStates, historyOwner } from './write/undo-store.ts';

export type OpenImport = {
  progress: Progress;
  /** Writes the outcome in the transaction. Returns the record and its report as text. */
  finish(tx: Kysely<unknown>, outcome: ImportOutcome): Promise<{ record: ImportRecord; report: string }>;
  /**
   * Records the failure after the import's transaction was rolled back. Never throws: the caller already has a fault.
   */
  fail(outcome?: ImportOutcome): Promise<{ record: ImportRecord }>;
  /** Deletes the progress record: the outcome stands in another record, or there was nothing to do. Never throws. */
  discard(): Promise<void>;
};

type Deps = {
  /** The pool, not the import's transaction. */
  db: Kysely<unknown>;
  log: Logger;
  /** A monotonic reading in milliseconds. */
  elapsedMs?: () => number;
};

type Opening = Pick<ImportRecord, 'kind' | 'posUid' | 'updateMode'> & {
  restuid: string;
  owner: string | null;
  /** Who makes it, where that is not the client. */
  actor?: string;
  now: Date;
};

/** Progress is written at most this often, so a short import writes none. */
const progressMsMin = 250;

/** Longest wait for a second connection in `fail`: the caller still holds the first one. */
const waitMsMax = 1000;

export const openImport = ({ db, log, elapsedMs = () => performance.now() }: Deps, opening: Opening): OpenImport => {
  const { restuid, owner, now } = opening;
  const first = firstRecord(opening);
  let underWay: Promise<void> | undefined;
  let savedAtMs = elapsedMs();
  let isSaved = false;
  const save = (record: ImportRecord): Promise<void> =>
    saveImport(db, restuid, { ...record, plan: null }).catch((error: unknown) =>
      log.warn({ err: error }, 'writing the progress of a menu import failed'),
    );
  /** A client whose imports all fail keeps no more records than another one. */
  const saveLast = async (record: ImportRecord): Promise<void> => {
    await save(record);
    await forgetOldImports(db, restuid, owner, now).catch((error: unknown) =>
      log.warn({ err: error }, 'deleting old records of menu imports failed'),
    );
  };
  return {
    progress: (percent) => {
      if (underWay !== undefined || elapsedMs() - savedAtMs < progressMsMin) return;
      savedAtMs = elapsedMs();
      isSaved = true;
      underWay = save({ ...first, percent }).finally(() => {
        underWay = undefined;
      });
    },
    finish: async (tx, outcome) => {
      // Progress and outcome share one row: a late progress write must not overwrite the outcome.
      await underWay;
      return writeOutcome(tx, first, { restuid, owner, now }, outcome);
    },
    discard: async () => {
      await underWay;
      if (!isSaved) return;
      await deleteImport(db, restuid, first.uid).catch((error: unknown) =>
        log.warn({ err: error }, 'deleting the progress record of a menu import failed'),
      );
    },
    fail: async (outcome) => {
      await underWay;
      const record = outcome === undefined ? { ...first, state: 'failed' as const } : recordOf(first, outcome);
      await Promise.race([saveLast(record), new Promise((resolve) => setTimeout(resolve, waitMsMax))]);
      return { record };
    },
  };
};

/** Records an import that ran without progress. */
export const recordImport = async (tx: Kysely<unknown>, opening: Opening, outcome: ImportOutcome): Promise<void> => {
  await writeOutcome(tx, firstRecord(opening), opening, outcome);
};

const firstRecord = ({ owner, now, kind, posUid, updateMode, actor }: Opening): ImportRecord => ({
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
  actor: actor ?? null,
});

/** Writes the outcome in the transaction and deletes records that are too old to be read. */
const writeOutcome = async (
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
  if (outcome.version !== null && outcome.version !== outcome.baseVersion) await forgetOldStates(tx, restuid, owner);
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
