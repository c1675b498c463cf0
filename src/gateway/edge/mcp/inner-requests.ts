/**
 * Sends requests of the gateway to itself, over a connection in memory. So a tool call passes the same parser, the same steps
 * and the same log as a request of the network, and there is one implementation of each. The two documented parts of node:http
 * are an HTTP server that is given a connection (`connection`, any Duplex) and a request that brings its own
 * (`createConnection`).
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import type { RateStanding } from '../../limits/rate-standing.ts';
import type { Exchange } from '../../request/exchange.ts';
import type { Presented } from '../../request/read-credential.ts';
import type { ToolRequest } from './tool-request.ts';

/** Serves a request as part of `within`, and returns the exchange of it. */
export type InnerHandler = (req: IncomingMessage, res: ServerResponse, within: Exchange) => Exchange;

export type InnerAnswer = {
  status: number;
  headers: IncomingHttpHeaders;
  /** Empty when the answer was cut. */
  body: Buffer;
  /** The answer is longer, and its rest was not read. */
  isCut: boolean;
  /** The gateway passed the request on, so the operation answered, or failed to. False: the gateway refused the request. */
  isOfOperation: boolean;
  /** The limits that the request met. */
  rate: RateStanding | undefined;
};

type Bounds = { bytesMax: number; signal: AbortSignal };

/** Rejects when the answer breaks off or `signal` is aborted, which ends the request as a lost client does. */
export type SendInner = (made: ToolRequest, within: Exchange, bounds: Bounds) => Promise<InnerAnswer>;

/** Headers of the outer request that say from where a call comes. Everything else belongs to the outer request alone. */
const passed = [
  ...['host', 'user-agent', 'x-api-version'],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'traceparent', 'tracestate', 'baggage'],
] as const;

/** One connection carries one request. */
type Held = { within: Exchange; inner: Exchange | undefined };

/** `attach`: adds the handlers of a public server, so that a head which the parser refuses is answered as usual. */
export const createSendInner = (
  options: ServerOptions,
  handle: InnerHandler,
  attach: (server: Server, onRequest: (req: IncomingMessage, res: ServerResponse) => void) => void,
): SendInner => {
  const held = new WeakMap<object, Held>();
  const server = createServer(options);
  attach(server, (req, res) => {
    const connection = held.get(req.socket);
    if (connection === undefined) throw new Error('a request came over a connection of no tool call');
    connection.inner = handle(req, res, connection.within);
  });
  return async (made, within, { bytesMax, signal }) => {
    const [near, far] = duplexPair();
    const connection: Held = { within, inner: undefined };
    held.set(far, connection);
    // The address that limits, lists of addresses and the audit read.
    Object.defineProperty(far, 'remoteAddress', { value: within.req.socket.remoteAddress });
    server.emit('connection', far);
    let isWhole = false;
    try {
      const answer = await send(near, made, { within, signal });
      const { body, isCut } = await readUpTo(answer, bytesMax);
      isWhole = !isCut;
      const { rate, answered: isOfOperation = false } = connection.inner ?? {};
      return { status: answer.statusCode ?? 0, headers: answer.headers, body, isCut, isOfOperation, rate };
    } finally {
      near.destroy();
      // While `far` has bytes that `near` did not read, the end of `near` does not close it, and its response never ends.
      if (!isWhole) far.destroy();
    }
  };
};

const send = (
  near: Duplex,
  { method, target, headers, body }: ToolRequest,
  { within, signal }: { within: Exchange; signal: AbortSignal },
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const fields: Record<string, string> = { 'x-request-id': within.requestId, ...credentialFields(within.presented) };
    for (const name of passed) {
      const value = within.req.headers[name];
      if (typeof value === 'string') fields[name] = value;
    }
    Object.assign(fields, headers);
    if (body !== undefined) fields['content-length'] = String(Buffer.byteLength(body));
    const sent = request({ method, path: target, headers: fields, createConnection: () => near, signal });
    sent.on('response', resolve).on('error', reject);
    sent.end(body);
  });

/**
 * The credential as it was read. Parsed headers would give another one where an empty field with the same name stands before it:
 * node takes the first of several `Authorization` fields, and joins those of other names.
 */
const credentialFields = (presented: Presented | undefined): Record<string, string> => {
  switch (presented?.kind) {
    case 'api_key':
      return { 'x-api-key': presented.key };
    case 'client':
      return { 'x-client-id': presented.id, 'x-client-secret': presented.secret };
    case 'bearer':
      return { authorization: presented.header };
    default:
      // A message without a credential, or with a refused one, becomes no request.
      throw new Error('a tool call has no credential');
  }
};

const readUpTo = async (answer: IncomingMessage, bytesMax: number): Promise<{ body: Buffer; isCut: boolean }> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) return { body: Buffer.alloc(0), isCut: true };
    chunks.push(chunk);
  }
  return { body: Buffer.concat(chunks, bytes), isCut: false };
};
