/** Metrics of streams of security events. The queue is read when Prometheus asks, and at most once in 10 s. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { answerInTime } from '#src/platform/db/answer-in-time.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { type PendingStream, readPending } from '../events/queue-store.ts';

/** `refused`: the receiver has it and does not take it; it is not sent again. */
type Outcome = 'delivered' | 'refused' | 'failed';
export type CountPush = (outcome: Outcome) => void;

const cachedMs = 10_000;
const answerMs = 2_000;
/** chosen: bounds of one reading and of the labels. */
const bounds = { streamsMax: 100, countedMax: 1_000 };

export const createSignalMetrics = (metrics: Metrics, db: Kysely<unknown>, clock: Clock): CountPush => {
  let known: readonly PendingStream[] = [];
  let reading: Promise<void> | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  const read = (): Promise<void> => {
    if (reading !== undefined && performance.now() - readAtMs < cachedMs) return reading;
    readAtMs = performance.now();
    const started = answerInTime(readPending(db, bounds), answerMs).then((rows) => {
      known = rows;
    });
    // The next scrape tries again.
    started.catch(() => {
      if (reading === started) reading = undefined;
    });
    reading = started;
    return started;
  };
  metrics.gauge(
    'signal_events_pending',
    'Security events that wait, of the 100 streams that wait longest',
    async () => {
      await read();
      return known.reduce((total, { waiting }) => total + waiting, 0);
    },
  );
  metrics.gauge('signal_oldest_pending_seconds', 'Since the oldest event of an enabled stream was queued', async () => {
    await read();
    const oldest = known.filter(({ status }) => status === 'enabled').map(({ since }) => since.getTime());
    return oldest.length === 0 ? 0 : Math.max(0, clock.now().getTime() - Math.min(...oldest)) / 1_000;
  });
  metrics.gauges(
    'signal_stream_events_pending',
    'Events that wait, by stream: of the 100 streams that wait longest, counted up to 1,000 each',
    ['stream'],
    () => known.map(({ streamId, waiting }) => [{ stream: streamId }, waiting] as const),
    'max',
  );
  const pushes = metrics.counter('signal_pushes_total', 'Pushes of security events, by outcome', ['outcome']);
  const counters = {
    delivered: pushes.child({ outcome: 'delivered' }),
    refused: pushes.child({ outcome: 'refused' }),
    failed: pushes.child({ outcome: 'failed' }),
  };
  return (outcome) => counters[outcome].inc();
};
