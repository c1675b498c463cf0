/** One claim: whose turn it is, how many of each, and when to look at each again. */
import type { Kysely } from 'kysely';
import { readBodies } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction, withCommit } from '#src/platform/db/transaction.ts';
import { type EndpointClass, quick, slow, unknown } from '../pacing/concurrency-limit.ts';
import { allowedNow, failuresToHold, holdMsMax, nextAllowed, pacedAfter, rateOf } from '../pacing/rate.ts';
import type { Place, Places, Room } from '../pacing/slots.ts';
import {
  type Ahead,
  type ClaimedDelivery,
  isMoreReady,
  type LeasedDelivery,
  leaseDue,
  lockLatest,
  lockReady,
  lookAhead,
  type NextTurn,
  type ReadyEndpoint,
  scheduleTurns,
} from '../queue/claim-store.ts';
import { lookMs } from '../queue/schedule-store.ts';

/** Longer than an attempt and its record can take, so that a lease never ends under a worker that lives. */
export const leaseMs = 23_000;
/** How often an endpoint is looked at whose deliveries are being cancelled. */
const cancellingMs = 1_000;
/** When somebody waits for longer, some places are kept for whoever became due less than that ago. */
const crowdMs = 500;
/** As long as an attempt may take, and some: the first one after a hold decides for the others. */
const probeMs = 20_000;

type Plan = {
  endpoint: ReadyEndpoint;
  turn: TurnKind;
  /** off: disabled or being cancelled. paced: its rate is used up. full: no place for it. held: by the breaker. */
  state: 'off' | 'paced' | 'full' | 'held' | 'open';
  count: number;
  /** Of those due then. */
  before: Date;
  gate: Date | null;
};

/** latest: has one of the places that are kept for those that became due last. */
type TurnKind = 'usual' | 'latest' | 'slow';

/** A delivery that is leased to this worker, and the endpoint as it was then. */
export type Leased = ClaimedDelivery & { endpoint: ReadyEndpoint };

export type Claimed = {
  deliveries: { delivery: Leased; place: Place }[];
  /** When an endpoint that has more to send may go on, if that is soon. */
  nextAt: Date | undefined;
  /** Nothing that is due was left for want of a place. */
  isWhole: boolean;
};

/** Leases what there is room for, under the token. Nothing is leased, and no place taken, when it fails. */
export const claim = async (db: Kysely<unknown>, now: Date, places: Places, token: string): Promise<Claimed> => {
  let reserved: Reserved = new Map();
  try {
    const { leased, ...found } = await inTransaction(db, (tx) => {
      // It may be a repetition.
      giveBack(reserved);
      reserved = new Map();
      return claimIn(tx, { now, token }, places, reserved);
    });
    const deliveries = leased.flatMap((delivery) => {
      const place = reserved.get(delivery.endpointUid)?.pop();
      return place === undefined ? [] : [{ delivery, place }];
    });
    return { deliveries, ...found };
  } finally {
    giveBack(reserved);
  }
};

/** Places that are taken and not given to a delivery yet, by endpoint: others take places while the store is asked. */
type Reserved = Map<string, Place[]>;

const giveBack = (reserved: Reserved): void => {
  for (const places of reserved.values()) for (const place of places) place.giveBack(undefined);
};

const claimIn = async (
  tx: Kysely<unknown>,
  { now, token }: { now: Date; token: string },
  places: Places,
  reserved: Reserved,
): Promise<Omit<Claimed, 'deliveries'> & { leased: Leased[] }> => {
  const room = places.room(performance.now());
  const oldest = await lockReady(tx, now, room);
  const { free, freeForUnknown, freeForSlow, full } = room;
  const isRoomForAll = free > 0 && freeForUnknown > 0 && freeForSlow > 0 && full.length === 0;
  const isWhole = async (): Promise<boolean> => isRoomForAll || !(await isMoreReady(tx, now));
  if (oldest.length === 0) return { leased: [], nextAt: undefined, isWhole: await isWhole() };
  const { ready, left } = await share(tx, oldest, now, room);
  const plans = distribute(
    ready.map(({ endpoint, turn }) => ({ ...plan(endpoint, places, now), turn })),
    stillLeft(left, room, places.room(performance.now())),
  );
  for (const { endpoint, turn, count } of plans) {
    const taken = Array.from({ length: count }, () => places.take(endpoint.endpointUid, turn === 'latest'));
    reserved.set(endpoint.endpointUid, taken);
  }
  const due = await leaseDue(
    tx,
    plans
      .filter(({ count }) => count > 0)
      .map(({ endpoint: { endpointUid }, count, before }) => ({ endpointUid, count, before })),
    { token, now, until: new Date(now.getTime() + leaseMs) },
  );
  const nextAt = await schedule(tx, plans, due, now);
  return { leased: await withBodies(tx, plans, due, token), nextAt, isWhole: due.length === 0 && (await isWhole()) };
};

