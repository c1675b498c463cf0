/**
 * Deliveries to attempts: claim what is due under a lease, send outside any transaction, record what happened. A worker
 * that dies leaves leases that end by themselves; whoever takes over sends the same event id again.
 */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction, isTransient } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import type { WebhooksSettings } from './config.ts';
import { type ClaimedDelivery, claimDeliveries, type Outcome, recordAttempt, returnLease } from './delivery-store.ts';
import { disableEndpoint, lockEndpoint } from './endpoint-store.ts';
import { createPlaces, type Room } from './places.ts';
import { nextDelayMs, parseRetryAfter } from './retry-schedule.ts';
import type { Failure, Send, SendResult } from './send.ts';

export type DeliverDeps = {
  db: Kysely<unknown>;
  clock: Clock;
  log: Logger;
  settings: WebhooksSettings;
  send: Send;
  /** Headers of a delivery, signatures included. */
  headersFor: (delivery: ClaimedDelivery, timestampSeconds: number) => Promise<Record<string, string>>;
  /** In [0, 1): jitter. */
  random: () => number;
};

/** Longer than an attempt can take, so that a lease never ends under a worker that lives; what a dead one had is taken over. */
const leaseMs = 25_000;
const pollMs = 250;
const returnedMs = 5_000;
const repeatMs = 500;
/** At the end of the service: for attempts to finish, then for their leases to be given back. */
const drainMs = 2_000;
const returnMs = 500;
/** An answer that takes longer makes its endpoint a slow one. */
const slowMs = 3_000;

export type Deliver = { service: Service; wake(): void };

export const createDeliver = (deps: DeliverDeps): Deliver => {
  let current: Wake | undefined;
  // These outlive a run that failed: its attempts go on and hold their places, and the next run ends them with its own.
  const running = new Set<Promise<void>>();
  const cut = new AbortController();
  const { concurrency_max: placesMax, endpoint_concurrency_max: perEndpointMax } = deps.settings;
  const places = createPlaces({ placesMax, perEndpointMax, slowMs });
  const wake = (): void => current?.now();
  const start = (delivery: ClaimedDelivery): void => {
    places.take(delivery.endpointUid);
    const work = attempt(deps, delivery, cut.signal, (tookMs) => places.giveBack(delivery.endpointUid, tookMs))
      .catch((error: unknown) => deps.log.error({ delivery: delivery.uid, err: error }, 'an attempt was not recorded'))
      .finally(() => {
        running.delete(work);
        wake();
      });
    running.add(work);
  };
  return {
    wake,
    service: {
      name: 'webhook-deliver',
      run: async (signal) => {
        const own = createWake(signal);
        current = own;
        try {
          while (!signal.aborted) {
            const claimed = await claim(deps, places.room());
            for (const delivery of claimed) start(delivery);
            if (claimed.length === 0 || places.room().free === 0) await own.wait(pollMs);
          }
        } finally {
          if (signal.aborted) await end(running, cut);
        }
      },
    },
  };
};

const claim = async (deps: DeliverDeps, room: Room): Promise<ClaimedDelivery[]> => {
  if (room.free === 0) return [];
  const now = deps.clock.now();
  return claimDeliveries(deps.db, now, room, { token: randomUUID(), until: new Date(now.getTime() + leaseMs) });
};

/** What runs may finish, within a bound; then it is cut, and its leases are given back. */
const end = async (running: ReadonlySet<Promise<void>>, cut: AbortController): Promise<void> => {
  await finished(running, drainMs);
  cut.abort();
  await finished(running, returnMs);
};

/** Waits for what runs, within a bound. */
const finished = async (running: ReadonlySet<Promise<void>>, timeoutMs: number): Promise<void> => {
  const over = new AbortController();
  await Promise.race([Promise.all(running), pause(timeoutMs, over.signal)]);
  over.abort();
};

/** `left` is called once, when the receiver holds no place any more: with the time that it took if it had its chance. */
const attempt = async (
  deps: DeliverDeps,
  delivery: ClaimedDelivery,
  cut: AbortSignal,
  left: (tookMs: number | undefined) => void,
): Promise<void> => {
  const started = deps.clock.now();
  let headers: Record<string, string>;
  try {
    headers = await deps.headersFor(delivery, Math.floor(started.getTime() / 1000));
  } catch (error) {
    left(undefined);
    // Our own trouble before anything was sent is no attempt.
    await returnLease(deps.db, delivery, new Date(started.getTime() + returnedMs));
    throw error;
  }
  const startedMs = performance.now();
  const result = await deps.send(delivery.url, headers, delivery.body, cut);
  // Cut short by our own end: another worker sends it again, under the same number.
  const isCut = cut.aborted && result.status === null;
  try {
    if (isCut) return await returnLease(deps.db, delivery, started);
    await recordInTime(deps, delivery, result, started, cut, startedMs + leaseMs);
  } finally {
    // Only now: more attempts than can be written would pile up here.
    left(isCut ? undefined : result.failure === 'timeout' ? Number.POSITIVE_INFINITY : result.timings.total);
  }
};

/** A word from the receiver is worth keeping while the lease lasts: without it everything is sent again. */
const recordInTime = async (
  deps: DeliverDeps,
  delivery: ClaimedDelivery,
  result: SendResult,
  started: Date,
  cut: AbortSignal,
  endMs: number,
): Promise<void> => {
  for (;;) {
    try {
      return await record(deps, delivery, result, started);
    } catch (error) {
      if (cut.aborted || !isTransient(error) || performance.now() > endMs) throw error;
      await pause(repeatMs, cut);
    }
  }
};

const record = async (
  deps: DeliverDeps,
  delivery: ClaimedDelivery,
  result: SendResult,
  started: Date,
): Promise<void> => {
  const now = deps.clock.now();
  const asked = result.status === 429 || result.status === 503 ? parseRetryAfter(result.retryAfter, now) : undefined;
  const { address, status, failure, response, timings } = result;
  const kept = { started, address, status, failure, retryAfterSeconds: asked ?? null, response, timings };
  const outcome = outcomeOf(failure, nextDelayMs(delivery.attemptsCount + 1, asked, deps.random()), now);
  await inTransaction(deps.db, async (tx) => {
    // 410: the receiver says that it wants nothing more, ever (interface 12.4).
    const gone = status === 410;
    if (gone) await lockEndpoint(tx, delivery.endpointUid);
    const held = await recordAttempt(tx, delivery, kept, outcome, now);
    if (held && gone) await disableEndpoint(tx, delivery.endpointUid, 'gone', now);
  });
};

const outcomeOf = (failure: Failure | null, delayMs: number | undefined, now: Date): Outcome => {
  if (failure === null) return { state: 'succeeded', nextAttemptAt: null };
  if (delayMs === undefined) return { state: 'exhausted', nextAttemptAt: null };
  return { state: 'pending', nextAttemptAt: new Date(now.getTime() + delayMs) };
};
