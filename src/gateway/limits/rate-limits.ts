/**
 * Units in fixed windows (interface 9.1 and 20), shared by all gateways when there is a Redis. Every request is charged to its
 * caller; one on a route with limits also to the caller on that route, and one for a tenant with limits to the tenant. It is
 * charged to all of them or, when one has no room, to none.
 *
 * A request is charged in this process at once, and added to the shared counter a few milliseconds later in a batch. It
 * waits for the shared counter only where the answer could differ: when less than a quarter of a window is left, or when
 * this process already owes `quota / 20` units. So each gateway lets at most a twentieth of the quota through beyond the
 * quota, whatever the timing. An idle or evenly loaded pair is exact. The processes of one gateway do better: the first
 * charge of a window waits too, and they tell each other when less than a quarter is left (near-limits.ts).
 *
 * Without a reachable Redis each process counts by itself and no request waits. Units that were charged meanwhile are
 * added to the shared counter when it is back, as long as their window runs.
 */
import type { Kv } from '#src/platform/kv/index.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import type { OwnLimits } from '../model/own-limits.ts';
import { createNearLimits } from './near-limits.ts';
import {
  chargeWindows,
  createMetered,
  createMeterSet,
  type Meter,
  type Metered,
  type MeterSet,
  mustAskShared,
  openedWindow,
  secondsUntilRoom,
  standingOf,
} from './rate-meters.ts';
import type { RateStanding } from './rate-standing.ts';
import { type RatePolicy, type RateWindow, secondsLeft } from './rate-window.ts';
import { createChargeSettlement } from './settle-charges.ts';

/** Limits that a request meets beside those of its caller. `id`: key of the counters, one for each list of policies. */
export type FurtherLimits = { id: string; policies: readonly RatePolicy[] };

/** Own limits of a caller that replace the quota of the policy of that name. */
type OwnQuotas = Pick<OwnLimits, 'minute' | 'burst'>;

export type RateLimits = {
  /** Never rejects. A promise only where the shared counters decide. */
  charge(
    callerId: string,
    units: number,
    own?: OwnQuotas,
    further?: readonly FurtherLimits[],
  ): RateStanding | Promise<RateStanding>;
  /** The standing of a request that another limit refuses: charges nothing. */
  look(callerId: string, units: number, own?: OwnQuotas, further?: readonly FurtherLimits[]): RateStanding;
  /** Sends the shared counters what is owed. */
  settle(): void;
  close(): void;
};

type RateLimitsDeps = {
  kv: Kv;
  /** Of every caller without own limits. */
  policies: readonly RatePolicy[];
  /** Monotonic milliseconds: a step of the wall clock must not refuse any caller. */
  elapsedMs?: () => number;
};

const callersMax = 100_000;
/** Lists of policies with equal figures share their meters. */
const meterSetsMax = 10_000;

export const createRateLimits = ({ kv, policies, elapsedMs = () => performance.now() }: RateLimitsDeps): RateLimits => {
  const { find, findKnown } = createFindMetered(kv, policies);
  const near = createNearLimits({ kv, elapsedMs, find: findKnown });
  const settlement = createChargeSettlement({ kv, elapsedMs, learned: near.learned });

  const decideHere = (charged: readonly Metered[], units: number, nowMs = elapsedMs()): RateStanding => {
    const seconds = secondsUntilRoom(charged, units, nowMs);
    if (seconds !== undefined) return standingOf(charged, seconds, nowMs);
    for (const metered of charged) {
      chargeWindows(metered, units, nowMs);
      if (kv.health() !== 'local') settlement.settleSoon(metered);
    }
    return standingOf(charged, undefined, nowMs);
  };

  /**
   * Asks the shared counters one after the other, the one with the least room first, and releases what was taken when one
   * refuses. Asked at the same time, the others would count the units of a refused request for a moment, and another gateway
   * that saw such a total would keep it until the window ends.
   */
  const decideShared = async (charged: readonly Metered[], units: number): Promise<RateStanding> => {
    const asked = askedOf(charged, elapsedMs());
    // Sent first on the same connection, so that the decision includes it.
    for (const metered of charged) settlement.settleNow(metered);
    const ask = ({ metered, i, window }: Asked, wanted: number): Promise<boolean> =>
      settlement.take(metered, i, window, wanted);
    const taken: Asked[] = [];
    let refusing: Asked | undefined;
    try {
      // The room of a window that this process does not know yet.
      await Promise.all(asked.filter(({ window }) => !window.confirmed).map((one) => ask(one, 0)));
      asked.sort((a, b) => roomOf(a) - roomOf(b));
      for (const [index, one] of asked.entries()) {
        if (await ask(one, units)) taken.push(one);
        else {
          refusing = one;
          // Zero units: the answer shows the caller how much room the others have.
          await Promise.all(asked.slice(index + 1).map((other) => ask(other, 0)));
          break;
        }
      }
    } catch {
      // The shared counters are away.
    }
    if (taken.length === asked.length) return standingOf(charged, undefined, elapsedMs());
    for (const { metered, i, window } of taken) {
      window.used -= units;
      settlement.takeOff(metered, i, window, units);
    }
    if (refusing === undefined) return decideHere(charged, units);
    const afterMs = elapsedMs();
    const seconds = Math.max(
      secondsLeft(refusing.window.endsAtMs, afterMs),
      secondsUntilRoom(charged, units, afterMs) ?? 1,
    );
    return standingOf(charged, seconds, afterMs);
  };

  return {
    charge: (callerId, units, own, further) => {
      const charged = find(callerId, own, further);
      if (kv.health() !== 'up') return decideHere(charged, units);
      const nowMs = elapsedMs();
      const isShared = secondsUntilRoom(charged, units, nowMs) === undefined && mustAskShared(charged, units, nowMs);
      return isShared ? decideShared(charged, units) : decideHere(charged, units, nowMs);
    },
    look: (callerId, units, own, further) => {
      const charged = find(callerId, own, further);
      const nowMs = elapsedMs();
      return standingOf(charged, secondsUntilRoom(charged, units, nowMs), nowMs);
    },
    settle: settlement.settle,
    close: () => {
      settlement.close();
      near.close();
    },
  };
};

