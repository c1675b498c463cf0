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

/**
 * Holds between `entriesMax / 2` and `entriesMax` of the most recently used entries. `onEvicted` is called with the values of
 * entries that are evicted, half of all at once; not for those that are deleted or cleared.
 */
export const createRecentMap = <K, V>(
  entriesMax: number,
  onEvicted?: (values: Iterable<V>) => void,
): RecentMap<K, V> => {
  const half = Math.max(1, Math.floor(entriesMax / 2));
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  let evicted = 0;
  const set = (key: K, value: V): void => {
    // An entry is in one generation only, so that `size` is the sum of both.
    old.delete(key);
    if (young.size >= half && !young.has(key)) {
      evicted += old.size;
      onEvicted?.(old.values());
      old = young;
      young = new Map();
    }
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
      young.delete(key);
      old.delete(key);
    },
    clear: () => {
      young = new Map();
      old = new Map();
    },
    size: () => young.size + old.size,
    evicted: () => evicted,
  };
};
