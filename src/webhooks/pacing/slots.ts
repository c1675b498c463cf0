/**
 * The slots of one worker: how many attempts are in flight at once, and to which endpoints.
 *
 * - An endpoint starts with one slot; its limit grows and shrinks with its answers (`concurrency-limit.ts`).
 * - Unknown endpoints share half of the slots.
 * - An attempt whose receiver does not answer in time moves to a slow slot, so that its usual slot is free for others. It
 *   moves sooner while slots are short. There are more slow slots than usual ones, and receivers that answer in time never
 *   need one. Receivers that hang therefore delay only each other, and sockets and memory stay bounded. Some slow slots are
 *   kept for endpoints that are known as slow: while slots are short, attempts to others would move to every one that is free.
 * - A proven endpoint may hold deliveries ahead, without a slot, so that it does not wait for a claim after each answer. Each of
 *   them needs a slot when it starts. Slots that become free go in turn to these, to attempts of endpoints for which no slot was
 *   free, and to claims; an endpoint does not pass its slot on to its own next delivery while others wait.
 * - Endpoints of one host, and those of one tenant, leave slots to others (`group-shares.ts`).
 */
import { fastPath, slotting } from './bounds.ts';
import {
  type ConcurrencyLimit,
  createConcurrencyLimit,
  type EndpointClass,
  type EndpointState,
  newEndpointState,
  quick,
  slow,
  unknown,
} from './concurrency-limit.ts';
import { type Asking, isAtLimit, startNext, updateEndpointState } from './endpoint-states.ts';
import { createGroupShares, type GroupShares, type Groups, noGroups, type SharedKind } from './group-shares.ts';
import { createLinkedList, type Entry, type LinkedList } from './linked-list.ts';
import {
  capsOf,
  isFree,
  isMoveFree,
  isReserveFree,
  isRoomAhead,
  isShortOf,
  type Room,
  roomOf,
  type SlotCaps,
  type SlotCounts,
} from './slot-policy.ts';

export type { Room };

export type Slots = {
  /** What may be claimed now. Moves attempts that take long to slow slots first. */
  room(nowMs: number): Room;
  /** True while deliveries wait for slots: attempts that take long then lose theirs sooner. */
  isShort(): boolean;
  /** How many more deliveries the endpoint may hold. `isPaced`: it has a rate, so nothing is held ahead for it. */
  remainingFor(endpoint: Asking & { isPaced: boolean }): number;
  /** For one claim, which decides before it takes slots. */
  planShares(): PlannedShares;
  /** Takes a slot, or holds the delivery ahead where the endpoint has as many slots as it may. */
  take(endpointUid: string, fromReserve: boolean): Slot;
  /** The same for the fast path, which leaves the reserve to claims; `Full` where the delivery would have to wait. */
  tryTake(endpoint: Asking): Slot | Full;
  /**
   * At the end of a claim. `isShort`: due deliveries were left since no usual slot is free. Slots that become free then go in
   * turn to deliveries that wait here and to the next claim.
   */
  claimed(isShort: boolean): void;
  /** Attempts that ended since the start, of the endpoint in `full`, or of all endpoints. */
  endedCount(full: Full): number;
};

/** False: the host or the tenant of the endpoint leaves the slots that are free to others. Otherwise the attempt is counted. */
export type PlannedShares = (endpointUid: string, kind: SharedKind) => boolean;

/**
 * Why there is no slot. `endpointUid`: this endpoint holds as many deliveries as it may; undefined: all slots are in use.
 * `isBrief`: a slot is likely to be free soon, because the endpoint is proven or no attempt has taken long.
 */
export type Full = { isFull: true; endpointUid: string | undefined; isBrief: boolean };

/** One held delivery. Call `waitForSlot`, then `answered`, then `release`; `release` may also come without the others. */
export type Slot = {
  /**
   * Resolves when the attempt may start, or when `over` is aborted; with false when it has to be left to a claim, because its host or
   * tenant leaves the slots that are free to others.
   */
  waitForSlot(over: AbortSignal): Promise<boolean>;
  /** The answer is there. `mayFollow`, true by default: the next attempt of the same endpoint may start before the release. */
  answered(mayFollow?: boolean): void;
  /** `result`: undefined when no attempt was made. */
  release(result: { tookMs: number; failed: boolean } | undefined): void;
};

type SlotsOptions = {
  slotsMax: number;
  slowSlotsMax: number;
  perEndpointMax: number;
  /** A receiver whose answer takes longer is slow. */
  slowMs: number;
  /** The least time an attempt keeps its slot while others wait for one. */
  shortMs: number;
};

