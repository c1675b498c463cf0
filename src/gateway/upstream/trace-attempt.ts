/** The span of one attempt to reach an upstream; the request carries its context. */
import type { TraceSpan } from '#src/platform/telemetry/traces.ts';
import type { Exchange } from '../request/exchange.ts';

/** Undefined while nothing is traced. `failed`: number of attempts before this one. */
export const startAttempt = (
  exchange: Exchange,
  method: string,
  origin: string,
  failed: number,
): TraceSpan | undefined => {
  const { span: parent, route } = exchange;
  if (parent === undefined) return undefined;
  const span = parent.child('client', method);
  exchange.attempt = span;
  if (!span.isRecording) return span;
  const { hostname, port, protocol } = new URL(origin);
  span.set('http.request.method', method);
  span.set('server.address', hostname);
  span.set('server.port', Number(port || (protocol === 'https:' ? 443 : 80)));
  if (route !== undefined) {
    // Without the query, which may hold personal data.
    const path = exchange.upstreamTarget?.split('?', 1)[0] ?? exchange.path;
    span.set('url.full', `${origin}${path}`);
    span.set('url.template', route.path);
    span.set('orderpass.upstream', exchange.cellUpstream ?? route.upstream);
  }
  if (failed > 0) span.set('http.request.resend_count', failed);
  return span;
};

export const noteAttemptStatus = (span: TraceSpan | undefined, status: number): void => {
  if (span === undefined) return;
  span.set('http.response.status_code', status);
  if (status >= 400) span.fail(String(status));
};

export const endAttempt = (span: TraceSpan | undefined, error: Error | undefined): void => {
  if (span === undefined) return;
  if (error !== undefined) span.fail('code' in error && typeof error.code === 'string' ? error.code : error.name);
  span.end();
};
