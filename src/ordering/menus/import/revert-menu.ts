/** menu/revert (interface 11.3): restores a client's elements to one of its earlier versions, as a new version. */
import type { Kysely } from 'kysely';
import { createPace } from '#src/platform/pace.ts';
import { namesOfChanges } from './plan/change-names.ts';
import { planRevert } from './plan/plan-revert.ts';
import { noProgress, stages, within } from './progress.ts';
import { createLedger } from './report/report.ts';
import type { ImportOutcome, ImportRequest } from './run-import.ts';
import { batchesOf, loadSharedCategories, lockMenu } from './write/import-store.ts';
import { countUnchanged, listRevertible, loadChangedSince } from './write/undo-store.ts';
import { writeChanges } from './write/write-changes.ts';

type Revert = Pick<ImportRequest, 'restuid' | 'owner' | 'progress' | 'now'> & { version: number };

/** Undefined when the client cannot revert to this version. */
export const revertMenu = async (tx: Kysely<unknown>, revert: Revert): Promise<ImportOutcome | undefined> => {
  const { restuid, owner, version, progress = noProgress, now } = revert;
  const baseVersion = await lockMenu(tx, restuid);
  if (!(await listRevertible(tx, restuid, owner)).includes(version)) return undefined;
  const ledger = createLedger();
  const pace = createPace();
  const since = await loadChangedSince(tx, restuid, owner, version);
  const changes = await planRevert(since, await loadSharedCategories(tx, restuid, owner), { ledger, pace });
  const rest = await countUnchanged(tx, restuid, owner, version);
  for (const kind of ['categories', 'products', 'options', 'option_values'] as const)
    ledger.counts[kind].unchanged += rest[kind];
  progress(stages.planned);
  const reached = await writeChanges(tx, {
    restuid,
    owner,
    posUid: null,
    cause: 'revert',
    baseVersion,
    names: namesOfChanges(changes),
    batches: batchesOf(changes, pace),
    onWritten: (share) => progress(within(stages.planned, stages.written, share)),
    now,
  });
  const { counts, items } = ledger;
  const nothing = { removalPercent: 0, warnings: [], errors: [], errorCount: 0, plan: null };
  return { ...nothing, state: 'applied', version: reached, baseVersion, counts, items };
};
