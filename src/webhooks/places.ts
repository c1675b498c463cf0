/**
 * The places of one worker: how many deliveries it sends at once, and to whom. An endpoint begins with one place, gets
 * twice as many with each quick answer up to its bound, and loses half with each failure. Endpoints that are not known
 * yet share half of the places. A receiver that lets its sender wait loses its place to others: the attempt goes on in
 * one of the waiting places, of which there are more and which nobody who answers in time ever needs. So receivers that
 * hang, however many, delay each other only, and sockets and memory are bounded all the same.
 */

/** As the store keeps it: what an endpoint's last answer said of it. */
export const quick = 0;
export const unknown = 1;
export const slow = 2;
export type EndpointClass = typeof quick | typeof unknown | typeof slow;

export type Places = {
  /** What may be claimed now. */
  room(nowMs: number): Room;
  /** How many more an endpoint may have. `recoveredMs`: when it last began to answer again; it then begins anew. */
  leftOf(endpoint: { endpointUid: string; endpointClass: EndpointClass; recoveredMs: number }): number;
  take(endpointUid: string, nowMs: number): Place;
};

export type Room = {
  /** Places for endpoints that are quick or not known. */
  free: number;
  /** Of them, for those not known. */
  freeForUnknown: number;
  /** Waiting places. */
  freeForSlow: number;
  /** Endpoints that have as many as they may. */
  full: string[];
};

export type Place = {
  /** Once. Undefined: the attempt says nothing about the endpoint. */
  giveBack(result: { tookMs: number; failed: boolean } | undefined): void;
};

export type PlacesBounds = { placesMax: number; waitingMax: number; perEndpointMax: number; slowMs: number };

type Known = { allowed: number; taken: number; class: EndpointClass; recoveredMs: number };
type Taken = { startedMs: number; endpoint: Known; holds: EndpointClass };

/** Endpoints remembered; the one that was quiet for longest is forgotten first and begins anew. */
const knownMax = 1_000;
/** A receiver that answers late all the time gets that many at once. */
const slowAllowed = 2;

export const createPlaces = ({ placesMax, waitingMax, perEndpointMax, slowMs }: PlacesBounds): Places => {
  const known = new Map<string, Known>();
  /** In the sequence of their start, without those that wait already. */
  const young = new Set<Taken>();
  const held: Record<EndpointClass, number> = { [quick]: 0, [unknown]: 0, [slow]: 0 };
  const full = new Set<string>();

  const move = (place: Taken, to: EndpointClass): void => {
    held[place.holds] -= 1;
    held[to] += 1;
    place.holds = to;
  };
  const letWait = (nowMs: number): void => {
    for (const place of young) {
      if (nowMs - place.startedMs < slowMs || held[slow] >= waitingMax) return;
      young.delete(place);
      place.endpoint.class = slow;
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
  const judge = (endpoint: Known, tookMs: number, failed: boolean): void => {
    endpoint.class = tookMs <= slowMs ? quick : slow;
    if (failed) endpoint.allowed = endpoint.class === slow ? 1 : Math.max(1, Math.floor(endpoint.allowed / 2));
    else endpoint.allowed = Math.min(endpoint.class === slow ? slowAllowed : endpoint.allowed * 2, perEndpointMax);
  };
  const noteFull = (uid: string, { taken, allowed }: Known): void => {
    if (taken >= allowed) full.add(uid);
    else full.delete(uid);
  };
  return {
    room: (nowMs) => {
      letWait(nowMs);
      const free = Math.max(0, placesMax - held[quick] - held[unknown]);
      return {
        free,
        freeForUnknown: Math.min(free, Math.max(0, Math.ceil(placesMax / 2) - held[unknown])),
        freeForSlow: Math.max(0, waitingMax - held[slow]),
        full: [...full],
      };
    },
    leftOf: ({ endpointUid, endpointClass, recoveredMs }) => {
      const endpoint = known.get(endpointUid) ?? { allowed: 1, taken: 0, class: endpointClass, recoveredMs };
      known.delete(endpointUid);
      known.set(endpointUid, endpoint);
      forgetQuiet();
      endpoint.class = endpointClass;
      if (endpoint.recoveredMs !== recoveredMs) endpoint.allowed = 1;
      endpoint.recoveredMs = recoveredMs;
      return Math.max(0, endpoint.allowed - endpoint.taken);
    },
    take: (uid, nowMs) => {
      const endpoint = known.get(uid) ?? { allowed: 1, taken: 0, class: unknown, recoveredMs: 0 };
      known.set(uid, endpoint);
      endpoint.taken += 1;
      noteFull(uid, endpoint);
      const place: Taken = { startedMs: nowMs, endpoint, holds: endpoint.class };
      held[place.holds] += 1;
      if (place.holds !== slow) young.add(place);
      return {
        giveBack: (result) => {
          young.delete(place);
          held[place.holds] -= 1;
          endpoint.taken -= 1;
          if (result !== undefined) judge(endpoint, result.tookMs, result.failed);
          if (endpoint.taken === 0) full.delete(uid);
          else noteFull(uid, endpoint);
        },
      };
    },
  };
};
