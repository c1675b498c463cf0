/**
 * Requests that Node's parser refuses never become a request: they are answered here, on the bare socket, in the same
 * words as everything else. Whose credential they carried is not known, so the dialect is the envelope.
 */
import type { ServerOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { envelopeOf, type Fault } from '#src/contract/fault.ts';
import { newId } from '#src/platform/ids.ts';
import { bodyTooLarge, headersTooLarge, malformedRequest, requestTooSlow, uriTooLong } from '../faults.ts';
import { apiVersion } from './security-headers.ts';

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

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
};

/** Listener for `clientError`. */
export const onClientError = (error: ParserError, socket: Duplex): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (hasAnswered(socket)) {
    // What was written goes out; a half answer lacks its end and is seen to.
    socket.end(() => socket.destroy());
    return;
  }
  const fault = faultFor(error);
  const requestId = newId('req');
  const body = JSON.stringify(envelopeOf(fault, requestId));
  socket.end(
    [
      `HTTP/1.1 ${fault.status} ${reasons[fault.status] ?? 'Bad Request'}`,
      'content-type: application/json; charset=utf-8',
      'cache-control: no-store',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      `x-request-id: ${requestId}`,
      `x-api-version: ${apiVersion}`,
      'x-content-type-options: nosniff',
      '',
      body,
    ].join('\r\n'),
  );
};

/** An answer of an earlier request may be on its way on this connection; text in its middle would be read as part of it. */
const hasAnswered = (socket: Duplex): boolean => {
  const { _httpMessage: current } = socket as Duplex & { _httpMessage?: { headersSent: boolean } | null };
  return current?.headersSent === true;
};
