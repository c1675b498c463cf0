/** Sends a request to its upstream, tries other addresses, and turns a failure into a refusal. */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { Fault } from '#src/contract/fault.ts';
import type { IdentifyTo } from '../access/identity/assert-identity.ts';
import type { EdgeHeaders } from '../answer/security-headers.ts';
import type { WriteFault } from '../answer/write-answer.ts';
import { overloaded, upstreamOut, upstreamTimeout, upstreamUnreachable } from '../model/faults.ts';
import type { Route } from '../model/route.ts';
import { type Exchange, type Step, upstreamNameOf } from '../request/exchange.ts';
import type { Address } from './addresses/address.ts';
import { attemptsMax, chooseAddress } from './addresses/choose-address.ts';
import { countRequest, takeRepeat } from './addresses/retry-budget.ts';
import { informationalCode } from './addresses/undici/skip-informational.ts';
import { everyAddressFails, makeRoom, noteAnswered, noteFailure, type Upstream } from './addresses/upstreams.ts';
import { canBeKept, readWholeBody } from './keep-body.ts';
import type { PassError } from './pass-error.ts';
import {
  type AnswerHead,
  createRelay,
  failRelay,
  limitWaiting,
  type Relay,
  refuseHeadAlone,
  wasSent,
} from './relay-answer.ts';
import { buildRequestHeaders, type ForwardedFacts, isForwarded } from './request-headers.ts';
import { createBodyStream } from './stream-body.ts';
import { endAttempt, noteAttemptStatus, startAttempt } from './trace-attempt.ts';
import type { TranslateError } from './translate-errors.ts';
import type { WatchOpen } from './watch-open.ts';

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
  passError: PassError;
  watchOpen: WatchOpen;
  writeFault: WriteFault;
  /** Routes on which who may send HEAD may also send GET. */
  headAsGet: ReadonlyMap<Route, Route>;
  /** Called when a request that was sent could be sent again: whether the retry budget allows it. */
  repeated: (isAllowed: boolean) => void;
};

const noRoom = ({ name }: Upstream): Error => overloaded(`no room for ${name}`);

/** Time that a request may wait for a connection when all are busy. */
const waitingMs = 5_000;

/** One request with all its attempts. */
type Sending = {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly upstream: Upstream;
  method: string;
  /** When the first attempt began, as of `performance.now()`: the time to an answer is that of all attempts together. */
  startedMs: number;
  /** An attempt had a connection, so the service may have carried the request out. */
  wasSent: boolean;
  /** It may be sent once more after its connection was lost. */
  mayRepeat: boolean;
  /** A stream serves all attempts as long as nothing was sent, since then nothing was read from it. */
  body: Readable | Buffer | null;
  /** Addresses that failed. */
  tried: Address[] | undefined;
  /** The address that lost the connection: tried again when no other is left, since it may only have closed an idle one. */
  lost: Address | undefined;
  relay: Relay | undefined;
  /** The error answer to HEAD, while its body is asked for with GET. */
  refusedHead: AnswerHead | undefined;
};

export const createForward = (deps: ForwardDeps): Step => {
  return (exchange) => {
    if (exchange.res.destroyed) return deps.settle(exchange);
    const { route } = exchange;
    const upstream = deps.upstreams.get(upstreamNameOf(exchange) ?? '');
    if (route === undefined || upstream === undefined) throw new Error('cannot forward a request without a route');
    if (!makeRoom(upstream, exchange.caller)) throw noRoom(upstream);
    countRequest(upstream.budget, exchange.startedAtMs);
    const sending: Sending = {
      exchange,
      route,
      upstream,
      method: exchange.method,
      startedMs: 0,
      wasSent: false,
      mayRepeat: isRepeatable(exchange, deps.facts),
      body: null,
      tried: undefined,
      lost: undefined,
      relay: undefined,
      refusedHead: undefined,
    };
    if (exchange.body !== 'unread') return begin(deps, sending);
    const bounds = { bodyBytesMax: route.bodyBytesMax, bodyTimeoutMs: route.timeouts.bodyMs };
    const body = createBodyStream(exchange, bounds);
    if (sending.mayRepeat && canBeKept(exchange)) return beginWithWholeBody(deps, sending, body);
    sending.mayRepeat = false;
    sending.body = body;
    // The stream may fail while the request still waits for a connection; undici would report it only later.
    body.once('error', (error) => {
      if (sending.relay !== undefined) failRelay(sending.relay, error);
    });
    begin(deps, sending);
  };
};

