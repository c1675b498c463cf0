/** Pure: what this process knows of one window of one caller, its own part and what it has heard of the others. */
import type { Count } from '#src/platform/kv/index.ts';

export type RatePolicy = { name: string; quota: number; windowSeconds: number };

export type RateWindow = {
  endsAtMs: number;
  /** Units of all processes as far as known, with everything of this one. */
  used: number;
  /** Of them, what the shared counter has not been told yet, and what is on its way to it. */
  owed: number;
  sent: number;
  /** The shared counter has told `endsAtMs`; before, it is a guess. */
  confirmed: boolean;
};

export const openWindow = ({ windowSeconds }: RatePolicy, nowMs: number): RateWindow => ({
  endsAtMs: nowMs + windowSeconds * 1000,
  used: 0,
  owed: 0,
  sent: 0,
  confirmed: false,
});

/**
 * Takes over what the shared counter said. Within a window the total only grows here: a counter that has lost its memory
 * says less than there was, and that would open the budget again.
 */
export const learn = (window: RateWindow, { used, msLeft }: Count, nowMs: number): void => {
  const total = used + window.owed + window.sent;
  const endsAtMs = nowMs + msLeft;
  window.used = window.confirmed ? Math.max(window.used, total) : total;
  window.endsAtMs = window.confirmed ? Math.min(window.endsAtMs, endsAtMs) : endsAtMs;
  window.confirmed = true;
};

export const secondsLeft = (endsAtMs: number, nowMs: number): number =>
  Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000));
