/** One request in the pipeline, with everything that the steps have found so far. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TraceSpan } from '#src/platform/telemetry/traces.ts';
import type { RateStanding } from '../limits/rate-standing.ts';
import type { AllowedUse } from '../model/allowed-use.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import type { Presented } from './read-credential.ts';

export type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  /** As sent; HEAD and GET share a route but differ here. */
  readonly method: string;
  /** The raw request target; nothing in it is ever decoded or resolved. */
  readonly target: string;
  readonly path: string;
  /** Raw query without its question mark. */
  readonly search: string;
  /** Request target for the upstream, when the route changes the path. */
  upstreamTarget: string | undefined;
  /** The Host field, which routes of some hosts depend on. At /auth/check: the host that the other proxy names. */
  readonly host: string | undefined;
  readonly startedAtMs: number;
  /** The request of /mcp whose tool call this is; undefined: a request of the network. */
  readonly within: Exchange | undefined;
  /** Bound tokens (RFC 9449) are on. */
  readonly dpop: boolean;
  route: Route | undefined;
  /** The upstream of the cell that has the tenant, where that of the route is a group of cells. */
  cellUpstream: string | undefined;
  /** The credential as it was sent, once it was read. */
  presented: Presented | undefined;
  principal: Principal | undefined;
  /** What it is charged to: the id of the principal, or a source address. Empty until it was charged. */
  caller: string;
  /** Allowed and not in the audit yet: the answer decides its event. */
  allowed: AllowedUse | undefined;
  /** The caller's limits after this request was charged. */
  rate: RateStanding | undefined;
  /** Flat list for every answer, where scripts of other origins may call; undefined: CORS is off. */
  corsHeaders: readonly string[] | undefined;
  /** Nonce of the caller's next DPoP proof (RFC 9449 section 8.2); every answer carries it. */
  dpopNonce: string | undefined;
  /** A token was found in the body, which counts as a Bearer credential (interface 3.2). */
  tokenInBody: boolean;
  /** `none`: nothing to forward. `unread`: to be forwarded. `empty`, `seen`: read here, without and with content. */
  body: 'none' | 'unread' | 'empty' | 'seen';
  /** The client waits for 100 Continue, which it gets only when its body is read. */
  awaitsContinue: boolean;
  /** The parser failed inside of the body: nothing more of it can be read, and the refusal is the end of the connection. */
  isBroken: boolean;
  /** At /auth/check: another proxy asks for the decision, or for the text of a refusal that it has already. */
  asked: 'decision' | 'refusal' | undefined;
  /** Header fields that tell the upstream who calls, as a flat list; set by the last step before forwarding. */
  identity: readonly string[];
  /** A step has answered or will answer: the remaining steps do not run. */
  answered: boolean;
  /** Code of the refusal, for the log. */
  refusal: string | undefined;
  /** The refusal for the log of the caller's requests. */
  refused: Refused | undefined;
  /** The tenant that the service acted for, as it says itself. Undefined: it did not say. */
  servedTenant: string | undefined;
  /** The log of the caller's requests has it. */
  isNoted: boolean;
  /** The gateway's own path that answered, or `simulated`, for metrics: one of a bounded set. */
  place: string | undefined;
  /** Address of the upstream that the request was last sent to, for the log. */
  upstreamAddress: string | undefined;
  /** Undefined while nothing is traced. */
  span: TraceSpan | undefined;
  /** Span of the current or last attempt to reach the upstream. */
  attempt: TraceSpan | undefined;
};

/**
 * `status`: before any translation to old statuses. `callerId`: the key or client that a refused credential was traced to.
 * `atMs`: monotonic, as `startedAtMs`.
 */
type Refused = { status: number; callerId: string | undefined; atMs: number };

/** The part of a request that decides the dialect of its refusal. */
export type Asked = Pick<Exchange, 'requestId' | 'search' | 'dpop' | 'tokenInBody'> & {
  readonly req: Pick<IncomingMessage, 'rawHeaders' | 'headers'>;
};

/** A step refuses by throwing a Fault, answers and sets `answered`, or returns, and the next step runs. */
export type Step = (exchange: Exchange) => void | Promise<void>;

/**
 * True for a request without a credential on a public route. Each caller gets the same answer, and no credential would change
 * it, because the service does not learn who calls.
 */
export const isAnonymous = ({ principal, route }: Pick<Exchange, 'principal' | 'route'>): boolean =>
  principal === undefined && route?.access === 'public';

/** Name of the upstream that the request goes to. Undefined: no route matched. */
export const upstreamNameOf = ({ cellUpstream, route }: Pick<Exchange, 'cellUpstream' | 'route'>): string | undefined =>
  cellUpstream ?? route?.upstream;

const noFields: readonly string[] = [];

export const createExchange = (
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  startedAtMs: number,
  awaitsContinue: boolean,
  dpop: boolean,
  within?: Exchange,
): Exchange => {
  const target = req.url ?? '';
  const mark = target.indexOf('?');
  const exchange: Exchange = {
    req,
    res,
    requestId,
    method: req.method ?? '',
    target,
    path: mark === -1 ? target : target.slice(0, mark),
    search: mark === -1 ? '' : target.slice(mark + 1),
    upstreamTarget: undefined,
    host: req.headers.host,
    startedAtMs,
    within,
    dpop,
    route: undefined,
    cellUpstream: undefined,
    presented: undefined,
    principal: undefined,
    caller: '',
    allowed: undefined,
    rate: undefined,
    corsHeaders: undefined,
    dpopNonce: undefined,
    tokenInBody: false,
    body: 'none',
    awaitsContinue,
    isBroken: false,
    asked: undefined,
    identity: noFields,
    answered: false,
    refusal: undefined,
    refused: undefined,
    servedTenant: undefined,
    isNoted: false,
    place: undefined,
    upstreamAddress: undefined,
    span: undefined,
    attempt: undefined,
  };
  (req as OpenedRequest).exchange = exchange;
  return exchange;
};

type OpenedRequest = IncomingMessage & { exchange?: Exchange };

/** For Koa and listeners of the server, which get the request without its exchange. Undefined: none was opened. */
export const exchangeOf = (req: IncomingMessage): Exchange | undefined => (req as OpenedRequest).exchange;
