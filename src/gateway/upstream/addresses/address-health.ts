/**
 * Pure: whether an address of an upstream gets requests. Two sources decide, each by itself: the results of requests
 * (passive), and the checks that the operator configures (active).
 */
export type Health = {
  /** Failures of requests in a row. */
  failures: number;
  /** Whether the last of them came before anything was sent: then the address only has to accept a connection again. */
  failedUnsent: boolean;
  /** Left out after failures, until a probe succeeds. */
  paused: boolean;
  /** Waits for a probe since the last answer. */
  pauses: number;
  /** Left out after failed checks, until checks succeed. */
  down: boolean;
  /** Checks in a row that contradict `down`. */
  contradictions: number;
};

/** `failing`: it would be paused, but half of the addresses already are. */
export type AddressState = 'in_use' | 'failing' | 'paused' | 'down';

/** Checks in a row that end or begin an outage. */
export type CheckThresholds = { healthyAfter: number; unhealthyAfter: number };

const pauseMsFirst = 500;

export const createHealth = (): Health => ({
  failures: 0,
  failedUnsent: false,
  paused: false,
  pauses: 0,
  down: false,
  contradictions: 0,
});

/** Gets requests only when no other address can. */
export const isOut = (health: Health): boolean => health.paused || health.down;

/** Requests failed often enough, whether the address is paused for it or not. */
export const isFailing = (health: Health, failuresMax: number): boolean =>
  health.paused || health.failures >= failuresMax;

export const stateOf = (health: Health, failuresMax: number): AddressState => {
  if (health.down) return 'down';
  if (health.paused) return 'paused';
  return isFailing(health, failuresMax) ? 'failing' : 'in_use';
};

/** An answer of any status ends a pause. */
export const noteAnswer = (health: Health): void => {
  health.failures = 0;
  health.pauses = 0;
  health.paused = false;
};

/** A request got no answer. `mayPause`: enough other addresses are in use. */
export const noteFailedRequest = (
  health: Health,
  { wasSent, mayPause, failuresMax }: { wasSent: boolean; mayPause: boolean; failuresMax: number },
): void => {
  health.failures += 1;
  health.failedUnsent = !wasSent;
  if (health.failures >= failuresMax && !isOut(health) && mayPause) health.paused = true;
};

/** Time until the next probe, twice as long each time since the last answer. */
export const nextPauseMs = (health: Health, pauseMsMax: number): number => {
  const pauseMs = Math.min(pauseMsFirst * 2 ** Math.min(health.pauses, 20), pauseMsMax);
  health.pauses += 1;
  return pauseMs;
};

/** A probe succeeded. It proves less than an answer to a request, so the next failure begins a pause again. */
export const endPause = (health: Health, failuresMax: number): void => {
  health.paused = false;
  health.failures = failuresMax - 1;
};

/** The result of one active check. */
export const noteCheck = (health: Health, isHealthy: boolean, thresholds: CheckThresholds): void => {
  if (isHealthy !== health.down) {
    health.contradictions = 0;
    return;
  }
  health.contradictions += 1;
  if (health.contradictions < (isHealthy ? thresholds.healthyAfter : thresholds.unhealthyAfter)) return;
  health.contradictions = 0;
  health.down = !isHealthy;
};
