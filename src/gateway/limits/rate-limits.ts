/**
 * Units per caller in fixed windows (interface 9.1), shared by all gateways when there is a Redis.
 *
 * A request is charged in this process at once, and added to the shared counter a few milliseconds later in a batch. It
 * waits for the shared counter only where the answer could differ: when less than a quarter of a window is left, or when
 * this process already owes `quota / 20` units. So each gateway lets at most a twentieth of the quota through beyond the
 * quota, whatever the timing. An idle or evenly loaded pair is exact.
 *
 * Without a reachable Redis each process counts by itself and no request waits. Units that were charged meanwhile are
 * added to the shared counter when it is back, as long as their window runs.
 */
import type { Kv } from '#src/platform/kv/index.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import { policyField } from './rate-headers.ts';
import {
  chargeWindows,
  createMeters,
  fullPolicies,
  type Meter,
  type MeteredCaller,
  mustAskShared,
  openedWindow,
  type RateStanding,
  secondsUntilRoom,
  standingOf,
} from './rate-meters.ts';
import { learn, type RatePolicy, type RateWindow } from './rate-window.ts';
import { createChargeSettlement } from './settle-charges.ts';

export type RateLimits = {
  policies: readonly RatePolicy[];
  /** Never rejects. A promise only where the shared counter decides. */
  charge(callerId: string, units: number): RateStanding | Promise<RateStanding>;
  /** Sends the shared counter what is owed. */
  settle(): void;
  close(): void;
};

type RateLimitsDeps = {
  kv: Kv;
  policies: readonly RatePolicy[];
  /** Monotonic milliseconds: a step of the wall clock must not refuse any caller. */
  elapsedMs?: () => number;
};

const callersMax = 100_000;

export const createRateLimits = ({ kv, policies, elapsedMs = () => performance.now() }: RateLimitsDeps): RateLimits => {
  const meters = createMeters(kv, policies);
  const settlement = createChargeSettlement({ kv, meters, elapsedMs });
  const callers = createRecentMap<string, MeteredCaller>(callersMax);
  const policyText = policyField(policies);

  const callerOf = (id: string): MeteredCaller => {
    const known = callers.get(id);
    if (known !== undefined) return known;
    const caller = { id, windows: meters.map(() => undefined) };
    callers.set(id, caller);
    return caller;
  };

  const decideHere = (caller: MeteredCaller, units: number): RateStanding => {
    const nowMs = elapsedMs();
    const full = fullPolicies(meters, caller, units, nowMs);
    if (full !== undefined) {
      return standingOf(meters, policyText, caller, secondsUntilRoom(caller, full, nowMs), nowMs);
    }
    chargeWindows(meters, caller, units, nowMs);
    if (kv.health() !== 'local') settlement.settleSoon(caller);
    return standingOf(meters, policyText, caller, undefined, nowMs);
  };

  /** Asks all shared counters in one round trip. When one refuses, the units taken from the others are released. */
  const decideShared = async (caller: MeteredCaller, units: number): Promise<RateStanding> => {
    const nowMs = elapsedMs();
    const windows = meters.map((meter, i) => openedWindow(caller, i, meter, nowMs));
    // Sent first on the same connection, so that the decision includes it.
    settlement.settleCaller(caller);
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
    if (full.length === 0 && !away) return standingOf(meters, policyText, caller, undefined, elapsedMs());
    for (const i of taken) releaseUnits(caller, windows[i] as RateWindow, meters[i] as Meter, units);
    if (full.length === 0) return decideHere(caller, units);
    return standingOf(meters, policyText, caller, secondsUntilRoom(caller, full, afterMs), elapsedMs());
  };

  return {
    policies,
    charge: (callerId, units) => {
      const caller = callerOf(callerId);
      if (kv.health() !== 'up') return decideHere(caller, units);
      const nowMs = elapsedMs();
      const isShared =
        fullPolicies(meters, caller, units, nowMs) === undefined && mustAskShared(meters, caller, units, nowMs);
      return isShared ? decideShared(caller, units) : decideHere(caller, units);
    },
    settle: settlement.settle,
    close: settlement.close,
  };
};

const releaseUnits = (caller: MeteredCaller, window: RateWindow, { counter }: Meter, units: number): void => {
  window.used -= units;
  counter.release(caller.id, units).catch(() => undefined);
};
