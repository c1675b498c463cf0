/** The stored menu of one owner, before and after an import. */
import type { Category, Option, Product } from '../../menu/menu.ts';

export type StoredCategory = Category & {
  /** A replace of this point of sale may remove the element. */
  pos_uid: string | null;
  removed: boolean;
};

export type StoredProduct = Product & {
  pos_uid: string | null;
  removed: boolean;
  /** The options that a copying product took from its category when it was created. */
  copied_options: Option[] | null;
};

export type CurrentMenu = {
  version: number;
  /**
   * Elements of the owner with an ext_id. Of the removed elements only those that the import names. The others have
   * options only where the plan needs them.
   */
  categories: StoredCategory[];
  products: StoredProduct[];
  /** Categories of the owner that contain products of other owners. */
  sharedCategories: ReadonlySet<string>;
};

/** An element now and as it was right after an earlier version; null: it did not exist then. */
export type ChangedSince<E> = { now: E; was: E | null };
