/** What an import is to do, and the words in which its planning speaks of an element. */

export type ImportTerms = {
  mode: 'replace' | 'merge';
  posUid: string;
  /** Percent of the categories or of the products in reach that a replace may remove without `confirmRemoval`. */
  maxRemovalPercent: number;
  confirmRemoval: boolean;
  /** Only planned: what would stop the import for its size is a warning. */
  dryRun: boolean;
};

/** What ownership and removal are decided by. */
export type StoredElement = { uid: string; pos_uid: string | null; removed: boolean };

/** What planning has made of the sent categories and products so far. */
export type Drafted<S, E> = { sent: S; before: E | undefined; after: E; changed: boolean };

/**
 * To which point of sale an element belongs: a replace states the whole menu of its sender, so what it names is its own;
 * a merge may touch what others sent without taking it from them.
 */
export const posUidOf = (before: StoredElement | undefined, terms: ImportTerms): string | null =>
  before === undefined || before.removed || terms.mode === 'replace' ? terms.posUid : before.pos_uid;
