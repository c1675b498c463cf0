/** Plans the removals of a replace: elements of the same owner and point of sale that were not sent. Pure. */
import type { Drafted, ImportTerms } from '../read/import-terms.ts';
import type { SentCategory, SentMenu, SentProduct } from '../read/read-elements.ts';
import { noteRemovedOptions, type Planning } from './plan-options.ts';
import type { CurrentMenu, StoredCategory, StoredProduct } from './stored-menu.ts';

export type Removals = {
  categories: StoredCategory[];
  products: StoredProduct[];
  /** The greater of the two shares, at most 2 decimals. */
  percent: number;
};

export type Drafts = {
  categories: readonly Drafted<SentCategory, StoredCategory>[];
  products: readonly Drafted<SentProduct, StoredProduct>[];
};

export const planRemovals = (
  current: CurrentMenu,
  sent: SentMenu,
  drafts: Drafts,
  terms: ImportTerms,
  planning: Planning,
): Removals => {
  // An element whose ext_id cannot be read would look as if it had been left out.
  if (terms.mode === 'merge' || !sent.identified) return { categories: [], products: [], percent: 0 };
  const inReach = <E extends { removed: boolean; pos_uid: string | null }>(elements: readonly E[]): E[] =>
    elements.filter((element) => !element.removed && element.pos_uid === terms.posUid);
  const reach = { categories: inReach(current.categories), products: inReach(current.products) };
  const sentProducts = uidsOf(drafts.products);
  const products = reach.products.filter((product) => !sentProducts.has(product.uid));
  const categories = leftCategories(reach.categories, current, drafts, products);
  for (const { ext_id, uid, options } of categories) {
    planning.ledger.note({ kind: 'category', ext_id, uid, action: 'removed', pointer: null, changes: [] });
    noteRemovedOptions(options, planning.ledger);
  }
  for (const { ext_id, uid, options } of products) {
    planning.ledger.note({ kind: 'product', ext_id, uid, action: 'removed', pointer: null, changes: [] });
    noteRemovedOptions(options, planning.ledger);
  }
  guard('categories', categories.length, reach.categories.length, terms, planning);
  guard('products', products.length, reach.products.length, terms, planning);
  const percent = Math.max(
    share(categories.length, reach.categories.length),
    share(products.length, reach.products.length),
  );
  return { categories, products, percent };
};

const uidsOf = (drafts: readonly { after: { uid: string } }[]): Set<string> =>
  new Set(drafts.map(({ after }) => after.uid));

/**
 * A category stays while it contains a product that this import does not remove, because that product has another
 * owner.
 */
const leftCategories = (
  reach: readonly StoredCategory[],
  current: CurrentMenu,
  drafts: Drafts,
  removedProducts: readonly StoredProduct[],
): StoredCategory[] => {
  const sent = uidsOf(drafts.categories);
  const goneOrPlanned = new Set([...removedProducts.map(({ uid }) => uid), ...uidsOf(drafts.products)]);
  const needed = new Set(current.sharedCategories);
  for (const product of current.products)
    if (!product.removed && !goneOrPlanned.has(product.uid)) needed.add(product.category_uid);
  return reach.filter(({ uid }) => !sent.has(uid) && !needed.has(uid));
};

const share = (removed: number, inReach: number): number =>
  inReach === 0 ? 0 : Math.round((removed * 10_000) / inReach) / 100;

const guard = (
  what: 'categories' | 'products',
  removed: number,
  inReach: number,
  { maxRemovalPercent, confirmRemoval, dryRun }: ImportTerms,
  { findings }: Planning,
): void => {
  if (confirmRemoval || removed * 100 <= inReach * maxRemovalPercent) return;
  const message = `would remove ${removed} of ${inReach} ${what}, more than ${maxRemovalPercent} percent; send confirm_removal if that is meant`;
  if (dryRun) findings.warn(`/${what}`, undefined, 'REMOVAL_GUARD', message);
  else findings.error(`/${what}`, undefined, 'REMOVAL_GUARD', message);
};
