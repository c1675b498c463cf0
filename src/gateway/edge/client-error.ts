/**
 * Requests that Node's parser refuses never become a request: they are answered here, on the bare socket, in the same
 * words as everything else. The dialect follows from what can still be read of the request.
 */
import { type IncomingMessage, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Fault } from '#src/contract/fault.ts';
import type { Logger } from '#src/platform/log.ts';
import type { DialectSettings } from '../answer/dialects.ts';
import type { EdgeHeaders } from '../answer/security-headers.ts';
import { faultHeaders, renderFault } from '../answer/write-answer.ts';
import { bodyTooLarge, headersTooLarge, malformedRequest, requestTooSlow, uriTooLong } from '../model/faults.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { type BrokenHead, readBrokenHead } from './read-broken-head.ts';

const headerBytesMax = 16 * 1024;
const urlBytesMax = 8 * 1024;

/**
 * For the server of the public listener. The parser's own bound is above ours, so that a long URL and long headers can
 * be told apart and answered properly; it still bounds memory. Host is checked by the pipeline.
 */
export const gatewayServerOptions: ServerOptions = {
  maxHeaderSize: 2 * headerBytesMax,
  headersTimeout: 15_000,
  // Backstop only: the time for a body is a matter of the route.
  requestTimeout: 150_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
  requireHostHeader: false,
  noDelay: true,
  // A request whose head announces no body is over when its head is; the life of a stream would cost more than reading it.
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
  edgeHeaders: EdgeHeaders;
  dialects: DialectSettings;
  requestIds: (given: string | undefined) => string;
  log: Logger;
};

export type OnClientError = (error: ParserError, socket: Socket) => void;

/** Listener for `clientError`. */
export const createOnClientError = (deps: ClientErrorDeps): OnClientError => {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const current = currentOf(socket);
    if (current?.headersSent === true) {
      // An answer is on its way, and text in its middle would be read as part of it. What was written goes out; a half
      // answer lacks its end and is seen to.
      socket.end(() => socket.destroy());
      return;
    }
    refuse(deps, socket, faultFor(error), headOf(current, error.rawPacket));
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
  deps.refused({ rate: undefined }, fault.code);
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

type Current = Pick<ServerResponse, 'headersSent'> & { req: IncomingMessage };

/** The answer that this connection waits for. */
const currentOf = (socket: Socket): Current | undefined =>
  (socket as Socket & { _httpMessage?: Current | null })._httpMessage ?? undefined;

/** A fault in a body is one of the request that the body belongs to; else of one that is not there yet. */
const headOf = (current: Current | undefined, packet: Buffer | undefined): BrokenHead => {
  if (current === undefined || current.req.complete) return readBrokenHead(packet);
  const { req } = current;
  const [path = '', search = ''] = (req.url ?? '').split(/\?(.*)/s, 2);
  return { method: req.method ?? '', path, search, req };
};
