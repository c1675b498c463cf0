/**
 * Sends recorded events again to one endpoint (interface 12.5, webhook/redeliver): one event, or a span of time in
 * steps. A step is one transaction over a bounded number of events and stores its progress. After the death of a worker
 * another one goes on, and no event is queued twice. A redelivered event gets a new delivery with the same event id.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import {
  type FeedEvent,
  findFeedEvent,
  findFeedEvents,
  lastPlace,
  placeAfter,
  placeBefore,
  readFeed,
} from '#src/platform/db/outbox/event-feed.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Poll } from '#src/platform/wake.ts';
import { type Endpoint, sentKindsOf, type Viewer } from '../endpoints/endpoint.ts';
import { dropPreviousSecrets, findEndpoint } from '../endpoints/endpoint-store.ts';
import { attemptsMax } from '../pacing/retry-schedule.ts';
import { joinEntityQueues, knownDeliveries, lockEntityQueues } from '../queue/entity-queue-store.ts';
import { claimRedelivery, insertRedelivery, putLast, type Redelivery, saveProgress } from './redelivery-store.ts';

export type Redelivered = { uid: string; queued: number; state: 'running' | 'done' };

type RedeliverOutcome = Redelivered | 'no_endpoint' | 'no_event' | 'withheld' | 'disabled' | 'one_is_running';

/** chosen: events of one step, so that its transaction stays short. */
const stepMax = 100;
/** chosen: bytes of their bodies, at least one event; 100 usual events have a tenth of it. */
const stepBytesMax = 1024 * 1024;

/** Sends one event again, also when it succeeded there before. */
export const redeliverEvent = async (
  tx: Kysely<unknown>,
  viewer: Viewer,
  { endpointUid, eventId }: { endpointUid: string; eventId: string },
  now: Date,
): Promise<RedeliverOutcome> => {
  const endpoint = await findEndpoint(tx, viewer, endpointUid, { lock: true });
  if (endpoint === undefined) return 'no_endpoint';
  const event = await findFeedEvent(tx, viewer.tenant, eventId);
  // The endpoint does not receive events of this kind.
  if (event === undefined || !endpoint.kinds.includes(event.kind)) return 'no_event';
  if (endpoint.withheldKinds.includes(event.kind)) return 'withheld';
  if (!endpoint.enabled) return 'disabled';
  const uid = newId('rdl', now.getTime());
  const queued = await queue(tx, { endpoint, redeliveryUid: uid, events: [event], everything: true }, now);
  // Stored, so that its state can be read like that of any redelivery.
  await insertRedelivery(tx, {
    tenant: viewer.tenant,
    uid,
    endpointUid,
    since: event.created,
    until: null,
    everything: true,
    afterPlace: event.place,
    lastPlace: event.place,
    queued,
    state: 'done',
    created: now,
  });
  return { uid, queued, state: 'done' };
};

/**
 * Sends the named events again, also those that succeeded there before. Events that are no longer kept, and those that the
 * endpoint may not get, are left out.
 */
export const redeliverEvents = async (
  tx: Kysely<unknown>,
  viewer: Viewer,
  { endpointUid, eventIds }: { endpointUid: string; eventIds: readonly string[] },
  now: Date,
): Promise<RedeliverOutcome> => {
  const endpoint = await findEndpoint(tx, viewer, endpointUid, { lock: true });
  if (endpoint === undefined) return 'no_endpoint';
  if (!endpoint.enabled) return 'disabled';
  const kinds = sentKindsOf(endpoint);
  const events = (await findFeedEvents(tx, viewer.tenant, eventIds)).filter(({ kind }) => kinds.includes(kind));
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return 'no_event';
  const uid = newId('rdl', now.getTime());
  const queued = await queue(tx, { endpoint, redeliveryUid: uid, events, everything: true }, now);
  await insertRedelivery(tx, {
    tenant: viewer.tenant,
    uid,
    endpointUid,
    since: first.created,
    until: null,
    everything: true,
    afterPlace: last.place,
    lastPlace: last.place,
    queued,
    state: 'done',
    created: now,
  });
  return { uid, queued, state: 'done' };
};

export type Span = { since: Date; until: Date | undefined; everything: boolean };

/** Runs the first step; `createRedeliver` runs the others. */
export const redeliverSpan = async (
  tx: Kysely<unknown>,
  viewer: Viewer,
  { endpointUid, since, until, everything }: Span & { endpointUid: string },
  now: Date,
): Promise<RedeliverOutcome> => {
  const endpoint = await findEndpoint(tx, viewer, endpointUid, { lock: true });
  if (endpoint === undefined) return 'no_endpoint';
  const kinds = sentKindsOf(endpoint);
  if (kinds.length === 0) return 'withheld';
  if (!endpoint.enabled) return 'disabled';
  const events = { tenant: viewer.tenant, kinds };
  const before: Redelivery = {
    tenant: viewer.tenant,
    uid: newId('rdl', now.getTime()),
    endpointUid,
    since,
    until: until ?? null,
    everything,
    afterPlace: await placeBefore(tx, events, since),
    // Events recorded from now on are delivered anyway.
    lastPlace: Math.min(
      await lastPlace(tx, events),
      (until === undefined ? undefined : await placeAfter(tx, events, until)) ?? Number.MAX_SAFE_INTEGER,
    ),
    queued: 0,
    state: 'running',
    created: now,
  };
  if (!(await insertRedelivery(tx, before))) return 'one_is_running';
  const { uid, queued, state } = await step(tx, before, endpoint, now);
  return { uid, queued, state };
};