/** A held delivery. `kind`: the kind of its slot; undefined while it is held ahead. */
type Held = {
  startedMs: number;
  endpoint: EndpointState;
  kind: EndpointClass | undefined;
  fromReserve: boolean;
  /** It moved to a slow slot. */
  isMoved: boolean;
  isAnswered: boolean;
  /** It counts as an attempt in flight of its endpoint. */
  isSending: boolean;
  /** Its entry in `recent`. */
  recent: Entry<Held> | undefined;
  /** The groups in which it counts. */
  groups: Groups;
};

/** How an attempt gets to its start. `now`: if it need not wait; otherwise in its turn, with a free slot or one of the reserve. */
type Way = 'now' | 'turn' | 'reserve';

type Go = (way: Way) => void;

type Waiting = { go: Go; sinceMs: number };

type State = {
  options: SlotsOptions;
  caps: SlotCaps;
  counts: SlotCounts;
  limit: ConcurrencyLimit;
  shares: GroupShares;
  /** By uid, in the order of `endpoint-states.ts`. */
  endpoints: Map<string, EndpointState>;
  /** Attempts in usual slots, in the order of their start. */
  recent: LinkedList<Held>;
  /** Uids of endpoints that hold as many deliveries as they may. */
  full: Set<string>;
  /** Attempts for which no slot was free when they were taken, oldest first. */
  waiting: Waiting[];
  /** Attempts of deliveries held ahead that the limits of their endpoints allow to start, oldest first. */
  asking: Go[];
  /** The last attempt that started in its turn was one of `asking`. */
  isAskingServed: boolean;
  /** The last claim left due deliveries for want of slots. */
  isClaimShort: boolean;
  endedCount: number;
};

export const createSlots = (options: SlotsOptions): Slots => {
  const state: State = {
    options,
    caps: capsOf(options),
    counts: { held: { [quick]: 0, [unknown]: 0, [slow]: 0 }, moved: 0, ahead: 0, reserve: 0, kept: 0 },
    limit: createConcurrencyLimit(options),
    shares: createGroupShares(options.slowSlotsMax),
    endpoints: new Map(),
    recent: createLinkedList(),
    full: new Set(),
    waiting: [],
    asking: [],
    isAskingServed: false,
    isClaimShort: false,
    endedCount: 0,
  };
  const { caps, counts } = state;
  return {
    room: (nowMs) => {
      moveLongAttempts(state, nowMs, (kind) => isShortOf(caps, counts, kind));
      startWaiting(state, nowMs);
      return roomOf(caps, counts, state.full);
    },
    isShort: () => isShortOf(caps, counts, unknown),
    remainingFor: ({ isPaced, ...asking }) => {
      const endpoint = updateEndpointState(state.endpoints, asking, state.shares);
      return Math.max(0, (isPaced ? endpoint.allowed : holdMax(state, endpoint)) - endpoint.taken);
    },
    planShares: () => planShares(state),
    take: (uid, fromReserve) => {
      counts.kept = Math.max(0, counts.kept - 1);
      return take(state, uid, { fromReserve, isAhead: false });
    },
    tryTake: (asking) => tryTake(state, asking),
    claimed: (isShort) => {
      state.isClaimShort = isShort;
      counts.kept = 0;
      startWaiting(state, performance.now());
    },
    endedCount: ({ endpointUid: uid }) =>
      uid === undefined ? state.endedCount : (state.endpoints.get(uid)?.ended ?? 0),
  };
};

const freeSlow = ({ caps, counts }: State): number => Math.max(0, caps.slowSlotsMax - counts.held[slow]);

const planShares = (state: State): PlannedShares => {
  const { shares, endpoints } = state;
  const planned = new Map<string, number>();
  let free = freeSlow(state);
  return (uid, kind) => {
    const groups = endpoints.get(uid)?.groups ?? noGroups;
    if (shares.mustLeave(groups, kind, free, planned)) return false;
    for (const { name } of groups) planned.set(name, (planned.get(name) ?? 0) + 1);
    if (kind === 'slow') free -= 1;
    return true;
  };
};

/** True when the host or the tenant of the endpoint leaves the slots that are free to others. */
const mustLeave = (state: State, { groups, class: endpointClass }: EndpointState): boolean =>
  state.shares.mustLeave(groups, endpointClass === slow ? 'slow' : 'usual', freeSlow(state));

/** How many deliveries the endpoint may hold, with slots and ahead. */
const holdMax = (
  { caps, counts, limit }: State,
  endpoint: EndpointState,
  factor: number = slotting.aheadFactor,
): number =>
  limit.isProven(endpoint) && isRoomAhead(caps, counts)
    ? Math.max(endpoint.allowed, limit.provenMax * factor)
    : endpoint.allowed;

