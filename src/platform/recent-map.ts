/**
 * A bounded map that evicts entries that were not read recently. It has two generations: a hit in the young one costs one
 * look-up and no write, and nothing is sorted, which suits the hot path.
 */
export type RecentMap<K, V> = {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
  clear(): void;
  size(): number;
  /** Number of entries evicted so far. */
  evicted(): number;
};

/** A second bound, for values of very different sizes. `of`: always the same for one value. */
type Weights<V> = { max: number; of: (value: V) => number };

/**
 * Holds between `entriesMax / 2` and `entriesMax` of the most recently used entries, fewer where they would weigh more than
 * `weights.max`. `onEvicted` is called with the values of entries that are evicted, half of all at once; not for those that are
 * deleted or cleared.
 */
export const createRecentMap = <K, V>(
  entriesMax: number,
  onEvicted?: (values: Iterable<V>) => void,
  weights?: Weights<V>,
): RecentMap<K, V> => {
  const half = Math.max(1, Math.floor(entriesMax / 2));
  const weightOf = (value: V | undefined): number =>
    weights === undefined || value === undefined ? 0 : weights.of(value);
  const weightHalf = weights === undefined ? 0 : weights.max / 2;
  let youngWeight = 0;
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  let evicted = 0;
  const set = (key: K, value: V): void => {
    // An entry is in one generation only, so that `size` is the sum of both.
    old.delete(key);
    const added = weightOf(value) - weightOf(young.get(key));
    if ((young.size >= half && !young.has(key)) || (young.size > 0 && youngWeight + added > weightHalf)) {
      evicted += old.size;
      onEvicted?.(old.values());
      old = young;
      young = new Map();
      old.delete(key);
      youngWeight = weightOf(value);
    } else youngWeight += added;
    young.set(key, value);
  };
  return {
    get: (key) => {
      const found = young.get(key);
      if (found !== undefined) return found;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    set,
    delete: (key) => {
      youngWeight -= weightOf(young.get(key));
      young.delete(key);
      old.delete(key);
    },
    clear: () => {
      young = new Map();
      old = new Map();
      youngWeight = 0;
    },
    size: () => young.size + old.size,
    evicted: () => evicted,
  };
};
