/** Handlers of the public server: id, log line and head check, then /auth/check, own paths or the pipeline. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Fault } from '#src/contract/fault.ts';
import type { AuthCheck } from '../access/auth-check.ts';
import type { WriteFault } from '../answer/write-answer.ts';
import { expectationFailed } from '../model/faults.ts';
import { mcpPath } from '../model/route-path.ts';
import { discardAfterAnswer } from '../request/discard-rest.ts';
import { createExchange, type Exchange, type Step } from '../request/exchange.ts';
import type { WantsUpgrade } from '../upstream/upgrade.ts';
import type { OnClientError } from './client-error.ts';
import type { InnerHandler } from './mcp/inner-requests.ts';
import type { McpTable, ServeMcp } from './mcp/serve-mcp.ts';
import { currentResponseOf, responseOn } from './node-http/responses.ts';
import type { OwnPaths } from './own-paths.ts';
import type { TraceRequest } from './trace-request.ts';

type FrontDeps = {
  requestIds: (given: string | undefined) => string;
  logRequest: (exchange: Exchange) => void;
  /** Undefined: nothing is traced. */
  traceRequest: TraceRequest | undefined;
  checkRequestHead: Step;
  /** See Exchange. */
  dpop: boolean;
  ownPaths: OwnPaths;
  /** Undefined: not offered, and its path is that of any route. */
  serveMcp: ServeMcp | undefined;
  /** To be called once for each request: what the current route table makes of it. */
  enter: (res: ServerResponse) => Serving;
  writeFault: WriteFault;
};

/** How one route table serves requests. */
export type Serving = {
  /** Undefined: not offered, and its path does not exist. */
  authCheck: AuthCheck | undefined;
  pipeline: (exchange: Exchange) => void;
  /** Undefined: /mcp is not offered. */
  mcp: McpTable | undefined;
  upgrades: { serve: (exchange: Exchange, socket: Socket, head: Buffer) => void };
};

export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** All handlers of an HTTP server, so that Node answers nothing by itself; see attach-door.ts. */
export type DoorHandlers = {
  handler: Handler;
  /** For the server's `checkContinue` event: 100 Continue is sent only when the body is read. */
  continueHandler: Handler;
  /** For the server's `checkExpectation` event: any other expectation. */
  expectationHandler: Handler;
  /** For the server's `connect` event: tunnels are always refused. */
  connectHandler: UpgradeHandler;
  /** For the server's `upgrade` event. */
  upgradeHandler: UpgradeHandler;
  /** For the server's `clientError` event: bytes that are no request. */
  clientErrorHandler: OnClientError;
  /** For the server's option `shouldUpgradeCallback`; without it, Node takes every request with an Upgrade header off HTTP. */
  wantsUpgrade: WantsUpgrade;
};

type OpenDeps = Pick<
  FrontDeps,
  'requestIds' | 'logRequest' | 'traceRequest' | 'checkRequestHead' | 'dpop' | 'writeFault'
>;

/** What every request of the listener has, on whichever path: an id, its line in the access log, a trace. */
const openExchange = (
  deps: OpenDeps,
  req: IncomingMessage,
  res: ServerResponse,
  awaitsContinue: boolean,
  within?: Exchange,
): Exchange => {
  const given = req.headers['x-request-id'];
  const requestId = deps.requestIds(typeof given === 'string' ? given : undefined);
  const exchange = createExchange(req, res, requestId, performance.now(), awaitsContinue, deps.dpop, within);
  discardAfterAnswer(req, res);
  deps.logRequest(exchange);
  deps.traceRequest?.(exchange);
  return exchange;
};

/** False: the head is refused and answered. */
const passesHead = ({ checkRequestHead, writeFault }: OpenDeps, exchange: Exchange): boolean => {
  try {
    checkRequestHead(exchange);
    return true;
  } catch (thrown) {
    writeFault(exchange, thrown);
    return false;
  }
};

