/**
 * The time limit of attempts: an attempt is over after its time, or when its process ends. All attempts have the same
 * limit, so the one that began first is over first, and one timer serves all. A timer or a signal for each attempt
 * would cost more than its headers.
 */
import { performance } from 'node:perf_hooks';

export type TimeLimit = {
  readonly isOver: boolean;
  /** Called once, when the limit is reached. */
  onOver: (() => void) | undefined;
  /** Ends the limit: `onOver` is not called any more. */
  close(): void;
};

/** `signal`: aborted at the end of the process, or by the caller who asked for the attempt. */
type BeginLimit = (signal: AbortSignal) => TimeLimit;

type Open = { isOver: boolean; onOver: (() => void) | undefined; endMs: number; close(): void };

const endNow = (limit: Open): void => {
  if (limit.isOver) return;
  limit.isOver = true;
  limit.onOver?.();
};

export const createTimeLimits = (timeoutMs: number): BeginLimit => {
  /** In the order of their start. */
  const open = new Set<Open>();
  /** The limits to end with a signal, so that each signal has one listener. */
  const bySignal = new WeakMap<AbortSignal, Set<Open>>();
  let timer: NodeJS.Timeout | undefined;

  const look = (): void => {
    timer = undefined;
    const nowMs = performance.now();
    for (const limit of open) {
      if (limit.endMs > nowMs) return watch(limit.endMs - nowMs);
      open.delete(limit);
      endNow(limit);
    }
  };
  const watch = (delayMs: number): void => {
    // The connection of an attempt keeps the process alive; the timer must not, when no attempt is left.
    timer = setTimeout(look, Math.ceil(delayMs)).unref();
  };
  const endedWith = (signal: AbortSignal): Set<Open> => {
    const known = bySignal.get(signal);
    if (known !== undefined) return known;
    const made = new Set<Open>();
    bySignal.set(signal, made);
    const endAll = (): void => {
      for (const limit of [...made]) endNow(limit);
    };
    signal.addEventListener('abort', endAll, { once: true });
    return made;
  };
  return (signal) => {
    const withSignal = endedWith(signal);
    const limit: Open = {
      isOver: signal.aborted,
      onOver: undefined,
      endMs: performance.now() + timeoutMs,
      close: () => {
        open.delete(limit);
        withSignal.delete(limit);
      },
    };
    open.add(limit);
    withSignal.add(limit);
    if (timer === undefined) watch(timeoutMs);
    return limit;
  };
};
