/** The access log: one line per request, written when it ends. Paths without query, and ids; no credential, no payload. */
import { clientCertificateOf } from '#src/platform/http/tls/client-certificate.ts';
import type { Logger } from '#src/platform/log.ts';
import { type Exchange, upstreamNameOf } from '../request/exchange.ts';

type LogRequestDeps = { log: Logger; nowMs: () => number };

export const createLogRequest = ({ log, nowMs }: LogRequestDeps): ((exchange: Exchange) => void) => {
  return (exchange) => {
    // Checked for each request, since the level may change while the process runs.
    if (!log.isLevelEnabled('info')) return;
    const { req, res } = exchange;
    const address = req.socket.remoteAddress;
    res.once('close', () => {
      log.info(
        {
          request_id: exchange.requestId,
          trace_id: exchange.span?.traceId,
          method: exchange.method,
          path: exchange.path.slice(0, 256),
          route: exchange.route?.id,
          via: exchange.within?.route?.id,
          // The last one, where the request was sent again.
          ...(exchange.upstreamAddress !== undefined && {
            upstream: upstreamNameOf(exchange),
            upstream_address: exchange.upstreamAddress,
          }),
          caller: exchange.principal?.id,
          kind: exchange.principal?.kind,
          client_certificate: clientCertificateOf(req.socket)?.thumbprint,
          // A WebSocket's 101 is written past the response object.
          status: res.headersSent || res.statusCode === 101 ? res.statusCode : 0,
          refusal: exchange.refusal,
          complete: res.writableFinished,
          address,
          duration_ms: Math.round((nowMs() - exchange.startedAtMs) * 10) / 10,
        },
        'request',
      );
    });
  };
};
