/**
 * Units per caller in fixed windows (interface 9.1), shared by all gateways when there is a Redis.
 *
 * A request is charged here at once and told to the shared counter a few milliseconds later, together with others. It
 * waits for the shared counter only where that could matter: when less than a quarter of a window is left, or when
 * this process already owes `quota / 20` units. So the gateways together let through at most a twentieth of the quota per
 * gateway more than the quota, whatever the timing; an idle or evenly loaded pair is exact.
 *
 * Without shared state, or while it is away, each process counts by itself and waits for nobody. What it charged
 * meanwhile is told when the counter is back, as long as the window runs.
 */
import type { Kv, WindowCounter } from '#src/platform/kv/index.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import { limitField, policyField } from './rate-headers.ts';
import { learn, openWindow, type RatePolicy, type RateWindow, secondsLeft } from './rate-window.ts';

/** How a caller stands after a charge. */
export type RateStanding = {
  /** RateLimit-Policy and RateLimit, as names and values in turn. */
  headers: readonly string[];
  /** One figure per policy. */
  remaining: readonly number[];
  resetSeconds: readonly number[];
  /** Refused, and nothing was charged: seconds until it may fit. */
  retryAfterSeconds: number | undefined;
};

export type RateLimits = {
  policies: readonly RatePolicy[];
  /** Never rejects. A promise only where the shared counter decides. */
  charge(callerId: string, units: number): RateStanding | Promise<RateStanding>;
  /** Tells the shared counter what is owed. */
  settle(): void;
  close(): void;
};

type RateLimitsDeps = {
  kv: Kv;
  policies: readonly RatePolicy[];
  /** Monotonic milliseconds: a step of the wall clock must not lock anybody out. */
  elapsedMs?: () => number;
};

const callersMax = 100_000;
const settleMs = 5;
/** While the shared counter is away. */
const retryMs = 100;

type Caller = { id: string; windows: (RateWindow | undefined)[] };

/** One policy with its counter and its bounds. */
type Meter = RatePolicy & { counter: WindowCounter; nearAt: number; owedMax: number };

