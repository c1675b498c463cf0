/**
 * The dispatcher: turns events of the outbox into deliveries, one per subscribed endpoint, in the order of recording. It
 * polls; a hint only makes it look sooner. The outbox is divided into queues by tenant. The dispatcher of each worker
 * visits them in turn, and one dispatcher at a time works on a queue, under its lock.
 */
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import {
  type ClaimedEvent,
  claimEvents,
  countWaiting,
  createQueueFloor,
  type DispatchQueue,
  dispatchQueues,
  lockDispatch,
  markDispatched,
  mayBeOvertaken,
  type QueueFloor,
} from '#src/platform/db/outbox/outbox-queue.ts';
import { inTransaction, isUniqueViolation, withCommit } from '#src/platform/db/transaction.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Poll } from '#src/platform/wake.ts';
import type { FastBatch, FastPath } from '../deliver/fast-path.ts';
import { dispatching } from '../pacing/bounds.ts';
import { insertDeliveries, insertedOf, type NewDelivery } from '../queue/delivery-store.ts';
import { entityQueueName, markFollowed, releaseNext } from '../queue/entity-queue-store.ts';
import { createFindRecipients, entityQueueOf, type FindRecipients, type Recipients } from './find-recipients.ts';
import { listenForHints } from './outbox-hints.ts';

type DispatchDeps = {
  pool: Pool;
  clock: Clock;
  /** Undefined: every delivery is claimed. */
  fastPath: FastPath | undefined;
  /** Into how many queues the outbox is divided. */
  queuesCount: number;
  /** Deliveries are due and have to be claimed. */
  onDeliveries: () => void;
  /** Ends its waits for a hint. */
  poll: Poll;
};

type Dispatch = {
  service: Service;
  /** The position below which no event waits in any queue. */
  floor(): number;
  /** Events were dispatched a moment ago, so the floors of the queues still rise. */
  isSettling(): boolean;
};

const { batchMax, batchMin } = dispatching;

export const createDispatch = (deps: DispatchDeps): Dispatch => {
  let visits: Visit[] = [];
  let tookMs = Number.NEGATIVE_INFINITY;
  const run = async (signal: AbortSignal): Promise<void> => {
    const wait = deps.poll.begin(signal);
    const hints = await listenForHints(deps.pool, deps.poll.now);
    const findRecipients = createFindRecipients();
    // The floors live as long as the connection.
    visits = dispatchQueues(deps.queuesCount).map(firstVisit);
    // Workers that start together begin at different queues.
    let turn = Math.floor(Math.random() * visits.length);
    let inVain = 0;
    try {
      if (await deps.fastPath?.returnUncertain(hints.db)) deps.onDeliveries();
      while (!signal.aborted) {
        // The supervisor starts the service again, with a new connection that listens.
        if (hints.lost !== undefined) throw hints.lost;
        const visit = visits[turn % visits.length] as Visit;
        turn += 1;
        const { taken, isRest, isMore, isInTurn, isToClaim, ahead } = await dispatchOnce(deps, hints.db, {
          ...visit,
          findRecipients,
        });
        if (isToClaim) deps.onDeliveries();
        if (taken > 0) tookMs = performance.now();
        visit.ahead = ahead;
        visit.isRest = isRest;
        visit.isInTurn = isInTurn;
        visit.limit = isRest ? Math.max(batchMin, taken * 2) : batchMax;
        if (isRest) await deps.fastPath?.waitForSlots();
        else if (visits.every((one) => !one.isRest)) deps.fastPath?.stopWaiting();
        inVain = isRest || isMore ? 0 : inVain + 1;
        if (inVain >= visits.length) {
          await wait();
          inVain = 0;
        }
      }
    } finally {
      hints.stop();
    }
  };
  return {
    service: { name: 'webhook-dispatch', run },
    floor: () => (visits.length === 0 ? 0 : Math.min(...visits.map(({ floor }) => floor.get()))),
    isSettling: () => performance.now() - tookMs < dispatching.settleMs,
  };
};

