/** Outbox to deliveries. Polling is the truth; a notification only makes it look sooner. */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { outboxChannel } from '#src/platform/db/outbox.ts';
import {
  type ClaimedEvent,
  claimEvents,
  createQueueFloor,
  lockDispatch,
  markDispatched,
  type QueueFloor,
} from '#src/platform/db/outbox-queue.ts';
import { createPreparedDatabase } from '#src/platform/db/prepared.ts';
import { inTransaction, withCommit } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import { type Leased, leasedTo, leaseMs } from './claim.ts';
import type { ReadyEndpoint } from './claim-store.ts';
import { insertDeliveries, insertedOf, lockSubscribed, type NewDelivery, type Subscribed } from './delivery-store.ts';
import {
  createPatience,
  createReservation,
  createStarter,
  type Free,
  findFree,
  type Patience,
  type Reservation,
  type Sender,
  type Starter,
  settleHanded,
} from './hand-over.ts';
import { type Lane, laneName, lockLanes, markFollowed, unfinishedLanes } from './lane-store.ts';
import { loopSettings } from './loop-connection.ts';
import { lookSoon } from './ready-store.ts';

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
    const hints = await listen(deps, wake);
    const patience = createPatience(deps.sender.places);
    const start = createStarter(deps.sender);
    const floor = createQueueFloor();
    let limit = batchMax;
    try {
      while (!signal.aborted) {
        // The service fails and is started again, with a connection that hears hints.
        if (hints.lost !== undefined) throw hints.lost;
        const batch = dispatchOnce(deps, hints.db, { limit, patience, floor, start });
        deps.sender.waitFor(batch);
        const { claimed, taken, isToClaim } = await batch;
        if (isToClaim) deps.onDeliveries();
        if (taken < claimed) {
          await deps.sender.someEnded();
          limit = Math.max(batchMin, taken * 2);
        } else {
          patience.rest();
          if (claimed < limit) await wake.wait(pollMs);
          limit = batchMax;
        }
      }
    } finally {
      hints.stop();
    }
  },
});

type Dispatched = {
  claimed: number;
  /** Of them, those that are dispatched now: the others wait for places. */
  taken: number;
  /** Some deliveries are to be claimed, or the turn has come of an endpoint that they are for. */
  isToClaim: boolean;
};

/** One batch in one transaction. What is handed over goes when it is committed. */
const dispatchOnce = async (
  { clock, sender, log }: DispatchDeps,
  db: Kysely<unknown>,
  { limit, patience, floor, start }: { limit: number; patience: Patience; floor: QueueFloor; start: Starter },
): Promise<Dispatched> => {
  const leasedMs = performance.now();
  const now = clock.now();
  const reservation = createReservation(sender.places);
  try {
    const { handed, made, ...dispatched } = await inTransaction(db, (tx) => {
      // It may be a repetition.
      reservation.giveBack();
      return dispatchIn(tx, { now, limit, reservation, patience, floor, isOpen: sender.isOpen() });
    });
    start(
      (await insertedOnly(db, handed, made)).flatMap((delivery) => {
        const place = reservation.hand(delivery.uid);
        return place === undefined ? [] : [{ delivery, place, leasedMs }];
      }),
    );
    if (handed.length > 0 && performance.now() - leasedMs > slowMs) {
      log.warn({ count: handed.length }, 'deliveries were leased late');
      await lookSoon(db, [...new Set(handed.map(({ endpointUid }) => endpointUid))], now);
    }
    return dispatched;
  } finally {
    reservation.giveBack();
  }
};

type Batch = {
  now: Date;
  limit: number;
  reservation: Reservation;
  patience: Patience;
  floor: QueueFloor;
  isOpen: boolean;
};

type Made = { handed: Leased[]; made: { count: number; inserted: Promise<number> } };

const none = { handed: [], made: { count: 0, inserted: Promise.resolve(0) } };
const nothing = { claimed: 0, taken: 0, isToClaim: false, ...none };

