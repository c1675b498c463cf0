/**
 * The fast path: a delivery that need not wait is leased in the transaction that inserts it, and its attempt starts right
 * after the commit. It saves the claim between. It is optional: without it every delivery is claimed, and everything else
 * stays the same. The setting `webhooks.fast_path` switches it off.
 *
 * A delivery takes the fast path when a slot is free, nothing else is due at its endpoint, and the endpoint has no rate and
 * is neither slow nor held by the breaker. Everything else is left to a claim (`deliver.ts`).
 */
import type { Kysely } from 'kysely';
import type { Logger } from '#src/platform/log.ts';
import { startWait, type Wait } from '#src/platform/wake.ts';
import { claiming, dispatching, fastPath, scheduling } from '../pacing/bounds.ts';
import { failuresToHold } from '../pacing/breaker.ts';
import { quick, slow } from '../pacing/concurrency-limit.ts';
import type { Full, Slot } from '../pacing/slots.ts';
import { type DueEndpoint, returnLease } from '../queue/claim-store.ts';
import type { FirstLease, NewDelivery, Subscribed } from '../queue/delivery-store.ts';
import { reschedule, scheduleLookSoon } from '../queue/schedule-store.ts';
import { type Leased, leasedTo } from './leased.ts';
import type { Sender } from './sender.ts';
import { createSignAhead } from './sign-ahead.ts';
import { createWaitBudget, type WaitBudget } from './wait-budget.ts';

export type FastPath = {
  /** For one batch of the dispatcher; `close` it whatever happens. `now`: from when its leases count. */
  open(now: Date): FastBatch;
  /** Resolves when enough attempts have ended that slots are likely to be free, or after a moment. */
  waitForSlots(): Promise<void>;
  /** No event waits for a slot any more. */
  stopWaiting(): void;
  /**
   * Returns the leases of batches whose commit was sent and not answered, because the connection was lost: the store may have them,
   * and no attempt was started. Call it before the next batch, with a new connection. True when deliveries have to be claimed.
   */
  returnUncertain(db: Kysely<unknown>): Promise<boolean>;
};

/** `wait`: the event should wait for a slot that is likely to be free soon. */
type Assignment = 'lease' | 'claim' | 'wait';

export type FastBatch = {
  /** The lease of the deliveries that `assign` leased. */
  lease(): FirstLease;
  /**
   * At the start of the transaction, which may be a retry, with the endpoints of the batch as they are locked now. Looks at
   * those that are due whether deliveries are.
   */
  begin(tx: Kysely<unknown>, subscribed: readonly Subscribed[]): Promise<void>;
  /** True when deliveries are due at one of the endpoints. They have to be claimed. */
  isAnyDue(): boolean;
  /** For the first delivery of an entity queue. Reserves a slot where the answer is `lease`. */
  assign(delivery: Pick<NewDelivery, 'uid' | 'endpointUid'>): Assignment;
  /** Releases the slots of deliveries that are not made after all. */
  release(deliveryUids: readonly string[]): void;
  /** Makes sure that a worker looks at the endpoints in time, also if this one dies. Call it right before the insertion. */
  settle(tx: Kysely<unknown>, planned: readonly NewDelivery[]): Settling;
  /** Right before the commit is sent: signs the deliveries of a small batch meanwhile. */
  beforeCommit(planned: readonly NewDelivery[]): void;
  /** After the commit: starts the attempts of the leased deliveries. */
  start(db: Kysely<unknown>, made: readonly NewDelivery[]): Promise<void>;
  /** Releases slots that were not used. */
  close(): void;
};

/** The schedules of `unsettled` endpoints are being written. */
type Settling = {
  unsettled: ReadonlySet<string>;
  /** The deliveries as they are inserted: where something turns out to be due, they are left to a claim. */
  made: Promise<readonly NewDelivery[]>;
};

