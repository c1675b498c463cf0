/** Applies `next` at once to a value, later to a promise: what is cached needs no turn of the event loop. */
export const follow = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value);
