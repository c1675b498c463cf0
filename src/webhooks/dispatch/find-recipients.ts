/**
 * Finds the endpoints that receive a batch of events, and the entity queues in which earlier deliveries are unfinished.
 * Both are locked, endpoints before queues. The queues follow from the endpoints, and endpoints hardly ever change. So
 * the queues of the expected endpoints are locked in the same round trip as the endpoints. Where other endpoints are
 * found, the batch starts over.
 */
import type { Kysely } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox/outbox-queue.ts';
import { withCommit } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { dispatching, remembered } from '../pacing/bounds.ts';
import { lockSubscribed, type NewDelivery, type Subscribed } from '../queue/delivery-store.ts';
import { type EntityQueue, findUnfinishedQueues, lockEntityQueues } from '../queue/entity-queue-store.ts';

export type Target = Pick<NewDelivery, 'uid' | 'endpointUid' | 'event'>;

export type Recipients = {
  /** The deliveries to make of each event. */
  targets: Target[][];
  /** The endpoints of the targets. */
  subscribed: Subscribed[];
  /** Names of entity queues with an unfinished delivery. */
  unfinished: Set<string>;
};

export type FindRecipients = (
  tx: Kysely<unknown>,
  events: readonly ClaimedEvent[],
  now: Date,
  /** None of the events was dispatched before. */
  areNew: boolean,
) => Promise<Recipients | undefined>;

export const entityQueueOf = ({ endpointUid, event: { kind, entity } }: Target): EntityQueue => ({
  endpointUid,
  kind,
  entity,
});

type Receiver = Pick<Subscribed, 'endpointUid' | 'kinds'>;
type Receivers = ReadonlyMap<string, readonly Receiver[]>;

/**
 * The result is undefined when the endpoints were not the expected ones. The next call expects those that were found.
 */
export const createFindRecipients = (): FindRecipients => {
  /** The endpoints that were found last, by tenant. */
  const known = new Map<string, readonly Receiver[]>();
  const isKnown = (tenant: string): boolean => known.has(tenant);
  const remember = (tenants: readonly string[], found: Receivers): void => {
    if (known.size + tenants.length > remembered.tenantsMax) known.clear();
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
      // Until the commit no other transaction can change these endpoints.
      lockSubscribed(tx, tenants),
      expected === undefined ? undefined : lockAndFindUnfinished(tx, expected, areNew),
    ]);
    const found = Map.groupBy(subscribed, ({ tenant }) => tenant);
    const isAsExpected = tenants.every((tenant) => areSame(known.get(tenant), found.get(tenant) ?? []));
    if (!isAsExpected) remember(tenants, found);
    // Locking more queues now would break the order of locks.
    if (expected !== undefined && !isAsExpected) return undefined;
    const targets = expected ?? targetsOf(events, found, now);
    const wanted = new Set(targets.flat().map(({ endpointUid }) => endpointUid));
    return {
      targets,
      subscribed: subscribed.filter(({ endpointUid }) => wanted.has(endpointUid)),
      unfinished: expectedUnfinished ?? (await lockAndFindUnfinished(tx, targets, areNew)),
    };
  };
};

/** Of the first events only where there are too many targets; the others wait for the next batch. */
const targetsOf = (events: readonly ClaimedEvent[], receivers: Receivers, now: Date): Target[][] =>
  firstOf(
    events.map((event) =>
      (receivers.get(event.tenant) ?? [])
        .filter(({ kinds }) => kinds.includes(event.kind))
        .map(({ endpointUid }) => ({ uid: newId('dlv', now.getTime()), endpointUid, event })),
    ),
  );

const firstOf = (targets: Target[][]): Target[][] => {
  let count = 0;
  const end = targets.findIndex(({ length }, index) => {
    count += length;
    return index > 0 && count > dispatching.deliveriesMax;
  });
  return end === -1 ? targets : targets.slice(0, end);
};

/**
 * Locks the entity queues and returns the names of those with an unfinished delivery. The first event of an entity has
 * none before it, and later ones are only dispatched after it, so its queue needs no lock.
 */
const lockAndFindUnfinished = async (
  tx: Kysely<unknown>,
  targets: readonly (readonly Target[])[],
  areNew: boolean,
): Promise<Set<string>> => {
  const mayFollow = ({ event: { previousSeq } }: Target): boolean => previousSeq !== null || !areNew;
  const queues = targets.flat().filter(mayFollow).map(entityQueueOf);
  if (queues.length === 0) return new Set();
  await withCommit(tx, lockEntityQueues(tx, queues));
  return findUnfinishedQueues(tx, queues);
};

/** Both are ordered by uid. */
const areSame = (known: readonly Receiver[] | undefined, found: readonly Receiver[]): boolean =>
  known !== undefined &&
  known.length === found.length &&
  known.every(({ endpointUid, kinds }, index) => {
    const other = found[index];
    return other?.endpointUid === endpointUid && kinds.join() === other.kinds.join();
  });
