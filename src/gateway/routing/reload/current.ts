/** What serves requests now, beside what earlier requests still use. */

/** A response or a socket, which says `close` once (test/platform/parity/node-http.test.ts). */
export type Closable = { on(event: 'close', listener: () => void): unknown };

export type Current<T> = {
  /** Throws before the first swap. */
  get(): T;
  /** To be called once for each request: what serves it until its response, or the socket of its upgrade, closes. */
  enter(request: Closable): T;
  /** Every later request gets `next`. What was there is closed when its last request has ended. */
  swap(next: T): void;
  /** All that is not closed, the current one first. */
  all(): T[];
};

type Held<T> = { readonly value: T; running: number; readonly leave: () => void };

export const createCurrent = <T extends { close(): Promise<void> }>(): Current<T> => {
  let newest: Held<T> | undefined;
  const earlier = new Set<Held<T>>();

  const closeUnlessUsed = (held: Held<T>): void => {
    if (held.running > 0 || !earlier.delete(held)) return;
    void held.value.close();
  };

  const hold = (value: T): Held<T> => {
    const held: Held<T> = {
      value,
      running: 0,
      leave: () => {
        held.running -= 1;
        closeUnlessUsed(held);
      },
    };
    return held;
  };

  const now = (): Held<T> => {
    if (newest === undefined) throw new Error('nothing serves requests yet');
    return newest;
  };

  return {
    get: () => now().value,
    enter: (request) => {
      const held = now();
      held.running += 1;
      request.on('close', held.leave);
      return held.value;
    },
    swap: (next) => {
      const before = newest;
      newest = hold(next);
      if (before === undefined) return;
      earlier.add(before);
      closeUnlessUsed(before);
    },
    all: () => [...(newest === undefined ? [] : [newest]), ...earlier].map(({ value }) => value),
  };
};
