/**
 * The difference between a stored menu and the sent one, as data. Pure: it reads and writes nothing, so one plan can be
 * reported, stored or applied. write/write-changes.ts applies it.
 */

import { type CategoryMembers, categoryMembers } from '../elements/members.ts';
import { type Drafted, type ImportTerms, posUidOf, type StoredElement } from '../read/import-terms.ts';
import type { SentCategory, SentMenu } from '../read/read-elements.ts';
import { type Planning, planOptions } from './plan-options.ts';
import { planProducts } from './plan-products.ts';
import { planRemovals, type Removals } from './plan-removals.ts';
import { changesOf, resolveMembers } from './resolve-members.ts';
import type { CurrentMenu, StoredCategory, StoredProduct } from './stored-menu.ts';
import { warnOfMenu } from './warn-of-menu.ts';

/** Elements that differ from the stored ones, in their new form. */
export type ImportChanges = {
  categories: StoredCategory[];
  products: StoredProduct[];
  removedCategories: StoredCategory[];
  removedProducts: StoredProduct[];
  /** Elements that a replace of another point of sale sent unchanged; they move to that point of sale. */
  movedCategories: string[];
  movedProducts: string[];
  /** Uids of new and restored elements. All others in `categories` and `products` are updates. */
  created: ReadonlySet<string>;
};

export type ImportPlan = { changes: ImportChanges; removals: Removals };

/** Faults and warnings go to `planning.findings`, the action on each element to `planning.ledger`. */
export const planImport = async (
  current: CurrentMenu,
  sent: SentMenu,
  terms: ImportTerms,
  planning: Planning,
): Promise<ImportPlan> => {
  const categories = await planCategories(current, sent.categories, terms, planning);
  const products = await planProducts(current, sent, categories, terms, planning);
  const removals = planRemovals(current, sent, { categories, products }, terms, planning);
  await warnOfMenu(current, { categories, products, removals }, planning);
  const changed = <S, E>(drafts: readonly Drafted<S, E>[]): E[] =>
    drafts.filter((draft) => draft.changed).map((draft) => draft.after);
  return {
    removals,
    changes: {
      categories: changed(categories),
      products: changed(products),
      removedCategories: removals.categories,
      removedProducts: removals.products,
      movedCategories: movedUids(categories, terms),
      movedProducts: movedUids(products, terms),
      created: new Set([...createdUids(categories), ...createdUids(products)]),
    },
  };
};

const createdUids = <S, E extends StoredElement>(drafts: readonly Drafted<S, E>[]): string[] =>
  drafts.filter(({ before }) => before === undefined || before.removed).map(({ after }) => after.uid);

/** A new owner alone is not a change that readers of the menu can see. */
const movedUids = <S, E extends StoredElement>(drafts: readonly Drafted<S, E>[], terms: ImportTerms): string[] =>
  terms.mode === 'merge'
    ? []
    : drafts
        .filter(({ before, changed }) => !changed && before?.pos_uid !== terms.posUid)
        .map(({ after }) => after.uid);

const planCategories = async (
  current: CurrentMenu,
  sentCategories: readonly SentCategory[],
  terms: ImportTerms,
  planning: Planning,
): Promise<Drafted<SentCategory, StoredCategory>[]> => {
  const known = new Map(current.categories.map((category) => [category.ext_id, category]));
  const drafts: Drafted<SentCategory, StoredCategory>[] = [];
  for (const sent of sentCategories) {
    const before = known.get(sent.extId);
    const base = terms.mode === 'merge' ? before : undefined;
    const members = resolveMembers<CategoryMembers>(
      categoryMembers,
      namedOf(sent, base, terms),
      base,
      planning.findings,
    );
    const alive = before !== undefined && !before.removed;
    const changes = alive ? changesOf<CategoryMembers>(categoryMembers, before, members) : [];
    const uid = before?.uid ?? planning.newUid('cat');
    const own = planning.ledger.note({
      kind: 'category',
      ext_id: sent.extId,
      uid,
      action: alive ? (changes.length > 0 ? 'updated' : 'unchanged') : 'created',
      pointer: sent.pointer,
      changes,
    });
    const options = await planOptions(
      { current: before?.options ?? [], alive, sent: sent.options ?? (base ? undefined : []), inherited: [] },
      planning,
    );
    const after: StoredCategory = {
      uid,
      url: before?.url ?? null,
      ext_id: sent.extId,
      ...members,
      options: options.options,
      pos_uid: posUidOf(before, terms),
      removed: false,
    };
    drafts.push({ sent, before, after, changed: own || options.changed });
    const pause = planning.pace();
    if (pause !== undefined) await pause;
  }
  return drafts;
};

/** A stored name is kept where none was sent, so a list of prices cannot rename the categories that it refers to. */
const namedOf = (sent: SentCategory, base: StoredCategory | undefined, terms: ImportTerms): SentCategory =>
  terms.namesByExtId === true && base === undefined ? { ...sent, given: { name: sent.extId, ...sent.given } } : sent;
