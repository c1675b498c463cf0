/**
 * The time limit of attempts: an attempt is over after its time, or when its process ends. All attempts have the same
 * limit, so the one that began first is over first, and one timer serves all. A timer or a signal for each attempt
 * would cost more than its headers.
 */
import { performance } from 'node:perf_hooks';
import { createLinkedList } from '../pacing/linked-list.ts';

export type TimeLimit = {
  readonly isOver: boolean;
  /** Called once, when the limit is reached. */
  onOver: (() => void) | undefined;
  /** Ends the limit: `onOver` is not called any more. */
  close(): void;
};

/** `signal`: aborted at the end of the process, or by the caller who asked for the attempt. */
type BeginLimit = (signal: AbortSignal) => TimeLimit;

type Open = TimeLimit & { isOver: boolean; endMs: number; signal: AbortSignal };

const endNow = (limit: Open): void => {
  if (limit.isOver) return;
  limit.isOver = true;
  limit.onOver?.();
};

export const createTimeLimits = (timeoutMs: number): BeginLimit => {
  /** In the order of their start. */
  const open = createLinkedList<Open>();
  /** Each has one listener for all of its limits. */
  const signals = new WeakSet<AbortSignal>();
  let timer: NodeJS.Timeout | undefined;

  const look = (): void => {
    timer = undefined;
    const nowMs = performance.now();
    for (let first = open.first(); first !== undefined; first = open.first()) {
      const limit = first.value;
      if (limit.endMs > nowMs) return watch(limit.endMs - nowMs);
      open.remove(first);
      endNow(limit);
    }
  };
  const watch = (delayMs: number): void => {
    // The connection of an attempt keeps the process alive; the timer must not, when no attempt is left.
    timer = setTimeout(look, Math.ceil(delayMs)).unref();
  };
  const endAll = (signal: AbortSignal): void => {
    const ended: Open[] = [];
    for (let one = open.first(); one !== undefined; one = one.after)
      if (one.value.signal === signal) ended.push(one.value);
    for (const limit of ended) endNow(limit);
  };
  return (signal) => {
    if (!signals.has(signal)) {
      signals.add(signal);
      signal.addEventListener('abort', () => endAll(signal), { once: true });
    }
    const entry = open.add({
      isOver: signal.aborted,
      onOver: undefined,
      endMs: performance.now() + timeoutMs,
      signal,
      close: () => open.remove(entry),
    });
    if (timer === undefined) watch(timeoutMs);
    return entry.value;
  };
};
