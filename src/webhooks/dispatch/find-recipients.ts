/**
 * Finds the endpoints that receive a batch of events, and the entity queues in which earlier deliveries are unfinished.
 * Both are locked, endpoints before queues. The queues follow from the endpoints, and endpoints hardly ever change. So
 * their settings are remembered, and the queues of the expected endpoints are locked in the same round trip as the
 * endpoints. Where an endpoint was added, changed or disabled, the batch starts over.
 */
import type { Kysely } from 'kysely';
import type { ClaimedEvent } from '#src/platform/db/outbox/outbox-queue.ts';
import { withCommit } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { dispatching, remembered } from '../pacing/bounds.ts';
import {
  type EndpointSettings,
  type LockedEndpoint,
  lockSubscribed,
  type NewDelivery,
  readSettings,
  type Subscribed,
} from '../queue/delivery-store.ts';
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

/** An endpoint with its settings as of a version. */
type Receiver = EndpointSettings & Pick<LockedEndpoint, 'version'>;

export const createFindRecipients = (): FindRecipients => {
  const known = createKnownReceivers();
  return async (tx, events, now, areNew) => {
    const tenants = [...new Set(events.map(({ tenant }) => tenant))];
    const expected = known.of(tenants);
    const expectedTargets = expected && targetsOf(events, expected, now);
    const [locked, expectedUnfinished] = await Promise.all([
      // Until the commit no other transaction can change these endpoints.
      lockSubscribed(tx, tenants),
      expectedTargets && lockAndFindUnfinished(tx, expectedTargets, areNew),
    ]);
    if (expected !== undefined && !areSame(expected, locked)) {
      // Locking more queues now would break the order of locks.
      known.forget(tenants);
      return undefined;
    }
    const receivers = expected ?? (await readReceivers(tx, locked));
    if (expected === undefined) known.add(tenants, receivers);
    const targets = expectedTargets ?? targetsOf(events, receivers, now);
    return {
      targets,
      subscribed: subscribedOf(targets, receivers, locked),
      unfinished: expectedUnfinished ?? (await lockAndFindUnfinished(tx, targets, areNew)),
    };
  };
};

/** The enabled endpoints of tenants, as they were when they were last locked. */
const createKnownReceivers = () => {
  const byTenant = new Map<string, readonly Receiver[]>();
  let count = 0;
  const forget = (tenants: readonly string[]): void => {
    for (const tenant of tenants) {
      count -= byTenant.get(tenant)?.length ?? 0;
      byTenant.delete(tenant);
    }
  };
  return {
    /** Undefined when one of the tenants is unknown. */
    of: (tenants: readonly string[]): readonly Receiver[] | undefined =>
      tenants.every((tenant) => byTenant.has(tenant))
        ? tenants.flatMap((tenant) => byTenant.get(tenant) ?? [])
        : undefined,
    add: (tenants: readonly string[], receivers: readonly Receiver[]): void => {
      forget(tenants);
      const isFull =
        byTenant.size + tenants.length > remembered.tenantsMax || count + receivers.length > remembered.endpointsMax;
      if (isFull) forget([...byTenant.keys()]);
      const found = Map.groupBy(receivers, ({ tenant }) => tenant);
      for (const tenant of tenants) byTenant.set(tenant, found.get(tenant) ?? []);
      count += receivers.length;
    },
    forget,
  };
};

const readReceivers = async (tx: Kysely<unknown>, locked: readonly LockedEndpoint[]): Promise<Receiver[]> => {
  if (locked.length === 0) return [];
  const versions = new Map(locked.map(({ endpointUid, version }) => [endpointUid, version]));
  const settings = await readSettings(tx, [...versions.keys()]);
  return settings.map((one) => ({ ...one, version: versions.get(one.endpointUid) ?? '' }));
};

const areSame = (expected: readonly Receiver[], locked: readonly LockedEndpoint[]): boolean => {
  const versions = new Map(expected.map(({ endpointUid, version }) => [endpointUid, version]));
  return (
    versions.size === locked.length && locked.every(({ endpointUid, version }) => versions.get(endpointUid) === version)
  );
};

/** The endpoints of the targets. */
const subscribedOf = (
  targets: readonly (readonly Target[])[],
  receivers: readonly Receiver[],
  locked: readonly LockedEndpoint[],
): Subscribed[] => {
  const settings = new Map(receivers.map((one) => [one.endpointUid, one]));
  const wanted = new Set(targets.flat().map(({ endpointUid }) => endpointUid));
  return locked.flatMap((state) => {
    const ofEndpoint = settings.get(state.endpointUid);
    return ofEndpoint !== undefined && wanted.has(state.endpointUid) ? [{ ...ofEndpoint, ...state }] : [];
  });
};

/** Of the first events only where there are too many targets; the others wait for the next batch. */
const targetsOf = (events: readonly ClaimedEvent[], receivers: readonly Receiver[], now: Date): Target[][] => {
  const byTenant = Map.groupBy(receivers, ({ tenant }) => tenant);
  return firstOf(
    events.map((event) =>
      (byTenant.get(event.tenant) ?? [])
        .filter(({ kinds }) => kinds.includes(event.kind))
        .map(({ endpointUid }) => ({ uid: newId('dlv', now.getTime()), endpointUid, event })),
    ),
  );
};

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
