/**
 * A list in the order of insertion, from which an entry is removed wherever it stands. A `Set` does the same, but where
 * thousands of entries come and go each second it makes a new table again and again. V8 soon keeps the tables among the old
 * objects, where a dead one still keeps alive what was in it until all old objects are marked.
 */
export type Entry<T> = { readonly value: T; before: Entry<T> | undefined; after: Entry<T> | undefined };

export type LinkedList<T> = {
  /** Adds an entry at the end. */
  add(value: T): Entry<T>;
  /** An entry that was removed before stays so. */
  remove(entry: Entry<T>): void;
  first(): Entry<T> | undefined;
};

export const createLinkedList = <T>(): LinkedList<T> => {
  let first: Entry<T> | undefined;
  let last: Entry<T> | undefined;
  return {
    add: (value) => {
      const entry: Entry<T> = { value, before: last, after: undefined };
      if (last === undefined) first = entry;
      else last.after = entry;
      last = entry;
      return entry;
    },
    remove: (entry) => {
      const { before, after } = entry;
      if (before === undefined && first !== entry) return;
      if (before === undefined) first = after;
      else before.after = after;
      if (after === undefined) last = before;
      else after.before = before;
      // A removed entry keeps no other one alive.
      entry.before = undefined;
      entry.after = undefined;
    },
    first: () => first,
  };
};
