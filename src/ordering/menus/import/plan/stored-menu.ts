/** The menu of one owner as an import finds and leaves it. */
import type { Category, Option, Product } from '../../menu/menu.ts';

export type StoredCategory = Category & {
  /** The point of sale whose replace may remove it. */
  pos_uid: string | null;
  removed: boolean;
};

export type StoredProduct = Product & {
  pos_uid: string | null;
  removed: boolean;
  /** What a copying product took from its category when it was made. */
  copied_options: Option[] | null;
};

export type CurrentMenu = {
  version: number;
  /** Elements of the owner that have an ext_id; of the removed ones those that are sent again. */
  categories: StoredCategory[];
  products: StoredProduct[];
  /** Categories of the owner in which somebody else has a product. */
  sharedCategories: ReadonlySet<string>;
};

/** An element now and as it was right after an earlier version; null: it did not exist then. */
export type ChangedSince<E> = { now: E; was: E | null };
