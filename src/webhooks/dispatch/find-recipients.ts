/**
 * Where events stand: who is to receive them, and whether something of their lanes is unfinished. Both are locked, endpoints
 * before lanes. Lanes follow from endpoints, which hardly ever change: they are locked and read together with those that
 * are expected, and when others were found, all is looked for again.
 */
import type { Kysely } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox/outbox-queue.ts';
import { withCommit } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { lockSubscribed, type NewDelivery, type Subscribed } from '../queue/delivery-store.ts';
import { type Lane, lockLanes, unfinishedLanes } from '../queue/entity-queue-store.ts';

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
  /** None of them was dispatched before. */
  areNew: boolean,
) => Promise<Standing | undefined>;

export const laneOf = ({ endpointUid, event: { kind, entity } }: Target): Lane => ({ endpointUid, kind, entity });

type Receiver = Pick<Subscribed, 'endpointUid' | 'kinds'>;
type Receivers = ReadonlyMap<string, readonly Receiver[]>;

/** Tenants remembered; then it begins anew. */
const knownMax = 10_000;

/** Undefined: endpoints were not those that were expected. Asked again, it expects these. */
export const createFindStanding = (): FindStanding => {
  /** By tenant, as they were found last. */
  const known = new Map<string, readonly Receiver[]>();
  const isKnown = (tenant: string): boolean => known.has(tenant);
  const remember = (tenants: readonly string[], found: Receivers): void => {
    if (known.size + tenants.length > knownMax) known.clear();
    for (const tenant of tenants) {
      const receivers = found.get(tenant) ?? [];
      known.set(
        tenant,
        receivers.map(({ endpointUid, kinds }) => ({ endpointUid, kinds })),
      );
    }
  };
  return async (tx, events, now, areNew) => {
    const tenants = [...new Set(events.map(({ tenant }) => tenant))];
    const expected = tenants.every(isKnown) ? targetsOf(events, known, now) : undefined;
    const [subscribed, expectedUnfinished] = await Promise.all([
      // From then on nobody else may look at these endpoints until the commit.
      lockSubscribed(tx, tenants),
      expected === undefined ? undefined : holdLanes(tx, expected, areNew),
    ]);
    const found = Map.groupBy(subscribed, ({ tenant }) => tenant);
    const isAsExpected = tenants.every((tenant) => areSame(known.get(tenant), found.get(tenant) ?? []));
    if (!isAsExpected) remember(tenants, found);
    // Lanes that are locked behind others are not locked in one sequence.
    if (expected !== undefined && !isAsExpected) return undefined;
    const targets = expected ?? targetsOf(events, found, now);
    const wanted = new Set(targets.flat().map(({ endpointUid }) => endpointUid));
    return {
      targets,
      subscribed: subscribed.filter(({ endpointUid }) => wanted.has(endpointUid)),
      unfinished: expectedUnfinished ?? (await holdLanes(tx, targets, areNew)),
    };
  };
};

const targetsOf = (events: readonly ClaimedEvent[], receivers: Receivers, now: Date): Target[][] =>
  events.map((event) =>
    (receivers.get(event.tenant) ?? [])
      .filter(({ kinds }) => kinds.includes(event.kind))
      .map(({ endpointUid }) => ({ uid: newId('dlv', now.getTime()), endpointUid, event })),
  );

/**
 * The names of those that have something unfinished. Before the first event of an entity there can be nothing, and nobody
 * adds anything to its lane before it is dispatched.
 */
const holdLanes = async (
  tx: Kysely<unknown>,
  targets: readonly (readonly Target[])[],
  areNew: boolean,
): Promise<Set<string>> => {
  const mayFollow = ({ event: { previousSeq } }: Target): boolean => previousSeq !== null || !areNew;
  const lanes = targets.flat().filter(mayFollow).map(laneOf);
  if (lanes.length === 0) return new Set();
  await withCommit(tx, lockLanes(tx, lanes));
  return unfinishedLanes(tx, lanes);
};

/** Both in the sequence of their uids. */
const areSame = (known: readonly Receiver[] | undefined, found: readonly Receiver[]): boolean =>
  known !== undefined &&
  known.length === found.length &&
  known.every(({ endpointUid, kinds }, index) => {
    const other = found[index];
    return other?.endpointUid === endpointUid && kinds.join() === other.kinds.join();
  });
