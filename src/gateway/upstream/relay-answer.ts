/** Streams an upstream's answer to the client with backpressure, or passes an error to translate-errors.ts. */
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { tenantHeader } from '#src/contract/headers.ts';
import { resetConnection } from '../answer/node-tls/reset-connection.ts';
import type { EdgeHeaders } from '../answer/security-headers.ts';
import { type Exchange, isAnonymous } from '../request/exchange.ts';
import { publicHostOf } from '../request/public-host.ts';
import type { Tracked } from './addresses/connections.ts';
import type { ToPublicLocation } from './addresses/public-location.ts';
import type { PassError } from './pass-error.ts';
import {
  type AnswerRules,
  firstValueOf,
  lacksCacheControl,
  listedValueOf,
  passHeaders,
  type UpstreamHeaders,
} from './response-headers.ts';
import type { ErrorCollector, TranslateError } from './translate-errors.ts';
import type { WatchOpen } from './watch-open.ts';

type Controller = Dispatcher.DispatchController;

type RelayDeps = {
  /** See RecordDecision: the allowed request was answered, or its client is gone. */
  settle: (exchange: Exchange) => void;
  answered: (exchange: Exchange, status: number) => void;
  edgeHeaders: EdgeHeaders;
  translate: TranslateError;
  passError: PassError;
  watchOpen: WatchOpen;
};

export type AnswerHead = { status: number; headers: UpstreamHeaders };

type RelayEvents = {
  /** The upstream has finished with this request, in any way. Called exactly once. */
  onSettled: (error: Error | undefined) => void;
  /** A final status has come. */
  onAnswer: (status: number) => void;
  /** Nothing has been written to the client. `sawAnswer`: a final status had come. */
  onFailure: (error: Error, sawAnswer: boolean) => void;
  /** HEAD was refused: the headers of the refusal depend on a body that only GET has. */
  onErrorWithoutBody: (head: AnswerHead) => void;
  /** Called for an error answer: whether `onErrorWithoutBody` is wanted at its end. */
  asksAgain: () => boolean;
  /** This request is the GET that `onErrorWithoutBody` asked for. */
  refusedHead: AnswerHead | undefined;
  toPublicLocation: ToPublicLocation;
  /** See Tracked. */
  needsFresh: boolean;
  /** See `yield` of Tracked. */
  onYield: () => void;
  /** See Upstream. */
  passesErrors: boolean;
};

/**
 * Time that the head of an answer waits for its first bytes. While it waits, a broken answer can still become 502. The head
 * of an event stream without early bytes is sent after it.
 */
const headWaitsMs = 250;

const clientGone = new Error('the client closed the connection');

/** One exchange with an upstream. */
export type Relay = Tracked & {
  readonly deps: RelayDeps;
  readonly exchange: Exchange;
  readonly events: RelayEvents;
  readonly onClose: () => void;
  controller: Controller | undefined;
  /** The answer is not needed any more. */
  isOver: boolean;
  /** Set before the upstream has the request: the request is aborted as soon as it starts. */
  abortReason: Error | undefined;
  waiting: NodeJS.Timeout | undefined;
  /** The head of an answer of which nothing has been written. */
  held: { status: number; headers: UpstreamHeaders; timer: NodeJS.Timeout | undefined } | undefined;
  collector: ErrorCollector | undefined;
  sawAnswer: boolean;
  /** The error answer to HEAD, whose body GET is asked for. */
  refusedHead: AnswerHead | undefined;
  /** Bytes that are still missing from an answer of known length; -1 when it is not known. */
  missing: number;
};

export const createRelay = (deps: RelayDeps, exchange: Exchange, events: RelayEvents): Relay => {
  const relay: Relay = {
    deps,
    exchange,
    events,
    onClose: () => {
      deps.settle(exchange);
      failRelay(relay, clientGone);
    },
    controller: undefined,
    abortReason: undefined,
    waiting: undefined,
    held: undefined,
    collector: undefined,
    sawAnswer: false,
    refusedHead: undefined,
    missing: -1,
    caller: exchange.caller,
    needsFresh: events.needsFresh,
    release: undefined,
    leave: undefined,
    yield: events.onYield,
    isOver: false,
    handler: {
      onRequestStart: (controller) => {
        relay.controller = controller;
        clearTimeout(relay.waiting);
        if (relay.abortReason !== undefined) controller.abort(relay.abortReason);
      },
      onResponseStart: (controller, status, headers) => {
        if (!relay.isOver) startAnswer(relay, controller, status, headers);
      },
      onResponseData: (_controller, chunk) => {
        if (relay.isOver) return;
        if (relay.collector !== undefined) relay.collector.push(chunk);
        else if (exchange.method !== 'HEAD') pass(relay, chunk);
      },
      onResponseEnd: () => {
        endAnswer(relay);
        release(relay);
      },
      onResponseError: (_controller, error) => {
        failRelay(relay, error);
        release(relay);
      },
    },
  };
  // Never removed on success: removing it costs more than a call that does nothing.
  exchange.res.on('close', relay.onClose);
  return relay;
};

