/** Outbox to deliveries. Polling is the truth; a notification only makes it look sooner. */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import {
  type ClaimedEvent,
  claimEvents,
  countWaiting,
  createQueueFloor,
  lockDispatch,
  markDispatched,
  type QueueFloor,
} from '#src/platform/db/outbox/outbox-queue.ts';
import { inTransaction, isUniqueViolation, withCommit } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createWake } from '#src/platform/wake.ts';
import { type Leased, leasedTo, leaseMs } from '../deliver/claim.ts';
import {
  createPatience,
  createReservation,
  type Free,
  findFree,
  type Patience,
  type Reservation,
  type Sender,
  settleHanded,
} from '../deliver/fast-path.ts';
import type { ReadyEndpoint } from '../queue/claim-store.ts';
import { insertDeliveries, insertedOf, type NewDelivery } from '../queue/delivery-store.ts';
import { laneName, markFollowed, releaseNext } from '../queue/entity-queue-store.ts';
import { lookSoon } from '../queue/schedule-store.ts';
import { createFindStanding, type FindStanding, laneOf, type Standing } from './find-recipients.ts';
import { listenForHints } from './outbox-hints.ts';

type DispatchDeps = {
  pool: Pool;
  clock: Clock;
  log: Logger;
  sender: Sender;
  /** There are some that are to be claimed. */
  onDeliveries: () => void;
};

const batchMax = 200;
/** Where only a few find places, no more are read than are likely to. */
const batchMin = 32;
const pollMs = 500;
/** A worker that is so slow makes sure that what it has leased is looked for in time. */
const slowMs = 1_000;

export const createDispatch = (deps: DispatchDeps): Service => ({
  name: 'webhook-dispatch',
  run: async (signal) => {
    const wake = createWake(signal);
    const hints = await listenForHints(deps.pool, wake);
    const ways = {
      patience: createPatience(deps.sender.places),
      floor: createQueueFloor(),
      findStanding: createFindStanding(),
    };
    let limit = batchMax;
    let ahead: readonly ClaimedEvent[] = [];
    try {
      while (!signal.aborted) {
        // The service fails and is started again, with a connection that hears hints.
        if (hints.lost !== undefined) throw hints.lost;
        const batch = dispatchOnce(deps, hints.db, { ...ways, limit, ahead });
        deps.sender.waitFor(batch);
        const { taken, isRest, isMore, isToClaim, ...next } = await batch;
        ({ ahead } = next);
        if (isToClaim) deps.onDeliveries();
        if (isRest) {
          await deps.sender.someEnded();
          limit = Math.max(batchMin, taken * 2);
        } else {
          ways.patience.rest();
          if (!isMore) await wake.wait(pollMs);
          limit = batchMax;
        }
      }
    } finally {
      hints.stop();
    }
  },
});

type Dispatched = {
  /** Events that are dispatched now. */
  taken: number;
  /** Some of those that were looked at are not: they wait for places. */
  isRest: boolean;
  /** There may be more than those that were looked at. */
  isMore: boolean;
  /** Some deliveries are to be claimed, or the turn has come of an endpoint that they are for. */
  isToClaim: boolean;
  /** What comes next, as far as it is known. */
  ahead: readonly ClaimedEvent[];
};

type Ways = { patience: Patience; floor: QueueFloor; findStanding: FindStanding };
/** `ahead`: read in the transaction before. */
type Next = { limit: number; ahead: readonly ClaimedEvent[] };

/** One batch. Hardly any event was dispatched before, and put back into the queue since: it is looked for only where one is. */
const dispatchOnce = async (deps: DispatchDeps, db: Kysely<unknown>, ways: Ways & Next): Promise<Dispatched> => {
  try {
    return await dispatchBatch(deps, db, { ...ways, areNew: true });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    return dispatchBatch(deps, db, { ...ways, areNew: false });
  }
};

/** In one transaction. What is handed over goes when it is committed. */
const dispatchBatch = async (
  { clock, sender, log }: DispatchDeps,
  db: Kysely<unknown>,
  ways: Ways & Next & Pick<Batch, 'areNew'>,
): Promise<Dispatched> => {
  const leasedMs = performance.now();
  const now = clock.now();
  const reservation = createReservation(sender.places);
  try {
    const { handed, made, ahead, ...dispatched } = await inTransaction(db, (tx) => {
      // It may be a repetition.
      reservation.giveBack();
      return dispatchIn(tx, { ...ways, now, reservation, isOpen: sender.isOpen(), leaseToken: sender.leaseToken() });
    });
    for (const delivery of await insertedOnly(db, handed, made)) {
      const place = reservation.taken.get(delivery.uid);
      if (place === undefined) continue;
      reservation.taken.delete(delivery.uid);
      sender.start(delivery, place, leasedMs);
    }
    if (handed.length > 0 && performance.now() - leasedMs > slowMs) {
      log.warn({ count: handed.length }, 'deliveries were leased late');
      await lookSoon(db, [...new Set(handed.map(({ endpointUid }) => endpointUid))], now);
    }
    return { ...dispatched, ahead: await ahead };
  } finally {
    reservation.giveBack();
  }
};

/** `areNew`: none of them was dispatched before. */
type Batch = Ways &
  Next & { now: Date; reservation: Reservation; isOpen: boolean; leaseToken: string; areNew: boolean };

type Made = Omit<Dispatched, 'ahead'> & {
  handed: readonly Leased[];
  /** How many deliveries there should be, and how many of them are new. */
  made: { count: number; inserted: Promise<number> };
  ahead: Promise<readonly ClaimedEvent[]>;
};

const nothing: Made = {
  taken: 0,
  isRest: false,
  isMore: false,
  isToClaim: false,
  handed: [],
  made: { count: 0, inserted: Promise.resolve(0) },
  ahead: Promise.resolve([]),
};

