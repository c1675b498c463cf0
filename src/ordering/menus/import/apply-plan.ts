/** Applies the stored plan of a dry run, if the menu is still at the version that the plan was made for. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { ChangeNames } from './plan/change-names.ts';
import { type Progress, stages, within } from './progress.ts';
import type { Finding } from './report/report.ts';
import { type Batch, lockMenu } from './write/import-store.ts';
import {
  deletePlanParts,
  type ImportRecord,
  lockPlan,
  readPlanParts,
  readReport,
  saveImport,
} from './write/record-store.ts';
import { forgetOldStates, historyOwner } from './write/undo-store.ts';
import { writeChanges } from './write/write-changes.ts';

export type ApplyPlanResult =
  | { kind: 'applied'; record: ImportRecord; report: string }
  /** The plan does not exist, belongs to another client, was applied before or has expired. */
  | { kind: 'not_found' }
  | { kind: 'moved'; version: number; baseVersion: number }
  /** Elements of the client moved to another point of sale, which the version does not show. */
  | { kind: 'outdated' }
  /** The plan removes more than the limit, and the request does not confirm that. */
  | { kind: 'guarded'; record: ImportRecord; report: string; errors: Finding[] };

type Application = {
  restuid: string;
  owner: string;
  planId: string;
  confirmRemoval: boolean;
  progress: Progress;
  now: Date;
};

/** Throws NOT_FOUND for a plan that expires while it is applied. */
export const applyPlan = async (tx: Kysely<unknown>, application: Application): Promise<ApplyPlanResult> => {
  const { restuid, owner, planId, confirmRemoval, progress, now } = application;
  // The menu is locked before the plan, as everywhere: an import that holds the menu may be about to delete old plans.
  const version = await lockMenu(tx, restuid);
  const found = await lockPlan(tx, restuid, planId, historyOwner(owner), now);
  if (found === undefined) return { kind: 'not_found' };
  const { plan, ...record } = found;
  const report = await readReport(tx, restuid, record.uid);
  if (report === undefined) throw new Error(`the report of plan ${planId} is missing`);
  if (record.baseVersion !== version) return { kind: 'moved', version, baseVersion: record.baseVersion ?? 0 };
  if (plan === null) return { kind: 'outdated' };
  const guards = (JSON.parse(report) as { warnings: Finding[] }).warnings.filter(
    ({ code }) => code === 'REMOVAL_GUARD',
  );
  if (guards.length > 0 && !confirmRemoval) return { kind: 'guarded', record, report, errors: guards };
  const applied = await writeChanges(tx, {
    restuid,
    owner,
    // The plan of a merge lists moves too: none.
    posUid: record.posUid,
    cause: 'import',
    baseVersion: version,
    names: plan,
    batches: wholePlan(readPlanParts(tx, restuid, planId), plan),
    onWritten: (share) => progress(within(0, stages.written, share)),
    now,
  });
  await deletePlanParts(tx, restuid, planId);
  const done: ImportRecord = { ...record, state: 'applied', percent: 100, version: applied };
  await saveImport(tx, restuid, { ...done, plan: null });
  if (applied !== version) await forgetOldStates(tx, restuid, owner);
  return { kind: 'applied', record: done, report };
};

/** Throws NOT_FOUND after a plan of which parts are missing: it expired meanwhile, and another import deleted them. */
async function* wholePlan(parts: AsyncIterable<Batch>, { categories, products }: ChangeNames): AsyncGenerator<Batch> {
  let missing = [categories, products].reduce((sum, { created, updated }) => sum + created.length + updated.length, 0);
  for await (const part of parts) {
    missing -= part.count;
    yield part;
  }
  if (missing > 0) throw new Fault('NOT_FOUND', 'The plan has expired');
}
