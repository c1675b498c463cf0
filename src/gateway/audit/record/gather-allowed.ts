/**
 * Allowed requests between two writings. Those of one caller to one route become one event, and so do those of many tokens
 * of one client from one address: a row for each token would cost the store and this process more than the requests.
 */
import type { Clock } from '#src/platform/clock.ts';
import { createRecentMap } from '../../../platform/recent-map.ts';
import type { Allowed, AllowedUse, GatheredToken, Group, Placed, SharedFacts } from '../../model/allowed-use.ts';
import { type AuditEvent, completeEvent } from '../event/event.ts';
import { isNear } from '../event/request-id-times.ts';
import { nameUse } from '../event/token-uses.ts';

/** What every event of a group says. */
type Shared = SharedFacts & Partial<Pick<AuditEvent, 'action' | 'outcome' | 'reason' | 'details'>>;

type Use = AllowedUse<Shared>;

/** `action`: `request.allowed` when it was let through all the same. */
export type Failed = Allowed & Pick<AuditEvent, 'action' | 'reason' | 'details'>;

/** `ids_indexed`: see request-id-times.ts. */
type AllowedEvent = AuditEvent & { ids_indexed: boolean };

export type GatherAllowed = {
  /** To be made once per caller and route. */
  describe(what: Allowed): AllowedUse;
  /** Of what did not come to a good end. The same object for the same description, as far as it is remembered. */
  describeFailed(what: Failed): AllowedUse;
  add(use: AllowedUse, requestId: string): void;
  /** Of the oldest that waits. */
  oldest(): Date | undefined;
  take(): AllowedEvent[];
};

/** More groups than these only stand in more events than they must. */
const groupsMax = 20_000;
/** Tokens beyond these have events of their own more often. */
const tokensMax = 50_000;
/** More kinds of failures than these only stand in more events than they must. */
const failedMax = 10_000;
const idsPerEventMax = 1_000;
/** A token is looked for by reading whole events, some kilobytes each. */
const usesPerEventMax = 150;

export const createGatherAllowed = (clock: Clock): GatherAllowed => {
  const groups = createRecentMap<string, Group<Shared>>(groupsMax);
  const tokens = createRecentMap<string, GatheredToken>(tokensMax);
  const failed = createRecentMap<string, Use>(failedMax);
  let waiting: Group<Shared>[] = [];

  const groupOf = (shared: Shared): Group<Shared> => {
    const { kind, credential_id, client_id, tenants, route_id, scopes, address } = shared;
    const { action, reason, details } = shared;
    const place = [kind, credential_id, client_id, tenants, route_id, scopes, address];
    const key = JSON.stringify(action === undefined ? place : [...place, action, reason, details]);
    const known = groups.get(key);
    if (known !== undefined) return known;
    const group: Group<Shared> = { shared, at: clock.now(), requestIds: [], uses: [], hasOthers: false };
    groups.set(key, group);
    return group;
  };

  const tokenOf = (what: Allowed): GatheredToken | undefined => {
    const named = nameUse(what);
    if (named === undefined) return undefined;
    const known = tokens.get(named.start);
    if (known !== undefined) return known;
    const token = { ...named, month: Number.NaN, round: 0, place: 0 };
    tokens.set(named.start, token);
    return token;
  };

  return {
    describe: (what) => {
      const { fingerprint, token_id, ...shared } = what;
      return { group: groupOf(shared), fingerprint, token_id, token: tokenOf(what), round: 0, place: 0 };
    },
    describeFailed: (what) => {
      const key = JSON.stringify(what);
      const known = failed.get(key);
      if (known !== undefined) return known;
      const { fingerprint, token_id, ...shared } = what;
      const group = groupOf({ ...shared, outcome: 'failure' });
      // Each stands in events of its own: only what went well is gathered for many tokens.
      const use: Use = { group, fingerprint, token_id, token: undefined, round: 0, place: 0 };
      failed.set(key, use);
      return use;
    },
    add: (use, requestId) => {
      const { group } = use;
      if (group.requestIds.push(requestId) === 1) {
        group.at = clock.now();
        waiting.push(group);
      }
      group.uses.push(use);
      // Looked at in the sequence in which they were made, ids cost next to nothing.
      if (!isNear(requestId, group.at)) group.hasOthers = true;
    },
    oldest: () => waiting[0]?.at,
    take: () => {
      const all = waiting;
      waiting = [];
      return all.flatMap(eventsOf);
    },
  };
};

