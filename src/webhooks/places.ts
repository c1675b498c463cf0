/**
 * The places of one worker: how many deliveries it sends at once, and to whom. An endpoint begins with one place, gets
 * twice as many with each quick answer up to its bound, and falls back to one when an answer is slow. All endpoints that
 * are slow or not known yet share half of the places: hanging receivers, however many, leave the other half to the rest.
 */

export type Places = {
  /** What may be claimed now. */
  room(): Room;
  take(endpointUid: string): void;
  /** `tookMs`: how long the endpoint held the place; undefined when that says nothing about it. */
  giveBack(endpointUid: string, tookMs: number | undefined): void;
};

export type Room = {
  /** Places free for anybody. */
  free: number;
  /** Of them, for endpoints that are slow or not known. */
  freeForOthers: number;
  /** What is known, by endpoint; whoever is not named has one place left and is not quick. */
  endpoints: Record<string, { taken: number; left: number; isQuick: boolean }>;
};

type Known = { allowed: number; taken: number; isQuick: boolean };

export type PlacesBounds = { placesMax: number; perEndpointMax: number; slowMs: number };

/** Endpoints remembered; the one that was quiet for longest is forgotten first and begins anew. */
const knownMax = 1_000;

export const createPlaces = ({ placesMax, perEndpointMax, slowMs }: PlacesBounds): Places => {
  const known = new Map<string, Known>();
  let taken = 0;
  let takenByOthers = 0;

  const forgetQuiet = (): void => {
    if (known.size <= knownMax) return;
    for (const [uid, endpoint] of known) {
      if (endpoint.taken > 0) continue;
      known.delete(uid);
      return;
    }
  };
  const judge = (endpoint: Known, tookMs: number): void => {
    const isQuick = tookMs <= slowMs;
    endpoint.allowed = isQuick ? Math.min(endpoint.allowed * 2, perEndpointMax) : 1;
    // The places that it holds change sides with it.
    if (isQuick !== endpoint.isQuick) takenByOthers += isQuick ? -endpoint.taken : endpoint.taken;
    endpoint.isQuick = isQuick;
  };
  return {
    room: () => {
      const free = Math.max(0, placesMax - taken);
      const freeForOthers = Math.min(free, Math.max(0, Math.ceil(placesMax / 2) - takenByOthers));
      const named: Room['endpoints'] = {};
      for (const [uid, { allowed, taken: own, isQuick }] of known)
        if (isQuick || own > 0) named[uid] = { taken: own, left: Math.max(0, allowed - own), isQuick };
      return { free, freeForOthers, endpoints: named };
    },
    take: (uid) => {
      const endpoint = known.get(uid) ?? { allowed: 1, taken: 0, isQuick: false };
      known.delete(uid);
      known.set(uid, endpoint);
      endpoint.taken += 1;
      taken += 1;
      if (!endpoint.isQuick) takenByOthers += 1;
      forgetQuiet();
    },
    giveBack: (uid, tookMs) => {
      const endpoint = known.get(uid);
      if (endpoint === undefined) return;
      endpoint.taken -= 1;
      taken -= 1;
      if (!endpoint.isQuick) takenByOthers -= 1;
      if (tookMs !== undefined) judge(endpoint, tookMs);
    },
  };
};
