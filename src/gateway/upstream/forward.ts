/** Sends a request to its upstream, retries it on another address, and turns a failure into a refusal. */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { Fault } from '#src/contract/fault.ts';
import type { IdentifyTo } from '../access/identity/assert-identity.ts';
import type { EdgeHeaders } from '../answer/security-headers.ts';
import type { WriteFault } from '../answer/write-answer.ts';
import { overloaded, upstreamOut, upstreamTimeout, upstreamUnreachable } from '../model/faults.ts';
import type { Route } from '../model/route.ts';
import type { Exchange, Step } from '../request/exchange.ts';
import { endTrial, noteAnswer, noteFailure } from './address-health.ts';
import { createRelay, type Relay } from './relay-answer.ts';
import { buildRequestHeaders, type ForwardedFacts } from './request-headers.ts';
import { createBodyStream } from './stream-body.ts';
import { endAttempt, noteAttemptStatus, startAttempt } from './trace-attempt.ts';
import type { TranslateError } from './translate-errors.ts';
import { type Address, type Choice, chooseAddress, secondsUntilTrial, type Upstream } from './upstreams.ts';

type ForwardDeps = {
  /** See RecordDecision. */
  settle: (exchange: Exchange) => void;
  /** Called for each answer as its head is passed on. */
  answered: (exchange: Exchange, status: number) => void;
  upstreams: ReadonlyMap<string, Upstream>;
  identifyTo: IdentifyTo;
  facts: ForwardedFacts;
  edgeHeaders: EdgeHeaders;
  translate: TranslateError;
  writeFault: WriteFault;
};

/** Time that a request may wait for a connection when all are busy. */
const waitingMs = 5_000;

/** One request with all its attempts. */
type Sending = {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly upstream: Upstream;
  method: string;
  /** The method has no effect, and the request was not repeated yet. */
  mayRepeat: boolean;
  /** One stream for all attempts: as long as nothing was sent, nothing was read from it. */
  readonly body: Readable | null;
  /** Addresses that failed. */
  failed: Address[];
  relay: Relay | undefined;
};

export const createForward = (deps: ForwardDeps): Step => {
  const { upstreams } = deps;
  return (exchange) => {
    if (exchange.res.destroyed) return deps.settle(exchange);
    const { route } = exchange;
    const upstream = route === undefined ? undefined : upstreams.get(route.upstream);
    if (route === undefined || upstream === undefined) throw new Error('cannot forward a request without a route');
    if (upstream.inFlight >= upstream.inFlightMax) throw overloaded(`no room for ${upstream.name}`);
    const mayRepeat = exchange.method === 'GET' || exchange.method === 'HEAD';
    // Chosen before the body is read: while all addresses are out, no client is invited to send a body.
    const choice = chooseOrRefuse(upstream, mayRepeat);
    const body =
      exchange.body === 'unread'
        ? createBodyStream(exchange, { bodyBytesMax: route.bodyBytesMax, bodyTimeoutMs: route.timeouts.bodyMs })
        : null;
    const sending: Sending = {
      exchange,
      route,
      upstream,
      method: exchange.method,
      mayRepeat,
      body,
      failed: [],
      relay: undefined,
    };
    // The body may fail while the request still waits for a connection; undici would report it only later.
    body?.once('error', (error) => sending.relay?.fail(error));
    send(deps, sending, choice);
    exchange.answered = true;
  };
};

const send = (deps: ForwardDeps, sending: Sending, { address, trial }: Choice): void => {
  const { exchange, upstream } = sending;
  const span = startAttempt(exchange, sending.method, address.origin, sending.failed.length);
  const relay = createRelay(deps, exchange, {
    onSettled: (error) => {
      endAttempt(span, error);
      upstream.inFlight -= 1;
      address.inFlight -= 1;
      if (trial) endTrial(address.health);
    },
    onAnswer: (status) => {
      noteAttemptStatus(span, status);
      noteAnswer(address.health);
    },
    onFailure: (error, sawAnswer) => {
      if (!sawAnswer && isFailureOfAddress(error))
        noteFailure(address.health, trial, performance.now(), upstream.bounds);
      guarded(deps, sending, () => retry(deps, sending, address, error, sawAnswer));
    },
    onErrorWithoutBody: () => guarded(deps, sending, () => askAgainWithGet(deps, sending)),
    asksAgain: sending.method === 'HEAD',
    toPublicLocation: upstream.toPublicLocation,
  });
  sending.relay = relay;
  upstream.inFlight += 1;
  address.inFlight += 1;
  dispatch(sending, address, relay, deps.facts);
};