/** Queues the next events and stores the progress. */
const step = async (tx: Kysely<unknown>, before: Redelivery, endpoint: Endpoint, now: Date): Promise<Redelivery> => {
  const { events, found } = await readFeed(tx, {
    tenant: before.tenant,
    kinds: sentKindsOf(endpoint),
    after: before.afterPlace,
    last: before.lastPlace,
    since: before.since,
    until: before.until ?? undefined,
    limit: stepMax,
    bytesMax: stepBytesMax,
  });
  const { uid: redeliveryUid, everything } = before;
  const queued = await queue(tx, { endpoint, redeliveryUid, events, everything }, now);
  const after: Redelivery = {
    ...before,
    afterPlace: events.at(-1)?.place ?? before.lastPlace,
    queued: before.queued + queued,
    state: found < stepMax && events.length === found ? 'done' : 'running',
  };
  await saveProgress(tx, after, now);
  return after;
};

type Queueing = { endpoint: Endpoint; redeliveryUid: string; events: readonly FeedEvent[]; everything: boolean };

/** Returns how many deliveries follow. An event with an unfinished delivery is not queued twice; it becomes due now. */
const queue = async (
  tx: Kysely<unknown>,
  { endpoint: { uid: endpointUid, cancelThrough }, redeliveryUid, events, everything }: Queueing,
  now: Date,
): Promise<number> => {
  // Before the deliveries are read: one that ends meanwhile would be taken for an unfinished one and never sent.
  await lockEntityQueues(
    tx,
    events.map(({ kind, entity }) => ({ endpointUid, kind, entity })),
  );
  const known = await knownDeliveries(
    tx,
    endpointUid,
    events.map(({ id }) => id),
  );
  // A delivery that is about to be cancelled counts as finished, and so does one whose last attempt is in flight: when that
  // fails, nothing would send the event again.
  const isEnding = ({ attemptsCount, leaseUntil }: (typeof known)[number]): boolean =>
    attemptsCount >= attemptsMax - 1 && leaseUntil !== null && leaseUntil > now;
  const unfinished = firstOfEach(
    known.filter(
      (one) =>
        (one.state === 'pending' || one.state === 'waiting') &&
        (cancelThrough === null || one.created > cancelThrough) &&
        !isEnding(one),
    ),
  );
  const succeeded = new Set(known.filter(({ state }) => state === 'succeeded').map(({ eventId }) => eventId));
  const moving = new Set(unfinished.map(({ eventId }) => eventId));
  const wanted = events.filter(({ id }) => moving.has(id) || everything || !succeeded.has(id));
  if (wanted.length === 0) return 0;
  await joinEntityQueues(tx, { endpointUid, redeliveryUid, events: wanted, unfinished }, now);
  return wanted.length;
};

/**
 * The oldest delivery of each event. An event has two unfinished ones when the worker of a last attempt ended without its result
 * after the event was queued again; a redelivery has one of an event only.
 */
const firstOfEach = <T extends { eventId: string; created: Date }>(deliveries: readonly T[]): T[] => {
  const latestFirst = deliveries.toSorted((left, right) => right.created.getTime() - left.created.getTime());
  return [...new Map(latestFirst.map((one) => [one.eventId, one])).values()];
};

type RedeliverDeps = { db: Kysely<unknown>; clock: Clock; onDeliveries: () => void; poll: Poll };

/** Runs the later steps of redeliveries, one step of each in turn. */
export const createRedeliver = ({ db, clock, onDeliveries, poll }: RedeliverDeps): Service => ({
  name: 'webhook-redeliver',
  run: async (signal) => {
    const wait = poll.begin(signal);
    while (!signal.aborted) {
      const worked = await redeliverOnce(db, clock.now());
      if (worked) onDeliveries();
      else {
        await dropPreviousSecrets(db, clock.now());
        await wait();
      }
    }
  },
});

/** Runs one step of one redelivery. Returns false when none is running. After a failure the others go first. */
const redeliverOnce = async (db: Kysely<unknown>, now: Date): Promise<boolean> => {
  let claimed: Redelivery | undefined;
  try {
    return await inTransaction(db, async (tx) => {
      claimed = await claimRedelivery(tx);
      if (claimed === undefined) return false;
      const viewer = { tenant: claimed.tenant, client: undefined };
      const endpoint = await findEndpoint(tx, viewer, claimed.endpointUid, { lock: true });
      // The endpoint was removed or disabled, or its owner may read nothing any more: the redelivery ends.
      if (endpoint?.enabled === true && sentKindsOf(endpoint).length > 0) await step(tx, claimed, endpoint, now);
      else await saveProgress(tx, { ...claimed, state: 'done' }, now);
      return true;
    });
  } catch (error) {
    if (claimed !== undefined) await putLast(db, claimed.uid, now);
    throw error;
  }
};
