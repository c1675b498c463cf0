/**
 * menu/import as one unit of work: read the sent elements, lock the menu, plan, and apply or store the plan if nothing
 * is wrong. All or nothing, in the caller's transaction.
 */
import type { Kysely } from 'kysely';
import { hourMs } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import { createPace } from '#src/platform/pace.ts';
import { type ChangeNames, namesOfChanges } from './plan/change-names.ts';
import { planImport } from './plan/plan-import.ts';
import { noProgress, type Progress, stages, within } from './progress.ts';
import { type ImportTerms, ownedMax, valuesMax } from './read/import-terms.ts';
import { readElements, type SentMenu } from './read/read-elements.ts';
import {
  type Counts,
  createFindings,
  createLedger,
  type Finding,
  type Findings,
  noCounts,
  type ReportItem,
} from './report/report.ts';
import { batchesOf, loadCurrentMenu, lockMenu } from './write/import-store.ts';
import { countOwned, type Owned } from './write/owned-store.ts';
import { savePlanPart } from './write/record-store.ts';
import { writeChanges } from './write/write-changes.ts';

export type ImportRequest = ImportTerms & {
  restuid: string;
  /** The client that owns the elements; null: the panel. */
  owner: string | null;
  currency: string;
  /** Undefined when the request leaves it out. A replace has both. */
  categories: readonly unknown[];
  products: readonly unknown[];
  /** Unknown members of the request. */
  unknownFields?: readonly string[];
  progress?: Progress;
  now: Date;
};

export type ImportOutcome = {
  /** `failed`: nothing was stored, and `errors` has the reasons. */
  state: 'applied' | 'planned' | 'failed';
  /** The new version of the menu; null when nothing was applied. */
  version: number | null;
  baseVersion: number;
  counts: Counts;
  removalPercent: number;
  items: readonly ReportItem[];
  warnings: readonly Finding[];
  errors: readonly Finding[];
  /** All errors, including those beyond the number that is listed. */
  errorCount: number;
  /** Present when the plan was stored. */
  plan: { id: string; expires: Date; names: ChangeNames } | null;
};

const planHours = 24;

export const runImport = async (tx: Kysely<unknown>, request: ImportRequest): Promise<ImportOutcome> => {
  const { restuid, owner, now, progress = noProgress } = request;
  const findings = createFindings();
  const ledger = createLedger();
  const pace = createPace();
  for (const field of request.unknownFields ?? []) findings.unknownField('import', `/${field}`, undefined, field);
  const onRead = (share: number): void => progress(within(0, stages.read, share));
  const sent = await readElements(request, { findings, pace, currency: request.currency, onRead });
  const baseVersion = await lockMenu(tx, restuid);
  const owned = await countOwned(tx, request, sent);
  if (isTooMuch(owned, sent, findings)) return refusal(baseVersion, findings);
  const named = {
    categories: extIdsOf(sent.categories),
    products: extIdsOf(sent.products),
    referred: [...new Set(sent.products.flatMap(({ categoryExtId }) => categoryExtId ?? []))],
  };
  const loading = { ...request, isWithoutRemoved: owned.stored > ownedMax.values };
  const current = { version: baseVersion, ...(await loadCurrentMenu(tx, loading, named)) };
  const newUid = (prefix: string): string => newId(prefix, now.getTime());
  const copiesMax = Math.min(valuesMax, Math.max(ownedMax.values, owned.before.values) - owned.after.values);
  const planning = { findings, ledger, pace, newUid, copiesMax };
  const { changes, removals } = await planImport(current, sent, request, planning);
  progress(stages.planned);
  const { errors, warnings, errorCount } = findings;
  // A plan from faulty elements is meaningless. A plan that only the removal limit stopped is worth showing.
  const planned = errors.every(({ code }) => code === 'REMOVAL_GUARD');
  const outcome = {
    baseVersion,
    counts: planned ? ledger.counts : noCounts(),
    removalPercent: removals.percent,
    items: planned ? ledger.items : [],
    warnings,
    errors,
    errorCount,
    plan: null,
  };
  if (errorCount > 0) return { ...outcome, state: 'failed', version: null };
  const names = namesOfChanges(changes);
  const onWritten = (share: number): void => progress(within(stages.planned, stages.written, share));
  const batches = batchesOf(changes, pace);
  if (request.dryRun) {
    const id = newId('pln', now.getTime());
    let part = 0;
    for await (const batch of batches) await savePlanPart(tx, restuid, id, part++, batch);
    const plan = { id, expires: new Date(now.getTime() + planHours * hourMs), names };
    return { ...outcome, state: 'planned', version: null, plan };
  }
  const posUid = request.posUid;
  const work = { restuid, owner, posUid, cause: 'import', baseVersion, names, batches, onWritten, now } as const;
  return { ...outcome, state: 'applied', version: await writeChanges(tx, work) };
};

/** An owner who already has more, from earlier releases, may change and remove it. */
const isTooMuch = ({ before, after }: Owned, sent: SentMenu, findings: Findings): boolean => {
  const refuse = (count: number, max: number, what: string): void => {
    const message = `the menu of this client would have ${count} ${what}, and at most ${max} are stored: remove some first`;
    findings.error(sent.products.length > 0 ? '/products' : '/categories', undefined, 'LENGTH', message);
  };
  const { elements, values } = ownedMax;
  const hasMoreElements = after.elements > Math.max(elements, before.elements);
  const hasMoreValues = after.values > Math.max(values, before.values);
  if (hasMoreElements) refuse(after.elements, elements, 'categories and products');
  if (hasMoreValues) refuse(after.values, values, 'option values');
  return hasMoreElements || hasMoreValues;
};

const refusal = (baseVersion: number, { warnings, errors, errorCount }: Findings): ImportOutcome => ({
  ...{ state: 'failed', version: null, baseVersion, counts: noCounts(), removalPercent: 0, items: [], plan: null },
  ...{ warnings, errors, errorCount },
});

const extIdsOf = (elements: readonly { extId: string }[]): string[] => elements.map(({ extId }) => extId);