type Piece = { use: Use; ids: string[]; hasOthers: boolean };

/** Empties the group. Ids that must be indexed stand apart from the many that need not. */
const eventsOf = (group: Group<Shared>): AllowedEvent[] => {
  const { shared, at, hasOthers } = group;
  const month = at.getUTCFullYear() * 12 + at.getUTCMonth();
  const alone: Piece[] = [];
  const own: Piece[] = [];
  const others: Piece[] = [];
  for (const piece of takeEach(group)) {
    const { token } = piece.use;
    // By an event of its own the id of a token leads to its fingerprint, under which the others are found.
    const isAlone = token === undefined || token.month !== month;
    if (token !== undefined) token.month = month;
    if (!hasOthers) {
      pushPieces(isAlone ? alone : own, piece);
      continue;
    }
    pushPieces(isAlone ? alone : own, { ...piece, ids: piece.ids.filter((id) => isNear(id, at)) });
    const far = piece.ids.filter((id) => !isNear(id, at));
    pushPieces(isAlone ? alone : others, { ...piece, ids: far, hasOthers: true });
  }
  return [...alone.map((piece) => pack([piece])), ...packAll(own), ...packAll(others)].map((packed) => ({
    ...completeEvent({ action: 'request.allowed', ...shared, ...packed }, at),
    ids_indexed: packed.ids_indexed,
  }));
};

/** Of the process, so that no two are alike. */
let rounds = 0;

/** A token whose client was read anew is described a second time, and stands in an event only once. */
const takeEach = (group: Group<Shared>): readonly Piece[] => {
  const { requestIds, uses } = group;
  group.requestIds = [];
  group.uses = [];
  group.hasOthers = false;
  const pieces: Piece[] = [];
  rounds += 1;
  for (let i = 0; i < uses.length; i += 1) {
    const use = uses[i] as Use;
    const id = requestIds[i] as string;
    const placed: Placed = use.token ?? use;
    if (placed.round === rounds) {
      pieces[placed.place]?.ids.push(id);
      continue;
    }
    placed.round = rounds;
    placed.place = pieces.push({ use, ids: [id], hasOthers: false }) - 1;
  }
  return pieces;
};

const pushPieces = (pieces: Piece[], piece: Piece): void => {
  const { ids } = piece;
  if (ids.length > 0 && ids.length <= idsPerEventMax) {
    pieces.push(piece);
    return;
  }
  for (let i = 0; i < ids.length; i += idsPerEventMax) {
    pieces.push({ ...piece, ids: ids.slice(i, i + idsPerEventMax) });
  }
};

type Packed = Pick<AuditEvent, 'fingerprint' | 'token_id' | 'request_ids' | 'count' | 'uses' | 'use_keys'> & {
  ids_indexed: boolean;
};

/** As many pieces in each event as go. */
const packAll = (pieces: readonly Piece[]): Packed[] => {
  const events: Packed[] = [];
  let room: Piece[] = [];
  let ids = 0;
  for (const piece of pieces) {
    if (ids + piece.ids.length > idsPerEventMax || room.length === usesPerEventMax) {
      events.push(pack(room));
      room = [];
      ids = 0;
    }
    room.push(piece);
    ids += piece.ids.length;
  }
  if (room.length > 0) events.push(pack(room));
  return events;
};

const pack = (pieces: readonly Piece[]): Packed => {
  const [first] = pieces;
  if (first === undefined) throw new Error('an event of nobody');
  if (pieces.length === 1) {
    const { fingerprint, token_id } = first.use;
    const { ids, hasOthers } = first;
    const alone = { fingerprint, token_id, uses: null, use_keys: null };
    return { ...alone, request_ids: ids, count: ids.length, ids_indexed: hasOthers };
  }
  const request_ids: string[] = [];
  let uses = '';
  let keys = '';
  for (const { use, ids } of pieces) {
    for (const id of ids) request_ids.push(id);
    uses += `${use.token?.start}${ids.length}`;
    keys += `${keys === '' ? '' : ','}${use.token?.key}`;
  }
  const none = { fingerprint: null, token_id: null };
  return { ...none, request_ids, count: request_ids.length, uses, use_keys: `{${keys}}`, ids_indexed: first.hasOthers };
};