export const createFastPath = ({ sender, log }: { sender: Sender; log: Logger }): FastPath => {
  const waitBudget = createWaitBudget(sender.slots);
  const someEnded = createSomeEnded(Math.min(fastPath.endedEnough, sender.slotsMax));
  let uncertain: readonly Leased[] = [];
  sender.listen({ onEnded: someEnded.count });
  return {
    open: (now) => {
      const closed = Promise.withResolvers<void>();
      sender.waitFor(closed.promise);
      const onClosed = (left: readonly Leased[]): void => {
        // A batch whose commit is not answered is the last one of its connection.
        uncertain = left;
        closed.resolve();
      };
      return openBatch({ sender, log, waitBudget, now, onClosed });
    },
    waitForSlots: someEnded.wait,
    stopWaiting: waitBudget.reset,
    returnUncertain: async (db) => {
      if (uncertain.length === 0) return false;
      for (const one of uncertain) await returnLease(db, one, one.dueAt, one.dueAt);
      uncertain = [];
      return true;
    },
  };
};

type BatchDeps = {
  sender: Sender;
  log: Logger;
  waitBudget: WaitBudget;
  now: Date;
  /** With the deliveries that the store may have leased, and whose attempts were not started. */
  onClosed: (left: readonly Leased[]) => void;
};

const openBatch = ({ sender, log, waitBudget, now, onClosed }: BatchDeps): FastBatch => {
  const startedMs = performance.now();
  const until = new Date(now.getTime() + claiming.leaseMs);
  let token = sender.leaseToken();
  const slots = new Map<string, Slot>();
  /** Endpoints of which one delivery found no slot: later deliveries must not overtake it. */
  const refused = new Set<string>();
  let open: OpenEndpoints = noEndpoints;
  /** From when the commit is sent until it is answered. */
  let committing: readonly NewDelivery[] = [];
  const release = (deliveryUids: Iterable<string>): void => {
    for (const uid of deliveryUids) {
      slots.get(uid)?.release(undefined);
      slots.delete(uid);
    }
  };
  /** Returns undefined once a slot is reserved. */
  const reserve = (deliveryUid: string, endpoint: DueEndpoint): Full | undefined => {
    const { endpointUid, class: endpointClass, recovered } = endpoint;
    if (open.due.has(endpointUid)) return { isFull: true, endpointUid, isBrief: endpointClass === quick };
    const recoveredMs = recovered?.getTime() ?? 0;
    const slot = sender.slots.tryTake({ endpointUid, endpointClass, recoveredMs, target: endpoint });
    if ('isFull' in slot) return slot;
    slots.set(deliveryUid, slot);
    return undefined;
  };
  /** Undefined where the delivery is left to a claim. */
  const leasedOf = (one: NewDelivery): Leased | undefined => {
    const endpoint = open.endpoints.get(one.endpointUid);
    return one.leased && endpoint !== undefined && slots.has(one.uid)
      ? leasedWith(endpoint, one, now, token)
      : undefined;
  };
  const signAhead = createSignAhead(sender, leasedOf);
  return {
    lease: () => ({ token, until }),
    begin: async (tx, subscribed) => {
      release(slots.keys());
      refused.clear();
      committing = [];
      open = sender.isOpen() ? await lookAgain(tx, subscribed, openEndpoints(subscribed, now), now) : noEndpoints;
      token = sender.leaseToken();
    },
    isAnyDue: () => open.due.size > 0,
    assign: ({ uid, endpointUid }) => {
      const endpoint = refused.has(endpointUid) ? undefined : open.endpoints.get(endpointUid);
      if (endpoint === undefined) return 'claim';
      const full = reserve(uid, endpoint);
      if (full === undefined) return 'lease';
      if (waitBudget.mayWait(full, performance.now())) return 'wait';
      refused.add(endpointUid);
      return 'claim';
    },
    release,
    settle: (tx, planned) => settle(tx, planned, open, now),
    beforeCommit: (planned) => {
      committing = planned;
      signAhead.begin(planned);
    },
    start: async (db, made) => {
      committing = [];
      const leased = made.flatMap((one) => (one.leased ? (signAhead.signed(one.uid) ?? leasedOf(one) ?? []) : []));
      for (const one of leased) {
        const slot = slots.get(one.uid);
        if (slot === undefined) continue;
        slots.delete(one.uid);
        sender.start(one, slot, startedMs);
      }
      if (leased.length === 0 || performance.now() - startedMs <= dispatching.lateCommitMs) return;
      const started = new Set(leased.map(({ endpointUid }) => endpointUid));
      log.warn({ endpoints: started.size }, 'the leases of new deliveries were committed late');
      await scheduleLookSoon(db, [...started], now);
    },
    close: () => {
      const left = committing.flatMap((one) => leasedOf(one) ?? []);
      release(slots.keys());
      onClosed(left);
    },
  };
};

