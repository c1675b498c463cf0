/**
 * Pure: a passive circuit breaker for one address of an upstream, driven by the results of real requests. After failures in
 * a row the address is out for a pause; then one request tries it (half open). Success ends the outage, and failure makes
 * the next pause twice as long.
 */
export type Health = {
  failures: number;
  /** Pauses since the last success. */
  pauses: number;
  /** End of the pause on the monotonic clock; 0: the address is in use. */
  outUntilMs: number;
  trying: boolean;
};

export type HealthBounds = { failuresMax: number; pauseMsMax: number };

const pauseMsFirst = 500;

export const createHealth = (): Health => ({ failures: 0, pauses: 0, outUntilMs: 0, trying: false });

export type Readiness = 'ready' | 'trial' | 'out';

export const readinessOf = (health: Health, nowMs: number): Readiness => {
  if (health.outUntilMs === 0) return 'ready';
  return !health.trying && nowMs >= health.outUntilMs ? 'trial' : 'out';
};

/** An answer of any status ends the outage. */
export const noteAnswer = (health: Health): void => {
  health.failures = 0;
  health.pauses = 0;
  health.outUntilMs = 0;
  health.trying = false;
};

/** `trial`: this request tried an address whose pause was over. Other failures during an outage change nothing. */
export const noteFailure = (health: Health, trial: boolean, nowMs: number, bounds: HealthBounds): void => {
  if (health.outUntilMs === 0) health.failures += 1;
  if (health.outUntilMs === 0 ? health.failures < bounds.failuresMax : !trial) return;
  health.outUntilMs = nowMs + Math.min(pauseMsFirst * 2 ** Math.min(health.pauses, 20), bounds.pauseMsMax);
  health.pauses += 1;
  health.trying = false;
};

/** The trial ended without a result, as when the client went away: the next request may try. */
export const endTrial = (health: Health): void => {
  health.trying = false;
};