export const createRateLimits = (deps: RateLimitsDeps): RateLimits => {
  const { kv, policies } = deps;
  const elapsedMs = deps.elapsedMs ?? (() => performance.now());
  const meters = policies.map(
    (policy): Meter => ({
      ...policy,
      counter: kv.windows({ ...policy, name: `rate:${policy.name}` }),
      nearAt: policy.quota - Math.floor(policy.quota / 4),
      owedMax: Math.max(1, Math.floor(policy.quota / 20)),
    }),
  );
  const callers = createRecentMap<string, Caller>(callersMax);
  const owing = new Set<Caller>();
  const policyText = policyField(policies);
  let timer: NodeJS.Timeout | undefined;

  const callerOf = (id: string): Caller => {
    const known = callers.get(id);
    if (known !== undefined) return known;
    const caller = { id, windows: meters.map(() => undefined) };
    callers.set(id, caller);
    return caller;
  };

  const standingOf = (
    caller: Caller,
    retryAfterSeconds: number | undefined,
    nowMs: number = elapsedMs(),
  ): RateStanding => {
    const remaining: number[] = [];
    const resetSeconds: number[] = [];
    for (let i = 0; i < meters.length; i += 1) {
      const { quota, windowSeconds } = meters[i] as Meter;
      const window = running(caller, i, nowMs);
      remaining.push(window === undefined ? quota : Math.max(0, quota - window.used));
      resetSeconds.push(window === undefined ? windowSeconds : secondsLeft(window.endsAtMs, nowMs));
    }
    const headers = ['ratelimit-policy', policyText, 'ratelimit', limitField(policies, remaining, resetSeconds)];
    return { headers, remaining, resetSeconds, retryAfterSeconds };
  };

  const chargeHere = (caller: Caller, units: number, nowMs: number): RateStanding => {
    for (let i = 0; i < meters.length; i += 1) {
      const window = opened(caller, i, meters[i] as Meter, nowMs);
      window.used += units;
      window.owed += units;
    }
    if (kv.health() !== 'local') settleSoon(caller);
    return standingOf(caller, undefined, nowMs);
  };

  const settleSoon = (caller: Caller): void => {
    owing.add(caller);
    timer ??= setTimeout(settle, kv.health() === 'up' ? settleMs : retryMs).unref();
  };

  const settle = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const all = [...owing];
    owing.clear();
    for (const caller of all) settleCaller(caller);
  };

  const settleCaller = (caller: Caller): void => {
    const nowMs = elapsedMs();
    for (let i = 0; i < meters.length; i += 1) {
      const window = running(caller, i, nowMs);
      if (window === undefined || window.owed === 0) continue;
      if (kv.health() === 'up') tell(caller, window, meters[i] as Meter);
      else settleSoon(caller);
    }
  };

  const tell = (caller: Caller, window: RateWindow, { counter }: Meter): void => {
    const units = window.owed;
    window.owed = 0;
    window.sent += units;
    counter.add(caller.id, units).then(
      (count) => {
        window.sent -= units;
        learn(window, count, elapsedMs());
      },
      () => {
        window.sent -= units;
        window.owed += units;
        settleSoon(caller);
      },
    );
  };

  /** The shared counters decide, all of them in one round trip; what was taken of one when another refuses goes back. */
  const chargeShared = async (caller: Caller, units: number): Promise<RateStanding> => {
    const nowMs = elapsedMs();
    const windows = meters.map((meter, i) => opened(caller, i, meter, nowMs));
    // First what is owed, on the same connection, so that it is part of what is decided by.
    settleCaller(caller);
    const answers = await Promise.allSettled(meters.map(({ counter }) => counter.take(caller.id, units)));
    const afterMs = elapsedMs();
    let away = false;
    const full: number[] = [];
    const taken: number[] = [];
    for (const [i, answer] of answers.entries()) {
      if (answer.status === 'rejected') {
        away = true;
        continue;
      }
      learn(windows[i] as RateWindow, answer.value, afterMs);
      (answer.value.taken ? taken : full).push(i);
    }
    if (full.length === 0 && !away) return standingOf(caller, undefined);
    for (const i of taken) giveBack(caller, windows[i] as RateWindow, meters[i] as Meter, units);
    if (full.length > 0) return standingOf(caller, waitOf(caller, full, afterMs));
    return decideHere(caller, units);
  };

  const giveBack = (caller: Caller, window: RateWindow, { counter }: Meter, units: number): void => {
    window.used -= units;
    counter.giveBack(caller.id, units).catch(() => undefined);
  };

  const waitOf = (caller: Caller, full: readonly number[], nowMs: number): number =>
    Math.max(1, ...full.map((i) => secondsLeft(running(caller, i, nowMs)?.endsAtMs ?? nowMs, nowMs)));

  const fullOnes = (caller: Caller, units: number, nowMs: number): number[] | undefined => {
    let full: number[] | undefined;
    for (let i = 0; i < meters.length; i += 1) {
      const window = running(caller, i, nowMs);
      if (window === undefined || window.used + units <= (meters[i] as Meter).quota) continue;
      full ??= [];
      full.push(i);
    }
    return full;
  };

  const decideHere = (caller: Caller, units: number): RateStanding => {
    const nowMs = elapsedMs();
    const full = fullOnes(caller, units, nowMs);
    return full === undefined
      ? chargeHere(caller, units, nowMs)
      : standingOf(caller, waitOf(caller, full, nowMs), nowMs);
  };

  const mustAsk = (caller: Caller, units: number, nowMs: number): boolean => {
    for (let i = 0; i < meters.length; i += 1) {
      const { nearAt, owedMax } = meters[i] as Meter;
      const window = running(caller, i, nowMs);
      if ((window?.used ?? 0) + units > nearAt) return true;
      if ((window === undefined ? 0 : window.owed + window.sent) + units > owedMax) return true;
    }
    return false;
  };

  return {
    policies,
    charge: (callerId, units) => {
      const caller = callerOf(callerId);
      if (kv.health() !== 'up') return decideHere(caller, units);
      const nowMs = elapsedMs();
      if (fullOnes(caller, units, nowMs) !== undefined || !mustAsk(caller, units, nowMs)) {
        return decideHere(caller, units);
      }
      return chargeShared(caller, units);
    },
    settle,
    close: () => clearTimeout(timer),
  };
};

const running = ({ windows }: Caller, i: number, nowMs: number): RateWindow | undefined => {
  const window = windows[i];
  return window === undefined || nowMs >= window.endsAtMs ? undefined : window;
};

const opened = (caller: Caller, i: number, policy: RatePolicy, nowMs: number): RateWindow => {
  const window = running(caller, i, nowMs) ?? openWindow(policy, nowMs);
  caller.windows[i] = window;
  return window;
};
