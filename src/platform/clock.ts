/** Time as an argument, so that a test can move it. */
export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };

/** Whole seconds since 1970, as tokens (RFC 7519) and webhooks (Standard Webhooks) carry a time. */
export const unixSeconds = (time: Date): number => Math.floor(time.getTime() / 1000);

/** Milliseconds. A day has 24 hours here; days of a time zone are in `ordering/values/venue-time.ts`. */
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