/** What tells nothing before the commit is sent together with it: each answer that is waited for lengthens the batch. */
const dispatchIn = async (tx: Kysely<unknown>, batch: Batch): Promise<Dispatched & Made> => {
  const { now, limit, floor, isOpen } = batch;
  const [isHeld, events] = await Promise.all([lockDispatch(tx), claimEvents(tx, { limit, floor: floor.get() })]);
  if (!isHeld || events.length === 0) return nothing;
  if (floor.isDue(performance.now())) await withCommit(tx, floor.look(tx, performance.now()));
  // From then on nobody else may look at these endpoints until the commit.
  const subscribed = await lockSubscribed(tx, [...new Set(events.map(({ tenant }) => tenant))]);
  const targets = targetsOf(events, subscribed, now);
  const lanes = targets.flat().map(laneOf);
  await withCommit(tx, lockLanes(tx, lanes));
  const unfinished = await unfinishedLanes(tx, lanes);
  const wanted = new Set(lanes.map(({ endpointUid }) => endpointUid));
  const free = findFree(isOpen ? subscribed.filter(({ endpointUid }) => wanted.has(endpointUid)) : [], now);
  const { made: chosen, taken } = choose(targets, { unfinished, free }, batch);
  const isToClaim = free.behind.size > 0;
  if (taken === 0) return { ...nothing, claimed: events.length, isToClaim };
  const positions = events.slice(0, taken).map(({ position }) => position);
  await withCommit(tx, markDispatched(tx, positions));
  if (chosen.length === 0) return { ...nothing, claimed: events.length, taken, isToClaim };
  const made = await settleHanded(tx, chosen, free, now);
  const lease = { token: randomUUID(), until: new Date(now.getTime() + leaseMs) };
  const inserted = insertDeliveries(tx, made, lease, now);
  await withCommit(tx, inserted);
  await withCommit(tx, markFollowed(tx, made.filter(({ first }) => !first).map(laneOf)));
  const leased = made.filter(({ leased: isLeased }) => isLeased);
  const handed = leased.flatMap((one) => {
    const endpoint = free.endpoints.get(one.endpointUid);
    return endpoint === undefined ? [] : [handedTo(endpoint, one, lease.token)];
  });
  return {
    claimed: events.length,
    taken,
    isToClaim: isToClaim || leased.length < made.length,
    handed,
    made: { count: made.length, inserted },
  };
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

/** Of each event. */
const targetsOf = (events: readonly ClaimedEvent[], subscribed: readonly Subscribed[], now: Date): Target[][] => {
  const endpoints = Map.groupBy(subscribed, ({ tenant }) => tenant);
  return events.map((event) =>
    (endpoints.get(event.tenant) ?? [])
      .filter(({ kinds }) => kinds.includes(event.kind))
      .map(({ endpointUid }) => ({ uid: newId('dlv', now.getTime()), endpointUid, event })),
  );
};

type Target = Pick<NewDelivery, 'uid' | 'endpointUid' | 'event'>;

const laneOf = ({ endpointUid, event: { kind, entity } }: Target): Lane => ({ endpointUid, kind, entity });

type Standing = {
  /** Names of lanes that have something unfinished; those that get it now are added. */
  unfinished: Set<string>;
  free: Free;
};

/** What each event becomes, in their sequence, up to the first that waits for a place. Takes the places of those handed over. */
const choose = (
  targets: readonly (readonly Target[])[],
  { unfinished, free }: Standing,
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

type Hints = { db: Kysely<unknown>; lost: Error | undefined; stop(): void };

/** Hints over a connection of its own, which nobody else may use: it listens. The dispatcher works on it as well. */
const listen = async ({ pool }: DispatchDeps, wake: Wake): Promise<Hints> => {
  const client: PoolClient = await pool.connect();
  const hints: Hints = {
    db: createPreparedDatabase(client),
    lost: undefined,
    stop: () => {
      client.off('notification', wake.now);
      client.off('error', onError);
      client.release(true);
    },
  };
  function onError(error: Error): void {
    hints.lost = error;
    wake.now();
  }
  client.on('notification', wake.now);
  client.on('error', onError);
  try {
    await client.query(`${loopSettings}; set application_name = 'webhook-dispatch'; listen ${outboxChannel}`);
  } catch (error) {
    hints.stop();
    throw error;
  }
  return hints;
};