/** The request had a connection, so the upstream may have seen some of it. */
export const wasSent = ({ controller }: Relay): boolean => controller !== undefined;

/** Ends the exchange with `fault` when it has no connection after that time. */
export const limitWaiting = (relay: Relay, ms: number, fault: () => Error): void => {
  if (!wasSent(relay) && !relay.isOver) relay.waiting = setTimeout(() => failRelay(relay, fault()), ms);
};

const release = (relay: Relay): void => {
  const { release: give } = relay;
  relay.release = undefined;
  give?.();
};

const settle = (relay: Relay, error?: Error): boolean => {
  if (relay.isOver) return false;
  relay.isOver = true;
  relay.leave?.();
  clearTimeout(relay.waiting);
  if (error !== undefined) clearTimeout(relay.held?.timer);
  relay.events.onSettled(error);
  return true;
};

/** Ends the exchange from the side of the gateway. */
export const failRelay = (relay: Relay, error: Error): void => {
  if (!settle(relay, error)) return;
  relay.exchange.res.off('close', relay.onClose);
  relay.abortReason = error;
  relay.controller?.abort(error);
  if (error === clientGone) {
    // Its request is recorded as allowed, and must not become a refusal too.
    relay.collector?.cancel();
    return;
  }
  if (relay.collector !== undefined) relay.collector.fail(error);
  else if (relay.exchange.res.headersSent) cut(relay.exchange);
  else relay.events.onFailure(error, relay.sawAnswer);
};

const startAnswer = (relay: Relay, controller: Controller, status: number, headers: UpstreamHeaders): void => {
  relay.sawAnswer = true;
  relay.events.onAnswer(status);
  const flaw = flawOf(relay.exchange, status, headers);
  if (flaw !== undefined) return failRelay(relay, new Error(`the upstream sent ${flaw}`));
  const tenant = headers[tenantHeader];
  if (typeof tenant === 'string') relay.exchange.servedTenant = tenant;
  if (status < 400 && relay.events.refusedHead !== undefined)
    return refuseHead(relay, controller, relay.events.refusedHead);
  if (status < 400 || mayPass(relay, status, headers)) return hold(relay, status, headers);
  if (relay.events.asksAgain()) {
    relay.refusedHead = { status, headers };
    return;
  }
  const passOn = (collected: readonly Buffer[], status: number): void => {
    begin(relay, status, headers);
    // Only now: what fails before is answered by the collector, and no later piece may follow that answer.
    relay.collector = undefined;
    if (relay.exchange.method !== 'HEAD') for (const chunk of collected) pass(relay, chunk);
  };
  relay.collector = relay.deps.translate(relay.exchange, {
    status,
    headers,
    controller,
    passOn,
    rules: rulesOf(relay),
  });
};

/**
 * What makes a well-formed head a wrong answer: statuses end at 599 (RFC 9110 section 15), 101 was not asked for, and 205 has no body
 * (section 15.3.6), which clients that know this would take for the next answer. No transfer coding but chunked was asked for by `TE`
 * (RFC 9112 section 7), and none is undone here, so a client would take coded bytes for the body.
 */
const flawOf = ({ method }: Exchange, status: number, headers: UpstreamHeaders): string | undefined => {
  if (status < 200 || status > 599) return `the status ${status}`;
  const coding = codingOf(headers);
  if (coding !== undefined) return `the transfer coding ${coding}`;
  if (status !== 205 || method === 'HEAD') return undefined;
  return Number(firstValueOf(headers, 'content-length') ?? 0) > 0 ? bodyWith205 : undefined;
};

/** `identity` of older services is no coding. */
const plainCodings: ReadonlySet<string> = new Set(['', 'chunked', 'identity']);
const codingCharactersMax = 64;

/** The first transfer coding that the gateway did not ask for. */
const codingOf = (headers: UpstreamHeaders): string | undefined => {
  const codings = listedValueOf(headers, 'transfer-encoding');
  if (codings === undefined || codings === 'chunked') return undefined;
  const names = codings.split(',').map((name) => name.trim().toLowerCase());
  return names.find((name) => !plainCodings.has(name))?.slice(0, codingCharactersMax);
};

const bodyWith205 = 'a body with the status 205';

/** GET is answered where HEAD was refused: the refusal has no body to read, and the body of GET is not wanted. */
const refuseHead = (relay: Relay, controller: Controller, { status, headers }: AnswerHead): void => {
  settle(relay);
  const answer = { status, headers, controller, passOn: () => undefined, rules: rulesOf(relay) };
  relay.deps.translate(relay.exchange, answer).end();
  controller.abort(new Error('the answer to GET is not wanted'));
};

/** HEAD is answered by its refusal where GET, which was asked for the reason, got no usable answer. */
export const refuseHeadAlone = (relay: Relay, { status, headers }: AnswerHead): void => {
  const controller = { abort: () => undefined };
  const answer = { status, headers, controller, passOn: () => undefined, rules: rulesOf(relay) };
  relay.deps.translate(relay.exchange, answer).end();
};

const mayPass = ({ deps, exchange, events }: Relay, status: number, headers: UpstreamHeaders): boolean =>
  events.passesErrors && deps.passError.mayPass(exchange, status, headers);

