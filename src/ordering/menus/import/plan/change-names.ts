/**
 * The uids of all elements that an import changes: enough for its event, for the history and for applying a stored
 * plan.
 */
import type { ImportChanges } from './plan-import.ts';

type Named = { uid: string; ext_id: string | null };
export type NamesOfKind = { created: Named[]; updated: Named[]; removed: Named[] };

export type ChangeNames = {
  categories: NamesOfKind;
  products: NamesOfKind;
  /** Uids of elements whose only change is their point of sale. */
  movedCategories: string[];
  movedProducts: string[];
};

export const namesOfChanges = (changes: ImportChanges): ChangeNames => ({
  categories: namesOf(changes.categories, changes.removedCategories, changes.created),
  products: namesOf(changes.products, changes.removedProducts, changes.created),
  movedCategories: changes.movedCategories,
  movedProducts: changes.movedProducts,
});

const namesOf = (changed: readonly Named[], removed: readonly Named[], created: ReadonlySet<string>): NamesOfKind => {
  const names = (elements: readonly Named[]): Named[] => elements.map(({ uid, ext_id }) => ({ uid, ext_id }));
  return {
    created: names(changed.filter(({ uid }) => created.has(uid))),
    updated: names(changed.filter(({ uid }) => !created.has(uid))),
    removed: names(removed),
  };
};

export const changedUids = ({ created, updated, removed }: NamesOfKind): string[] =>
  [...created, ...updated, ...removed].map(({ uid }) => uid);

/** False when no change is visible to readers of the menu. */
export const changesMenu = ({ categories, products }: ChangeNames): boolean =>
  changedUids(categories).length + changedUids(products).length > 0;
