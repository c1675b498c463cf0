/**
 * menu/import as one unit of work: read what was sent, lock the menu, plan, and apply the plan if nothing is wrong with it.
 * All or nothing; runs in the caller's transaction.
 */
import type { Kysely } from 'kysely';
import { recordEvent } from '#src/platform/db/outbox.ts';
import { newId } from '#src/platform/ids.ts';
import { applyImport, loadCurrentMenu, lockMenu, moveElements, raiseVersion } from './import-store.ts';
import type { ImportTerms } from './import-terms.ts';
import { createPace } from './pace.ts';
import { type ImportChanges, planImport } from './plan-import.ts';
import { readElements } from './read-elements.ts';
import { type Counts, createFindings, createLedger, type Finding, noCounts, type ReportItem } from './report.ts';

export type ImportRequest = ImportTerms & {
  restuid: string;
  /** The client whose elements these are; null: the panel. */
  owner: string | null;
  currency: string;
  /** Left out: none is sent. A replace states both. */
  categories: readonly unknown[];
  products: readonly unknown[];
  /** Names of the request that mean nothing to it. */
  unknownFields?: readonly string[];
  now: Date;
};

export type ImportOutcome = {
  /** False: nothing was stored, `errors` says why. */
  applied: boolean;
  /** The menu's version now. */
  version: number;
  baseVersion: number;
  counts: Counts;
  removalPercent: number;
  items: readonly ReportItem[];
  warnings: readonly Finding[];
  errors: readonly Finding[];
  /** All of them, also those that are too many to list. */
  errorCount: number;
};

export const runImport = async (tx: Kysely<unknown>, request: ImportRequest): Promise<ImportOutcome> => {
  const { restuid, owner, now } = request;
  const findings = createFindings();
  const ledger = createLedger();
  const pace = createPace();
  for (const field of request.unknownFields ?? []) findings.unknownField('import', `/${field}`, undefined, field);
  const sent = await readElements(request, { findings, pace, currency: request.currency });
  const baseVersion = await lockMenu(tx, restuid);
  const named = { categories: extIdsOf(sent.categories), products: extIdsOf(sent.products) };
  const current = { version: baseVersion, ...(await loadCurrentMenu(tx, restuid, owner, named)) };
  const newUid = (prefix: string): string => newId(prefix, now.getTime());
  const { changes, removals } = await planImport(current, sent, request, { findings, ledger, pace, newUid });
  const { errors, warnings, errorCount } = findings;
  // What faulty elements would have done means nothing; a plan that only the guard stopped is worth showing.
  const planned = errors.every(({ code }) => code === 'REMOVAL_GUARD');
  const outcome = {
    baseVersion,
    counts: planned ? ledger.counts : noCounts(),
    removalPercent: removals.percent,
    items: planned ? ledger.items : [],
    warnings,
    errors,
    errorCount,
  };
  if (errorCount > 0) return { ...outcome, applied: false, version: baseVersion };
  await moveElements(tx, restuid, request.posUid, changes);
  if (!changesMenu(changes)) return { ...outcome, applied: true, version: baseVersion };
  await applyImport(tx, { restuid, owner, now, pace }, changes);
  const version = await raiseVersion(tx, restuid);
  await recordMenuChange(tx, { restuid, version, previousVersion: baseVersion, changes, now });
  return { ...outcome, applied: true, version };
};

const extIdsOf = (elements: readonly { extId: string }[]): string[] => elements.map(({ extId }) => extId);

const changesMenu = ({ categories, products, removedCategories, removedProducts }: ImportChanges): boolean =>
  [categories, products, removedCategories, removedProducts].some((elements) => elements.length > 0);

type MenuChange = { restuid: string; version: number; previousVersion: number; changes: ImportChanges; now: Date };

/** menu.changed (interface 12.1). The entity is the restaurant's menu, which has no uid but the restaurant's. */
const recordMenuChange = async (tx: Kysely<unknown>, change: MenuChange): Promise<void> => {
  const { changes } = change;
  await recordEvent(tx, {
    tenant: change.restuid,
    kind: 'menu',
    event: 'menu.changed',
    entity: change.restuid,
    seq: change.version,
    created: change.now,
    object: 'menu',
    value: () => ({
      version: change.version,
      previous_version: change.previousVersion,
      cause: 'import',
      categories: namesOf(changes.categories, changes.removedCategories, changes.created),
      products: namesOf(changes.products, changes.removedProducts, changes.created),
    }),
  });
};

type Named = { uid: string; ext_id: string | null };

const namesOf = (
  changed: readonly Named[],
  removed: readonly Named[],
  created: ReadonlySet<string>,
): { created: Named[]; updated: Named[]; removed: Named[] } => {
  const names = (elements: readonly Named[]): Named[] => elements.map(({ uid, ext_id }) => ({ uid, ext_id }));
  return {
    created: names(changed.filter(({ uid }) => created.has(uid))),
    updated: names(changed.filter(({ uid }) => !created.has(uid))),
    removed: names(removed),
  };
};
