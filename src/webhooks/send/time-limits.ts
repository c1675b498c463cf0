/**
 * When an attempt is over: after its time, or when its process ends. All have the same time, so the first that began is
 * the first to be over, and one timer watches for all of them: a timer or a signal for each attempt would cost more than
 * its headers.
 */
import { performance } from 'node:perf_hooks';

export type Limit = {
  readonly isOver: boolean;
  /** Called once, when it is over. */
  onOver: (() => void) | undefined;
  /** Ends the waiting for it. */
  close(): void;
};

/** `signal`: of the end of the process, or of whoever asked for the attempt. */
export type BeginLimit = (signal: AbortSignal) => Limit;

type Open = { isOver: boolean; onOver: (() => void) | undefined; endMs: number; close(): void };

const endNow = (limit: Open): void => {
  if (limit.isOver) return;
  limit.isOver = true;
  limit.onOver?.();
};

export const createLimits = (timeoutMs: number): BeginLimit => {
  /** In the sequence of their beginning. */
  const open = new Set<Open>();
  /** What is to be ended with a signal; one listener for all of it. */
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
    // An attempt keeps its process by what it waits for. When none is left, nothing may keep it.
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
