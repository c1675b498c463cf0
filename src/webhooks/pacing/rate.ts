/**
 * The rate that an owner set for an endpoint (`max_per_second`). Pure: how far the rate is used up is stored, so that all
 * workers keep it together.
 */
import { breaking } from './bounds.ts';

/**
 * `burst`: deliveries that may go at once. `intervalMs`: time between later ones. `step`: deliveries go `step` at a time or
 * not at all, because used time is stored in whole milliseconds and one interval may be shorter.
 */
export type Rate = { burst: number; intervalMs: number; step: number };

/** A tenth goes at once and the rest evenly, slowed down so that no second sees more than `maxPerSecond`. */
export const rateOf = (maxPerSecond: number): Rate => {
  const burst = Math.max(1, Math.floor(maxPerSecond / 10));
  const intervalMs = 1000 / (maxPerSecond - burst + 1);
  return { burst, intervalMs, step: Math.min(burst, Math.ceil(breaking.rateStepMs / intervalMs)) };
};

/** How many deliveries may go now, when the rate is used up until `paced`. */
export const allowedNow = ({ burst, intervalMs, step }: Rate, paced: Date | null, now: Date): number => {
  const usedMs = Math.max(0, (paced?.getTime() ?? 0) - now.getTime());
  const count = Math.floor(burst - usedMs / intervalMs + 1e-6);
  return count < step ? 0 : count;
};

/** Until when the rate is used up after `count` more deliveries; rounded up, so that rounding never exceeds the rate. */
export const pacedAfter = ({ intervalMs }: Rate, paced: Date | null, now: Date, count: number): Date =>
  new Date(Math.ceil(Math.max(paced?.getTime() ?? 0, now.getTime()) + count * intervalMs));

/** When the next deliveries may go. */
export const nextAllowed = ({ burst, intervalMs, step }: Rate, paced: Date): Date =>
  new Date(Math.ceil(paced.getTime() - (burst - step) * intervalMs));
