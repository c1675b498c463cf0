/**
 * Deliveries to attempts: claim what is due under a lease, send outside any transaction, record what happened. A worker
 * that dies leaves leases that end by themselves; whoever takes over sends the same event id again.
 */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { WebhooksSettings } from './config.ts';
import { type ClaimedDelivery, claimDeliveries, recordAttempt, returnLease } from './delivery-store.ts';
import { disableEndpoint } from './endpoint-store.ts';
import { nextDelayMs, parseRetryAfter } from './retry-schedule.ts';
import type { Send, SendResult } from './send.ts';
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

/** Longer than an attempt can take, so that a lease never ends under a worker that lives. */
const leaseMs = 25_000;
const pollMs = 250;
const returnedMs = 5_000;
const drainMs = 2_000;

export type Deliver = { service: Service; wake(): void };

export const createDeliver = (deps: DeliverDeps): Deliver => {
  let current: Wake | undefined;
  return {
    wake: () => current?.now(),
    service: {
      name: 'webhook-deliver',
      run: async (signal) => {
        const wake = createWake(signal);
        current = wake;
        const running = new Map<string, Set<Promise<void>>>();
        try {
          while (!signal.aborted) {
            const claimed = await claim(deps, running);
            for (const delivery of claimed) start(deps, delivery, running, signal, wake);
            if (claimed.length === 0 || free(deps, running) === 0) await wake.wait(pollMs);
          }
        } finally {
          await drained(running);
        }
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
  const now = deps.clock.now();
  return claimDeliveries(deps.db, now, {
    limit,
    perEndpoint: deps.settings.endpoint_concurrency_max,
    inFlight: Object.fromEntries([...running].map(([uid, ofEndpoint]) => [uid, ofEndpoint.size])),
    leaseToken: randomUUID(),
    leaseUntil: new Date(now.getTime() + leaseMs),
  });
};

const start = (
  deps: DeliverDeps,
  delivery: ClaimedDelivery,
  running: Running,
  signal: AbortSignal,
  wake: Wake,
): void => {
  const ofEndpoint = running.get(delivery.endpointUid) ?? new Set();
  running.set(delivery.endpointUid, ofEndpoint);
  const work = attempt(deps, delivery, signal)
    .catch((error: unknown) => deps.log.error({ delivery: delivery.uid, err: error }, 'an attempt was not recorded'))
    .finally(() => {
      ofEndpoint.delete(work);
      if (ofEndpoint.size === 0) running.delete(delivery.endpointUid);
      wake.now();
    });
  ofEndpoint.add(work);
};

/** What runs may finish; what does not is repeated by whoever takes the lease next. */
const drained = async (running: Running): Promise<void> => {
  const all = [...running.values()].flatMap((ofEndpoint) => [...ofEndpoint]);
  await Promise.race([Promise.all(all), new Promise((resolve) => setTimeout(resolve, drainMs).unref())]);
};

const attempt = async (deps: DeliverDeps, delivery: ClaimedDelivery, signal: AbortSignal): Promise<void> => {
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
  const result = await deps.send(delivery.url, headers, delivery.body, signal);
  if (signal.aborted && result.failure !== null) return returnLease(deps.db, delivery, started);
  await record(deps, delivery, result, started, Math.round(performance.now() - startedMs));
};

const record = async (
  deps: DeliverDeps,
  delivery: ClaimedDelivery,
  result: SendResult,
  started: Date,
  totalMs: number,
): Promise<void> => {
  const now = deps.clock.now();
  const asked = result.status === 429 || result.status === 503 ? parseRetryAfter(result.retryAfter, now) : undefined;
  const delayMs = nextDelayMs(delivery.attemptsCount + 1, asked, deps.random());
  const outcome =
    result.failure === null
      ? ({ state: 'succeeded', nextAttemptAt: null } as const)
      : delayMs === undefined
        ? ({ state: 'exhausted', nextAttemptAt: null } as const)
        : ({ state: 'pending', nextAttemptAt: new Date(now.getTime() + delayMs) } as const);
  await inTransaction(deps.db, async (tx) => {
    const { address, status, failure, response } = result;
    const held = await recordAttempt(
      tx,
      delivery,
      { started, totalMs, address, status, failure, retryAfterSeconds: asked ?? null, response },
      outcome,
      now,
    );
    // 410: the receiver says that it wants nothing more, ever (interface 12.4).
    if (held && status === 410) await disableEndpoint(tx, delivery.endpointUid, 'gone', now);
  });
};
