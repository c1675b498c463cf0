/**
 * Requests that Node's parser refuses get no request object. They are answered here, on the bare socket, in the dialects of
 * all other refusals. The dialect follows from what can still be read of the request. An error inside of a body belongs to the request
 * of that body, which is refused as any other: with its id, and one line in the access log.
 */
import { type ServerOptions, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Fault } from '#src/contract/fault.ts';
import type { Logger } from '#src/platform/log.ts';
import type { DialectSettings } from '../answer/dialects.ts';
import type { EdgeHeaders } from '../answer/security-headers.ts';
import { faultHeaders, renderFault, type WriteFault } from '../answer/write-answer.ts';
import { bodyTooLarge, headersTooLarge, malformedRequest, requestTooSlow, uriTooLong } from '../model/faults.ts';
import { routeWaitMsMax } from '../model/forwarding.ts';
import { exchangeOf } from '../request/exchange.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { currentResponseOf } from './node-http/responses.ts';
import { type BrokenHead, readBrokenHead } from './read-broken-head.ts';

const headerBytesMax = 16 * 1024;
const urlBytesMax = 8 * 1024;

/**
 * For the server of the public listener. The parser's bound is above that of the gateway, so that a long URL and long
 * headers get different answers; it still bounds memory. Host is checked by check-request-head.ts.
 */
export const gatewayServerOptions: ServerOptions = {
  maxHeaderSize: 2 * headerBytesMax,
  headersTimeout: 15_000,
  // A last resort only: each route has its own time for a body, and each path of the gateway itself too.
  requestTimeout: routeWaitMsMax + 60_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
  requireHostHeader: false,
  noDelay: true,
  // A request without a body ends with its head; a body stream for it would cost more than the head.
  optimizeEmptyRequests: true,
};

type ParserError = Error & { code?: string; rawPacket?: Buffer };

const faultFor = ({ code, rawPacket }: ParserError): Fault => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTooSlow();
  if (code === 'HPE_HEADER_OVERFLOW')
    return isLongTarget(rawPacket) ? uriTooLong(urlBytesMax) : headersTooLarge(headerBytesMax);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return bodyTooLarge(headerBytesMax);
  return malformedRequest('', 'this is not a request of HTTP/1.1');
};

/** The first line had not ended within the bound of a target. */
const isLongTarget = (packet: Buffer | undefined): boolean => {
  if (packet === undefined || !/^[A-Z]{3,7} /.test(packet.subarray(0, 8).toString('latin1'))) return false;
  const end = packet.indexOf('\n');
  return end === -1 || end > urlBytesMax;
};

type ClientErrorDeps = Pick<GatewayMetrics, 'answered' | 'refused'> & {
  writeFault: WriteFault;
  edgeHeaders: EdgeHeaders;
  dialects: DialectSettings;
  requestIds: (given: string | undefined) => string;
  log: Logger;
};

export type OnClientError = (error: ParserError, socket: Socket) => void;

/** Listener for `clientError`. */
export const createOnClientError = (deps: ClientErrorDeps): OnClientError => {
  return (error, socket) => {
    // Bytes that broke the encryption: the answer could not be encrypted either.
    if (error.code === 'ECONNRESET' || error.code?.startsWith('ERR_SSL_') || !socket.writable) {
      socket.destroy();
      return;
    }
    const current = currentResponseOf(socket);
    if (current?.headersSent === true) {
      // An answer was begun, and more text would be read as part of it. Written bytes are sent; the client notices the
      // missing end.
      socket.end(() => socket.destroy());
      return;
    }
    if (current?.req.complete === true) {
      // Bytes behind a request that is being served. A refusal would be read as its answer (RFC 9112 section 9.3.2); the
      // connection ends with that answer instead.
      current.shouldKeepAlive = false;
      return;
    }
    const exchange = current && exchangeOf(current.req);
    if (current === undefined || exchange === undefined) {
      refuse(deps, socket, faultFor(error), readBrokenHead(error.rawPacket));
      return;
    }
    exchange.isBroken = true;
    current.shouldKeepAlive = false;
    // Another refusal may wait for the audit already; it is the answer then.
    if (exchange.refusal === undefined) deps.writeFault(exchange, faultFor(error));
  };
};

const refuse = (deps: ClientErrorDeps, socket: Socket, fault: Fault, head: BrokenHead): void => {
  const startedAtMs = performance.now();
  const given = head.req.headers['x-request-id'];
  const requestId = deps.requestIds(typeof given === 'string' ? given : undefined);
  const asked = { ...head, requestId, dpop: deps.dialects.dpop === true, tokenInBody: false };
  const rendered = renderFault(asked, fault, deps.dialects);
  const flat = [...deps.edgeHeaders(requestId), ...faultHeaders(fault, rendered)];
  const lines = [`HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status] ?? 'Bad Request'}`];
  for (let i = 0; i + 1 < flat.length; i += 2) lines.push(`${flat[i]}: ${flat[i + 1]}`);
  lines.push(`date: ${new Date().toUTCString()}`, `content-length: ${Buffer.byteLength(rendered.body)}`);
  lines.push('connection: close', '', head.method === 'HEAD' ? '' : rendered.body);
  deps.refused(fault);
  deps.answered({ route: undefined, place: undefined, startedAtMs }, fault.status);
  deps.log.info(
    {
      request_id: requestId,
      method: head.method,
      path: head.path.slice(0, 256),
      status: fault.status,
      refusal: fault.code,
      complete: true,
      address: socket.remoteAddress,
      duration_ms: 0,
    },
    'request',
  );
  socket.end(lines.join('\r\n'));
};
