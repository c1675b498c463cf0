/** One request on its way through the pipeline: what the steps have found out so far. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceSpan } from '#src/platform/telemetry/traces.ts';
import type { RateStanding } from '../limits/rate-meters.ts';
import type { AllowedUse } from '../model/allowed-use.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import type { Presented } from './read-credential.ts';

export type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  /** As sent; HEAD and GET share a route but not this. */
  readonly method: string;
  /** The raw request target; nothing in it is ever decoded or resolved. */
  readonly target: string;
  readonly path: string;
  /** Raw query without its question mark. */
  readonly search: string;
  readonly startedAtMs: number;
  /** The operator has bound tokens (RFC 9449) on. */
  readonly dpop: boolean;
  route: Route | undefined;
  /** The credential as it was sent, once it was looked at. */
  presented: Presented | undefined;
  principal: Principal | undefined;
  /** It was let through and stands in no event yet: what was answered decides which. */
  allowed: AllowedUse | undefined;
  /** How the caller stands with its limits, once it was charged. */
  rate: RateStanding | undefined;
  /** What the next DPoP proof of this caller shall hold (RFC 9449 section 8.2); goes out with whatever is answered. */
  dpopNonce: string | undefined;
  /** A token was found in the body, which counts as a Bearer credential (interface 3.2). */
  tokenInBody: boolean;
  /** What is known of the body: nothing to forward, a body of unknown or known length, or one that was looked into. */
  body: 'none' | 'unread' | 'empty' | 'seen';
  /** The client waits for 100 Continue, which it gets only when its body is wanted. */
  awaitsContinue: boolean;
  /** Value of the assertion header, set by the last step before forwarding. */
  assertion: string;
  /** Somebody has answered, or is about to: the remaining steps do not run. */
  answered: boolean;
  /** Code of the refusal, for the log. */
  refusal: string | undefined;
  /** Path of the gateway's own that answered, for figures: one of a bounded set. */
  place: string | undefined;
  /** Undefined while nothing is traced. */
  span: TraceSpan | undefined;
  /** Of the attempt to reach the upstream that runs, or ran last. */
  attempt: TraceSpan | undefined;
};

/** As much of a request as decides in which dialect its refusal leaves. */
export type Asked = Pick<Exchange, 'requestId' | 'search' | 'dpop' | 'tokenInBody'> & {
  readonly req: Pick<IncomingMessage, 'rawHeaders' | 'headers'>;
};

/** A step refuses by throwing a Fault, answers by itself and sets `answered`, or lets the request go on. */
export type Step = (exchange: Exchange) => void | Promise<void>;

export const createExchange = (
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  startedAtMs: number,
  awaitsContinue: boolean,
  dpop: boolean,
): Exchange => {
  const target = req.url ?? '';
  const mark = target.indexOf('?');
  return {
    req,
    res,
    requestId,
    method: req.method ?? '',
    target,
    path: mark === -1 ? target : target.slice(0, mark),
    search: mark === -1 ? '' : target.slice(mark + 1),
    startedAtMs,
    dpop,
    route: undefined,
    presented: undefined,
    principal: undefined,
    allowed: undefined,
    rate: undefined,
    dpopNonce: undefined,
    tokenInBody: false,
    body: 'none',
    awaitsContinue,
    assertion: '',
    answered: false,
    refusal: undefined,
    place: undefined,
    span: undefined,
    attempt: undefined,
  };
};
