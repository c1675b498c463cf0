/**
 * Listeners, and the internal handler of the ordering core. A listener that stops lets running requests finish, within a
 * bound.
 */
import { createHash } from 'node:crypto';
import type { RequestListener, Server, ServerOptions } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import Koa, { type Middleware } from 'koa';
import { assertionKeyLabel, createAssertionVerifier } from '#src/contract/assertion.ts';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { Fault, validationFault } from '#src/contract/fault.ts';
import { createErrorBoundary } from '#src/platform/http/error-boundary.ts';
import { hostProblem } from '#src/platform/http/host-field.ts';
import { mountOperations, type OperationDeps } from '#src/platform/http/mount-operations.ts';
import { createObserveRequests } from '#src/platform/http/observe-requests.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import type { Traces } from '#src/platform/telemetry/traces.ts';
import type { Installation } from '../installation/installation.ts';
import type { Probes } from '../probes/answer-probes.ts';
import { orderingAudience } from '../settings/ordering-audience.ts';
import { type CreateServer, createPlainServer } from './certificates.ts';
import { boundConnectionAge, connectionMs } from './connection-age.ts';

export type Listener = {
  url: string;
  port: number;
  /** From now on each answer announces the end of its connection. New connections are still taken. */
  announceEnd(): void;
  /** `drainMs`: how long idle connections stay open, see `drain`. */
  close(graceMs: number, drainMs?: number): Promise<void>;
};

export const listen = async (server: Server, host: string, port: number): Promise<Listener> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: urlOf(server, host, taken),
    port: taken,
    announceEnd: () => announceEnd(server),
    close: (graceMs, drainMs = 0) => closeWithin(server, sockets, { graceMs, drainMs }),
  };
};

export const urlOf = (server: Server, host: string, port: number): string => {
  const name = host.includes(':') ? `[${host}]` : host;
  return `${server instanceof TlsServer ? 'https' : 'http'}://${name}:${port}`;
};

/** The HTTP server does not know a connection before its TLS handshake has ended, so all sockets are destroyed here. */
const closeWithin = (
  server: Server,
  sockets: ReadonlySet<Socket>,
  { graceMs, drainMs }: { graceMs: number; drainMs: number },
): Promise<void> =>
  new Promise((resolve) => {
    const force = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, graceMs);
    const stopDraining = drain(server, drainMs);
    stopListening(server, () => {
      clearTimeout(force);
      stopDraining();
      resolve();
    });
  });

/** `close` of an HTTP server would also close its idle connections at once. */
const stopListening = (server: Server, closed: () => void): void => {
  NetServer.prototype.close.call(server, closed);
};

const announceEnd = (server: Server): void => {
  const announce: RequestListener = (_request, response) => {
    response.shouldKeepAlive = false;
  };
  server.prependListener('request', announce);
  // Node answers these itself where nothing listens.
  for (const event of ['checkContinue', 'checkExpectation'] as const)
    if (server.listenerCount(event) > 0) server.prependListener(event, announce);
};

const idleEveryMs = 50;

/**
 * A client may be sending a request over an idle connection just as it is closed, and cannot know whether the request was
 * carried out. So for `drainMs` each answer announces the end of its connection, and only then idle connections are closed.
 */
const drain = (server: Server, drainMs: number): (() => void) => {
  announceEnd(server);
  let timer = setTimeout(() => {
    server.close();
    timer = setInterval(() => server.closeIdleConnections(), idleEveryMs);
  }, drainMs);
  return () => clearTimeout(timer);
};

type CoreDeps = Pick<OperationDeps, 'db' | 'box' | 'clock' | 'serveLongWork' | 'connections'> & {
  log: Logger;
  /** Key of the assertions that the gateway signs. */
  assertionKey: Buffer;
};

type ShownMetrics = {
  metrics: Pick<Metrics, 'render'>;
  /** The token for /metrics now; undefined: /metrics is open to every process that reaches the listener. */
  readToken: () => string | undefined;
};

type Telemetry = ShownMetrics & { metrics: Metrics; traces: Traces | undefined };

