/** Opens the public door: from the server's events to the part of the gateway that answers. */
import type { Middleware } from 'koa';
import type { Logger } from '#src/platform/log.ts';
import type { Traces } from '#src/platform/telemetry/traces.ts';
import { authCheckPath } from '../access/read-original-request.ts';
import type { Answers } from '../answer/open-answers.ts';
import { methodNotAllowed, noSuchOperation } from '../model/faults.ts';
import { createRequestIds } from '../model/request-id.ts';
import { ownPathOf, turnedOnPaths } from '../model/route-path.ts';
import type { Closable } from '../routing/reload/current.ts';
import { allowOf, type CompiledRoutes } from '../routing/route-table.ts';
import { createWantsUpgrade } from '../upstream/upgrade.ts';
import { attachDoor } from './attach-door.ts';
import { createCheckRequestHead } from './check-request-head.ts';
import { createOnClientError, gatewayServerOptions } from './client-error.ts';
import {
  createExpectationFront,
  createFront,
  createInnerFront,
  createRefuseHead,
  createRefuseUpgrade,
  createUpgradeFront,
  type DoorHandlers,
  type RefuseHead,
  type Serving,
} from './front.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { createLogRequest } from './log-request.ts';
import type { Mcp } from './mcp/open-mcp.ts';
import { useOriginForm } from './node-http/origin-form.ts';
import { createOwnPaths } from './own-paths.ts';
import type { Page } from './pages.ts';
import type { Readiness } from './readiness.ts';
import { createTraceRequest } from './trace-request.ts';

/** What the door needs of one route table. */
type DoorTable = Serving & { routes: CompiledRoutes; pages: ReadonlyMap<string, Page> };

type DoorDeps = {
  settings: {
    url_bytes_max: number;
    header_bytes_max: number;
    auth_check: 'on' | 'off';
    mcp: 'on' | 'off';
  };
  /** Own paths that the settings of other parts turn off, so that routes may have them. Default: none. */
  freePaths?: readonly string[];
  origin: string;
  log: Logger;
  /** What serves requests: `routes`, `pages` and steps of one route table. */
  current: { get: () => DoorTable; enter: (request: Closable) => Serving };
  answers: Answers;
  metrics: Pick<GatewayMetrics, 'answered' | 'refused'>;
  /** Undefined: nothing is traced. */
  traces?: Traces | undefined;
  /** Callers name the trace that a request belongs to. */
  trustsTraces?: boolean;
  oauth: Middleware;
  leakReports: Middleware;
  /** Undefined: /mcp is not offered. */
  mcp: Mcp | undefined;
  readiness: () => Promise<Readiness>;
};

export type PublicDoor = DoorHandlers & {
  /** For handlers of other paths on the same listener, before they read anything else. */
  refuseHead: RefuseHead;
};

export const openDoor = (deps: DoorDeps): PublicDoor => {
  const { settings, origin, log, current, metrics, traces } = deps;
  const { edgeHeaders, dialects, writeHonestFault } = deps.answers;
  const requestIds = createRequestIds(Date.now);
  const open = {
    requestIds,
    dpop: dialects.dpop === true,
    logRequest: createLogRequest({ log, nowMs: () => performance.now() }),
    traceRequest:
      traces === undefined ? undefined : createTraceRequest({ traces, origin, continues: deps.trustsTraces ?? false }),
    checkRequestHead: createCheckRequestHead({
      urlBytesMax: settings.url_bytes_max,
      headerBytesMax: settings.header_bytes_max,
    }),
    enter: current.enter,
    // A refused head is read by the protocol and its proxies, not by a client of the interface.
    writeFault: writeHonestFault,
  };
  const handleInner = createInnerFront(open);
  const front = {
    ...open,
    serveMcp: deps.mcp?.open({
      answers: deps.answers,
      serverOptions: gatewayServerOptions,
      handleInner,
      attach: (server, onRequest) => attachDoor(server, () => door, onRequest),
    }),
    ownPaths: createOwnPaths({
      oauth: deps.oauth,
      leakReports: deps.leakReports,
      pages: () => current.get().pages,
      hasRoute: (exchange) => allowOf(current.get().routes, exchange) !== undefined,
      readiness: deps.readiness,
      answered: metrics.answered,
      refused: metrics.refused,
      edgeHeaders,
      writeFault: writeHonestFault,
    }),
  };
  const wantsUpgrade = createWantsUpgrade(() => current.get().routes, createIsOwn(settings, deps.freePaths));
  const door: PublicDoor = {
    handler: createFront(front, false),
    refuseHead: createRefuseHead(front),
    continueHandler: createFront(front, true),
    expectationHandler: createExpectationFront(front),
    connectHandler: createRefuseUpgrade(front, (exchange) => {
      const allow = allowOf(current.get().routes, exchange);
      return allow === undefined ? noSuchOperation() : methodNotAllowed(allow);
    }),
    clientErrorHandler: createOnClientError({
      ...{ edgeHeaders, dialects, requestIds, log, ...metrics },
      writeFault: writeHonestFault,
    }),
    wantsUpgrade: (request) => {
      // The server asks this before any event of the request.
      useOriginForm(request);
      return wantsUpgrade(request);
    },
    upgradeHandler: createUpgradeFront({
      ...front,
      serve: (exchange, socket, head) => current.enter(socket).upgrades.serve(exchange, socket, head),
    }),
  };
  return door;
};

/** By the settings, as the paths of requests are matched. */
const createIsOwn = (
  settings: DoorDeps['settings'],
  freePaths: readonly string[] = [],
): ((path: string) => boolean) => {
  const free = settings.auth_check === 'on' ? freePaths : [...freePaths, authCheckPath];
  const taken = turnedOnPaths(settings);
  return (path) => {
    if (taken.includes(path)) return true;
    const own = ownPathOf(path);
    return own !== undefined && !free.includes(own);
  };
};
