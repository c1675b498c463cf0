/**
 * One claim: leases due deliveries for this worker in one transaction. Endpoints are served in turn, the one that has been
 * due for longest first. `claim-plan.ts` decides how many deliveries of each.
 */
import type { Kysely } from 'kysely';
import { readBodies } from '#src/platform/db/outbox/outbox.ts';
import { inTransaction, withCommit } from '#src/platform/db/transaction.ts';
import { claiming } from '../pacing/bounds.ts';
import { type EndpointClass, quick, slow, unknown } from '../pacing/concurrency-limit.ts';
import type { Room, Slot, Slots } from '../pacing/slots.ts';
import {
  type DueEndpoint,
  isMoreDue,
  type LeasedDelivery,
  leaseDue,
  lockDueEndpoints,
  lockLatestDueEndpoints,
  lookAhead,
  saveSchedule,
} from '../queue/claim-store.ts';
import {
  distribute,
  type FreeSlots,
  needsAhead,
  nextEntry,
  type Plan,
  planOf,
  type SlotKind,
  stillFree,
} from './claim-plan.ts';
import { type Leased, leasedTo } from './leased.ts';

export type Claimed = {
  deliveries: { delivery: Leased; slot: Slot }[];
  /** When an endpoint with more deliveries may be served again, if that is known. */
  nextAt: Date | undefined;
  /** True when no due delivery was left for want of a slot. */
  isWhole: boolean;
  /** Endpoints were passed over, and others may be due behind them. */
  isPassing: boolean;
};

/** Leases as many due deliveries as there are slots, under the token. A claim that fails leases nothing and takes no slot. */
export const claim = async (db: Kysely<unknown>, now: Date, slots: Slots, token: string): Promise<Claimed> => {
  let reserved: Reserved = new Map();
  try {
    const { leased, isShort, ...found } = await inTransaction(db, (tx) => {
      // The transaction may be retried.
      release(reserved);
      reserved = new Map();
      return claimIn(tx, { now, token }, slots, reserved);
    });
    const deliveries = leased.flatMap((delivery) => {
      const slot = reserved.get(delivery.endpointUid)?.pop();
      return slot === undefined ? [] : [{ delivery, slot }];
    });
    slots.claimed(isShort);
    return { deliveries, ...found };
  } finally {
    release(reserved);
  }
};

/** Slots without a delivery yet, by endpoint. They are taken before the query, because the fast path takes slots meanwhile. */
type Reserved = Map<string, Slot[]>;

const release = (reserved: Reserved): void => {
  for (const slots of reserved.values()) for (const slot of slots) slot.release(undefined);
};

/** `isShort`: every usual slot is in use, and due deliveries may be left. */
type ClaimedIn = Omit<Claimed, 'deliveries'> & { leased: Leased[]; isShort: boolean };

const claimIn = async (
  tx: Kysely<unknown>,
  { now, token }: { now: Date; token: string },
  slots: Slots,
  reserved: Reserved,
): Promise<ClaimedIn> => {
  const room = slots.room(performance.now());
  const longestDue = await lockDueEndpoints(tx, now, room);
  const { free, freeForUnknown, freeForSlow, full } = room;
  const isRoomForAll = free > 0 && freeForUnknown > 0 && freeForSlow > 0 && full.length === 0;
  const isWhole = async (): Promise<boolean> => isRoomForAll || !(await isMoreDue(tx, now));
  if (longestDue.length === 0) {
    const isNoneLeft = await isWhole();
    return {
      leased: [],
      nextAt: undefined,
      isWhole: isNoneLeft,
      isPassing: false,
      isShort: free === 0 && !isNoneLeft,
    };
  }
  const { admitted, left } = await admit(tx, longestDue, now, room);
  const freeNow = stillFree(left, room, slots.room(performance.now()));
  const plans = distribute(
    admitted.map(({ endpoint, slotKind }) => ({ ...planOf(endpoint, slots, now), slotKind })),
    freeNow,
    slots.planShares(),
  );
  const isPassing = plans.some(({ state }) => state === 'leaving');
  const usualCount = plans.reduce((sum, { slotKind, count }) => (slotKind === 'slow' ? sum : sum + count), 0);
  for (const { endpoint, slotKind, count } of plans) {
    const taken = Array.from({ length: count }, () => slots.take(endpoint.endpointUid, slotKind === 'reserve'));
    reserved.set(endpoint.endpointUid, taken);
  }
  const due = await leaseDue(
    tx,
    plans
      .filter(({ count }) => count > 0)
      .map(({ endpoint: { endpointUid }, count, before }) => ({ endpointUid, count, before })),
    { token, now, until: new Date(now.getTime() + claiming.leaseMs) },
  );
  const nextAt = await schedule(tx, plans, due, now);
  return {
    leased: await withBodies(tx, plans, due, token),
    nextAt,
    isWhole: due.length === 0 && !isPassing && (await isWhole()),
    isPassing,
    isShort: usualCount >= freeNow.usual + freeNow.reserve,
  };
};

