/**
 * A bounded map that forgets what was not asked for lately. Two generations: a hit in the young one costs one look-up and
 * writes nothing, and nothing is ever sorted, so it fits the hot path.
 */
export type RecentMap<K, V> = {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
  clear(): void;
};

/** Holds between `entriesMax / 2` and `entriesMax` of the entries used last. */
export const createRecentMap = <K, V>(entriesMax: number): RecentMap<K, V> => {
  const half = Math.max(1, Math.floor(entriesMax / 2));
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  const set = (key: K, value: V): void => {
    if (young.size >= half && !young.has(key)) {
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
  };
};