const noteFull = (state: State, uid: string, endpoint: EndpointState): void => {
  if (endpoint.taken > 0 && endpoint.taken >= holdMax(state, endpoint)) state.full.add(uid);
  else state.full.delete(uid);
};

const changeKind = (state: State, slot: Held, kind: EndpointClass | undefined): void => {
  leaveKind(state, slot);
  enterKind(state, slot, kind);
};

const enterKind = ({ counts, shares }: State, slot: Held, kind: EndpointClass | undefined): void => {
  slot.kind = kind;
  if (kind === undefined) {
    counts.ahead += 1;
    return;
  }
  counts.held[kind] += 1;
  slot.groups = slot.endpoint.groups;
  shares.add(slot.groups);
};

const leaveKind = ({ counts, shares }: State, slot: Held): void => {
  if (slot.kind === undefined) {
    counts.ahead -= 1;
    return;
  }
  counts.held[slot.kind] -= 1;
  shares.drop(slot.groups);
};

const takeReserve = ({ counts }: State, slot: Held): void => {
  counts.reserve += 1;
  slot.fromReserve = true;
};

const leaveReserve = ({ counts }: State, slot: Held): void => {
  if (slot.fromReserve) counts.reserve -= 1;
  slot.fromReserve = false;
};

/** Moves attempts that take long to slow slots. `isWanted`: slots of this kind are needed, so that `shortMs` is long. */
const moveLongAttempts = (
  state: State,
  nowMs: number,
  isWanted: (kind: EndpointClass | undefined) => boolean,
): void => {
  const { recent, options, caps, counts } = state;
  for (let next = recent.first(); next !== undefined; ) {
    const entry = next;
    const slot = entry.value;
    // Once it is removed, the entry leads to no other one.
    next = entry.after;
    const ageMs = nowMs - slot.startedMs;
    if (ageMs < options.shortMs || !isMoveFree(caps, counts)) return;
    if (ageMs < options.slowMs && !isWanted(slot.kind)) continue;
    recent.remove(entry);
    slot.recent = undefined;
    // An answer whose result cannot be written yet says nothing against its receiver.
    if (ageMs >= options.slowMs && !slot.isAnswered) slot.endpoint.class = slow;
    leaveReserve(state, slot);
    changeKind(state, slot, slow);
    slot.isMoved = true;
    counts.moved += 1;
  }
};

/**
 * Starts attempts that wait, as far as slots are free: one of `waiting` and one of `asking` in turn. One of `waiting` that waited
 * for `shortMs` may have a slot of the reserve. While due deliveries are left to claims, one slot is kept for the next claim for
 * each attempt that starts. Otherwise events that arrive faster than they are sent would take every slot, and no claim would
 * find one.
 */
const startWaiting = (state: State, nowMs: number): void => {
  const { waiting, asking, options, caps, counts } = state;
  while (waiting.length > 0 || asking.length > 0) {
    const [first] = waiting;
    const fromReserve = first !== undefined && nowMs - first.sinceMs >= options.shortMs && isReserveFree(caps, counts);
    if (!fromReserve && !isFree(caps, counts, quick)) return;
    const isAsking = asking.length > 0 && !fromReserve && (first === undefined || !state.isAskingServed);
    state.isAskingServed = isAsking;
    const go = isAsking ? asking.shift() : waiting.shift()?.go;
    go?.(fromReserve ? 'reserve' : 'turn');
    if (state.isClaimShort) counts.kept = Math.min(caps.keptMax, counts.kept + 1);
  }
};

const tryTake = (state: State, asking: Asking): Slot | Full => {
  const { caps, counts, recent, options } = state;
  const endpoint = updateEndpointState(state.endpoints, asking, state.shares);
  const { endpointUid } = asking;
  if (endpoint.taken >= holdMax(state, endpoint, fastPath.aheadFactor))
    return { isFull: true, endpointUid, isBrief: state.limit.isProven(endpoint) };
  if (mustLeave(state, endpoint)) return { isFull: true, endpointUid: undefined, isBrief: false };
  const takeNow = (isAhead: boolean): Slot => take(state, endpointUid, { fromReserve: false, isAhead });
  // Beyond its limit the delivery is held ahead and needs no slot now; `holdMax` bounds that.
  if (endpoint.taken >= endpoint.allowed || isFree(caps, counts, endpoint.class)) return takeNow(false);
  // Attempts that take long lose their slots here as they do before a claim.
  moveLongAttempts(state, performance.now(), (kind) => !isFree(caps, counts, kind ?? quick));
  if (isFree(caps, counts, endpoint.class)) return takeNow(false);
  const oldest = recent.first()?.value;
  const isBrief = oldest === undefined || performance.now() - oldest.startedMs < options.shortMs;
  if (endpoint.class === quick && isBrief && isRoomAhead(caps, counts)) return takeNow(true);
  return { isFull: true, endpointUid: undefined, isBrief };
};

