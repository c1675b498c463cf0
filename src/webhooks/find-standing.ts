/**
 * Where events stand: who is to receive them, and whether something of their lanes is unfinished. Both are locked, endpoints
 * before lanes. Lanes follow from endpoints, which hardly ever change: they are locked and read together with those that
 * are expected, and when others were found, all is looked for again.
 */
import type { Kysely } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox-queue.ts';
import { withCommit } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { lockSubscribed, type NewDelivery, type Subscribed } from './delivery-store.ts';
import { type Lane, laneName, lockLanes, unfinishedLanes } from './lane-store.ts';

export type Target = Pick<NewDelivery, 'uid' | 'endpointUid' | 'event'>;

export type Standing = {
  /** Of each event. */
  targets: Target[][];
  /** Those of the targets. */
  subscribed: Subscribed[];
  /** Names of lanes that have something unfinished. */
  unfinished: Set<string>;
};

export type FindStanding = (
  tx: Kysely<unknown>,
  events: readonly ClaimedEvent[],
  now: Date,
) => Promise<Standing | undefined>;

export const laneOf = ({ endpointUid, event: { kind, entity } }: Target): Lane => ({ endpointUid, kind, entity });

type Receiver = Pick<Subscribed, 'endpointUid' | 'kinds'>;

/** Tenants remembered; then it begins anew. */
const knownMax = 10_000;

/** Undefined: endpoints were not those that were expected. Asked again, it expects these. */
export const createFindStanding = (): FindStanding => {
  const known = new Map<string, readonly Receiver[]>();
  const expect = (events: readonly ClaimedEvent[], tenants: readonly string[]): Lane[] | undefined =>
    tenants.every((tenant) => known.has(tenant))
      ? events.flatMap((event) =>
          receiversOf(event, known).map(({ endpointUid }) => laneOf({ uid: '', endpointUid, event })),
        )
      : undefined;
  const remember = (tenants: readonly string[], subscribed: ReadonlyMap<string, readonly Receiver[]>): void => {
    if (known.size + tenants.length > knownMax) known.clear();
    for (const tenant of tenants) known.set(tenant, subscribed.get(tenant) ?? []);
  };
  const holdLanes = async (tx: Kysely<unknown>, lanes: readonly Lane[]): Promise<Set<string>> => {
    if (lanes.length === 0) return new Set();
    await withCommit(tx, lockLanes(tx, lanes));
    return unfinishedLanes(tx, lanes);
  };
  return async (tx, events, now) => {
    const tenants = [...new Set(events.map(({ tenant }) => tenant))];
    const expected = expect(events, tenants);
    const [found, expectedUnfinished] = await Promise.all([
      // From then on nobody else may look at these endpoints until the commit.
      lockSubscribed(tx, tenants),
      expected === undefined ? undefined : holdLanes(tx, expected),
    ]);
    const byTenant = Map.groupBy(found, ({ tenant }) => tenant);
    remember(tenants, byTenant);
    const targets = events.map((event) =>
      receiversOf(event, byTenant).map(({ endpointUid }) => ({ uid: newId('dlv', now.getTime()), endpointUid, event })),
    );
    const lanes = targets.flat().map(laneOf);
    // Locked behind others they would not be locked in one sequence.
    if (expected !== undefined && !includesAll(expected, lanes)) return undefined;
    const wanted = new Set(lanes.map(({ endpointUid }) => endpointUid));
    return {
      targets,
      subscribed: found.filter(({ endpointUid }) => wanted.has(endpointUid)),
      unfinished: expectedUnfinished ?? (await holdLanes(tx, lanes)),
    };
  };
};

const receiversOf = <T extends Receiver>(
  { tenant, kind }: ClaimedEvent,
  byTenant: ReadonlyMap<string, readonly T[]>,
): readonly T[] => (byTenant.get(tenant) ?? []).filter(({ kinds }) => kinds.includes(kind));

const includesAll = (expected: readonly Lane[], lanes: readonly Lane[]): boolean => {
  const names = new Set(expected.map(laneName));
  return lanes.every((lane) => names.has(laneName(lane)));
};
