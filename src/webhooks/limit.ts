/**
 * When an attempt is over: after its time, or when its process ends. A timer and an entry in a list instead of signals
 * made for each attempt, which cost more than its headers.
 */
export type Limit = {
  readonly isOver: boolean;
  /** Called once, when it is over. */
  onOver: (() => void) | undefined;
  /** Ends the waiting for it. */
  close(): void;
};

/** What is to be ended with a signal; one listener for all of it. */
const ends = new WeakMap<AbortSignal, Set<() => void>>();

const endsOf = (signal: AbortSignal): Set<() => void> => {
  const known = ends.get(signal);
  if (known !== undefined) return known;
  const made = new Set<() => void>();
  ends.set(signal, made);
  const endAll = (): void => {
    for (const end of [...made]) end();
  };
  signal.addEventListener('abort', endAll, { once: true });
  return made;
};

export const createLimit = (timeoutMs: number, signal: AbortSignal): Limit => {
  const withSignal = endsOf(signal);
  const over = (): void => {
    if (limit.isOver) return;
    limit.isOver = true;
    limit.onOver?.();
  };
  const timer = setTimeout(over, timeoutMs);
  withSignal.add(over);
  const limit = {
    isOver: signal.aborted,
    onOver: undefined as (() => void) | undefined,
    close: (): void => {
      clearTimeout(timer);
      withSignal.delete(over);
    },
  };
  return limit;
};
