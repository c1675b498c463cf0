/** Metrics of the queue. They are read when Prometheus or a probe asks, and at most once in 10 s. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { type QueueFigures, readQueue } from './queue-figures-store.ts';

/** chosen: bounds of one reading, so that a backlog makes no scrape slow. */
const cachedMs = 10_000;
const countedMax = 10_000;
const endpointsMax = 1_000;
const answerMs = 2_000;

type QueueDeps = { db: Kysely<unknown>; clock: Clock };

/** Rejects when the database does not answer in time. */
export type ReadQueue = () => Promise<QueueFigures>;

export const createReadQueue = ({ db, clock }: QueueDeps): ReadQueue => {
  let known: Promise<QueueFigures> | undefined;
  let readAtMs = 0;
  return () => {
    const nowMs = performance.now();
    if (known !== undefined && nowMs - readAtMs < cachedMs) return known;
    readAtMs = nowMs;
    const reading = answerInTime(readQueue(db, clock.now(), { countedMax, endpointsMax }), answerMs);
    // The next request tries again.
    reading.catch(() => {
      if (known === reading) known = undefined;
    });
    known = reading;
    return reading;
  };
};

/** 0 when nothing is due. */
export const secondsSince = (due: Date | null, now: Date): number =>
  due === null ? 0 : Math.max(0, now.getTime() - due.getTime()) / 1000;

export const watchQueue = (metrics: Metrics, read: ReadQueue, clock: Clock): void => {
  const bound = `counted up to ${countedMax} together with the others`;
  metrics.gauge('webhook_deliveries_pending', `Deliveries to send now or at their time, ${bound}`, async () => {
    return (await read()).pending;
  });
  metrics.gauge('webhook_deliveries_waiting', `Deliveries behind one of the same entity, ${bound}`, async () => {
    return (await read()).waiting;
  });
  metrics.gauge(
    'webhook_oldest_due_seconds',
    'Since the oldest due delivery became due, of endpoints that answer: it grows when workers are too few or too slow, and no process shows it without a worker',
    async () => secondsSince((await read()).oldestDue, clock.now()),
  );
  metrics.gauge(
    'webhook_held_oldest_due_seconds',
    'Since the oldest due delivery became due, of endpoints that fail or are disabled: it grows with dead receivers',
    async () => secondsSince((await read()).oldestHeld, clock.now()),
  );
};
