/** Time as an argument, so that a test can move it. */
export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };

/** Whole seconds since 1970, as tokens (RFC 7519) and webhooks (Standard Webhooks) carry a time. */
export const unixSeconds = (time: Date): number => Math.floor(time.getTime() / 1000);

/** A day of the calendar, `YYYY-MM-DD`. `Date` takes 31 February for a day of March. */
export const isDay = (text: string): boolean => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(text);
};

/** Milliseconds. A day has 24 hours here; days of a time zone are in `ordering/values/venue-time.ts`. */
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
