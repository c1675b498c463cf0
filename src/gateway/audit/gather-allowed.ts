/**
 * Allowed requests between two writings. Those of one caller to one route become one event, and so do those of many tokens
 * of one client from one address: a row for each token would cost the store and this process more than the requests.
 */
import type { Clock } from '#src/platform/clock.ts';
import { createRecentMap } from '../credentials/recent-map.ts';
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
const idsPerEventMax = 1_000;
/** A token is looked for by reading whole events, some kilobytes each. */
const usesPerEventMax = 100;

export const createGatherAllowed = (clock: Clock): GatherAllowed => {
  const groups = createRecentMap<string, Group>(groupsMax);
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
      return all.flatMap(eventsOf);
    },
  };
};

/** Empties the group. Ids that must be indexed stand apart from the many that need not. */
const eventsOf = (group: Group): AuditEvent[] => {
  const { shared, at } = group;
  const taken = takeUses(group);
  const own = taken.flatMap(({ use, ids }) =>
    piecesOf(
      use,
      ids.filter((id) => isNear(id, at)),
    ),
  );
  const others = taken.flatMap(({ use, ids }) =>
    piecesOf(
      use,
      ids.filter((id) => !isNear(id, at)),
    ),
  );
  return [...packed(own), ...packed(others)].map((event) =>
    completeEvent({ action: 'request.allowed', ...shared, ...event }, at),
  );
};

type Piece = { use: AllowedUse; ids: readonly string[] };

/** A token whose client was read anew is described a second time, and stands in an event only once. */
const takeUses = (group: Group): { use: AllowedUse; ids: string[] }[] => {
  const uses = group.waiting;
  group.waiting = [];
  const taken = new Map<string | AllowedUse, { use: AllowedUse; ids: string[] }>();
  for (const use of uses) {
    const key = use.name?.start ?? use;
    const before = taken.get(key);
    if (before === undefined) taken.set(key, { use, ids: use.requestIds });
    else for (const id of use.requestIds) before.ids.push(id);
    use.requestIds = [];
  }
  return [...taken.values()];
};

const piecesOf = (use: AllowedUse, ids: readonly string[]): Piece[] =>
  Array.from({ length: Math.ceil(ids.length / idsPerEventMax) }, (_, i) => ({
    use,
    ids: ids.slice(i * idsPerEventMax, (i + 1) * idsPerEventMax),
  }));

type Packed = Pick<AuditEvent, 'fingerprint' | 'token_id' | 'request_ids' | 'count' | 'uses' | 'use_keys'>;

/** As many pieces in each event as go. */
const packed = (pieces: readonly Piece[]): Packed[] => {
  const events: Packed[] = [];
  let room: Piece[] = [];
  let ids = 0;
  const close = (): void => {
    if (room.length > 0) events.push(pack(room));
    room = [];
    ids = 0;
  };
  for (const piece of pieces) {
    if (ids + piece.ids.length > idsPerEventMax || room.length === usesPerEventMax) close();
    if (piece.use.name === undefined) {
      events.push(pack([piece]));
      continue;
    }
    room.push(piece);
    ids += piece.ids.length;
  }
  close();
  return events;
};

const pack = (pieces: readonly Piece[]): Packed => {
  const [first] = pieces;
  if (first === undefined) throw new Error('an event of nobody');
  const alone = pieces.length === 1;
  const request_ids = alone ? first.ids : pieces.flatMap(({ ids }) => ids);
  let uses = '';
  let keys = '';
  for (const { use, ids } of alone ? [] : pieces) {
    uses += `${use.name?.start}${ids.length}`;
    keys += `${keys === '' ? '' : ','}${use.name?.keys}`;
  }
  return {
    fingerprint: alone ? first.use.fingerprint : null,
    token_id: alone ? first.use.token_id : null,
    request_ids,
    count: request_ids.length,
    uses: alone ? null : uses,
    use_keys: alone ? null : `{${keys}}`,
  };
};
