/** The terms of an import, and the types in which planning describes an element. */

export type ImportTerms = {
  mode: 'replace' | 'merge';
  posUid: string;
  /** Percent of the reachable categories or products that a replace may remove without `confirmRemoval`. */
  maxRemovalPercent: number;
  confirmRemoval: boolean;
  /** Plan only: exceeding the removal limit is then a warning. */
  dryRun: boolean;
  /** A new category that is sent without a name gets its ext_id as its name; otherwise the name is required. */
  namesByExtId?: boolean;
};

/** The option values that one import may send, and as many that it may copy from categories to products. */
export const valuesMax = 50_000;

/**
 * Restrictions to values of the primary option: in one import, which may copy as many from categories to products, and in one
 * category or product. Each becomes a uid of 30 characters in a document that readers load as a whole.
 */
export const restrictionsMax = { sent: 200_000, ofElement: 10_000 } as const;

/**
 * What one owner may have in a menu: many times the largest that is known, and no more than the process for imports can
 * load when a replace removes all of it.
 */
export const ownedMax = { elements: 20_000, values: 200_000 } as const;

/** The members that decide about ownership and removal. */
export type StoredElement = { uid: string; pos_uid: string | null; removed: boolean };

/** The results of planning the sent categories and products so far. */
export type Drafted<S, E> = { sent: S; before: E | undefined; after: E; changed: boolean };

/**
 * The point of sale that an element belongs to. A replace states the whole menu of its sender and takes over what it
 * names; a merge may change elements of others without taking them over.
 */
export const posUidOf = (before: StoredElement | undefined, terms: ImportTerms): string | null =>
  before === undefined || before.removed || terms.mode === 'replace' ? terms.posUid : before.pos_uid;
