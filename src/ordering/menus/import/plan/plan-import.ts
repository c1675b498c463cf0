/**
 * What an import would do to a menu: the difference between what is and what was sent, as data. Pure: nothing is read or
 * written, so the same plan can be reported, kept or applied. `applyImport` (import-store.ts) writes its changes.
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

/** Elements that differ from what is stored, as they will be. */
export type ImportChanges = {
  categories: StoredCategory[];
  products: StoredProduct[];
  removedCategories: StoredCategory[];
  removedProducts: StoredProduct[];
  /** Sent unchanged by a replace of another point of sale, to which they belong from now on. */
  movedCategories: string[];
  movedProducts: string[];
  /** Uids of what is new or comes back: the rest of `categories` and `products` is updated. */
  created: ReadonlySet<string>;
};

export type ImportPlan = { changes: ImportChanges; removals: Removals };

/** Everything found goes to `planning.findings`, every element's fate to `planning.ledger`. */
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

/** A new owner alone is no change of the menu that a reader could see. */
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
    const kept = terms.mode === 'merge' ? before : undefined;
    const members = resolveMembers<CategoryMembers>(categoryMembers, sent, kept, planning.findings);
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
      { current: before?.options ?? [], alive, sent: sent.options ?? (kept ? undefined : []), inherited: [] },
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
