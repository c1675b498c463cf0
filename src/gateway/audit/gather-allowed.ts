/**
 * Allowed requests between two writings. Those of one caller to one route become one event, and so do those of many tokens
 * of one client from one address: a row for each token would cost the store and this process more than the requests.
 */
import type { Clock } from '#src/platform/clock.ts';
import { createRecentMap, type RecentMap } from '../credentials/recent-map.ts';
import { type AuditEvent, completeEvent } from './audit-event.ts';
import { isNear } from './request-id-times.ts';
import { nameUse } from './token-uses.ts';

/** What every event of a group says. */
type Shared = Pick<AuditEvent, 'kind' | 'credential_id' | 'client_id' | 'tenants' | 'route_id' | 'scopes' | 'address'>;

/** What many requests of one caller to one route share. */
export type Allowed = Shared & Pick<AuditEvent, 'fingerprint' | 'token_id'>;

/** `at`: of the first request that waits. */
type Group = { readonly shared: Shared; at: Date; waiting: AllowedUse[] };

/** One caller on one route, for as long as its requests are noted. */
export type AllowedUse = {
  readonly group: Group;
  readonly fingerprint: string | null;
  readonly token_id: string | null;
  readonly name: ReturnType<typeof nameUse>;
  requestIds: string[];
  /** Month in which its token last had an event of its own; such months are kept and dropped as a whole. */
  month: number;
};

export type GatherAllowed = {
  /** To be made once per caller and route. */
  describe(what: Allowed): AllowedUse;
  add(use: AllowedUse, requestId: string): void;
  /** Of the oldest that waits. */
  oldest(): Date | undefined;
  take(): AuditEvent[];
};

/** More groups than these only stand in more events than they must. */
const groupsMax = 20_000;
/** Tokens beyond these have events of their own more often. */
const tokensMax = 50_000;
const idsPerEventMax = 1_000;
/** A token is looked for by reading whole events, some kilobytes each. */
const usesPerEventMax = 150;

export const createGatherAllowed = (clock: Clock): GatherAllowed => {
  const groups = createRecentMap<string, Group>(groupsMax);
  /** Fingerprint of a token -> see AllowedUse. */
  const months = createRecentMap<string, number>(tokensMax);
  let waiting: Group[] = [];

  const groupOf = (shared: Shared): Group => {
    const { kind, credential_id, client_id, tenants, route_id, scopes, address } = shared;
    const key = JSON.stringify([kind, credential_id, client_id, tenants, route_id, scopes, address]);
    const known = groups.get(key);
    if (known !== undefined) return known;
    const group = { shared, at: clock.now(), waiting: [] };
    groups.set(key, group);
    return group;
  };

  return {
    describe: ({ fingerprint, token_id, ...shared }) => ({
      group: groupOf(shared),
      fingerprint,
      token_id,
      name: nameUse({ fingerprint, token_id }),
      requestIds: [],
      month: (fingerprint === null ? undefined : months.get(fingerprint)) ?? Number.NaN,
    }),
    add: (use, requestId) => {
      if (use.requestIds.push(requestId) > 1) return;
      const { group } = use;
      if (group.waiting.push(use) > 1) return;
      group.at = clock.now();
      waiting.push(group);
    },
    oldest: () => waiting[0]?.at,
    take: () => {
      const all = waiting;
      waiting = [];
      return all.flatMap((group) => eventsOf(group, months));
    },
  };
};

type Piece = { use: AllowedUse; ids: readonly string[] };

/** Empties the group. Ids that must be indexed stand apart from the many that need not. */
const eventsOf = (group: Group, months: Pick<RecentMap<string, number>, 'set'>): AuditEvent[] => {
  const { shared, at } = group;
  const month = at.getUTCFullYear() * 12 + at.getUTCMonth();
  const uses = group.waiting;
  group.waiting = [];
  const lists = { alone: [] as Piece[], own: [] as Piece[], others: [] as Piece[] };
  for (const { use, ids } of uses.length === 1 ? uses.map(takeIds) : takeEach(uses)) {
    // By an event of its own the id of a token leads to its fingerprint, under which the others are found.
    const isFirst = use.name !== undefined && use.month !== month;
    if (isFirst && use.fingerprint !== null) months.set(use.fingerprint, month);
    if (isFirst) use.month = month;
    const alone = isFirst || use.name === undefined;
    const own = ids.every((id) => isNear(id, at)) ? ids : ids.filter((id) => isNear(id, at));
    pushPieces(alone ? lists.alone : lists.own, use, own);
    if (own.length < ids.length)
      pushPieces(
        alone ? lists.alone : lists.others,
        use,
        ids.filter((id) => !isNear(id, at)),
      );
  }
  const packed = [...lists.alone.map((piece) => pack([piece])), ...packAll(lists.own), ...packAll(lists.others)];
  return packed.map((event) => completeEvent({ action: 'request.allowed', ...shared, ...event }, at));
};

const takeIds = (use: AllowedUse): { use: AllowedUse; ids: string[] } => {
  const ids = use.requestIds;
  use.requestIds = [];
  return { use, ids };
};

/** A token whose client was read anew is described a second time, and stands in an event only once. */
const takeEach = (uses: readonly AllowedUse[]): Iterable<{ use: AllowedUse; ids: string[] }> => {
  const taken = new Map<string | AllowedUse, { use: AllowedUse; ids: string[] }>();
  for (const use of uses) {
    const key = use.name?.start ?? use;
    const before = taken.get(key);
    if (before === undefined) taken.set(key, takeIds(use));
    else for (const id of takeIds(use).ids) before.ids.push(id);
  }
  return taken.values();
};

const pushPieces = (pieces: Piece[], use: AllowedUse, ids: readonly string[]): void => {
  if (ids.length > 0 && ids.length <= idsPerEventMax) {
    pieces.push({ use, ids });
    return;
  }
  for (let i = 0; i < ids.length; i += idsPerEventMax) pieces.push({ use, ids: ids.slice(i, i + idsPerEventMax) });
};

type Packed = Pick<AuditEvent, 'fingerprint' | 'token_id' | 'request_ids' | 'count' | 'uses' | 'use_keys'>;

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
    return { fingerprint, token_id, request_ids: first.ids, count: first.ids.length, uses: null, use_keys: null };
  }
  const request_ids: string[] = [];
  let uses = '';
  let keys = '';
  for (const { use, ids } of pieces) {
    for (const id of ids) request_ids.push(id);
    uses += `${use.name?.start}${ids.length}`;
    keys += `${keys === '' ? '' : ','}${use.name?.key}`;
  }
  const none = { fingerprint: null, token_id: null };
  return { ...none, request_ids, count: request_ids.length, uses, use_keys: `{${keys}}` };
};
