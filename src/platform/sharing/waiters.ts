/**
 * Those who wait for something that several names share. Next is the name that has least of it, and among these the one whose last turn
 * is longest ago, with its oldest waiter. So neither a name with many waiters nor several of them keep another one waiting for
 * long. The cost of each step grows with the names that wait, not with the waiters.
 */

/** One that waits. A name may wait several times. */
type Waiter<T> = { readonly name: string; readonly value: T };

export type Waiters<T> = {
  readonly size: number;
  add(name: string, value: T): Waiter<T>;
  /** It waits no more. One that does not wait is ignored. */
  remove(waiter: Waiter<T>): void;
  /** The next one, which goes on waiting. `held`: how much a name has. */
  next(held: (name: string) => number): Waiter<T> | undefined;
  /** It waits no more, and its name had its turn. */
  serve(waiter: Waiter<T>): void;
  /**
   * Where no more may wait: the newest waiter of the name that waits most often, as long as `name` waits less often by two or more. It
   * has to make room for a waiter of `name`.
   */
  yielding(name: string): Waiter<T> | undefined;
};

export const createWaiters = <T>(): Waiters<T> => {
  /** The name whose last turn is longest ago comes first. Names without waiters are not in it. */
  const byName = new Map<string, Waiter<T>[]>();
  let size = 0;
  const remove = (waiter: Waiter<T>): void => {
    const same = byName.get(waiter.name) ?? [];
    const index = same.indexOf(waiter);
    if (index === -1) return;
    same.splice(index, 1);
    if (same.length === 0) byName.delete(waiter.name);
    size -= 1;
  };
  return {
    get size() {
      return size;
    },
    add: (name, value) => {
      const waiter = { name, value };
      const same = byName.get(name);
      if (same === undefined) byName.set(name, [waiter]);
      else same.push(waiter);
      size += 1;
      return waiter;
    },
    remove,
    next: (held) => {
      let next: Waiter<T> | undefined;
      let least = Number.POSITIVE_INFINITY;
      for (const [name, [oldest]] of byName) {
        const has = held(name);
        if (has >= least) continue;
        next = oldest;
        least = has;
      }
      return next;
    },
    serve: (waiter) => {
      remove(waiter);
      const rest = byName.get(waiter.name);
      if (rest === undefined) return;
      byName.delete(waiter.name);
      byName.set(waiter.name, rest);
    },
    yielding: (name) => {
      let most = (byName.get(name)?.length ?? 0) + 1;
      let newest: Waiter<T> | undefined;
      for (const same of byName.values()) {
        if (same.length <= most) continue;
        most = same.length;
        newest = same.at(-1);
      }
      return newest;
    },
  };
};
