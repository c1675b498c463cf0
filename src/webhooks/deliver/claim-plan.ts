/** The decisions of one claim: how many deliveries of each endpoint, and when to look at it again. Pure. */
import { breaking, claiming, scheduling } from '../pacing/bounds.ts';
import { failuresToHold } from '../pacing/breaker.ts';
import { slow } from '../pacing/concurrency-limit.ts';
import { allowedNow, nextAllowed, pacedAfter, rateOf } from '../pacing/rate.ts';
import type { PlannedShares, Room, Slots } from '../pacing/slots.ts';
import type { Ahead, DueEndpoint, ScheduleEntry } from '../queue/claim-store.ts';

/** Which slots an endpoint may have. `reserve`: those kept for endpoints that became due last during a flood. */
export type SlotKind = 'usual' | 'reserve' | 'slow';

export type Plan = {
  endpoint: DueEndpoint;
  slotKind: SlotKind;
  /**
   * off: the endpoint is disabled or its backlog is being cancelled. paced: its rate is used up. full: it has no free slot.
   * held: the breaker holds it. leaving: its host or tenant leaves the free slots to others. open: none of these.
   */
  state: 'off' | 'paced' | 'full' | 'held' | 'leaving' | 'open';
  /** How many deliveries to lease, of those that were due at `before`. */
  count: number;
  before: Date;
  /** Until when the breaker holds the endpoint. */
  gate: Date | null;
};

/** Free slots by kind. */
export type FreeSlots = Record<SlotKind, number>;

/** Takes off the slots that the fast path took while the database was asked. */
export const stillFree = (free: FreeSlots, before: Room, after: Room): FreeSlots => ({
  usual: Math.max(0, free.usual - Math.max(0, before.free - after.free)),
  reserve: Math.min(free.reserve, after.reserve),
  slow: Math.min(free.slow, after.freeForSlow),
});

export const planOf = (endpoint: DueEndpoint, slots: Slots, now: Date): Omit<Plan, 'slotKind'> => {
  const { gate, paced, failuresCount, maxPerSecond } = endpoint;
  const none = { endpoint, count: 0, before: now, gate };
  if (!endpoint.enabled || endpoint.cancelling) return { ...none, state: 'off' };
  const remaining = slots.remainingFor({
    endpointUid: endpoint.endpointUid,
    endpointClass: endpoint.class,
    recoveredMs: endpoint.recovered?.getTime() ?? 0,
    target: endpoint,
    isPaced: maxPerSecond !== null,
  });
  if (remaining === 0) return { ...none, state: 'full' };
  const count = maxPerSecond === null ? remaining : Math.min(remaining, allowedNow(rateOf(maxPerSecond), paced, now));
  if (count === 0) return { ...none, state: 'paced' };
  if (failuresCount < failuresToHold) return { endpoint, state: 'open', count, before: now, gate: null };
  // Deliveries that were held for the longest allowed time go although the breaker is open.
  if (gate !== null && gate > now)
    return { endpoint, state: 'held', count, before: new Date(now.getTime() - breaking.holdMsMax), gate };
  // The breaker is half open: one attempt goes, and the others wait for its result.
  return { endpoint, state: 'held', count: 1, before: now, gate: new Date(now.getTime() + claiming.probeMs) };
};

/**
 * Gives each endpoint one delivery, then each a second one, until the slots are used up. Leaves out endpoints that get none
 * for want of slots: they stay due.
 */
export const distribute = (plans: readonly Plan[], free: FreeSlots, mayHave: PlannedShares): Plan[] => {
  const left = { ...free };
  const given = plans.map(() => 0);
  const leaving = new Set<number>();
  for (let isGiven = true; isGiven; ) {
    isGiven = false;
    for (const [index, { count, slotKind, endpoint }] of plans.entries()) {
      const had = given[index] ?? 0;
      if (had >= count || left[slotKind] === 0 || leaving.has(index)) continue;
      if (!mayHave(endpoint.endpointUid, slotKind === 'slow' ? 'slow' : 'usual')) {
        leaving.add(index);
        continue;
      }
      left[slotKind] -= 1;
      given[index] = had + 1;
      isGiven = true;
    }
  }
  return plans
    .map((one, index): Plan => {
      const count = given[index] ?? 0;
      return { ...one, count, state: count === 0 && leaving.has(index) ? 'leaving' : one.state };
    })
    .filter(({ state, count }) => count > 0 || state === 'off' || state === 'paced' || state === 'leaving');
};

/** True when the endpoint was leased fewer deliveries than planned, so that the time of its next one is needed. */
export const needsAhead = ({ state, count }: Plan, leasedCount: number): boolean =>
  state === 'held' || (state === 'open' && leasedCount < count);

/** When to look at an endpoint again. `ahead`: its next delivery, where `needsAhead`. */
export const nextEntry = (
  { endpoint, slotKind, state, gate }: Plan,
  leasedCount: number,
  ahead: Ahead | undefined,
  now: Date,
): ScheduleEntry => {
  const { endpointUid, maxPerSecond, enabled, cancelling } = endpoint;
  const rate = maxPerSecond === null ? undefined : rateOf(maxPerSecond);
  const paced =
    rate === undefined || leasedCount === 0 ? endpoint.paced : pacedAfter(rate, endpoint.paced, now, leasedCount);
  const lookAt = (dueAt: Date | null): ScheduleEntry => ({ endpointUid, dueAt, paced, gate, class: endpoint.class });
  if (state === 'leaving') {
    // It counts as slow until it answers, so that claims find the endpoints of others. A slow one goes behind those of others.
    const dueAt = slotKind === 'slow' ? new Date(now.getTime() + claiming.sharingLookMs) : endpoint.dueAt;
    return { endpointUid, dueAt, paced: endpoint.paced, gate: endpoint.gate, class: slow };
  }
  if (cancelling) return lookAt(new Date(now.getTime() + claiming.cancellingLookMs));
  if (!enabled) return lookAt(null);
  const allowed = rate === undefined || paced === null ? now : later(nextAllowed(rate, paced), now);
  // More deliveries may be due.
  if (ahead === undefined) return lookAt(allowed);
  const times: number[] = [];
  if (ahead.isLeased) times.push(now.getTime() + scheduling.lookMs);
  if (ahead.nextAt !== null) {
    const nextMs = ahead.nextAt.getTime();
    const isHeld = state === 'held' && gate !== null;
    const opensMs = isHeld ? Math.max(nextMs, Math.min(gate.getTime(), nextMs + breaking.holdMsMax)) : nextMs;
    times.push(Math.max(opensMs, allowed.getTime()));
  }
  return lookAt(times.length === 0 ? null : new Date(Math.min(...times)));
};

const later = (left: Date, right: Date): Date => (left > right ? left : right);
