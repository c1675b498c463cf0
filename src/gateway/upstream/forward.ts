/** Sends a request to its upstream and decides what a failure on the way means for the caller. */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { Fault } from '#src/contract/fault.ts';
import type { EdgeHeaders } from '../edge/security-headers.ts';
import type { WriteFault } from '../edge/write-answer.ts';
import type { Exchange, Step } from '../exchange.ts';
import { overloaded, upstreamTimeout, upstreamUnreachable } from '../faults.ts';
import type { SignFor } from './assert-identity.ts';
import { createRelay, type Relay } from './relay-answer.ts';
import { buildRequestHeaders, type ForwardedFacts } from './request-headers.ts';
import { createBodyStream } from './stream-body.ts';
import type { TranslateError } from './translate-errors.ts';
import type { Upstream } from './upstreams.ts';

type ForwardDeps = {
  upstreams: ReadonlyMap<string, Upstream>;
  signFor: SignFor;
  facts: ForwardedFacts;
  edgeHeaders: EdgeHeaders;
  translate: TranslateError;
  writeFault: WriteFault;
};

/** How long a request may wait for a connection when all of them are busy. */
const waitingMs = 5_000;

type Attempt = {
  method: string;
  /** Nobody can have noticed the first try, so it may be made again. */
  mayRepeat: boolean;
};

export const createForward = (deps: ForwardDeps): Step => {
  const send = (exchange: Exchange, attempt: Attempt): void => {
    const { route } = exchange;
    const upstream = route === undefined ? undefined : deps.upstreams.get(route.upstream);
    if (route === undefined || upstream === undefined) throw new Error('a request without a route is forwarded');
    if (upstream.inFlight >= upstream.inFlightMax) throw overloaded(`no room for ${upstream.name}`);
    const body = exchange.body === 'unread' ? createBodyStream(exchange, route) : null;
    const relay = createRelay(deps, exchange, {
      onSettled: () => {
        upstream.inFlight -= 1;
      },
      onFailure: (error, sawAnswer) => {
        if (!sawAnswer && attempt.mayRepeat && isLostConnection(error)) {
          return guarded(() => send(exchange, { ...attempt, mayRepeat: false }));
        }
        deps.writeFault(exchange, faultFor(error));
      },
      onErrorWithoutBody: () =>
        guarded(() => {
          exchange.assertion = deps.signFor(exchange, 'GET');
          send(exchange, { method: 'GET', mayRepeat: false });
        }),
      asksAgain: attempt.method === 'HEAD',
    });
    const guarded = (action: () => void): void => {
      try {
        action();
      } catch (error) {
        deps.writeFault(exchange, error);
      }
    };
    upstream.inFlight += 1;
    dispatch(exchange, upstream, attempt.method, body, relay);
  };

  const dispatch = (
    exchange: Exchange,
    upstream: Upstream,
    method: string,
    body: Readable | null,
    relay: Relay,
  ): void => {
    const silenceMs = exchange.route?.answerTimeoutMs ?? 0;
    // The body may fail while the request still waits for a connection, where undici would tell only later.
    body?.once('error', relay.fail);
    const options: Dispatcher.DispatchOptions = {
      path: exchange.target,
      method,
      headers: buildRequestHeaders(exchange, deps.facts),
      body,
      headersTimeout: silenceMs,
      bodyTimeout: silenceMs,
    };
    const hasRoom = upstream.pool.dispatch(options, relay.handler);
    if (!hasRoom) relay.limitWaiting(waitingMs, () => overloaded(`${upstream.name}: every connection is busy`));
  };

  return (exchange) => {
    if (exchange.res.destroyed) return;
    const mayRepeat = exchange.method === 'GET' || exchange.method === 'HEAD';
    send(exchange, { method: exchange.method, mayRepeat });
    exchange.answered = true;
  };
};

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');

/**
 * A kept-alive connection that the upstream closed just as it was used again (RFC 9110 section 9.2.2). Only methods
 * without effect are repeated: of the others nobody knows whether they were carried out.
 */
const isLostConnection = (error: Error): boolean => ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error));

const faultFor = (error: Error): Fault => {
  if (error instanceof Fault) return error;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return upstreamTimeout(error);
  return upstreamUnreachable(error);
};