/**
 * Safe methods have no effect (RFC 9110 section 9.2.1). With an Idempotency-Key the caller says that the request can be sent
 * again, if the service gets the key and can recognise the second one. Everything else is sent once, since the gateway cannot
 * know whether a request without an answer was carried out.
 */
const isRepeatable = (exchange: Exchange, facts: ForwardedFacts): boolean =>
  exchange.method === 'GET' || exchange.method === 'HEAD' || isForwarded(exchange, 'idempotency-key', facts);

const begin = (deps: ForwardDeps, sending: Sending): void => {
  sending.startedMs = performance.now();
  send(deps, sending, firstAddress(sending.upstream));
  sending.exchange.answered = true;
};

const beginWithWholeBody = async (deps: ForwardDeps, sending: Sending, stream: Readable): Promise<void> => {
  const { exchange, upstream } = sending;
  // Counted as a request in flight, so that the bodies in memory are bounded too.
  upstream.inFlight += 1;
  const reading = upstream.reading.add(exchange.caller, () => stream.destroy(noRoom(upstream)));
  try {
    sending.body = await readWholeBody(stream);
  } finally {
    upstream.reading.remove(reading);
    upstream.inFlight -= 1;
  }
  if (exchange.res.destroyed) return deps.settle(exchange);
  identifyAgain(deps, sending);
  begin(deps, sending);
};

/** What states the caller is valid for seconds only, and a body or a lost attempt may have taken longer. */
const identifyAgain = ({ identifyTo }: ForwardDeps, { exchange, method }: Sending): void => {
  exchange.identity = identifyTo(exchange, method);
};

const leftMs = ({ route, startedMs }: Sending): number => route.timeouts.answerMs - (performance.now() - startedMs);

const firstAddress = ({ addresses, name }: Upstream): Address => {
  const address = chooseAddress(addresses, undefined);
  if (address === undefined) throw new Error(`the upstream ${name} has no address`);
  return address;
};

const send = (deps: ForwardDeps, sending: Sending, address: Address): void => {
  const { exchange, upstream } = sending;
  const span = startAttempt(exchange, sending.method, address.origin, sending.tried?.length ?? 0);
  const relay = createRelay(deps, exchange, {
    onSettled: (error) => {
      endAttempt(span, error);
      upstream.inFlight -= 1;
      address.inFlight -= 1;
    },
    onAnswer: (status) => {
      noteAttemptStatus(span, status);
      noteAnswered(upstream, address);
    },
    onFailure: (error, sawAnswer) => {
      const hadConnection = wasSent(relay);
      if (!sawAnswer && isFailureOfAddress(error)) noteFailure(upstream, address, hadConnection);
      sending.wasSent ||= hadConnection;
      guarded(deps, sending, () => tryAgain(deps, sending, { address, relay, error, hadConnection }));
    },
    onErrorWithoutBody: (head) => guarded(deps, sending, () => askAgainWithGet(deps, sending, relay, head)),
    asksAgain: () => mayAskWithGet(deps, sending),
    refusedHead: sending.refusedHead,
    toPublicLocation: upstream.toPublicLocation,
    needsFresh: !sending.mayRepeat,
    onYield: () => failRelay(relay, noRoom(upstream)),
    passesErrors: upstream.passesErrors,
  });
  sending.relay = relay;
  upstream.inFlight += 1;
  address.inFlight += 1;
  exchange.upstreamAddress = address.origin;
  dispatch(sending, address, relay, deps.facts);
};

/** GET may be closed to the caller, and costs the service a second request, so it counts as a repeat. */
const mayAskWithGet = (deps: ForwardDeps, { exchange, method, route, upstream }: Sending): boolean => {
  const get = method === 'HEAD' ? deps.headAsGet.get(route) : undefined;
  if (get === undefined || !isSameCallerFor(exchange, get)) return false;
  const isAllowed = takeRepeat(upstream.budget, performance.now());
  deps.repeated(isAllowed);
  return isAllowed;
};

/** A narrowed token may reach fewer tenants with GET than with HEAD, or none. */
const isSameCallerFor = ({ principal }: Exchange, get: Route): boolean => {
  const narrow = principal?.narrow;
  return narrow === undefined || (narrow.isOpen(get) && narrow.callerFor(get) === principal);
};

/** An error answer to HEAD has no body to translate, so the same target is asked once more with GET. */
const askAgainWithGet = (deps: ForwardDeps, sending: Sending, relay: Relay, refusedHead: AnswerHead): void => {
  if (leftMs(sending) <= 0) return refuseHeadAlone(relay, refusedHead);
  sending.method = 'GET';
  sending.refusedHead = refusedHead;
  sending.mayRepeat = true;
  sending.tried = undefined;
  identifyAgain(deps, sending);
  send(deps, sending, firstAddress(sending.upstream));
};

