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
import type { WebhooksSettings } from './config.ts';
import { type ClaimedDelivery, claimDeliveries, type Outcome, recordAttempt, returnLease } from './delivery-store.ts';
import { disableEndpoint, lockEndpoint } from './endpoint-store.ts';
import { nextDelayMs, parseRetryAfter } from './retry-schedule.ts';
import type { Failure, Send, SendResult } from './send.ts';
import { createWake, type Wake } from './wake.ts';

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

export type Deliver = { service: Service; wake(): void };

export const createDeliver = (deps: DeliverDeps): Deliver => {
  let current: Wake | undefined;
  // Outlives a run that failed: its attempts go on, and hold their places.
  const running: Running = new Map();
  return {
    wake: () => current?.now(),
    service: {
      name: 'webhook-deliver',
      run: async (signal) => {
        const wake = createWake(signal);
        current = wake;
        const cut = new AbortController();
        while (!signal.aborted) {
          const claimed = await claim(deps, running);
          for (const delivery of claimed) start(deps, delivery, running, cut.signal, wake);
          if (claimed.length === 0 || free(deps, running) === 0) await wake.wait(pollMs);
        }
        await finished(running, drainMs);
        cut.abort();
        await finished(running, returnMs);
      },
    },
  };
};

type Running = Map<string, Set<Promise<void>>>;

const free = ({ settings }: DeliverDeps, running: Running): number => {
  let busy = 0;
  for (const ofEndpoint of running.values()) busy += ofEndpoint.size;
  return settings.concurrency_max - busy;
};

const claim = async (deps: DeliverDeps, running: Running): Promise<ClaimedDelivery[]> => {
  const limit = free(deps, running);
  if (limit <= 0) return [];
  const { concurrency_max, endpoint_concurrency_max } = deps.settings;
  // The last quarter of the places is for endpoints that have none: a handful of slow receivers cannot take them all.
  const perEndpoint = limit > concurrency_max / 4 ? endpoint_concurrency_max : 1;
  const now = deps.clock.now();
  return claimDeliveries(deps.db, now, {
    limit,
    perEndpoint,
    inFlight: Object.fromEntries([...running].map(([uid, ofEndpoint]) => [uid, ofEndpoint.size])),
    leaseToken: randomUUID(),
    leaseUntil: new Date(now.getTime() + leaseMs),
  });
};

const start = (deps: DeliverDeps, delivery: ClaimedDelivery, running: Running, cut: AbortSignal, wake: Wake): void => {
  const ofEndpoint = running.get(delivery.endpointUid) ?? new Set();
  running.set(delivery.endpointUid, ofEndpoint);
  const work = attempt(deps, delivery, cut)
    .catch((error: unknown) => deps.log.error({ delivery: delivery.uid, err: error }, 'an attempt was not recorded'))
    .finally(() => {
      ofEndpoint.delete(work);
      if (ofEndpoint.size === 0) running.delete(delivery.endpointUid);
      wake.now();
    });
  ofEndpoint.add(work);
};

/** Waits for what runs, within a bound. */
const finished = async (running: Running, timeoutMs: number): Promise<void> => {
  const all = [...running.values()].flatMap((ofEndpoint) => [...ofEndpoint]);
  const over = new AbortController();
  await Promise.race([Promise.all(all), pause(timeoutMs, over.signal)]);
  over.abort();
};

const attempt = async (deps: DeliverDeps, delivery: ClaimedDelivery, cut: AbortSignal): Promise<void> => {
  const started = deps.clock.now();
  let headers: Record<string, string>;
  try {
    headers = await deps.headersFor(delivery, Math.floor(started.getTime() / 1000));
  } catch (error) {
    // Our own trouble before anything was sent is no attempt.
    await returnLease(deps.db, delivery, new Date(started.getTime() + returnedMs));
    throw error;
  }
  const startedMs = performance.now();
  const result = await deps.send(delivery.url, headers, delivery.body, cut);
  // Cut short by our own end: another worker sends it again, under the same number.
  if (cut.aborted && result.status === null) return returnLease(deps.db, delivery, started);
  for (;;) {
    try {
      return await record(deps, delivery, result, started);
    } catch (error) {
      // A word from the receiver is worth keeping while the lease lasts: without it everything is sent again.
      if (cut.aborted || !isTransient(error) || performance.now() - startedMs > leaseMs) throw error;
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