const hold = (relay: Relay, status: number, headers: UpstreamHeaders): void => {
  relay.held = { status, headers, timer: undefined };
  // Most answers bring their first bytes with the head; only the others need a timer.
  process.nextTick(startWait, relay);
};

const startWait = (relay: Relay): void => {
  if (relay.held !== undefined && !relay.isOver) relay.held.timer = setTimeout(endWait, headWaitsMs, relay);
};

/** Reads first what arrived while the process was busy. */
const endWait = (relay: Relay): void => void setImmediate(sendAlone, relay);

const sendAlone = (relay: Relay): void => {
  if (relay.held === undefined || relay.isOver) return;
  try {
    letGo(relay);
  } catch (error) {
    // It runs by itself, so what it throws would end the process.
    failRelay(relay, error as Error);
    return;
  }
  // Node holds a written head back until its body.
  relay.exchange.res.flushHeaders();
};

const letGo = (relay: Relay): void => {
  const { held } = relay;
  if (held === undefined) return;
  relay.held = undefined;
  clearTimeout(held.timer);
  // An error is held only where it is passed on as it is.
  if (held.status >= 400) relay.deps.passError.note(relay.exchange, held.status);
  begin(relay, held.status, held.headers);
};

const rulesOf = ({ events, exchange }: Relay): AnswerRules => ({
  toPublicLocation: events.toPublicLocation,
  host: publicHostOf(exchange),
  route: exchange.route,
  ownsCors: exchange.corsHeaders !== undefined,
});

const begin = (relay: Relay, status: number, headers: UpstreamHeaders): void => {
  const { deps, exchange } = relay;
  const own = deps.edgeHeaders(exchange.requestId, exchange.rate, exchange.dpopNonce);
  const all = passHeaders(status === 204 ? withoutLength(headers) : headers, own, rulesOf(relay));
  // Caches may store the answer to an anonymous caller as the service allows.
  if (!isAnonymous(exchange) && lacksCacheControl(headers, exchange.route)) all.push('cache-control', 'no-store');
  if (exchange.corsHeaders !== undefined) all.push(...exchange.corsHeaders);
  const length = firstValueOf(headers, 'content-length');
  if (length !== undefined && exchange.method !== 'HEAD') relay.missing = Number(length);
  deps.settle(exchange);
  deps.answered(exchange, status);
  exchange.res.writeHead(status, all);
  if (isEventStream(headers)) deps.watchOpen(exchange, exchange.res, () => cut(exchange));
};

const isEventStream = (headers: UpstreamHeaders): boolean =>
  firstValueOf(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') === true;

/** No server may send it with 204 (RFC 9110 section 8.6): a client could wait for that many bytes, or take them from the next answer. */
const withoutLength = ({ 'content-length': _length, ...headers }: UpstreamHeaders): UpstreamHeaders => headers;

const pass = (relay: Relay, chunk: Buffer): void => {
  const { res } = relay.exchange;
  const status = relay.held?.status ?? res.statusCode;
  if (status === 205) return failRelay(relay, new Error(`the upstream sent ${bodyWith205}`));
  if (relay.held !== undefined) letGo(relay);
  if (relay.missing === chunk.length) {
    relay.missing = 0;
    endWith(res, chunk);
    return;
  }
  relay.missing -= chunk.length;
  if (!res.write(chunk)) pauseUntilDrained(relay);
};

const endAnswer = (relay: Relay): void => {
  if (relay.isOver) return;
  // Before the end is noted: undici hands back what is thrown here, and only an exchange that is not over is answered then.
  letGo(relay);
  settle(relay);
  const { res } = relay.exchange;
  if (relay.refusedHead !== undefined) relay.events.onErrorWithoutBody(relay.refusedHead);
  else if (relay.collector !== undefined) relay.collector.end();
  else if (!res.writableEnded) res.end();
};

/** Above this a copy costs more than a second write. */
const joinedBytesMax = 16 * 1024;

/**
 * The last piece. As Latin-1 text, which maps every byte to itself, Node joins a short one with the header to a single
 * write to the socket; a Buffer makes it a gathering write, which costs more than the copy.
 */
const endWith = (res: ServerResponse, chunk: Buffer): void => {
  if (res.headersSent && chunk.length <= joinedBytesMax) res.end(chunk.toString('latin1'), 'latin1');
  else res.end(chunk);
};

/** The client has the start of an answer without an end, and must not take it for complete. */
const cut = ({ req, res }: Exchange): void => {
  const { socket } = res;
  // HTTP/1.0 reads to the end of the connection, so only a reset shows that the answer is incomplete.
  if (req.httpVersionMinor === 0 && socket !== null) resetConnection(socket);
  else res.destroy();
};

/** The connection of a client that reads nothing ends after a while (edge/node-http/end-unread.ts). */
const pauseUntilDrained = (relay: Relay): void => {
  const { controller, exchange } = relay;
  const { res } = exchange;
  if (controller === undefined || controller.paused) return;
  controller.pause();
  const go = (): void => {
    res.off('drain', go).off('close', go);
    controller.resume();
  };
  res.on('drain', go).on('close', go);
};
