/**
 * WebSockets (RFC 6455), forwarded by http-proxy after the same checks as any request. A tunnel ends with its credential:
 * when a token expires or is revoked, or its client loses rights that the upstream was sent, its connections are closed.
 */
import { Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import httpProxy from 'http-proxy';
import type { IdentifyTo } from '../access/identity/assert-identity.ts';
import type { EdgeHeaders } from '../answer/security-headers.ts';
import type { WriteFault } from '../answer/write-answer.ts';
import { overloaded, upgradeRefused, upstreamTimeout, upstreamUnreachable } from '../model/faults.ts';
import { type Exchange, type Step, upstreamNameOf } from '../request/exchange.ts';
import { announcesBody } from '../request/limit-body.ts';
import { publicHostOf } from '../request/public-host.ts';
import { type CompiledRoutes, findRoute } from '../routing/route-table.ts';
import { type Connection, connectToUpstream } from './addresses/connect-address.ts';
import { noteAnswered, noteFailure, type Upstream } from './addresses/upstreams.ts';
import { buildRequestHeaders, type ForwardedFacts } from './request-headers.ts';
import { type AnswerRules, passHeaders } from './response-headers.ts';
import type { TranslateError } from './translate-errors.ts';
import type { Tunnels } from './tunnels.ts';
import type { WatchOpen } from './watch-open.ts';

type UpgradesDeps = {
  watchOpen: WatchOpen;
  upstreams: ReadonlyMap<string, Upstream>;
  /** The steps of kind `upgrade` (pipeline.ts). */
  steps: readonly Step[];
  identifyTo: IdentifyTo;
  facts: ForwardedFacts;
  edgeHeaders: EdgeHeaders;
  /** Called for each successful handshake. */
  answered: (exchange: Exchange, status: number) => void;
  /** See RecordDecision. */
  settle: (exchange: Exchange) => void;
  translate: TranslateError;
  /** With real statuses: 200 is no answer to a handshake. */
  writeFault: WriteFault;
  tunnels: Tunnels;
  idleMs: number;
};

export type Upgrades = {
  /** `socket` is destroyed by its `timeout` event. */
  serve: (exchange: Exchange, socket: Socket, head: Buffer) => void;
  /** Ends every tunnel and refuses new ones. */
  close: () => void;
};

type Tunnel = {
  readonly exchange: Exchange;
  readonly socket: Socket;
  /** Called before http-proxy reads the socket. */
  readonly unwatch: () => void;
};

const closingMs = 1_000;
/** Time for a client to read the upstream's refusal. */
const refusalMs = 10_000;

export const createUpgrades = (deps: UpgradesDeps): Upgrades => {
  const sockets = new Set<Socket>();
  let closed = false;

  const admit = async (exchange: Exchange, socket: Socket, head: Buffer): Promise<void> => {
    if (closed) throw overloaded('an upgrade while closing');
    for (const step of deps.steps) await step(exchange);
    const upstream = upstreamOf(deps, exchange);
    if (socket.destroyed) return;
    const end = (): void => void socket.destroy();
    if (!deps.tunnels.enter(exchange, socket, end)) throw overloaded('too many upgraded connections');
    deps.watchOpen(exchange, socket, end);
    const tunnel = { exchange, socket, unwatch: watchForEnd(socket) };
    exchange.identity = deps.identifyTo(exchange, 'GET');
    const connection = await connectToUpstream(upstream, () => socket.destroyed);
    if (socket.destroyed) {
      connection.socket.destroy();
      return;
    }
    carry(deps, upstream, tunnel, connection, head);
  };

  return {
    serve: (exchange, socket, head) => {
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        deps.settle(exchange);
      });
      admit(exchange, socket, head).catch((thrown: unknown) => deps.writeFault(exchange, thrown));
    },
    close: () => {
      closed = true;
      for (const socket of sockets) {
        // A client that reads nothing must not delay the shutdown.
        socket.setTimeout(closingMs);
        socket.destroySoon();
      }
    },
  };
};

export type WantsUpgrade = (request: IncomingMessage) => boolean;

/**
 * For the server's `shouldUpgradeCallback`. Any other protocol, and a WebSocket where there is none, is an offer that may be
 * ignored (RFC 9110 section 7.8): such a request stays an ordinary one. `isOwn`: the program answers the path itself.
 */
export const createWantsUpgrade = (routes: () => CompiledRoutes, isOwn: (path: string) => boolean): WantsUpgrade => {
  return ({ url = '', method, headers }) => {
    if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    // A handshake would bypass the handlers of these paths, and so would a question to /auth/check that carries its fields.
    if (isOwn(path)) return false;
    return findRoute(routes(), { path, host: headers.host, method })?.upgrade === true;
  };
};

const upstreamOf = (deps: UpgradesDeps, exchange: Exchange): Upstream => {
  const { route, req } = exchange;
  const upstream = deps.upstreams.get(upstreamNameOf(exchange) ?? '');
  if (route === undefined || upstream === undefined) throw new Error('cannot forward an upgrade without a route');
  // A body would stand between the two protocols, where two parsers could disagree about its end.
  if (!route.upgrade || exchange.method !== 'GET' || req.httpVersionMinor === 0 || announcesBody(exchange))
    throw upgradeRefused();
  return upstream;
};

/**
 * Before the upgrade the client's socket is not read, so its end would not be noticed. This watches for the end without
 * consuming bytes: early bytes stay in the buffer, and a client that goes away ends the handshake.
 */
