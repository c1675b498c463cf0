/**
 * The span of a request at the public door. Its attributes come from bounded sets: route, status, code, issued ids. A path
 * that is no route may hold anything, so it is left out, as are queries, addresses and headers.
 */
import type { TraceSpan, Traces } from '#src/platform/telemetry/traces.ts';
import type { Exchange } from '../request/exchange.ts';

export type TraceRequest = (exchange: Exchange) => void;

type TraceRequestDeps = {
  traces: Traces;
  /** The public address. */
  origin: string;
  /** Use the trace context of callers: their trace and their sampling decision. */
  continues: boolean;
};

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);

export const createTraceRequest = ({ traces, origin, continues }: TraceRequestDeps): TraceRequest => {
  const { protocol, hostname } = new URL(origin);
  const scheme = protocol.slice(0, -1);
  return (exchange) => {
    const span =
      exchange.within?.span?.child('server', 'request') ??
      traces.start('server', 'request', continues ? contextOf(exchange) : undefined);
    exchange.span = span;
    exchange.res.once('close', () => {
      if (span.isRecording) describe(span, exchange, scheme, hostname);
      span.end();
    });
  };
};

const contextOf = ({ req }: Exchange): { traceparent: string | undefined; tracestate: string | undefined } => {
  const { traceparent, tracestate } = req.headers;
  return {
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
  };
};

const describe = (span: TraceSpan, exchange: Exchange, scheme: string, host: string): void => {
  const { req, res, principal } = exchange;
  const method = knownMethods.has(exchange.method) ? exchange.method : '_OTHER';
  const route = exchange.route?.path ?? exchange.place;
  span.rename(route === undefined ? (method === '_OTHER' ? 'HTTP' : method) : `${method} ${route}`);
  span.set('http.request.method', method);
  span.set('http.route', route);
  span.set('url.path', route);
  span.set('url.scheme', scheme);
  span.set('server.address', host);
  span.set('network.protocol.version', req.httpVersion);
  span.set('orderpass.request_id', exchange.requestId);
  span.set('orderpass.caller.kind', principal?.kind);
  span.set('orderpass.caller.id', principal?.id);
  span.set('orderpass.refusal', exchange.refusal);
  const status = res.headersSent || res.statusCode === 101 ? res.statusCode : undefined;
  span.set('http.response.status_code', status);
  if (status === undefined || (!res.writableFinished && status !== 101)) span.fail('client_closed');
  else if (status >= 500) span.fail(exchange.refusal ?? String(status));
};
