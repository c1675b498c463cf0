/**
 * Pure: may an address of an upstream be used? Passive: only what real requests meet counts. `closed` is the ordinary
 * state; after failures in a row the address is out for a pause, then one request may try it (half open), and its outcome
 * opens the way again or makes the next pause twice as long.
 */
export type Health = {
  failures: number;
  /** Pauses since the last success. */
  pauses: number;
  /** On the monotonic clock; 0: the address is in use. */
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

/** An answer came, whatever its status: the service lives. */
export const noteAnswer = (health: Health): void => {
  health.failures = 0;
  health.pauses = 0;
  health.outUntilMs = 0;
  health.trying = false;
};

/** `trial`: the request was the one that tried an address whose pause was over. Others that still fail change nothing. */
export const noteFailure = (health: Health, trial: boolean, nowMs: number, bounds: HealthBounds): void => {
  if (health.outUntilMs === 0) health.failures += 1;
  if (health.outUntilMs === 0 ? health.failures < bounds.failuresMax : !trial) return;
  health.outUntilMs = nowMs + Math.min(pauseMsFirst * 2 ** Math.min(health.pauses, 20), bounds.pauseMsMax);
  health.pauses += 1;
  health.trying = false;
};

/** The trial ended without telling anything, as when the client went away: the next request may try. */
export const endTrial = (health: Health): void => {
  health.trying = false;
};