type Admitted = { endpoint: DueEndpoint; slotKind: SlotKind };

/**
 * The endpoints to serve, and the free slots for them. During a flood, when more endpoints are due than there are slots and
 * some have been due for a while, the reserve serves endpoints that became due last. The others may belong to receivers
 * that hang, and a receiver that answers in time must not wait behind all of them.
 */
const admit = async (
  tx: Kysely<unknown>,
  longestDue: readonly DueEndpoint[],
  now: Date,
  room: Room,
): Promise<{ admitted: Admitted[]; left: FreeSlots }> => {
  const since = new Date(now.getTime() - claiming.floodMs);
  const isFlooded = (endpointClass: EndpointClass, limit: number): boolean => {
    const ofClass = longestDue.filter((one) => one.class === endpointClass);
    return limit > 0 && ofClass.length >= limit && ofClass.some(({ dueAt }) => dueAt < since);
  };
  const { free, freeForUnknown, freeForSlow, full } = room;
  const isUnknownFlooded = isFlooded(unknown, freeForUnknown);
  const reserve = isUnknownFlooded || isFlooded(quick, free) ? Math.min(free, room.reserve) : 0;
  const reserveForUnknown = Math.min(reserve, freeForUnknown);
  const latest =
    reserve === 0
      ? []
      : await lockLatestDueEndpoints(tx, now, { free: reserve, freeForUnknown: reserveForUnknown, full }, since);
  const uids = new Set(latest.map(({ endpointUid }) => endpointUid));
  const others = longestDue.filter((one) => !uids.has(one.endpointUid));
  const isUnknown = (one: DueEndpoint): boolean => one.class === unknown;
  const unknownOnes = others.filter(isUnknown).slice(0, freeForUnknown - (isUnknownFlooded ? reserveForUnknown : 0));
  // Of all classes, the one that has been due for longest gets the first slot: otherwise quick endpoints that are always due
  // would leave none for an endpoint that was never tried.
  const inTurn = [...others.filter((one) => !isUnknown(one)), ...unknownOnes].sort(
    (left, right) => left.dueAt.getTime() - right.dueAt.getTime(),
  );
  return {
    admitted: [
      ...latest.map((endpoint): Admitted => ({ endpoint, slotKind: 'reserve' })),
      ...inTurn.map((endpoint): Admitted => ({ endpoint, slotKind: endpoint.class === slow ? 'slow' : 'usual' })),
    ],
    left: { usual: free - reserve, reserve, slow: freeForSlow },
  };
};

/** Saves when to look at each endpoint again. Returns the first such time that is still to come. */
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
    plans.filter((one) => needsAhead(one, countOf(one))).map(({ endpoint }) => endpoint.endpointUid),
    now,
  );
  const aheadOf = new Map(ahead.map((one) => [one.endpointUid, one]));
  const next = plans.map((one) => nextEntry(one, countOf(one), aheadOf.get(one.endpoint.endpointUid), now));
  await withCommit(tx, saveSchedule(tx, next));
  const soon = next.flatMap(({ dueAt }) => (dueAt !== null && dueAt > now ? [dueAt.getTime()] : []));
  return soon.length === 0 ? undefined : new Date(Math.min(...soon));
};

/** Adds endpoints and bodies. Only a digest has its body in the delivery; other bodies are in the outbox. */
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