/** What the dispatcher knows of a queue when it comes back to it. */
type Visit = {
  queue: DispatchQueue;
  floor: QueueFloor;
  limit: number;
  /** Events that were read already and have to be dispatched next. */
  ahead: readonly ClaimedEvent[];
  /** Some of its events wait for slots of the fast path. */
  isRest: boolean;
  /** The last batch was full, so the next events are taken of all groups of tenants in turn. */
  isInTurn: boolean;
};

const firstVisit = (queue: DispatchQueue): Visit => ({
  queue,
  floor: createQueueFloor(queue),
  limit: batchMax,
  ahead: [],
  isRest: false,
  isInTurn: false,
});

type Dispatched = {
  /** How many events were dispatched. */
  taken: number;
  /** True when some of the events wait for slots of the fast path. */
  isRest: boolean;
  /** True when the queue may hold more events. */
  isMore: boolean;
  /** Of `Visit`. */
  isInTurn: boolean;
  /** True when deliveries have to be claimed. */
  isToClaim: boolean;
  /** The next events, as far as they were read already. */
  ahead: readonly ClaimedEvent[];
};

/** `areNew`: none of the events was dispatched before. */
type Batch = Omit<Visit, 'isRest'> & { findRecipients: FindRecipients; areNew: boolean };

/** Inserts as if every event were new. On a unique violation it starts over and leaves deliveries that exist as they are. */
const dispatchOnce = async (
  deps: DispatchDeps,
  db: Kysely<unknown>,
  batch: Omit<Batch, 'areNew'>,
): Promise<Dispatched> => {
  try {
    return await dispatchBatch(deps, db, { ...batch, areNew: true });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    return dispatchBatch(deps, db, { ...batch, areNew: false });
  }
};

/** One transaction. Deliveries of the fast path start after its commit. */
const dispatchBatch = async (
  { clock, fastPath }: DispatchDeps,
  db: Kysely<unknown>,
  batch: Batch,
): Promise<Dispatched> => {
  const now = clock.now();
  const fast = fastPath?.open(now);
  try {
    const result = await inTransaction(db, (tx) => dispatchIn(tx, batch, now, fast));
    const { made: settled, inserted, ahead, ...dispatched } = result;
    const made = await settled;
    if (fast !== undefined) await fast.start(db, await onlyInserted(db, made, await inserted));
    const isToClaim = dispatched.isToClaim || made.some(({ leased }) => !leased);
    return { ...dispatched, isToClaim, ahead: await ahead };
  } finally {
    fast?.close();
  }
};

type Made = Omit<Dispatched, 'ahead'> & {
  made: Promise<readonly NewDelivery[]>;
  /** How many of them were inserted; the others existed. */
  inserted: Promise<number>;
  ahead: Promise<readonly ClaimedEvent[]>;
};

const none: ReadonlySet<string> = new Set();

const nothing: Made = {
  taken: 0,
  isRest: false,
  isMore: false,
  isInTurn: false,
  isToClaim: false,
  made: Promise.resolve([]),
  inserted: Promise.resolve(0),
  ahead: Promise.resolve([]),
};