type FindMetered = {
  find: (callerId: string, own?: OwnQuotas, further?: readonly FurtherLimits[]) => readonly Metered[];
  /** What was found before. `policy`: name of its first one. */
  findKnown: (policy: string, id: string) => Metered | undefined;
};

/** Finds or makes what a request is charged to. The least recently used ones are forgotten, with their open windows. */
const createFindMetered = (kv: Kv, policies: readonly RatePolicy[]): FindMetered => {
  const defaults = createMeterSet(kv, policies);
  const callers = createRecentMap<string, Metered>(callersMax);
  const furthers = createRecentMap<string, Metered>(callersMax);
  const sets = createRecentMap<string, MeterSet>(meterSetsMax);

  const setOf = (wanted: readonly RatePolicy[]): MeterSet => {
    const key = wanted.map(({ name, quota, windowSeconds }) => `${name}=${quota}/${windowSeconds}`).join(' ');
    const known = sets.get(key);
    if (known !== undefined) return known;
    const made = createMeterSet(kv, wanted);
    sets.set(key, made);
    return made;
  };

  const callerOf = (id: string, own: OwnQuotas | undefined): Metered => {
    let caller = callers.get(id);
    if (caller === undefined) {
      caller = createMetered(id, defaults);
      callers.set(id, caller);
    }
    if (own === undefined) caller.set = defaults;
    // Running windows go on under the new quotas, so a change of limits gives no units anew.
    else if (!hasQuotas(caller.set, policies, own)) caller.set = setOf(policies.map((one) => withQuota(one, own)));
    return caller;
  };

  const furtherOf = ({ id, policies: wanted }: FurtherLimits): Metered => {
    const key = `${wanted[0]?.name} ${id}`;
    const known = furthers.get(key);
    if (known !== undefined && isSame(known.set, wanted)) return known;
    const made = createMetered(id, setOf(wanted));
    furthers.set(key, made);
    return made;
  };

  return {
    find: (callerId, own, further) => {
      const caller = callerOf(callerId, own);
      return further === undefined ? caller.alone : [caller, ...further.map(furtherOf)];
    },
    findKnown: (policy, id) => (policy === policies[0]?.name ? callers.get(id) : furthers.get(`${policy} ${id}`)),
  };
};

const quotaOf = ({ name, quota }: RatePolicy, own: OwnQuotas): number =>
  (name === 'minute' ? own.minute : name === 'burst' ? own.burst : undefined) ?? quota;

const withQuota = (policy: RatePolicy, own: OwnQuotas): RatePolicy => ({ ...policy, quota: quotaOf(policy, own) });

const hasQuotas = ({ meters }: MeterSet, policies: readonly RatePolicy[], own: OwnQuotas): boolean =>
  policies.every((policy, i) => meters[i]?.quota === quotaOf(policy, own));

/** False after the limits of a route or of tenants were changed: their windows begin anew. */
const isSame = ({ meters }: MeterSet, policies: readonly RatePolicy[]): boolean =>
  meters.length === policies.length &&
  policies.every(({ name, quota }, i) => meters[i]?.name === name && meters[i]?.quota === quota);

/** One shared counter that a request is charged to, with what this process knows of its window. */
type Asked = { metered: Metered; i: number; meter: Meter; window: RateWindow };

const askedOf = (charged: readonly Metered[], nowMs: number): Asked[] =>
  charged.flatMap((metered) =>
    metered.set.meters.map((meter, i) => ({ metered, i, meter, window: openedWindow(metered, i, meter, nowMs) })),
  );

const roomOf = ({ meter, window }: Asked): number => meter.quota - window.used;