/** `awaitsContinue`: this handler serves the server's `checkContinue` event. */
export const createFront = (deps: FrontDeps, awaitsContinue: boolean): Handler => {
  return (req, res) => {
    const exchange = openExchange(deps, req, res, awaitsContinue);
    if (!passesHead(deps, exchange)) return;
    const { authCheck, pipeline, mcp } = deps.enter(res);
    if (mcp !== undefined && exchange.path === mcpPath) return deps.serveMcp?.(exchange, mcp);
    if (authCheck?.owns(exchange.path)) return authCheck.serve(exchange);
    if (!deps.ownPaths.owns(exchange)) return pipeline(exchange);
    if (awaitsContinue) res.writeContinue();
    deps.ownPaths.serve(exchange);
  };
};

/** For the requests of tool calls: as any other, but only to operations. */
export const createInnerFront = (deps: OpenDeps & Pick<FrontDeps, 'enter'>): InnerHandler => {
  return (req, res, within) => {
    const exchange = openExchange(deps, req, res, false, within);
    if (passesHead(deps, exchange)) deps.enter(res).pipeline(exchange);
    return exchange;
  };
};

/**
 * For the server's `checkExpectation` event: refuses an unknown expectation (RFC 9110 section 10.1.1) on every path. The
 * client has sent no body.
 */
export const createExpectationFront = (deps: OpenDeps): Handler => {
  return (req, res) => {
    const exchange = openExchange(deps, req, res, true);
    if (passesHead(deps, exchange)) deps.writeFault(exchange, expectationFailed());
  };
};

/** True: the head is refused and answered. */
export type RefuseHead = (req: IncomingMessage, res: ServerResponse) => boolean;

/**
 * For handlers of other paths of the same listener, such as the panel: the same access log, trace and bound on heads. The response has
 * the id of its request, so that a handler uses the same one.
 */
export const createRefuseHead = (deps: OpenDeps): RefuseHead => {
  return (req, res) => {
    const exchange = openExchange(deps, req, res, false);
    if (!passesHead(deps, exchange)) return true;
    res.setHeader('x-request-id', exchange.requestId);
    return false;
  };
};

export type UpgradeHandler = (req: IncomingMessage, socket: Duplex, head: Buffer) => void;

type UpgradeFrontDeps = OpenDeps & {
  serve: (exchange: Exchange, socket: Socket, head: Buffer) => void;
};

/** Idle times of a connection: until it is forwarded, and after a refusal was written. */
const handshakeIdleMs = 30_000;
const refusedMs = 2_000;

/** Gives a request that Node has taken off HTTP a response object, so that it is refused like any other. */
export const createUpgradeFront = (deps: UpgradeFrontDeps): UpgradeHandler => {
  return (req, stream, head) => {
    const socket = stream as Socket;
    // A broken connection needs no answer; `close` follows and releases everything.
    socket.on('error', () => undefined);
    // It came without waiting for the answer to an earlier request (pipelining). Node carries that answer no longer as it should:
    // it would not go on after the client was slow to read. No client that works does this.
    if (currentResponseOf(socket) !== undefined) return void socket.destroy();
    // Node has no timeouts for a connection that has left its HTTP server.
    socket.on('timeout', () => socket.destroy());
    socket.setTimeout(handshakeIdleMs);
    const res = responseOn(socket, req);
    res.once('finish', () => {
      socket.setTimeout(refusedMs);
      socket.end();
      socket.resume();
    });
    const exchange = openExchange(deps, req, res, false);
    if (passesHead(deps, exchange)) deps.serve(exchange, socket, head);
  };
};

/** Refuses requests that Node has taken off HTTP and that no part serves. */
export const createRefuseUpgrade = (
  deps: Omit<UpgradeFrontDeps, 'serve'>,
  faultFor: (exchange: Exchange) => Fault,
): UpgradeHandler =>
  createUpgradeFront({ ...deps, serve: (exchange) => deps.writeFault(exchange, faultFor(exchange)) });
