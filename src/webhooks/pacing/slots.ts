/**
 * The places of one worker: how many deliveries it sends at once, and to whom. An endpoint begins with one place, gets
 * twice as many with each quick answer up to its bound, and loses half with each failure; more than a few only while its
 * answers come at once (allowance.ts). Endpoints that are not known yet share half of the places. A receiver that lets its
 * sender wait loses its place to others: the attempt goes on in one of the waiting places, of which there are more and
 * which nobody who answers in time ever needs. When places are short, it loses it sooner. So receivers that hang, however
 * many, delay each other only, and sockets and memory are bounded all the same.
 */
import {
  createAllowance,
  type EndpointClass,
  type Known,
  newcomer,
  quick,
  slow,
  unknown,
} from './concurrency-limit.ts';

export type Places = {
  /** What may be claimed now. */
  room(nowMs: number): Room;
  /** Others want places, and those who have them will lose them sooner. */
  isShort(): boolean;
  /** How many more an endpoint may have. `recoveredMs`: when it last began to answer again; it then begins anew. */
  leftOf(
    endpoint: Asking & {
      /** What it gets goes at once: it has a rate to keep. */
      isPaced: boolean;
    },
  ): number;
  /** `isLatest`: one of those that are kept. */
  take(endpointUid: string, isLatest: boolean): Place;
  /** The place, or for whom it must be waited. Leaves those that are kept to those who wait already. */
  tryTake(endpoint: Asking): Place | Full;
  /** Attempts that have ended since the beginning, of the endpoint or of all. */
  endedOf(full: Full): number;
};

export type Asking = { endpointUid: string; endpointClass: EndpointClass; recoveredMs: number };

/**
 * Why there is no place: this endpoint has as many as it may have; undefined: all are taken. `isPassing`: it answers
 * quickly and has as many as any may have; all who have one have had it for a moment only.
 */
export type Full = { isFull: true; endpointUid: string | undefined; isPassing: boolean };

export type Room = {
  /** Places for endpoints that are quick or not known. */
  free: number;
  /** Of them, for those not known. */
  freeForUnknown: number;
  /** Of either, places that are kept for those that became due last while a crowd waits. */
  kept: number;
  /** Waiting places. */
  freeForSlow: number;
  /** Endpoints that have as many as they may. */
  full: string[];
};

export type Place = {
  /**
   * Resolves when the endpoint may be sent to, or when `over` is aborted. What a quick endpoint gets next is held for it
   * before the last answers are there, so that it need not wait for a claim after each; it still gets no more at once.
   */
  turn(over: AbortSignal): Promise<void>;
  /** Once after `turn`: the answer is there, the next of its endpoint may go. */
  answered(): void;
  /** Once, perhaps without a turn. Undefined: the attempt says nothing about the endpoint. */
  giveBack(result: { tookMs: number; failed: boolean } | undefined): void;
};

export type PlacesBounds = {
  placesMax: number;
  waitingMax: number;
  perEndpointMax: number;
  /** A receiver that takes longer is a slow one. */
  slowMs: number;
  /** How long an attempt keeps its place at least while others want it. */
  shortMs: number;
};

/** For a place: `isKept`, one of those that are kept. */
type Waiting = { go: (isKept: boolean) => void; sinceMs: number };
/** `holds`: undefined while it is held ahead. */
type Taken = { startedMs: number; endpoint: Known; holds: EndpointClass | undefined; isLatest: boolean };

