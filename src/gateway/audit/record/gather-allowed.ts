/**
 * Gathers the allowed requests between two writes into few events. Requests of one caller to one route become one
 * event. So do requests of many tokens of one client on one route from one address: a row for each token would cost the
 * store and this process more than the requests themselves.
 *
 * Example: within 150 ms, token A makes requests r1 and r3, and token B makes r2; both had an event of their own this
 * month.
 *
 *   gathered      group { client opc_1, route item-list, address 192.0.2.7 }
 *                   requestIds [ r1,       r2,       r3 ]
 *                   uses       [ A(fp aa), B(fp bb), A(fp aa) ]
 *   pieces        A [ r1, r3 ]   B [ r2 ]                                    one piece for each token
 *   stored row    action request.allowed, client opc_1, route item-list, count 3, fingerprint null, token_id null
 *                   request_ids { r1, r3, r2 }                               grouped by piece
 *                   uses        ;aa A 2;bb B 1                               fingerprint, token id, number of requests
 *                   use_keys    { key(aa), key(bb) }                         indexed; see event/token-uses.ts
 *
 * The first event of a token in a month represents that token alone: fingerprint aa, token_id A, uses null. It leads
 * from the id of a token to its fingerprint, under which the shared events are found.
 */
import type { Clock } from '#src/platform/clock.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import type { Allowed, AllowedUse, GatheredToken, Group, Placed, SharedFacts } from '../../model/allowed-use.ts';
import { type AuditEvent, completeEvent } from '../event/event.ts';
import { isNear } from '../event/request-id-times.ts';
import { nameUse } from '../event/token-uses.ts';

/** Facts that every event of a group holds. */
type Shared = SharedFacts & Partial<Pick<AuditEvent, 'action' | 'outcome' | 'reason' | 'details'>>;

type Use = AllowedUse<Shared>;

/** `action`: `request.allowed` when the gateway let the request through and the upstream refused it. */
export type Failed = Allowed & Pick<AuditEvent, 'action' | 'reason' | 'details'>;

/** `ids_indexed`: see request-id-times.ts. */
type AllowedEvent = AuditEvent & { ids_indexed: boolean };

export type GatherAllowed = {
  /** Describes a caller on a route. Call it once per caller and route. */
  describe(what: Allowed): AllowedUse;
  /** Describes failed requests. Returns the same object for equal descriptions while it is remembered. */
  describeFailed(what: Failed): AllowedUse;
  add(use: AllowedUse, requestId: string): void;
  /** Time of the oldest gathered request. */
  oldest(): Date | undefined;
  take(): AllowedEvent[];
};

/** Groups that are remembered. Beyond the bound, requests are spread over more events than necessary. */
const groupsMax = 20_000;
/** Tokens that are remembered. Beyond the bound, tokens get events of their own more often. */
const tokensMax = 50_000;
/** Failure descriptions that are remembered, with the same effect beyond the bound. */
const failedMax = 10_000;
const idsPerEventMax = 1_000;
/** A search for a token reads whole events, so this bounds each to some kilobytes. */
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
      // Failed requests of different tokens never share an event.
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
      // Checking each id here is cheap: ids come in the sequence in which they were made (request-id.ts).
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

/** Empties the group. Ids that need an index entry go into separate events, because most ids need none. */
const eventsOf = (group: Group<Shared>): AllowedEvent[] => {
  const { shared, at, hasOthers } = group;
  const month = at.getUTCFullYear() * 12 + at.getUTCMonth();
  const alone: Piece[] = [];
  const own: Piece[] = [];
  const others: Piece[] = [];
  for (const piece of takeEach(group)) {
    const { token } = piece.use;
    // The first event of a token in a month represents it alone (see above).
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

/** Number of the current round of this process, so that marks of earlier rounds in `Placed` are recognised as old. */
let rounds = 0;

/**
 * One piece for each user. A token that was described twice, because its client was read anew, still gets one piece.
 */
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

/** Packs as many pieces into each event as the bounds allow. */
const packAll = (pieces: readonly Piece[]): Packed[] => {
  const events: Packed[] = [];
  let current: Piece[] = [];
  let ids = 0;
  for (const piece of pieces) {
    if (ids + piece.ids.length > idsPerEventMax || current.length === usesPerEventMax) {
      events.push(pack(current));
      current = [];
      ids = 0;
    }
    current.push(piece);
    ids += piece.ids.length;
  }
  if (current.length > 0) events.push(pack(current));
  return events;
};

const pack = (pieces: readonly Piece[]): Packed => {
  const [first] = pieces;
  if (first === undefined) throw new Error('an audit event needs at least one caller');
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