/** What tells nothing before the commit is sent together with it: each answer that is waited for lengthens the batch. */
const dispatchIn = async (tx: Kysely<unknown>, batch: Batch): Promise<Made> => {
  const { now, limit, floor, isOpen, areNew } = batch;
  const { isHeld, events, isAhead, standing } = await begin(tx, batch);
  if (isHeld && floor.isDue(performance.now())) await withCommit(tx, floor.look(tx, performance.now()));
  if (!isHeld || events.length === 0) return nothing;
  if (standing === undefined) return { ...nothing, isMore: true };
  const free = findFree(isOpen ? standing.subscribed : [], now);
  const { made: chosen, taken } = choose(standing, free, batch);
  const isRest = taken < events.length;
  const isMore = isAhead || events.length === limit;
  const isBehind = free.behind.size > 0;
  if (taken === 0) return { ...nothing, isRest, isMore, isToClaim: isBehind, ahead: Promise.resolve(events) };
  const positions = events.slice(0, taken).map(({ position }) => position);
  await withCommit(tx, markDispatched(tx, positions, { areNew }));
  const made = await settleHanded(tx, chosen, free, now);
  const lease = { token: batch.leaseToken, until: new Date(now.getTime() + leaseMs) };
  const inserted = insertDeliveries(tx, made, { lease, areNew, now });
  await withCommit(tx, inserted);
  await withCommit(tx, markFollowed(tx, made.filter(({ first }) => !first).map(laneOf)));
  // What is there already may be finished: then nobody else would let go what was made to wait behind it.
  if (!areNew) await withCommit(tx, releaseNext(tx, made.map(laneOf), now));
  const ahead = isMore && !isRest ? claimEvents(tx, { limit: batchMax, floor: floor.get() }) : undefined;
  if (ahead !== undefined) await withCommit(tx, ahead);
  const leased = made.filter(({ leased: isLeased }) => isLeased);
  return {
    taken,
    isRest,
    isMore,
    isToClaim: isBehind || !areNew || leased.length < made.length,
    handed: leased.flatMap((one) => {
      const endpoint = free.endpoints.get(one.endpointUid);
      return endpoint === undefined ? [] : [handedTo(endpoint, one, lease.token)];
    }),
    made: { count: made.length, inserted },
    ahead: ahead ?? Promise.resolve(events.slice(taken)),
  };
};

type Begun = { isHeld: boolean; events: readonly ClaimedEvent[]; isAhead: boolean; standing: Standing | undefined };

/**
 * The lock, the next events, and where they stand; that is undefined when it is to be begun anew. Events that are known
 * already are as good as those that a claim would find, unless another dispatcher was at it meanwhile: whatever was
 * committed since with a position between theirs is of other entities, or they would not have been recorded yet.
 */
const begin = async (
  tx: Kysely<unknown>,
  { ahead, limit, floor, findStanding, now, areNew }: Batch,
): Promise<Begun> => {
  if (ahead.length < batchMin) {
    const [isHeld, events] = await Promise.all([lockDispatch(tx), claimEvents(tx, { limit, floor: floor.get() })]);
    const standing = isHeld && events.length > 0 ? await findStanding(tx, events, now, areNew) : undefined;
    return { isHeld, events, isAhead: false, standing };
  }
  const events = ahead.slice(0, limit);
  const positions = events.map(({ position }) => position);
  const [isHeld, waitingCount, standing] = await Promise.all([
    lockDispatch(tx),
    countWaiting(tx, positions),
    findStanding(tx, events, now, areNew),
  ]);
  return { isHeld, events, isAhead: true, standing: waitingCount === events.length ? standing : undefined };
};

const handedTo = (endpoint: ReadyEndpoint, { uid, endpointUid, event }: NewDelivery, leaseToken: string): Leased => {
  const { tenant, id: eventId, kind, entity, body } = event;
  return leasedTo(endpoint, { tenant, uid, endpointUid, eventId, kind, entity, body, attemptsCount: 0, leaseToken });
};

/** After the commit. Of what was dispatched before, and put back into the queue since, that is sent which was made then. */
const insertedOnly = async (
  db: Kysely<unknown>,
  handed: readonly Leased[],
  made: Made['made'],
): Promise<readonly Leased[]> => {
  if ((await made.inserted) === made.count) return handed;
  const inserted = await insertedOf(db, handed);
  return handed.filter(({ uid }) => inserted.has(uid));
};

/** What each event becomes, in their sequence, up to the first that waits for a place. Takes the places of those handed over. */
const choose = (
  { targets, unfinished }: Standing,
  free: Free,
  { reservation, patience }: Batch,
): { made: NewDelivery[]; taken: number } => {
  const made: NewDelivery[] = [];
  const refused = new Set<string>();
  for (const [taken, ofEvent] of targets.entries()) {
    const before = made.length;
    for (const target of ofEvent) {
      const name = laneName(laneOf(target));
      const first = !unfinished.has(name);
      const { endpointUid: uid } = target;
      const endpoint = first && !refused.has(uid) ? free.endpoints.get(uid) : undefined;
      const full = endpoint === undefined ? undefined : reservation.tryTake(target.uid, endpoint, free.behind.has(uid));
      if (full !== undefined && patience.waitsFor(full, performance.now())) {
        reservation.giveBack(made.splice(before).map(({ uid }) => uid));
        return { made, taken };
      }
      // What comes for it now must not pass it.
      if (full !== undefined) refused.add(uid);
      made.push({ ...target, first, leased: endpoint !== undefined && full === undefined });
      unfinished.add(name);
    }
  }
  return { made, taken: targets.length };
};
