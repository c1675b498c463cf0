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

/** A receiver can delay an attempt by a day at most, whatever it asks for. */
const retryAfterSecondsMax = 24 * hour;
/** Interface 12.4: jitter adds at most a tenth. */
const jitterMax = 0.1;

/**
 * Milliseconds until the next attempt, undefined when `attemptsMade` was the last. `random` in [0, 1) spreads receivers
 * that failed together; a receiver's Retry-After can only make it later.
 */
export const nextDelayMs = (
  attemptsMade: number,
  retryAfterSeconds: number | undefined,
  random: number,
): number | undefined => {
  const delay = retryDelaysSeconds[attemptsMade - 1];
  if (delay === undefined) return undefined;
  const planned = delay * (1 + random * jitterMax);
  return Math.round(Math.max(planned, retryAfterSeconds ?? 0) * 1000);
};

/** How many seconds a receiver asks for: it names them in `Retry-After` of a 429 or 503. */
export const askedSeconds = (
  { status, retryAfter }: { status: number | null; retryAfter: string | undefined },
  now: Date,
): number | undefined => (status === 429 || status === 503 ? parseRetryAfter(retryAfter, now) : undefined);

/** Retry-After as 0 to 86400 seconds from `now`: a number of seconds or an HTTP date (RFC 9110 section 10.2.3). */
export const parseRetryAfter = (value: string | undefined, now: Date): number | undefined => {
  if (value === undefined) return undefined;
  const text = value.trim();
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - now.getTime()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), retryAfterSecondsMax);
};