/** The internal handler of the core: assertion, operations, one error boundary. With `telemetry` also /metrics. */
export const createCoreHandler = (
  operations: readonly Operation[],
  { log, assertionKey, ...deps }: CoreDeps,
  telemetry?: Telemetry & { probes: Probes },
): RequestListener => {
  const app = createApp(log);
  if (telemetry !== undefined) app.use(telemetry.probes.answer).use(showMetrics(telemetry));
  const verifyAssertion = createAssertionVerifier({
    key: assertionKey,
    audience: orderingAudience,
    now: () => deps.clock.now().getTime(),
  });
  if (telemetry !== undefined && operations.length > 0)
    app.use(createObserveRequests({ ...telemetry, verifyAssertion }));
  app.use(mountOperations(operations, '/api', { ...deps, verifyAssertion }).routes());
  const handle = app.callback();
  return (request, response) => void handle(request, response);
};

/** The internal handler of a process that has neither core nor workers. */
export const createMetricsHandler = (shown: ShownMetrics & { probes: Probes }, log: Logger): RequestListener => {
  const app = createApp(log);
  app.use(shown.probes.answer).use(showMetrics(shown));
  app.use(() => {
    throw new Fault('NOT_FOUND', 'This listener has /metrics, /healthz and /readyz only');
  });
  const handle = app.callback();
  return (request, response) => void handle(request, response);
};

const createApp = (log: Logger): Koa => {
  const app = new Koa();
  // The boundary logs failures; Koa would print connections that break off.
  app.silent = true;
  return app.use(createErrorBoundary({ log })).use(refuseWrongHost);
};

/** RFC 9112 section 3.2, as at the public listener. Node would refuse some of these requests with an answer of its own. */
const refuseWrongHost: Middleware = (ctx, next) => {
  const message = hostProblem(ctx.req.rawHeaders, ctx.req.httpVersionMinor);
  if (message !== undefined) throw validationFault([{ pointer: 'Host', code: 'FORMAT', message }]);
  return next();
};

const showMetrics =
  ({ metrics, readToken }: ShownMetrics): Middleware =>
  async (ctx, next) => {
    if (ctx.path !== '/metrics' || ctx.method !== 'GET') return next();
    ctx.set('cache-control', 'no-store');
    if (!mayRead(readToken(), ctx.req.headers.authorization)) {
      ctx.status = 401;
      // RFC 6750 section 3: without an error code, since it says nothing about what was presented.
      ctx.set('www-authenticate', 'Bearer realm="orderpass metrics"');
      ctx.body = 'These metrics need the token of ORDERPASS_METRICS_TOKEN as Authorization: Bearer TOKEN\n';
      return;
    }
    const { contentType, text } = await metrics.render();
    ctx.set('content-type', contentType);
    ctx.body = text;
  };

/** Compares digests: they have one length, so the comparison reveals nothing about the token. */
const mayRead = (token: string | undefined, authorization: string | undefined): boolean => {
  if (token === undefined) return true;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const presented = /^Bearer +(\S+) *$/i.exec(authorization?.slice(0, 1024) ?? '')?.[1];
  return presented !== undefined && equalInConstantTime(digest(presented), digest(token));
};

/** The internal listener: the core where the role runs it, and /metrics, /healthz and /readyz in every role. */
export const createInternalHandler = (
  { store, box, clock, log }: Installation,
  operations: readonly Operation[],
  telemetry: Telemetry & { probes: Probes },
  more: Pick<CoreDeps, 'serveLongWork' | 'connections'> = {},
): RequestListener =>
  createCoreHandler(
    operations,
    {
      db: store.db,
      box,
      clock,
      log,
      assertionKey: box.derive(assertionKeyLabel(orderingAudience)),
      ...more,
    },
    telemetry,
  );

/** Assertions of clients with many restaurants are long. Only the gateway can sign them, so the bound is wide. */
const internalServerOptions: ServerOptions = {
  maxHeaderSize: 256 * 1024,
  requireHostHeader: false,
  keepAliveTimeout: 65_000,
  requestTimeout: 150_000,
};

/** `ageMs`: about how old a connection becomes. */
export const createInternalServer = (
  handler: RequestListener,
  createServer: CreateServer = createPlainServer,
  ageMs = connectionMs,
): Server => createServer(internalServerOptions).on('request', boundConnectionAge(ageMs)).on('request', handler);