const leasedWith = (
  endpoint: DueEndpoint,
  { uid, endpointUid, event }: NewDelivery,
  dueAt: Date,
  leaseToken: string,
): Leased => {
  const { tenant, id: eventId, kind, entity, body } = event;
  return leasedTo(endpoint, {
    tenant,
    uid,
    endpointUid,
    eventId,
    kind,
    entity,
    body,
    attemptsCount: 0,
    dueAt,
    leaseToken,
  });
};

type OpenEndpoints = {
  /** Endpoints to which a delivery may go without a claim. */
  endpoints: ReadonlyMap<string, DueEndpoint>;
  /** Of them, those with deliveries that are due and go first; before `lookAgain`, those whose schedule is due. */
  due: ReadonlySet<string>;
  /**
   * Of them, those whose schedule has to be written. Either its next look is too far away, so that the deliveries of a dead
   * worker would wait too long. Or the look is so near that a claim may be running, which does not see new rows.
   */
  unsettled: ReadonlySet<string>;
};

const noEndpoints: OpenEndpoints = { endpoints: new Map(), due: new Set(), unsettled: new Set() };

const openEndpoints = (subscribed: readonly Subscribed[], now: Date): OpenEndpoints => {
  const endpoints = new Map<string, DueEndpoint>();
  const due = new Set<string>();
  const unsettled = new Set<string>();
  for (const one of subscribed) {
    if (!isPlain(one)) continue;
    endpoints.set(one.endpointUid, one);
    // Infinite where no look is scheduled.
    const inMs = Number(one.dueAt) - now.getTime();
    if (inMs <= 0) due.add(one.endpointUid);
    else if (inMs < scheduling.lookMs / 2 || inMs > scheduling.lookMs) unsettled.add(one.endpointUid);
  }
  return { endpoints, due, unsettled };
};

/**
 * A claim that leased as many deliveries as it had room for leaves the endpoint due, since there may be more. Without a second
 * look the next delivery to it would be claimed too, and then all of them, at nearly twice the cost. So the schedule is
 * written anew where it is due, and only endpoints with due deliveries stay due.
 */
const lookAgain = async (
  tx: Kysely<unknown>,
  subscribed: readonly Subscribed[],
  open: OpenEndpoints,
  now: Date,
): Promise<OpenEndpoints> => {
  if (open.due.size === 0) return open;
  const alsoWritten = subscribed.map(({ endpointUid }) => endpointUid);
  const looked = [...open.due, ...open.unsettled];
  const resting = await reschedule(tx, looked, { alsoWritten, now });
  return { ...open, due: new Set(looked.filter((uid) => !resting.has(uid))), unsettled: new Set() };
};

const isPlain = (one: Subscribed): one is Subscribed & DueEndpoint =>
  one.dueAt !== null &&
  one.class !== null &&
  one.class !== slow &&
  one.gate === null &&
  one.maxPerSecond === null &&
  !one.cancelling &&
  one.failuresCount < failuresToHold;

/** The schedules are written in the same round trip as the deliveries, so their insertion decides by itself where it leases. */
const settle = (tx: Kysely<unknown>, planned: readonly NewDelivery[], open: OpenEndpoints, now: Date): Settling => {
  const unsettled = new Set<string>();
  for (const { leased, endpointUid } of planned)
    if (leased && open.unsettled.has(endpointUid)) unsettled.add(endpointUid);
  if (unsettled.size === 0) return { unsettled, made: Promise.resolve(planned) };
  const alsoWritten = planned.flatMap(({ first, leased, endpointUid }) => (first && !leased ? [endpointUid] : []));
  const made = reschedule(tx, [...unsettled], { alsoWritten, now }).then((resting) =>
    planned.map((one) => {
      const isDue = unsettled.has(one.endpointUid) && !resting.has(one.endpointUid);
      return one.leased && isDue ? { ...one, leased: false } : one;
    }),
  );
  return { unsettled, made };
};

/** A wait until so many attempts have ended, or for a moment. */
const createSomeEnded = (enough: number): { count(): void; wait(): Promise<void> } => {
  let left = 0;
  let current: Wait | undefined;
  return {
    count: () => {
      left -= 1;
      if (left <= 0) current?.end();
    },
    wait: () => {
      left = enough;
      current = startWait(claiming.gapMs);
      return current.over;
    },
  };
};