const watchForEnd = (socket: Socket): (() => void) => {
  const look = (): void => {
    if (socket.readableLength === 0) socket.read(0);
  };
  socket.on('readable', look);
  socket.once('end', () => socket.destroySoon());
  return () => void socket.off('readable', look);
};

/** Makes http-proxy use the connection that was opened here, instead of its own. */
const agentOver = (socket: Socket): Agent => Object.assign(new Agent(), { createConnection: () => socket });

const timedOut = new Error('the upstream does not answer the upgrade');

const carry = (deps: UpgradesDeps, upstream: Upstream, tunnel: Tunnel, connection: Connection, head: Buffer): void => {
  const { exchange, socket } = tunnel;
  const { address } = connection;
  let answered = false;
  address.inFlight += 1;
  connection.socket.once('close', (hadError) => {
    address.inFlight -= 1;
    if (exchange.res.statusCode !== 101) return;
    if (hadError) socket.destroy();
    else socket.destroySoon();
  });
  socket.once('close', () => connection.socket.destroy());
  exchange.upstreamAddress = address.origin;
  const target = exchange.upstreamTarget ?? exchange.target;
  const host = (upstream.preserveHost ? exchange.host : undefined) ?? address.host;
  // http-proxy sends the fields of the request that it gets. Those of the client stay as they came, for later checks.
  const sent: IncomingMessage = Object.create(exchange.req, {
    url: { value: target, writable: true },
    headers: { value: upgradeHeaders(exchange, deps.facts, host), writable: true },
  });
  const proxy = httpProxy.createProxyServer({ toProxy: true, prependPath: false });
  proxy.on('proxyReqWs', (request: ClientRequest) => {
    // http-proxy changes slashes inside a path; the service gets the path that was checked.
    request.path = target;
    request.setTimeout(exchange.route?.timeouts.answerMs ?? 0, () => request.destroy(timedOut));
    const onResponse = (answer: IncomingMessage): void => {
      answered = true;
      // http-proxy would end the client's socket before the refusal is written. The answer has an error event of its own.
      request.removeAllListeners('error').on('error', () => undefined);
      noteAnswered(upstream, address);
      socket.setTimeout(refusalMs);
      refuse(deps, tunnel, answer, upstream);
    };
    // http-proxy would pass an ordinary response on with every header; refusals are translated to the caller's dialect
    // instead.
    queueMicrotask(() => request.removeAllListeners('response').once('response', onResponse));
    request.once('upgrade', (answer: IncomingMessage) => {
      answered = true;
      noteAnswered(upstream, address);
      if (answer.headers.upgrade?.toLowerCase() !== 'websocket') socket.destroy();
      exchange.res.statusCode = 101;
      deps.settle(exchange);
      deps.answered(exchange, 101);
      tunnel.unwatch();
      answer.headers = answerHeaders(answer, deps.edgeHeaders(exchange.requestId, undefined, exchange.dpopNonce), {
        toPublicLocation: upstream.toPublicLocation,
        host: publicHostOf(exchange),
        route: exchange.route,
        ownsCors: false,
      });
    });
  });
  proxy.once('open', () => socket.setTimeout(deps.idleMs));
  const onError = (error: Error): void => {
    if (answered || socket.destroyed) return;
    answered = true;
    noteFailure(upstream, address, true);
    deps.writeFault(exchange, error === timedOut ? upstreamTimeout(error) : upstreamUnreachable(error));
  };
  const { hostname, port } = new URL(address.origin);
  const options = { target: { protocol: 'http:', host: hostname, port }, agent: agentOver(connection.socket) };
  proxy.ws(sent, socket, head, options, onError);
};

const upgradeHeaders = (exchange: Exchange, facts: ForwardedFacts, host: string): Record<string, string> => {
  const flat = buildRequestHeaders(exchange, facts);
  const headers: Record<string, string> = { host, connection: 'Upgrade', upgrade: 'websocket' };
  for (let i = 0; i + 1 < flat.length; i += 2) headers[flat[i] ?? ''] = flat[i + 1] ?? '';
  return headers;
};

const answerHeaders = (
  { headers }: IncomingMessage,
  edge: string[],
  rules: AnswerRules,
): Record<string, string | string[]> => {
  const kept: Record<string, string | string[]> = { connection: 'Upgrade', upgrade: 'websocket' };
  const flat = passHeaders(headers, edge, rules);
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const [name, value] = [flat[i] ?? '', flat[i + 1] ?? ''];
    if (name === 'content-length') continue;
    const before = kept[name];
    kept[name] = before === undefined ? value : [before, value].flat();
  }
  return kept;
};

/** The upstream answered the handshake with an ordinary response. */
const refuse = (
  deps: UpgradesDeps,
  { exchange, socket }: Tunnel,
  answer: IncomingMessage,
  { toPublicLocation }: Upstream,
): void => {
  const status = answer.statusCode ?? 0;
  const unusable = (cause: unknown): void => deps.writeFault(exchange, upstreamUnreachable(cause));
  if (status < 400 || status > 599) {
    answer.destroy();
    unusable(new Error(`the upgrade was answered with ${status}`));
    return;
  }
  const collector = deps.translate(exchange, {
    status,
    headers: answer.headers,
    controller: { abort: () => void answer.destroy() },
    rules: { toPublicLocation, host: publicHostOf(exchange), route: exchange.route, ownsCors: false },
    passOn: () => {
      answer.destroy();
      unusable(new Error('the refusal of an upgrade is too long'));
    },
  });
  answer.on('data', collector.push);
  answer.once('end', collector.end);
  answer.once('error', collector.fail);
  // The request of a client that left is recorded as allowed, and must not become a refusal too.
  socket.once('close', collector.cancel);
};
