/**
 * Pure: the state of the limits that a request met, and the fields RateLimit-Policy and RateLimit that say it
 * (draft-ietf-httpapi-ratelimit-headers, revision 11: lists of RFC 9651). Nearly every request makes one, so its fields are
 * texts that further limits are appended to, and nothing is copied.
 */
import type { RatePolicy } from './rate-window.ts';

/** One limit after the charge. */
type LimitState = { policy: RatePolicy; remaining: number; resetSeconds: number };

export type RateStanding = {
  /** Value of RateLimit-Policy. */
  policyText: string;
  /** Value of RateLimit. */
  limitText: string;
  /** Limits with a window, in the sequence of the fields. */
  limits: LimitState[];
  /** Refused, and nothing was charged: seconds until it may fit. */
  retryAfterSeconds: number | undefined;
};

export const policyField = (policies: readonly RatePolicy[]): string =>
  policies.map(({ name, quota, windowSeconds }) => `"${name}";q=${quota};w=${windowSeconds}`).join(', ');

export const createStanding = (retryAfterSeconds: number | undefined): RateStanding => ({
  policyText: '',
  limitText: '',
  limits: [],
  retryAfterSeconds,
});

/** `text`: the members of RateLimit-Policy that name the limits which are added next. */
export const addPolicies = (standing: RateStanding, text: string): void => {
  standing.policyText = joined(standing.policyText, text);
};

export const addLimit = (standing: RateStanding, policy: RatePolicy, remaining: number, resetSeconds: number): void => {
  standing.limitText = joined(standing.limitText, `"${policy.name}";r=${remaining};t=${resetSeconds}`);
  standing.limits.push({ policy, remaining, resetSeconds });
};

/**
 * Adds the bound on running requests, in the quota unit that the draft has for it. It has no window, so it is in the fields
 * only. `left`: slots that are free as far as this gateway knows.
 */
export const addConcurrency = (standing: RateStanding, max: number, left: number): void => {
  addPolicies(standing, `"concurrency";q=${max};qu="concurrent-requests"`);
  standing.limitText = joined(standing.limitText, `"concurrency";r=${left}`);
};

const joined = (list: string, more: string): string => (list === '' ? more : `${list}, ${more}`);