/** Statements whose result is not needed before the commit are sent together with it, which saves their round trips. */
const dispatchIn = async (tx: Kysely<unknown>, batch: Batch, now: Date, fast: FastBatch | undefined): Promise<Made> => {
  const { queue, limit, floor, areNew } = batch;
  const { isHeld, events, isAhead, recipients } = await begin(tx, batch, now);
  if (isHeld && floor.isDue(performance.now())) await withCommit(tx, floor.look(tx, performance.now()));
  if (!isHeld || events.length === 0) return nothing;
  if (recipients === undefined) return { ...nothing, isMore: true, isInTurn: batch.isInTurn };
  await fast?.begin(tx, recipients.subscribed);
  const isAnyDue = fast?.isAnyDue() ?? false;
  const { planned, taken } = planDeliveries(recipients, fast);
  const isRest = taken < events.length;
  const isMore = isAhead || events.length === limit;
  const isInTurn = isMore && mayBeOvertaken(events[0], now);
  if (taken === 0) return { ...nothing, isRest, isMore, isInTurn, isToClaim: isAnyDue, ahead: Promise.resolve(events) };
  const positions = events.slice(0, taken).map(({ position }) => position);
  await withCommit(tx, markDispatched(tx, positions, { areNew }));
  const { unsettled, made } = fast?.settle(tx, planned) ?? { unsettled: none, made: Promise.resolve(planned) };
  const inserted = insertDeliveries(tx, planned, { lease: fast?.lease(), unsettled, areNew, now });
  await withCommit(tx, made);
  await withCommit(tx, inserted);
  await withCommit(tx, markFollowed(tx, planned.filter(({ first }) => !first).map(entityQueueOf)));
  // A delivery that existed may be finished already. Then only this releases what was inserted behind it.
  if (!areNew) await withCommit(tx, releaseNext(tx, planned.map(entityQueueOf), now));
  const ahead =
    isMore && !isRest ? claimEvents(tx, queue, { limit: batchMax, floor: floor.get(), isInTurn }) : undefined;
  if (ahead !== undefined) await withCommit(tx, ahead);
  fast?.beforeCommit(planned);
  return {
    taken,
    isRest,
    isMore,
    isInTurn,
    isToClaim: isAnyDue || !areNew,
    made,
    inserted,
    ahead: ahead ?? Promise.resolve(events.slice(taken)),
  };
};

type Begun = {
  isHeld: boolean;
  events: readonly ClaimedEvent[];
  isAhead: boolean;
  /** Undefined: the batch has to start over. */
  recipients: Recipients | undefined;
};

/**
 * Takes the lock, and finds the next events and their recipients. Events that were read ahead are used unless another
 * dispatcher took some of them. Events committed since then with a position between theirs belong to other entities,
 * because events of one entity are recorded one after the other; so their sequence is kept.
 */
const begin = async (
  tx: Kysely<unknown>,
  { queue, ahead, limit, floor, isInTurn, findRecipients, areNew }: Batch,
  now: Date,
): Promise<Begun> => {
  if (ahead.length < batchMin) {
    const [isHeld, events] = await Promise.all([
      lockDispatch(tx, queue),
      claimEvents(tx, queue, { limit, floor: floor.get(), isInTurn }),
    ]);
    const recipients = isHeld && events.length > 0 ? await findRecipients(tx, events, now, areNew) : undefined;
    return { isHeld, events, isAhead: false, recipients };
  }
  const events = ahead.slice(0, limit);
  const positions = events.map(({ position }) => position);
  const [isHeld, waitingCount, recipients] = await Promise.all([
    lockDispatch(tx, queue),
    countWaiting(tx, positions),
    findRecipients(tx, events, now, areNew),
  ]);
  return { isHeld, events, isAhead: true, recipients: waitingCount === events.length ? recipients : undefined };
};

/** Leaves out deliveries that existed before: an earlier dispatch has made them, with a lease of its own or none. */
const onlyInserted = async (
  db: Kysely<unknown>,
  made: readonly NewDelivery[],
  insertedCount: number,
): Promise<readonly NewDelivery[]> => {
  if (insertedCount === made.length) return made;
  const leased = made.filter((one) => one.leased);
  const inserted = await insertedOf(
    db,
    leased.map(({ uid, endpointUid, event }) => ({ uid, endpointUid, eventId: event.id })),
  );
  return leased.filter(({ uid }) => inserted.has(uid));
};

/** The deliveries of each event, in the order of events, up to the first event that waits for a slot. */
const planDeliveries = (
  { targets, unfinished }: Recipients,
  fast: FastBatch | undefined,
): { planned: NewDelivery[]; taken: number } => {
  const planned: NewDelivery[] = [];
  for (const [taken, ofEvent] of targets.entries()) {
    const before = planned.length;
    for (const target of ofEvent) {
      const name = entityQueueName(entityQueueOf(target));
      const first = !unfinished.has(name);
      const assignment = first && fast !== undefined ? fast.assign(target) : 'claim';
      if (assignment === 'wait') {
        fast?.release(planned.splice(before).map(({ uid }) => uid));
        return { planned, taken };
      }
      planned.push({ ...target, first, leased: assignment === 'lease' });
      unfinished.add(name);
    }
  }
  return { planned, taken: targets.length };
};