/** What others took meanwhile is gone. */
const stillLeft = (left: Left, before: Room, after: Room): Left => ({
  usual: Math.max(0, left.usual - Math.max(0, before.free - after.free)),
  latest: Math.min(left.latest, after.kept),
  slow: Math.min(left.slow, after.freeForSlow),
});

type Ready = { endpoint: ReadyEndpoint; turn: TurnKind };

/** Places that may still be given. */
type Left = Record<TurnKind, number>;

/**
 * Those that have waited longest, and how many places they may have. Where a crowd waits for longer than a moment, perhaps
 * for receivers that hang, some places are kept for those that became due last: who answers in time must not stand behind
 * all of them.
 */
const share = async (
  tx: Kysely<unknown>,
  oldest: readonly ReadyEndpoint[],
  now: Date,
  room: Room,
): Promise<{ ready: Ready[]; left: Left }> => {
  const since = new Date(now.getTime() - crowdMs);
  const isCrowded = (endpointClass: EndpointClass, limit: number): boolean => {
    const ofClass = oldest.filter((one) => one.class === endpointClass);
    return limit > 0 && ofClass.length >= limit && ofClass.some(({ dueAt }) => dueAt < since);
  };
  const { free, freeForUnknown, freeForSlow, full } = room;
  const isCrowdUnknown = isCrowded(unknown, freeForUnknown);
  const kept = isCrowdUnknown || isCrowded(quick, free) ? Math.min(free, room.kept) : 0;
  const keptForUnknown = Math.min(kept, freeForUnknown);
  const latest =
    kept === 0 ? [] : await lockLatest(tx, now, { free: kept, freeForUnknown: keptForUnknown, full }, since);
  const uids = new Set(latest.map(({ endpointUid }) => endpointUid));
  const others = oldest.filter((one) => !uids.has(one.endpointUid));
  const isUnknown = (one: ReadyEndpoint): boolean => one.class === unknown;
  const unknownOnes = others.filter(isUnknown).slice(0, freeForUnknown - (isCrowdUnknown ? keptForUnknown : 0));
  return {
    ready: [
      ...latest.map((endpoint): Ready => ({ endpoint, turn: 'latest' })),
      ...[...others.filter((one) => !isUnknown(one)), ...unknownOnes].map(
        (endpoint): Ready => ({ endpoint, turn: endpoint.class === slow ? 'slow' : 'usual' }),
      ),
    ],
    left: { usual: free - kept, latest: kept, slow: freeForSlow },
  };
};

const plan = (endpoint: ReadyEndpoint, places: Places, now: Date): Omit<Plan, 'turn'> => {
  const { gate, paced, failuresCount, maxPerSecond } = endpoint;
  const none = { endpoint, count: 0, before: now, gate };
  if (!endpoint.enabled || endpoint.cancelling) return { ...none, state: 'off' };
  const room = places.leftOf({
    endpointUid: endpoint.endpointUid,
    endpointClass: endpoint.class,
    recoveredMs: endpoint.recovered?.getTime() ?? 0,
    isPaced: maxPerSecond !== null,
  });
  if (room === 0) return { ...none, state: 'full' };
  const count = maxPerSecond === null ? room : Math.min(room, allowedNow(rateOf(maxPerSecond), paced, now));
  if (count === 0) return { ...none, state: 'paced' };
  if (failuresCount < failuresToHold) return { endpoint, state: 'open', count, before: now, gate: null };
  // What was held as long as it may be goes whatever the breaker says.
  if (gate !== null && gate > now)
    return { endpoint, state: 'held', count, before: new Date(now.getTime() - holdMsMax), gate };
  // Half open: one goes, and the others wait for its answer.
  return { endpoint, state: 'held', count: 1, before: now, gate: new Date(now.getTime() + probeMs) };
};

