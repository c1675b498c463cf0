/** When a failed delivery is tried again (interface 12.4). Pure. */

const minute = 60;
const hour = 3600;

/** Seconds after the 1st, 2nd … failed attempt; after the 15th attempt there is no next one. */
export const retryDelaysSeconds: readonly number[] = [
  5,
  30,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  ...Array<number>(5).fill(12 * hour),
];

export const attemptsMax = retryDelaysSeconds.length + 1;

const retryAfterSecondsMax = 24 * hour;
const jitterMax = 0.1;

/**
 * Milliseconds until the next attempt, undefined when `attemptsMade` was the last. `random` in [0, 1) spreads receivers
 * that failed together; a receiver's Retry-After can only make it later, by at most a day.
 */
export const nextDelayMs = (
  attemptsMade: number,
  retryAfterSeconds: number | undefined,
  random: number,
): number | undefined => {
  const delay = retryDelaysSeconds[attemptsMade - 1];
  if (delay === undefined) return undefined;
  const planned = delay * (1 + random * jitterMax);
  const asked = Math.min(retryAfterSeconds ?? 0, retryAfterSecondsMax);
  return Math.round(Math.max(planned, asked) * 1000);
};

/** Retry-After as seconds from `now`: a number of seconds or an HTTP date (RFC 9110 section 10.2.3). */
export const parseRetryAfter = (value: string | undefined, now: Date): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now.getTime()) / 1000));
};
