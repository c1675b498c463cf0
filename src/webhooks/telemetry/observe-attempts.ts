/**
 * Counts and traces attempts around what sends them. An attempt is a trace of its own, because the change behind the event ended
 * long before. Receivers get no trace context, since they belong to third parties. Spans hold only the host of the
 * address: path and query often contain a secret.
 */
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { TraceSpan, Traces } from '#src/platform/telemetry/traces.ts';
import type { AuthorizedSend } from '../auth/authorized-send.ts';
import type { Failure, SendResult } from '../send/send-result.ts';

export type Observers = {
  metrics: Metrics;
  /** Undefined when tracing is off. */
  traces: Traces | undefined;
};

type Outcome = Failure | 'delivered' | 'cut';

const outcomes: readonly Outcome[] = [
  'delivered',
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'status',
  'redirect',
  'target_refused',
  'cut',
];

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

export const createObserveAttempts = ({ metrics, traces }: Observers): ((send: AuthorizedSend) => AuthorizedSend) => {
  const attempts = metrics.counter('webhook_attempts_total', 'Attempts to deliver, by outcome', ['outcome']);
  const seconds = metrics
    .histogram('webhook_attempt_duration_seconds', 'From the start of an attempt to its outcome', buckets)
    .child({});
  const counters = new Map(outcomes.map((outcome) => [outcome, attempts.child({ outcome })]));
  return (send) => async (to, headers, body, signal) => {
    const span = traces?.start('client', 'POST');
    try {
      const result = await send(to, headers, body, signal);
      const outcome = outcomeOf(result, signal);
      counters.get(outcome)?.inc();
      seconds.observe(result.timings.total / 1000);
      if (span?.isRecording === true) describe(span, to.url, headers, result, outcome);
      return result;
    } finally {
      span?.end();
    }
  };
};

/** The end of this process cut the attempt; another worker sends the delivery again. */
const outcomeOf = ({ failure, status }: SendResult, signal: AbortSignal): Outcome => {
  if (failure === null) return 'delivered';
  return signal.aborted && status === null ? 'cut' : failure;
};

const describe = (
  span: TraceSpan,
  url: string,
  headers: Readonly<Record<string, string>>,
  { status }: SendResult,
  outcome: Outcome,
): void => {
  span.set('http.request.method', 'POST');
  if (URL.canParse(url)) {
    const { hostname, port, protocol } = new URL(url);
    span.set('server.address', hostname);
    span.set('server.port', Number(port || (protocol === 'https:' ? 443 : 80)));
  }
  span.set('http.response.status_code', status ?? undefined);
  span.set('orderpass.event.id', headers['webhook-id']);
  span.set('orderpass.delivery.id', headers['x-orderpass-delivery']);
  const repeats = Number(headers['x-orderpass-attempt']) - 1;
  if (repeats > 0) span.set('http.request.resend_count', repeats);
  if (outcome !== 'delivered') span.fail(outcome === 'status' ? String(status) : outcome);
};
