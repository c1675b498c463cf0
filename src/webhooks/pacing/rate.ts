/**
 * How fast an endpoint may be sent to: the rate that its owner set, and the breaker that holds one which only fails.
 * Pure; the state lies in the store, so that all workers go by the same.
 */

/** Failures in a row after which attempts are held. */
export const failuresToHold = 20;
/** Nothing is held longer than that beyond its time (interface 12.4). */
export const holdMsMax = 5 * 60_000;

const firstHoldMs = 5_000;
const longestHoldMs = 60_000;

/** How long the next attempts are held after this many failures in a row; 0: not at all. */
export const holdMs = (failuresCount: number): number =>
  failuresCount < failuresToHold
    ? 0
    : Math.min(longestHoldMs, firstHoldMs * 2 ** Math.min(10, failuresCount - failuresToHold));

/** `step`: so many go together, or none: what they take is kept in whole milliseconds, of which one interval may be less. */
export type Rate = { burst: number; intervalMs: number; step: number };

const stepMs = 10;

/**
 * A tenth at once, the rest evenly: in no second more than `maxPerSecond`, since what comes evenly after a burst is so
 * much slower.
 */
export const rateOf = (maxPerSecond: number): Rate => {
  const burst = Math.max(1, Math.floor(maxPerSecond / 10));
  const intervalMs = 1000 / (maxPerSecond - burst + 1);
  return { burst, intervalMs, step: Math.min(burst, Math.ceil(stepMs / intervalMs)) };
};

/** How many may go now, when the rate is used up to `paced`. */
export const allowedNow = ({ burst, intervalMs, step }: Rate, paced: Date | null, now: Date): number => {
  const usedMs = Math.max(0, (paced?.getTime() ?? 0) - now.getTime());
  const count = Math.floor(burst - usedMs / intervalMs + 1e-6);
  return count < step ? 0 : count;
};

/** Up to when the rate is used up after `count` more; rounded up, so that the sum does not creep ahead. */
export const pacedAfter = ({ intervalMs }: Rate, paced: Date | null, now: Date, count: number): Date =>
  new Date(Math.ceil(Math.max(paced?.getTime() ?? 0, now.getTime()) + count * intervalMs));

/** When the next ones may go. */
export const nextAllowed = ({ burst, intervalMs, step }: Rate, paced: Date): Date =>
  new Date(Math.ceil(paced.getTime() - (burst - step) * intervalMs));
