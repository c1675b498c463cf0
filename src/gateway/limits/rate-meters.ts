/** Pure: the windows of one caller, of one caller on a route, or of a tenant. Index `i` means the same policy in all lists. */
import type { Kv, WindowCounter } from '#src/platform/kv/index.ts';
import { addLimit, addPolicies, createStanding, policyField, type RateStanding } from './rate-standing.ts';
import { openWindow, type RatePolicy, type RateWindow, secondsLeft } from './rate-window.ts';

/** One policy with its shared counter and its bounds. */
export type Meter = RatePolicy & {
  counter: WindowCounter;
  /** From this many used units on, the shared counter decides. */
  nearAt: number;
  /** Units that this process may keep back from the shared counter. */
  owedMax: number;
  /** The first charge of a window asks the shared counter, since other processes may have used the window up. */
  asksFirst: boolean;
};

/** A list of policies, and the field that names them. */
export type MeterSet = { meters: readonly Meter[]; policyText: string };

/** What units are charged to. */
export type Metered = {
  /** Key of its counters. */
  id: string;
  set: MeterSet;
  windows: (RateWindow | undefined)[];
  /** The list of this one, so that a charge of nothing else needs no new list. */
  alone: readonly Metered[];
};

const createMeter = (kv: Kv, policy: RatePolicy): Meter => ({
  ...policy,
  counter: kv.windows({ ...policy, name: `rate:${policy.name}` }),
  nearAt: policy.quota - Math.floor(policy.quota / 4),
  // All together may owe no more than what is left when the shared counter begins to decide.
  owedMax: Math.max(1, Math.floor(policy.quota / Math.max(20, 4 * (kv.sharers ?? 1)))),
  asksFirst: (kv.sharers ?? 1) > 1,
});

export const createMeterSet = (kv: Kv, policies: readonly RatePolicy[]): MeterSet => ({
  meters: policies.map((policy) => createMeter(kv, policy)),
  policyText: policyField(policies),
});

export const createMetered = (id: string, set: MeterSet): Metered => {
  const alone: Metered[] = [];
  const metered: Metered = { id, set, windows: set.meters.map(() => undefined), alone };
  alone.push(metered);
  return metered;
};

/** Undefined: no window of this policy is open. */
export const runningWindow = ({ windows }: Metered, i: number, nowMs: number): RateWindow | undefined => {
  const window = windows[i];
  return window === undefined || nowMs >= window.endsAtMs ? undefined : window;
};

/** Opens the window when none is running. */
export const openedWindow = (metered: Metered, i: number, policy: RatePolicy, nowMs: number): RateWindow => {
  const window = runningWindow(metered, i, nowMs) ?? openWindow(policy, nowMs);
  metered.windows[i] = window;
  return window;
};

export const chargeWindows = (metered: Metered, units: number, nowMs: number): void => {
  const { meters } = metered.set;
  for (let i = 0; i < meters.length; i += 1) {
    const window = openedWindow(metered, i, meters[i] as Meter, nowMs);
    window.used += units;
    window.owed += units;
  }
};

/** Seconds until the last of the windows ends that have no room for the units, at least 1. Undefined: all have room. */
export const secondsUntilRoom = (charged: readonly Metered[], units: number, nowMs: number): number | undefined => {
  let seconds: number | undefined;
  for (const metered of charged) {
    const { meters } = metered.set;
    for (let i = 0; i < meters.length; i += 1) {
      const { quota, windowSeconds } = meters[i] as Meter;
      const window = runningWindow(metered, i, nowMs);
      if ((window === undefined ? 0 : window.used) + units <= quota) continue;
      const left = window === undefined ? windowSeconds : secondsLeft(window.endsAtMs, nowMs);
      if (seconds === undefined || left > seconds) seconds = left;
    }
  }
  return seconds;
};

/** True when a limit is near or nothing is known of its window, or when this process owes a shared counter too much. */
export const mustAskShared = (charged: readonly Metered[], units: number, nowMs: number): boolean => {
  for (const metered of charged) {
    const { meters } = metered.set;
    for (let i = 0; i < meters.length; i += 1) {
      const { nearAt, owedMax, asksFirst } = meters[i] as Meter;
      const window = runningWindow(metered, i, nowMs);
      if (asksFirst && window?.confirmed !== true) return true;
      if ((window?.used ?? 0) + units > nearAt) return true;
      if ((window === undefined ? 0 : window.owed + window.sent) + units > owedMax) return true;
    }
  }
  return false;
};

/** After a charge, or after a refusal by `retryAfterSeconds`. */
export const standingOf = (
  charged: readonly Metered[],
  retryAfterSeconds: number | undefined,
  nowMs: number,
): RateStanding => {
  const standing = createStanding(retryAfterSeconds);
  for (const metered of charged) {
    addPolicies(standing, metered.set.policyText);
    const { meters } = metered.set;
    for (let i = 0; i < meters.length; i += 1) {
      const meter = meters[i] as Meter;
      const window = runningWindow(metered, i, nowMs);
      if (window === undefined) addLimit(standing, meter, meter.quota, meter.windowSeconds);
      else addLimit(standing, meter, Math.max(0, meter.quota - window.used), secondsLeft(window.endsAtMs, nowMs));
    }
  }
  return standing;
};