/** Endpoints remembered; the one that was quiet for longest is forgotten first and begins anew. */
const knownMax = 10_000;
/** Deliveries held for an endpoint that answers well, for each of the places that it has also when it is at work. */
const aheadFactor = 16;
/** The same for those that are handed over: they are held from before they are written down. */
const handedFactor = 48;
/** One of so many places is kept for who became due last when a crowd waits. */
const keptShare = 8;
/** And for all of them together, for each place: what they hold lies in memory. */
const aheadForPlace = 4;
export const createPlaces = ({ placesMax, waitingMax, perEndpointMax, slowMs, shortMs }: PlacesBounds): Places => {
  const known = new Map<string, Known>();
  /** In the sequence of their start, without those that wait already. */
  const young = new Set<Taken>();
  const held: Record<EndpointClass, number> = { [quick]: 0, [unknown]: 0, [slow]: 0 };
  const full = new Set<string>();

  let aheadCount = 0;
  let endedCount = 0;

  const move = (place: Taken, to: EndpointClass | undefined): void => {
    if (place.holds === undefined) aheadCount -= 1;
    else held[place.holds] -= 1;
    if (to === undefined) aheadCount += 1;
    else held[to] += 1;
    place.holds = to;
  };
  const unknownMax = Math.ceil(placesMax / 2);
  const keptMax = Math.floor(placesMax / keptShare);
  /** Of those kept, taken now. */
  let heldLatest = 0;
  const isShortOf = (kind: EndpointClass | undefined): boolean =>
    held[quick] + held[unknown] >= placesMax || (kind === unknown && held[unknown] >= unknownMax);
  const leaveLatest = (place: Taken): void => {
    if (place.isLatest) heldLatest -= 1;
    place.isLatest = false;
  };
  /** `isWanted`: are there too few places of that kind? */
  const letWait = (nowMs: number, isWanted: (kind: EndpointClass | undefined) => boolean): void => {
    for (const place of young) {
      const ageMs = nowMs - place.startedMs;
      if (ageMs < shortMs || held[slow] >= waitingMax) return;
      if (ageMs < slowMs && !isWanted(place.holds)) continue;
      young.delete(place);
      if (ageMs >= slowMs) place.endpoint.class = slow;
      leaveLatest(place);
      move(place, slow);
    }
  };
  const forgetQuiet = (): void => {
    if (known.size <= knownMax) return;
    for (const [uid, endpoint] of known) {
      if (endpoint.taken > 0) continue;
      known.delete(uid);
      return;
    }
  };
  const { judge, isProven, provenMax } = createAllowance({ perEndpointMax, slowMs });
  const isRoomAhead = (): boolean => aheadCount < placesMax * aheadForPlace;
  const holdable = (endpoint: Known, factor = aheadFactor): number =>
    isProven(endpoint) && isRoomAhead() ? Math.max(endpoint.allowed, provenMax * factor) : endpoint.allowed;
  const noteFull = (uid: string, endpoint: Known): void => {
    if (endpoint.taken >= holdable(endpoint)) full.add(uid);
    else full.delete(uid);
  };
  const knownOf = ({ endpointUid, endpointClass, recoveredMs }: Asking): Known => {
    const endpoint = known.get(endpointUid) ?? newcomer(endpointClass, recoveredMs);
    known.delete(endpointUid);
    known.set(endpointUid, endpoint);
    forgetQuiet();
    endpoint.class = endpointClass;
    if (endpoint.recoveredMs !== recoveredMs) endpoint.allowed = 1;
    endpoint.recoveredMs = recoveredMs;
    return endpoint;
  };
  /** Beyond those that are kept. */
  const isFree = (endpointClass: EndpointClass): boolean => {
    const kept = Math.max(0, keptMax - heldLatest);
    return (
      held[quick] + held[unknown] + kept < placesMax && (endpointClass !== unknown || held[unknown] + kept < unknownMax)
    );
  };
  const isMissing = (kind: EndpointClass | undefined): boolean => !isFree(kind ?? quick);
  const arePassing = (): boolean => {
    const [oldest] = young;
    return oldest === undefined || performance.now() - oldest.startedMs < shortMs;
  };
  /** Those that had none of all the places when they were taken: each goes when one is free. */
  const waitingForPlace: Waiting[] = [];
  /** When the receivers that have the places hang after all, one of those that are kept is free for whoever waits here. */
  const letGo = (nowMs: number): void => {
    for (let [first] = waitingForPlace; first !== undefined; [first] = waitingForPlace) {
      const isLate = nowMs - first.sinceMs >= shortMs;
      const isKept = isLate && heldLatest < keptMax && held[quick] + held[unknown] < placesMax;
      if (!isKept && !isFree(quick)) return;
      waitingForPlace.shift();
      first.go(isKept);
    }
  };
  const begin = (place: Taken): void => {
    place.endpoint.sending += 1;
    place.startedMs = performance.now();
    if (place.holds === undefined) move(place, place.endpoint.class);
    if (place.holds !== slow) young.add(place);
  };
  /** `isEarly`: it has no place before its turn. */
  const take = (uid: string, isLatest: boolean, isEarly = false): Place => {
    const endpoint = known.get(uid) ?? newcomer(unknown, 0);
    known.set(uid, endpoint);
    endpoint.taken += 1;
    const place: Taken = { startedMs: 0, endpoint, holds: endpoint.class, isLatest };
    if (isLatest) heldLatest += 1;
    held[endpoint.class] += 1;
    if (isEarly || endpoint.taken > endpoint.allowed) move(place, undefined);
    noteFull(uid, endpoint);
    const isTooMany = (): boolean => endpoint.sending >= endpoint.allowed;
    const mustWait = (): boolean => isTooMany() || (isEarly && !isFree(quick));
    return {
      turn: (over) =>
        new Promise((resolve) => {
          let isOver = false;
          const go = (): void => {
            if (isOver) return;
            isOver = true;
            over.removeEventListener('abort', go);
            begin(place);
            resolve();
          };
          const goOrWait = (isKept: boolean): void => {
            if (isOver) return;
            if (isTooMany()) {
              endpoint.waiting.push(() => goOrWait(false));
            } else if (isKept) {
              place.isLatest = true;
              heldLatest += 1;
              go();
            } else if (mustWait()) {
              waitingForPlace.push({ go: goOrWait, sinceMs: performance.now() });
            } else {
              go();
            }
          };
          if (over.aborted || !mustWait()) return go();
          over.addEventListener('abort', go, { once: true });
          goOrWait(false);
        }),
      answered: () => {
        endpoint.sending -= 1;
        if (endpoint.sending < endpoint.allowed) endpoint.waiting.shift()?.();
      },
      giveBack: (result) => {
        young.delete(place);
        leaveLatest(place);
        if (place.holds === undefined) aheadCount -= 1;
        else held[place.holds] -= 1;
        endpoint.taken -= 1;
        if (result !== undefined) {
          endedCount += 1;
          endpoint.ended += 1;
          judge(endpoint, result.tookMs, result.failed);
        }
        // Its bound may have risen since it was asked last.
        if (endpoint.sending < endpoint.allowed) endpoint.waiting.shift()?.();
        if (endpoint.taken === 0) full.delete(uid);
        else noteFull(uid, endpoint);
        letGo(performance.now());
      },
    };
  };
  return {
    room: (nowMs) => {
      letWait(nowMs, isShortOf);
      letGo(nowMs);
      const free = Math.max(0, placesMax - held[quick] - held[unknown]);
      return {
        free,
        freeForUnknown: Math.min(free, Math.max(0, unknownMax - held[unknown])),
        kept: Math.max(0, keptMax - heldLatest),
        freeForSlow: Math.max(0, waitingMax - held[slow]),
        full: [...full],
      };
    },
    isShort: () => isShortOf(unknown),
    leftOf: ({ isPaced, ...asking }) => {
      const endpoint = knownOf(asking);
      return Math.max(0, (isPaced ? endpoint.allowed : holdable(endpoint)) - endpoint.taken);
    },
    take,
    tryTake: (asking) => {
      const endpoint = knownOf(asking);
      const { endpointUid } = asking;
      if (endpoint.taken >= holdable(endpoint, handedFactor)) {
        return { isFull: true, endpointUid, isPassing: isProven(endpoint) };
      }
      // What is held ahead has a bound of its own.
      if (endpoint.taken >= endpoint.allowed || isFree(endpoint.class)) return take(endpointUid, false);
      // Who lets his sender wait loses his place to what is handed over as he does to what is claimed.
      letWait(performance.now(), isMissing);
      if (isFree(endpoint.class)) return take(endpointUid, false);
      const isPassing = arePassing();
      if (endpoint.class === quick && isPassing && isRoomAhead()) return take(endpointUid, false, true);
      return { isFull: true, endpointUid: undefined, isPassing };
    },
    endedOf: ({ endpointUid: uid }) => (uid === undefined ? endedCount : (known.get(uid)?.ended ?? 0)),
  };
};
