/**
 * Pure: bounds how many requests are sent a second time. Without a bound an upstream that fails gets twice the requests just
 * when it can carry the fewest.
 */
export type RetryBudget = {
  readonly share: number;
  readonly minPerSecond: number;
  /** Of the current window and the one before it. */
  requests: number;
  repeats: number;
  requestsBefore: number;
  repeatsBefore: number;
  windowEndsMs: number;
  /** Repeats that are allowed whatever the share, refilled by time. */
  tokens: number;
  refilledAtMs: number;
};

const windowMs = 10_000;

export const createRetryBudget = (
  { budgetPercent, minPerSecond }: { budgetPercent: number; minPerSecond: number },
  nowMs: number,
): RetryBudget => ({
  share: budgetPercent / 100,
  minPerSecond,
  requests: 0,
  repeats: 0,
  requestsBefore: 0,
  repeatsBefore: 0,
  windowEndsMs: nowMs + windowMs,
  tokens: minPerSecond,
  refilledAtMs: nowMs,
});

/** `nowMs` of the monotonic clock. */
export const countRequest = (budget: RetryBudget, nowMs: number): void => {
  if (nowMs >= budget.windowEndsMs) moveWindow(budget, nowMs);
  budget.requests += 1;
};

const moveWindow = (budget: RetryBudget, nowMs: number): void => {
  const isNext = nowMs < budget.windowEndsMs + windowMs;
  budget.requestsBefore = isNext ? budget.requests : 0;
  budget.repeatsBefore = isNext ? budget.repeats : 0;
  budget.requests = 0;
  budget.repeats = 0;
  budget.windowEndsMs = nowMs + windowMs;
};

/** True: the request may be sent again, and is counted. */
export const takeRepeat = (budget: RetryBudget, nowMs: number): boolean => {
  if (nowMs >= budget.windowEndsMs) moveWindow(budget, nowMs);
  const { share, minPerSecond } = budget;
  const refilled = budget.tokens + ((nowMs - budget.refilledAtMs) / 1_000) * minPerSecond;
  budget.tokens = Math.min(minPerSecond, refilled);
  budget.refilledAtMs = nowMs;
  if (budget.tokens >= 1) {
    budget.tokens -= 1;
    return true;
  }
  const earned = (budget.requests + budget.requestsBefore) * share;
  if (budget.repeats + budget.repeatsBefore + 1 > earned) return false;
  budget.repeats += 1;
  return true;
};