/** One to each, then a second one to each, until the places are gone; who gets none keeps its turn. */
const distribute = (plans: readonly Plan[], places: Left): Plan[] => {
  const left = { ...places };
  const given = plans.map(() => 0);
  for (let isGiven = true; isGiven; ) {
    isGiven = false;
    for (const [index, { count, turn }] of plans.entries()) {
      const had = given[index] ?? 0;
      if (had >= count || left[turn] === 0) continue;
      left[turn] -= 1;
      given[index] = had + 1;
      isGiven = true;
    }
  }
  return plans
    .map((one, index) => ({ ...one, count: given[index] ?? 0 }))
    .filter(({ state, count }) => count > 0 || state === 'off' || state === 'paced');
};

/** Returns when the next one of those that have more to send may go. */
const schedule = async (
  tx: Kysely<unknown>,
  plans: readonly Plan[],
  leased: readonly LeasedDelivery[],
  now: Date,
): Promise<Date | undefined> => {
  const counts = new Map<string, number>();
  for (const { endpointUid } of leased) counts.set(endpointUid, (counts.get(endpointUid) ?? 0) + 1);
  const countOf = ({ endpoint }: Plan): number => counts.get(endpoint.endpointUid) ?? 0;
  const ahead = await lookAhead(
    tx,
    plans
      .filter((one) => one.state === 'held' || (one.state === 'open' && countOf(one) < one.count))
      .map(({ endpoint: { endpointUid }, state, before }) => ({
        endpointUid,
        before: state === 'held' ? new Date(0) : before,
      })),
    now,
  );
  const aheadOf = new Map(ahead.map((one) => [one.endpointUid, one]));
  const next = plans.map((one) => nextTurn(one, countOf(one), aheadOf.get(one.endpoint.endpointUid), now));
  await withCommit(tx, scheduleTurns(tx, next));
  const soon = next.flatMap(({ dueAt }) => (dueAt !== null && dueAt > now ? [dueAt.getTime()] : []));
  return soon.length === 0 ? undefined : new Date(Math.min(...soon));
};

const nextTurn = ({ endpoint, state, gate }: Plan, count: number, ahead: Ahead | undefined, now: Date): NextTurn => {
  const { endpointUid, maxPerSecond, enabled, cancelling } = endpoint;
  const rate = maxPerSecond === null ? undefined : rateOf(maxPerSecond);
  const paced = rate === undefined || count === 0 ? endpoint.paced : pacedAfter(rate, endpoint.paced, now, count);
  const turn = (dueAt: Date | null): NextTurn => ({ endpointUid, dueAt, paced, gate });
  if (cancelling) return turn(new Date(now.getTime() + cancellingMs));
  if (!enabled) return turn(null);
  const allowed = rate === undefined || paced === null ? now : later(nextAllowed(rate, paced), now);
  // There may be more that is due.
  if (ahead === undefined) return turn(allowed);
  const times: number[] = [];
  if (ahead.isLeased) times.push(now.getTime() + lookMs);
  if (ahead.nextAt !== null) {
    const nextMs = ahead.nextAt.getTime();
    const isHeld = state === 'held' && gate !== null;
    const opensMs = isHeld ? Math.max(nextMs, Math.min(gate.getTime(), nextMs + holdMsMax)) : nextMs;
    times.push(Math.max(opensMs, allowed.getTime()));
  }
  return turn(times.length === 0 ? null : new Date(Math.min(...times)));
};

const later = (left: Date, right: Date): Date => (left > right ? left : right);

const withBodies = async (
  tx: Kysely<unknown>,
  plans: readonly Plan[],
  leased: readonly LeasedDelivery[],
  leaseToken: string,
): Promise<Leased[]> => {
  const endpointOf = new Map(plans.map(({ endpoint }) => [endpoint.endpointUid, endpoint]));
  const bodies = await readBodies(
    tx,
    leased.filter(({ body }) => body === null).map(({ eventId }) => eventId),
  );
  return leased.flatMap((delivery) => {
    const endpoint = endpointOf.get(delivery.endpointUid);
    const body = delivery.body ?? bodies.get(delivery.eventId);
    return endpoint === undefined || body === undefined ? [] : [leasedTo(endpoint, { ...delivery, body, leaseToken })];
  });
};

type OfDelivery = Omit<LeasedDelivery, 'body'> & Pick<ClaimedDelivery, 'body' | 'leaseToken'>;

export const leasedTo = (endpoint: ReadyEndpoint, delivery: OfDelivery): Leased => {
  const { url, secret, previousSecret, previousSecretExpires, signatureHeader } = endpoint;
  return { ...delivery, url, secret, previousSecret, previousSecretExpires, signatureHeader, endpoint };
};
