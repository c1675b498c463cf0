/** Streams an upstream's answer to the client with backpressure, or passes an error to translate-errors.ts. */
import type { ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { EdgeHeaders } from '../answer/security-headers.ts';
import type { Exchange } from '../request/exchange.ts';
import { publicHostOf } from '../request/public-host.ts';
import type { Tracked } from './addresses/connections.ts';
import type { ToPublicLocation } from './addresses/public-location.ts';
import type { PassError } from './pass-error.ts';
import {
  type AnswerRules,
  firstValueOf,
  lacksCacheControl,
  passHeaders,
  type UpstreamHeaders,
} from './response-headers.ts';
import type { ErrorCollector, TranslateError } from './translate-errors.ts';

type Controller = Dispatcher.DispatchController;

type RelayDeps = {
  /** See RecordDecision: the allowed request was answered, or its client is gone. */
  settle: (exchange: Exchange) => void;
  answered: (exchange: Exchange, status: number) => void;
  edgeHeaders: EdgeHeaders;
  translate: TranslateError;
  passError: PassError;
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
  /** See Upstream. */
  passesErrors: boolean;
};

export type Relay = Tracked & {
  /** Ends the exchange from the side of the gateway. */
  fail: (error: Error) => void;
  /** The request had a connection, so the upstream may have seen some of it. */
  wasSent: () => boolean;
  limitWaiting: (ms: number, fault: () => Error) => void;
};

/** Time that a client may read nothing of its answer before its upstream connection is released. */
const stalledMs = 30_000;

/**
 * Time that the head of an answer waits for its first bytes. While it waits, a broken answer can still become 502. The head
 * of an event stream without early bytes is sent after it.
 */
const headWaitsMs = 250;

const clientGone = new Error('the client closed the connection');

/** One exchange with an upstream. */
type State = {
  readonly deps: RelayDeps;
  readonly exchange: Exchange;
  readonly events: RelayEvents;
  readonly onClose: () => void;
  controller: Controller | undefined;
  /** Set before the upstream has the request: the request is aborted as soon as it starts. */
  abortReason: Error | undefined;
  waiting: NodeJS.Timeout | undefined;
  /** The head of an answer of which nothing has been written. */
  held: { status: number; headers: UpstreamHeaders; timer: NodeJS.Timeout | undefined } | undefined;
  collector: ErrorCollector | undefined;
  sawAnswer: boolean;
  /** The error answer to HEAD, whose body GET is asked for. */
  refusedHead: AnswerHead | undefined;
  settled: boolean;
  /** Bytes that are still missing from an answer of known length; -1 when it is not known. */
  missing: number;
};

export const createRelay = (deps: RelayDeps, exchange: Exchange, events: RelayEvents): Relay => {
  const state: State = {
    deps,
    exchange,
    events,
    onClose: () => {
      deps.settle(exchange);
      fail(state, clientGone);
    },
    controller: undefined,
    abortReason: undefined,
    waiting: undefined,
    held: undefined,
    collector: undefined,
    sawAnswer: false,
    refusedHead: undefined,
    settled: false,
    missing: -1,
  };
  // Never removed on success: removing it costs more than a call that does nothing.
  exchange.res.on('close', state.onClose);
  const release = (): void => {
    const { release: give } = relay;
    relay.release = undefined;
    give?.();
  };
  const relay: Relay = {
    needsFresh: state.events.needsFresh,
    release: undefined,
    isOver: () => state.settled,
    fail: (error) => fail(state, error),
    wasSent: () => state.controller !== undefined,
    limitWaiting: (ms, fault) => {
      if (state.controller === undefined && !state.settled) state.waiting = setTimeout(() => fail(state, fault()), ms);
    },
    handler: {
      onRequestStart: (controller) => {
        state.controller = controller;
        clearTimeout(state.waiting);
        if (state.abortReason !== undefined) controller.abort(state.abortReason);
      },
      onResponseStart: (controller, status, headers) => {
        // Informational answers (RFC 9110 section 15.2) concern this hop only.
        if (status >= 200 && !state.settled) startAnswer(state, controller, status, headers);
      },
      onResponseData: (_controller, chunk) => {
        if (state.settled) return;
        if (state.collector !== undefined) state.collector.push(chunk);
        else if (exchange.method !== 'HEAD') pass(state, chunk);
      },
      onResponseEnd: () => {
        endAnswer(state);
        release();
      },
      onResponseError: (_controller, error) => {
        fail(state, error);
        release();
      },
    },
  };
  return relay;
};

const settle = (state: State, error?: Error): boolean => {
  if (state.settled) return false;
  state.settled = true;
  clearTimeout(state.waiting);
  if (error !== undefined) clearTimeout(state.held?.timer);
  state.events.onSettled(error);
  return true;
};

const fail = (state: State, error: Error): void => {
  if (!settle(state, error)) return;
  state.exchange.res.off('close', state.onClose);
  state.abortReason = error;
  state.controller?.abort(error);
  if (error === clientGone) return;
  if (state.collector !== undefined) state.collector.fail(error);
  else if (state.exchange.res.headersSent) cut(state.exchange);
  else state.events.onFailure(error, state.sawAnswer);
};

const startAnswer = (state: State, controller: Controller, status: number, headers: UpstreamHeaders): void => {
  state.sawAnswer = true;
  state.events.onAnswer(status);
  if (status < 400 && state.events.refusedHead !== undefined)
    return refuseHead(state, controller, state.events.refusedHead);
  if (status < 400 || mayPass(state, status, headers)) return hold(state, status, headers);
  if (state.events.asksAgain()) {
    state.refusedHead = { status, headers };
    return;
  }
  const passOn = (collected: readonly Buffer[], status: number): void => {
    begin(state, status, headers);
    // Only now: what fails before is answered by the collector, and no later piece may follow that answer.
    state.collector = undefined;
    if (state.exchange.method !== 'HEAD') for (const chunk of collected) pass(state, chunk);
  };
  state.collector = state.deps.translate(state.exchange, {
    status,
    headers,
    controller,
    passOn,
    rules: rulesOf(state),
  });
};

/** GET is answered where HEAD was refused: the refusal has no body to read, and the body of GET is not wanted. */
const refuseHead = (state: State, controller: Controller, { status, headers }: AnswerHead): void => {
  settle(state);
  const answer = { status, headers, controller, passOn: () => undefined, rules: rulesOf(state) };
  state.deps.translate(state.exchange, answer).end();
  controller.abort(new Error('the answer to GET is not wanted'));
};

const mayPass = ({ deps, exchange, events }: State, status: number, headers: UpstreamHeaders): boolean =>
  events.passesErrors && deps.passError(exchange, status, headers);

const hold = (state: State, status: number, headers: UpstreamHeaders): void => {
  state.held = { status, headers, timer: undefined };
  // Most answers bring their first bytes with the head; only the others need a timer.
  process.nextTick(startWait, state);
};

const startWait = (state: State): void => {
  if (state.held !== undefined && !state.settled) state.held.timer = setTimeout(endWait, headWaitsMs, state);
};

/** Reads first what arrived while the process was busy. */
const endWait = (state: State): void => void setImmediate(sendAlone, state);

const sendAlone = (state: State): void => {
  if (state.held === undefined || state.settled) return;
  try {
    letGo(state);
  } catch (error) {
    // It runs by itself, so what it throws would end the process.
    fail(state, error as Error);
    return;
  }
  // Node holds a written head back until its body.
  state.exchange.res.flushHeaders();
};

const letGo = (state: State): void => {
  const { held } = state;
  if (held === undefined) return;
  state.held = undefined;
  clearTimeout(held.timer);
  begin(state, held.status, held.headers);
};

const rulesOf = ({ events, exchange }: State): AnswerRules => ({
  toPublicLocation: events.toPublicLocation,
  host: publicHostOf(exchange),
  route: exchange.route,
  ownsCors: exchange.corsHeaders !== undefined,
});

const begin = (state: State, status: number, headers: UpstreamHeaders): void => {
  const { deps, exchange } = state;
  const own = deps.edgeHeaders(exchange.requestId, exchange.rate, exchange.dpopNonce);
  const all = passHeaders(headers, own, rulesOf(state));
  if (!isOpen(exchange) && lacksCacheControl(headers, exchange.route)) all.push('cache-control', 'no-store');
  if (exchange.corsHeaders !== undefined) all.push(...exchange.corsHeaders);
  const length = firstValueOf(headers, 'content-length');
  if (length !== undefined && exchange.method !== 'HEAD') state.missing = Number(length);
  deps.settle(exchange);
  deps.answered(exchange, status);
  exchange.res.writeHead(status, all);
};

/** Everyone gets this answer, so caches may store it as the service allows. */
const isOpen = ({ principal, route }: Exchange): boolean => principal === undefined && route?.access === 'public';

const pass = (state: State, chunk: Buffer): void => {
  if (state.held !== undefined) letGo(state);
  const { res } = state.exchange;
  if (state.missing === chunk.length) {
    state.missing = 0;
    endWith(res, chunk);
    return;
  }
  state.missing -= chunk.length;
  if (!res.write(chunk)) pauseUntilDrained(state);
};

const endAnswer = (state: State): void => {
  if (state.settled) return;
  // Before the end is noted: undici hands back what is thrown here, and only an exchange that is not over is answered then.
  letGo(state);
  settle(state);
  const { res } = state.exchange;
  if (state.refusedHead !== undefined) state.events.onErrorWithoutBody(state.refusedHead);
  else if (state.collector !== undefined) state.collector.end();
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
  if (req.httpVersionMinor === 0 && socket !== null) socket.resetAndDestroy();
  else res.destroy();
};

const pauseUntilDrained = (state: State): void => {
  const { controller, exchange } = state;
  const { res } = exchange;
  if (controller === undefined || controller.paused) return;
  controller.pause();
  const stalled = setTimeout(() => fail(state, new Error('the client does not read its answer')), stalledMs);
  const go = (): void => {
    clearTimeout(stalled);
    res.off('drain', go).off('close', go);
    controller.resume();
  };
  res.on('drain', go).on('close', go);
};