/** `isAhead`: the delivery has no slot until its attempt starts. */
const take = (
  state: State,
  uid: string,
  { fromReserve, isAhead }: { fromReserve: boolean; isAhead: boolean },
): Slot => {
  const endpoint = state.endpoints.get(uid) ?? newEndpointState(unknown, 0);
  state.endpoints.set(uid, endpoint);
  endpoint.taken += 1;
  const slot: Held = {
    startedMs: 0,
    endpoint,
    kind: undefined,
    fromReserve: false,
    isMoved: false,
    isAnswered: false,
    isSending: false,
    recent: undefined,
    groups: noGroups,
  };
  if (fromReserve) takeReserve(state, slot);
  enterKind(state, slot, isAhead || endpoint.taken > endpoint.allowed ? undefined : endpoint.class);
  noteFull(state, uid, endpoint);
  return {
    waitForSlot: (over) => waitForSlot(state, slot, isAhead, over),
    answered: (mayFollow = true) => {
      slot.isAnswered = true;
      if (!mayFollow) return;
      endSending(slot);
      startNext(endpoint);
    },
    release: (result) => release(state, uid, slot, result),
  };
};

const begin = (state: State, slot: Held): void => {
  slot.endpoint.sending += 1;
  slot.isSending = true;
  slot.startedMs = performance.now();
  if (slot.kind === undefined) changeKind(state, slot, slot.endpoint.class);
  if (slot.kind !== slow) slot.recent = state.recent.add(slot);
};

const endSending = (slot: Held): void => {
  if (slot.isSending) slot.endpoint.sending -= 1;
  slot.isSending = false;
};

/** Whether an attempt that its endpoint's limit allows has to wait for a slot. `isAhead`: none was free when it was taken. */
const mustAsk = (state: State, slot: Held, isAhead: boolean): boolean => {
  const { caps, counts, waiting, asking, isClaimShort } = state;
  if (slot.kind !== undefined) return false;
  if (isAhead) return !isFree(caps, counts, quick);
  // An endpoint that became slow has few attempts at once, in slow slots.
  if (slot.endpoint.class === slow) return false;
  return isClaimShort || waiting.length > 0 || asking.length > 0 || !isFree(caps, counts, quick);
};

/** An attempt waits first for its endpoint's limit and then, when it was held without a slot, for a free one. */
const waitForSlot = (state: State, slot: Held, isAhead: boolean, over: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const { endpoint } = slot;
    let isStarted = false;
    const start = (): void => {
      if (isStarted) return;
      isStarted = true;
      over.removeEventListener('abort', start);
      // One that was held without a slot may be one of many whose receiver has stopped answering since.
      if (slot.kind === undefined && !over.aborted && mustLeave(state, endpoint)) return resolve(false);
      begin(state, slot);
      resolve(true);
    };
    const go = (way: Way): void => {
      if (way !== 'now') endpoint.asking -= 1;
      if (isStarted) return;
      if (isAtLimit(endpoint)) {
        // The limit fell while it waited for a slot, and it stays before those that wait for the limit.
        if (way === 'now') endpoint.waiting.push(() => go('now'));
        else endpoint.waiting.unshift(() => go('now'));
      } else if (way === 'now' && mustAsk(state, slot, isAhead)) {
        endpoint.asking += 1;
        if (isAhead) state.waiting.push({ go, sinceMs: performance.now() });
        else state.asking.push(go);
      } else {
        if (way === 'reserve') takeReserve(state, slot);
        start();
      }
    };
    if (over.aborted || !(isAtLimit(endpoint) || mustAsk(state, slot, isAhead))) return start();
    over.addEventListener('abort', start, { once: true });
    go('now');
  });

const release = (state: State, uid: string, slot: Held, result: Parameters<Slot['release']>[0]): void => {
  const { endpoint } = slot;
  const { counts } = state;
  if (slot.recent !== undefined) state.recent.remove(slot.recent);
  leaveReserve(state, slot);
  if (slot.isMoved) counts.moved -= 1;
  leaveKind(state, slot);
  endpoint.taken -= 1;
  endSending(slot);
  if (result !== undefined) {
    state.endedCount += 1;
    endpoint.ended += 1;
    state.limit.adjust(endpoint, result.tookMs, result.failed);
  }
  // The limit may have risen.
  startNext(endpoint);
  noteFull(state, uid, endpoint);
  startWaiting(state, performance.now());
};
