/** Pure: the windows of one caller under every policy. Index `i` means the same policy in all lists. */
import type { Kv, WindowCounter } from '#src/platform/kv/index.ts';
import { limitField } from './rate-headers.ts';
import { openWindow, type RatePolicy, type RateWindow, secondsLeft } from './rate-window.ts';

/** The state of a caller's limits after a charge. */
export type RateStanding = {
  /** RateLimit-Policy and RateLimit, as names and values in turn. */
  headers: readonly string[];
  policies: readonly RatePolicy[];
  /** One figure per policy. */
  remaining: readonly number[];
  resetSeconds: readonly number[];
  /** Refused, and nothing was charged: seconds until it may fit. */
  retryAfterSeconds: number | undefined;
};

export type MeteredCaller = { id: string; windows: (RateWindow | undefined)[] };

/** One policy with its shared counter and its bounds. */
export type Meter = RatePolicy & {
  counter: WindowCounter;
  /** From this many used units on, the shared counter decides. */
  nearAt: number;
  /** Units that this process may keep back from the shared counter. */
  owedMax: number;
};

export const createMeters = (kv: Kv, policies: readonly RatePolicy[]): readonly Meter[] =>
  policies.map((policy) => ({
    ...policy,
    counter: kv.windows({ ...policy, name: `rate:${policy.name}` }),
    nearAt: policy.quota - Math.floor(policy.quota / 4),
    owedMax: Math.max(1, Math.floor(policy.quota / 20)),
  }));

/** Undefined: no window of this policy is open. */
export const runningWindow = ({ windows }: MeteredCaller, i: number, nowMs: number): RateWindow | undefined => {
  const window = windows[i];
  return window === undefined || nowMs >= window.endsAtMs ? undefined : window;
};

/** Opens the window when none is running. */
export const openedWindow = (caller: MeteredCaller, i: number, policy: RatePolicy, nowMs: number): RateWindow => {
  const window = runningWindow(caller, i, nowMs) ?? openWindow(policy, nowMs);
  caller.windows[i] = window;
  return window;
};

export const chargeWindows = (meters: readonly Meter[], caller: MeteredCaller, units: number, nowMs: number): void => {
  for (let i = 0; i < meters.length; i += 1) {
    const window = openedWindow(caller, i, meters[i] as Meter, nowMs);
    window.used += units;
    window.owed += units;
  }
};

/** Policies under which the units do not fit. Undefined: they fit under all. */
export const fullPolicies = (
  meters: readonly Meter[],
  caller: MeteredCaller,
  units: number,
  nowMs: number,
): number[] | undefined => {
  let full: number[] | undefined;
  for (let i = 0; i < meters.length; i += 1) {
    const window = runningWindow(caller, i, nowMs);
    if (window === undefined || window.used + units <= (meters[i] as Meter).quota) continue;
    full ??= [];
    full.push(i);
  }
  return full;
};

/** True when the caller is near a limit, or when this process owes the shared counter too much for it. */
export const mustAskShared = (
  meters: readonly Meter[],
  caller: MeteredCaller,
  units: number,
  nowMs: number,
): boolean => {
  for (let i = 0; i < meters.length; i += 1) {
    const { nearAt, owedMax } = meters[i] as Meter;
    const window = runningWindow(caller, i, nowMs);
    if ((window?.used ?? 0) + units > nearAt) return true;
    if ((window === undefined ? 0 : window.owed + window.sent) + units > owedMax) return true;
  }
  return false;
};

/** Seconds until the last of the full windows ends, at least 1. */
export const secondsUntilRoom = (caller: MeteredCaller, full: readonly number[], nowMs: number): number =>
  Math.max(1, ...full.map((i) => secondsLeft(runningWindow(caller, i, nowMs)?.endsAtMs ?? nowMs, nowMs)));

/** `policyText`: the RateLimit-Policy field of these meters. */
export const standingOf = (
  meters: readonly Meter[],
  policyText: string,
  caller: MeteredCaller,
  retryAfterSeconds: number | undefined,
  nowMs: number,
): RateStanding => {
  const remaining: number[] = [];
  const resetSeconds: number[] = [];
  for (let i = 0; i < meters.length; i += 1) {
    const { quota, windowSeconds } = meters[i] as Meter;
    const window = runningWindow(caller, i, nowMs);
    remaining.push(window === undefined ? quota : Math.max(0, quota - window.used));
    resetSeconds.push(window === undefined ? windowSeconds : secondsLeft(window.endsAtMs, nowMs));
  }
  const headers = ['ratelimit-policy', policyText, 'ratelimit', limitField(meters, remaining, resetSeconds)];
  return { headers, policies: meters, remaining, resetSeconds, retryAfterSeconds };
};
