/**
 * Counts and traces the requests of the internal listener. The trace of a request is continued only when its assertion is
 * valid, so no other process can join or start a trace. It runs inside the error boundary.
 */
import type { Context, Middleware } from 'koa';
import type { VerifyAssertion } from '#src/contract/assertion.ts';
import { assertionHeader } from '#src/contract/headers.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { TraceSpan, Traces } from '../telemetry/traces.ts';
import { matchedRouteOf } from './koa-router/matched-route.ts';

type ObserveDeps = { metrics: Metrics; traces: Traces | undefined; verifyAssertion: VerifyAssertion };

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Leaves the span of a traced request in `ctx.state.span`. */
export const createObserveRequests = ({ metrics, traces, verifyAssertion }: ObserveDeps): Middleware => {
  const count = createCount(metrics);
  return async (ctx, next) => {
    const startedAtMs = performance.now();
    const span = traces === undefined ? undefined : startSpan(traces, verifyAssertion, ctx);
    ctx.state.span = span;
    ctx.res.once('close', () => {
      const route = matchedRouteOf(ctx);
      // Koa sets 404 before anything is answered, and the caller may leave before the answer.
      if (ctx.res.headersSent) count(route, ctx.res.statusCode, (performance.now() - startedAtMs) / 1000);
      if (span !== undefined) endSpan(span, ctx, route);
    });
    await next();
  };
};

const createCount = (metrics: Metrics): ((route: string, status: number, seconds: number) => void) => {
  const requests = metrics.counter('core_requests_total', 'Answers of the core by operation and class of status', [
    'operation',
    'status',
  ]);
  const durations = metrics.histogram(
    'core_request_duration_seconds',
    'From the head of a request to the core to the end of its answer',
    buckets,
  );
  const make = (operation: string) => ({
    byClass: [1, 2, 3, 4, 5].map((first) => requests.child({ operation, status: `${first}xx` })),
    duration: durations.child({ operation }),
  });
  const made = new Map<string, ReturnType<typeof make>>();
  return (route, status, seconds) => {
    let of = made.get(route);
    if (of === undefined) {
      of = make(route);
      made.set(route, of);
    }
    of.byClass[Math.floor(status / 100) - 1]?.inc();
    of.duration.observe(seconds);
  };
};

const startSpan = (traces: Traces, verify: VerifyAssertion, { req }: Context): TraceSpan | undefined => {
  const value = req.headers[assertionHeader];
  const request = { method: req.method ?? '', target: req.url ?? '' };
  if (verify(typeof value === 'string' ? value : undefined, request) === undefined) return undefined;
  const { traceparent, tracestate } = req.headers;
  const text = (header: string | string[] | undefined) => (typeof header === 'string' ? header : undefined);
  return traces.start('server', 'request', { traceparent: text(traceparent), tracestate: text(tracestate) });
};

const endSpan = (span: TraceSpan, ctx: Context, route: string): void => {
  if (span.isRecording) {
    const { statusCode, headersSent, writableFinished } = ctx.res;
    span.rename(route === 'none' ? ctx.method : `${ctx.method} ${route}`);
    span.set('http.request.method', ctx.method);
    if (headersSent) span.set('http.response.status_code', statusCode);
    span.set('url.scheme', 'http');
    if (route !== 'none') {
      span.set('http.route', route);
      span.set('url.path', route);
    }
    span.set('orderpass.request_id', String(ctx.state.requestId));
    if (statusCode >= 500) span.fail(String(statusCode));
    else if (!writableFinished) span.fail('client_closed');
  }
  span.end();
};