type FailedAttempt = { address: Address; relay: Relay; error: Error; hadConnection: boolean };

/**
 * Every request may go to another address as long as nothing was sent, within the time to its answer; a repeatable one once
 * after that too.
 */
const tryAgain = (deps: ForwardDeps, sending: Sending, failed: FailedAttempt): void => {
  const { address, relay, error, hadConnection } = failed;
  sending.tried ??= [];
  sending.tried.push(address);
  const mayTry =
    !(error instanceof Fault) && leftMs(sending) > 0 && (!hadConnection || takesRepeat(deps, sending, address, error));
  const next = mayTry ? nextAddress(sending) : undefined;
  if (next !== undefined) {
    identifyAgain(deps, sending);
    return send(deps, sending, next);
  }
  // The service did refuse it; only the body of the refusal is missing.
  if (sending.refusedHead !== undefined) return refuseHeadAlone(relay, sending.refusedHead);
  refuse(deps, sending, faultFor(sending, error));
};

/** True: the request is sent a second time, within the budget. */
const takesRepeat = (deps: ForwardDeps, sending: Sending, address: Address, error: Error): boolean => {
  if (!sending.mayRepeat || !isLostConnection(error)) return false;
  const isAllowed = takeRepeat(sending.upstream.budget, performance.now());
  deps.repeated(isAllowed);
  sending.mayRepeat = false;
  sending.lost = address;
  return isAllowed;
};

const nextAddress = (sending: Sending): Address | undefined => {
  if (sending.tried !== undefined && sending.tried.length >= attemptsMax) return undefined;
  const next = chooseAddress(sending.upstream.addresses, sending.tried);
  if (next !== undefined) return next;
  const { lost } = sending;
  sending.lost = undefined;
  return lost;
};

const guarded = (deps: ForwardDeps, sending: Sending, action: () => void): void => {
  try {
    action();
  } catch (error) {
    refuse(deps, sending, error);
  }
};

const refuse = (deps: ForwardDeps, sending: Sending, error: unknown): void => {
  if (sending.body !== null && !Buffer.isBuffer(sending.body)) sending.body.destroy();
  deps.writeFault(sending.exchange, error);
};

/** undici takes the name of the TLS server beside the options that its types know. */
type UpstreamRequest = Dispatcher.DispatchOptions & { servername: string | undefined };

const dispatch = (sending: Sending, address: Address, relay: Relay, facts: ForwardedFacts): void => {
  const { exchange, route, upstream } = sending;
  const headers = buildRequestHeaders(exchange, facts);
  if (upstream.preserveHost && exchange.host !== undefined) headers.push('host', exchange.host);
  const options: UpstreamRequest = {
    path: exchange.upstreamTarget ?? exchange.target,
    method: sending.method,
    headers,
    body: sending.body,
    // A connection has one request at a time anyway; without this undici looks at it once more when the head has come.
    blocking: false,
    // undici takes 0 for no limit.
    headersTimeout: Math.max(1, Math.ceil(leftMs(sending))),
    bodyTimeout: route.timeouts.answerMs,
    servername: address.servername,
  };
  const hasRoom = address.connections.dispatch(options, relay);
  if (!hasRoom) limitWaiting(relay, waitingMs, () => overloaded(`${upstream.name}: every connection is busy`));
};

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

/**
 * The connection broke without an answer, as when the upstream closes an idle connection just as it is used again (RFC 9110
 * section 9.2.2).
 */
const isLostConnection = (error: Error): boolean => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));

/** Failures that depend on the request or on one answer, and say nothing about the address. */
const ofOneRequest: ReadonlySet<string> = new Set([
  informationalCode,
  'UND_ERR_ABORTED',
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

/** No answer at all is a failure of the address; a broken answer depends on the request, and a Fault on the client. */
const isFailureOfAddress = (error: Error): boolean => {
  const code = codeOf(error);
  return !(error instanceof Fault) && !code.startsWith('HPE_') && !ofOneRequest.has(code);
};

const faultFor = ({ upstream, wasSent: isSent }: Sending, error: Error): Fault => {
  // A repeat that found no room says nothing about the attempt before it.
  if (error instanceof Fault) return isSent && error.code === 'OVERLOADED' ? upstreamUnreachable(error) : error;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return upstreamTimeout(error);
  // Only a request that was not sent may be sent again without a doubt, which 503 invites to.
  return !isSent && everyAddressFails(upstream) ? upstreamOut(upstream.name) : upstreamUnreachable(error);
};
