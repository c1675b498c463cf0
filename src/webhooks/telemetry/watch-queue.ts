/** Metrics of the queue. They are read when Prometheus asks, and at most once in 10 s. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { type QueueFigures, readQueue } from './queue-figures-store.ts';

/** chosen: bounds of one reading, so that a backlog makes no scrape slow. */
const cachedMs = 10_000;
const countedMax = 10_000;
const endpointsMax = 1_000;
const answerMs = 2_000;

export const watchQueue = (metrics: Metrics, { db, clock }: { db: Kysely<unknown>; clock: Clock }): void => {
  let known: Promise<QueueFigures> | undefined;
  let readAtMs = 0;
  const read = (): Promise<QueueFigures> => {
    const nowMs = performance.now();
    if (known !== undefined && nowMs - readAtMs < cachedMs) return known;
    readAtMs = nowMs;
    const reading = inTime(readQueue(db, clock.now(), { countedMax, endpointsMax }));
    // The next request tries again.
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    known = reading;
    return reading;
  };
  const bound = `counted up to ${countedMax} together with the others`;
  metrics.gauge('webhook_deliveries_pending', `Deliveries to send now or at their time, ${bound}`, async () => {
    return (await read()).pending;
  });
  metrics.gauge('webhook_deliveries_waiting', `Deliveries behind one of the same entity, ${bound}`, async () => {
    return (await read()).waiting;
  });
  const secondsSince = (due: Date | null): number =>
    due === null ? 0 : Math.max(0, clock.now().getTime() - due.getTime()) / 1000;
  metrics.gauge(
    'webhook_oldest_due_seconds',
    'Since the oldest due delivery became due, of endpoints that answer: it grows when workers are too slow or gone',
    async () => secondsSince((await read()).oldestDue),
  );
  metrics.gauge(
    'webhook_held_oldest_due_seconds',
    'Since the oldest due delivery became due, of endpoints that fail or are disabled: it grows with dead receivers',
    async () => secondsSince((await read()).oldestHeld),
  );
};

/** Bounds the time that a scrape waits for the database. */
const inTime = async <T>(work: Promise<T>): Promise<T> => {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('the database did not answer in time')), answerMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