/** An error answer to HEAD has no body to translate, so the same target is asked once more with GET. */
const askAgainWithGet = (deps: ForwardDeps, sending: Sending): void => {
  const { exchange, upstream } = sending;
  exchange.identity = deps.identifyTo(exchange, 'GET');
  sending.method = 'GET';
  sending.mayRepeat = false;
  send(deps, sending, chooseOrRefuse(upstream, false));
};

/** Every request may go to another address as long as nothing was sent; GET and HEAD once after that too. */
const retry = (deps: ForwardDeps, sending: Sending, address: Address, error: Error, sawAnswer: boolean): void => {
  const wasSent = sending.relay?.wasSent() ?? true;
  sending.failed.push(address);
  if (!wasSent && !(error instanceof Fault)) {
    const next = chooseAddress(sending.upstream, performance.now(), {
      mayRepeat: sending.mayRepeat,
      without: sending.failed,
    });
    if (next !== undefined) return send(deps, sending, next);
  } else if (!sawAnswer && sending.mayRepeat && isLostConnection(error)) {
    sending.mayRepeat = false;
    const options = { mayRepeat: true, without: sending.failed, orAgain: true };
    const next = chooseAddress(sending.upstream, performance.now(), options);
    if (next !== undefined) return send(deps, sending, next);
  }
  refuse(deps, sending, faultFor(error));
};

const guarded = (deps: ForwardDeps, sending: Sending, action: () => void): void => {
  try {
    action();
  } catch (error) {
    refuse(deps, sending, error);
  }
};

const refuse = (deps: ForwardDeps, sending: Sending, error: unknown): void => {
  sending.body?.destroy();
  deps.writeFault(sending.exchange, error);
};

const chooseOrRefuse = (upstream: Upstream, mayRepeat: boolean): Choice => {
  const nowMs = performance.now();
  const choice = chooseAddress(upstream, nowMs, { mayRepeat });
  if (choice === undefined) throw upstreamOut(upstream.name, secondsUntilTrial(upstream, nowMs));
  return choice;
};

const dispatch = (sending: Sending, address: Address, relay: Relay, facts: ForwardedFacts): void => {
  const { exchange, route, upstream } = sending;
  const options: Dispatcher.DispatchOptions = {
    path: exchange.upstreamTarget ?? exchange.target,
    method: sending.method,
    headers: buildRequestHeaders(exchange, facts),
    body: sending.body,
    // A connection has one request at a time anyway; without this undici looks at it once more when the head has come.
    blocking: false,
    headersTimeout: route.timeouts.answerMs,
    bodyTimeout: route.timeouts.answerMs,
  };
  const hasRoom = address.connections.dispatch(options, relay);
  if (!hasRoom) relay.limitWaiting(waitingMs, () => overloaded(`${upstream.name}: every connection is busy`));
};

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

/**
 * A kept-alive connection that the upstream closed just as it was used again (RFC 9110 section 9.2.2). Only methods
 * without effect are repeated, since the gateway cannot know whether another one was carried out.
 */
const isLostConnection = (error: Error): boolean => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));

/** No answer at all is a failure of the address; a broken answer depends on the request, and a Fault on the client. */
const isFailureOfAddress = (error: Error): boolean => !(error instanceof Fault) && !codeOf(error).startsWith('HPE_');

const faultFor = (error: Error): Fault => {
  if (error instanceof Fault) return error;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return upstreamTimeout(error);
  return upstreamUnreachable(error);
};
