/** Pure: one window of one caller, with the units of this process and the known units of the others. */
import type { Count } from '#src/platform/kv/index.ts';

export type RatePolicy = { name: string; quota: number; windowSeconds: number };

export type RateWindow = {
  endsAtMs: number;
  /** Known units of all processes, including all of this one. */
  used: number;
  /** Units of this process that were not sent to the shared counter yet, and units that are being sent. */
  owed: number;
  sent: number;
  /** Units of this process that it took off again, since another limit of their request had no room. It only grows. */
  released: number;
  /** `endsAtMs` comes from the shared counter; before that it is an estimate. */
  confirmed: boolean;
  /** The other processes know that it is nearly used up. */
  announced: boolean;
};

export const openWindow = ({ windowSeconds }: RatePolicy, nowMs: number): RateWindow => ({
  endsAtMs: nowMs + windowSeconds * 1000,
  used: 0,
  owed: 0,
  sent: 0,
  released: 0,
  confirmed: false,
  announced: false,
});

/**
 * Applies an answer of the shared counter. Within a window the total only grows: a counter that lost its memory reports less
 * than was used, and would reopen the budget.
 *
 * `releasedBefore`: `released` of the window when the question was sent. A counter answers in the order of the questions, so
 * its total still has the units that were released since.
 */
export const learn = (window: RateWindow, { used, msLeft }: Count, releasedBefore: number, nowMs: number): void => {
  const total = used + window.owed + window.sent - (window.released - releasedBefore);
  const endsAtMs = nowMs + msLeft;
  window.used = window.confirmed ? Math.max(window.used, total) : total;
  window.endsAtMs = window.confirmed ? Math.min(window.endsAtMs, endsAtMs) : endsAtMs;
  window.confirmed = true;
};

export const secondsLeft = (endsAtMs: number, nowMs: number): number =>
  Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000));
