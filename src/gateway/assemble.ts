/** Builds the parts of the public door and joins them; the only place that knows all of them. */
import type { Middleware } from 'koa';
import type { Kysely } from 'kysely';
import { createAssertionSigner, type SignAssertion } from '#src/contract/assertion.ts';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Traces } from '#src/platform/telemetry/traces.ts';
import { createAssertIdentity, createSignFor } from './access/assert-identity.ts';
import { createAuthCheck } from './access/auth-check.ts';
import type { IdentifyCallerDeps } from './access/identify-caller.ts';
import type { AuditDecisions } from './access/record-decision.ts';
import { honestStatus, legacyStatus } from './answer/legacy-status.ts';
import { createEdgeHeaders } from './answer/security-headers.ts';
import { createWriteAnswer, createWriteFault } from './answer/write-answer.ts';
import type { GatewaySettings, RouteTable } from './config.ts';
import { createCheckRequestHead } from './edge/check-request-head.ts';
import { createOnClientError } from './edge/client-error.ts';
import {
  createExpectationFront,
  createFront,
  createRefuseHead,
  createRefuseUpgrade,
  createUpgradeFront,
  type DoorHandlers,
  type RefuseHead,
} from './edge/front.ts';
import type { GatewayMetrics } from './edge/gateway-metrics.ts';
import { createRecordDecision } from './edge/log-request.ts';
import { createOwnPaths } from './edge/own-paths.ts';
import type { Page } from './edge/pages.ts';
import type { Readiness } from './edge/readiness.ts';
import { createTraceRequest } from './edge/trace-request.ts';
import type { RateLimits } from './limits/rate-limits.ts';
import { methodNotAllowed, noSuchOperation, storeUnavailable } from './model/faults.ts';
import { createRequestIds } from './model/request-id.ts';
import { createDecisionSteps, createPipeline } from './pipeline.ts';
import type { NoteDryRun } from './policy/try-scopes.ts';
import type { Exchange } from './request/exchange.ts';
import { compileRoutes, findPath } from './routing/route-table.ts';
import { createForward } from './upstream/forward.ts';
import { createTranslateError } from './upstream/translate-errors.ts';
import { createUpgrades, createWantsUpgrade } from './upstream/upgrade.ts';
import { createUpstreams } from './upstream/upstreams.ts';
import { createAnswerSelf } from './whoami/answer-self.ts';
import type { DenialLog } from './whoami/denial-log.ts';

export type AssembleDeps = IdentifyCallerDeps & {
  settings: GatewaySettings;
  origin: string;
  table: RouteTable;
  upstreams: Readonly<Record<string, string>>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  oauth: Middleware;
  pages: ReadonlyMap<string, Page>;
  limits: RateLimits;
  denials: Pick<DenialLog, 'note' | 'find'>;
  decisions: AuditDecisions;
  metrics: GatewayMetrics;
  db: Kysely<unknown>;
  readiness: () => Promise<Readiness>;
  /** Undefined: nothing is traced. */
  traces: Traces | undefined;
  /** Callers say which trace a request belongs to. */
  trustsTraces: boolean;
  noteDryRun: NoteDryRun;
};

export type PublicDoor = DoorHandlers & {
  /** For handlers that serve other paths of the same listener, before they do anything. */
  refuseHead: RefuseHead;
  /** Of upstreams: how many are left out now. */
  addressesOut: () => number;
  /** Upgraded connections have left the server, which would wait for them when it closes. */
  endUpgrades: () => void;
  close: () => Promise<void>;
};

export const assemble = (deps: AssembleDeps): PublicDoor => {
  const { settings, origin, table, log } = deps;
  const edgeHeaders = createEdgeHeaders(origin);
  const dialects = { origin, realm: settings.realm, dpop: settings.dpop !== 'off' };
  const { answered, refused, authenticated: countAuthentication } = deps.metrics;
  const { settle } = deps.decisions;
  const write = createWriteAnswer({ edgeHeaders, answered, settle });
  const statusFor = settings.legacy_status === 'on' ? legacyStatus : honestStatus;
  const noteDenial = deps.denials.note;
  const auditRefusal = deps.decisions.refuse;
  const noteAllowed = deps.decisions.allow;
  const writeFault = createWriteFault({ write, dialects, toFault, log, statusFor, noteDenial, auditRefusal, refused });
  // Where a status is read by a protocol and not by a client of the interface, 200 would say yes.
  const writeHonestFault = createWriteFault({
    write,
    dialects,
    toFault,
    log,
    statusFor: honestStatus,
    noteDenial,
    auditRefusal,
    refused,
  });
  const upstreams = createUpstreams(deps.upstreams, settings, origin);
  const signFor = createSignFor({ signers: createSigners(deps) });
  const { protocol, host } = new URL(origin);
  const facts = {
    ...{ proto: protocol.slice(0, -1), host, trustsTraces: deps.trustsTraces },
    passedClaims: new Map(Object.entries(table.upstreams).map(([name, policy]) => [name, new Set(policy.passHeaders)])),
  };
  const routes = compileRoutes(table);
  const scopes = table.scopes.map(({ name }) => name);
  const { noteDryRun } = deps;
  // For whoever must be told no: OPTIONS is answered to nobody in particular, so it allows nothing.
  const answerOptions = (_exchange: Exchange, allow: string): never => {
    throw methodNotAllowed(allow);
  };
  const { authenticate, requireProof, recordUse, limits } = deps;
  const steps = createDecisionSteps({
    routes,
    authenticate,
    requireProof,
    recordUse,
    limits,
    noteAllowed,
    answerOptions,
    noteDryRun,
    countAuthentication,
  });
  const upgrades = createUpgrades({
    upstreams,
    steps,
    authenticate,
    requireProof,
    recordUse,
    signFor,
    facts,
    edgeHeaders,
    settle,
    answered,
    translate: createTranslateError({
      write,
      writeFault: writeHonestFault,
      noteDenial,
      auditRefusal,
      dialects,
      scopes,
      statusFor: honestStatus,
    }),
    writeFault: writeHonestFault,
    upgradesMax: settings.upgrades_max,
    idleMs: settings.upgrade_idle_ms,
  });
  const pipeline = createPipeline({
    routes,
    noteDryRun,
    countAuthentication,
    authenticate,
    requireProof,
    recordUse,
    limits,
    noteAllowed,
    answerSelf: createAnswerSelf({ db: deps.db, table, policies: limits.policies, denials: deps.denials, write }),
    assertIdentity: createAssertIdentity(signFor),
    forward: createForward({
      settle,
      answered,
      upstreams,
      signFor,
      facts,
      edgeHeaders,
      translate: createTranslateError({ write, writeFault, noteDenial, auditRefusal, dialects, scopes, statusFor }),
      writeFault,
    }),
    write,
    writeFault,
  });
  const requestIds = createRequestIds(Date.now);
  const front = {
    requestIds,
    dpop: dialects.dpop,
    recordDecision: createRecordDecision({ log, nowMs: () => performance.now() }),
    traceRequest:
      deps.traces === undefined
        ? undefined
        : createTraceRequest({ traces: deps.traces, origin, continues: deps.trustsTraces }),
    checkRequestHead: createCheckRequestHead({
      urlBytesMax: settings.url_bytes_max,
      headerBytesMax: settings.header_bytes_max,
    }),
    ownPaths: createOwnPaths({
      oauth: deps.oauth,
      pages: deps.pages,
      readiness: deps.readiness,
      answered,
      edgeHeaders,
      writeFault: writeHonestFault,
    }),
    authCheck:
      settings.auth_check === 'off'
        ? undefined
        : createAuthCheck({
            urlBytesMax: settings.url_bytes_max,
            steps,
            audiences: new Set(settings.auth_check_audiences),
            signFor,
            write,
            writeFault: writeHonestFault,
          }),
    pipeline,
    // Of heads, which the protocol and its proxies judge, not a client of the interface.
    writeFault: writeHonestFault,
  };
  return {
    handler: createFront(front, false),
    refuseHead: createRefuseHead(front),
    continueHandler: createFront(front, true),
    expectationHandler: createExpectationFront(front),
    connectHandler: createRefuseUpgrade(front, ({ path }) => {
      const place = findPath(routes, path);
      return place === undefined ? noSuchOperation() : methodNotAllowed(place.allow);
    }),
    clientErrorHandler: createOnClientError({ edgeHeaders, dialects, requestIds, log, answered, refused }),
    wantsUpgrade: createWantsUpgrade(routes),
    upgradeHandler: createUpgradeFront({ ...front, serve: upgrades.serve }),
    addressesOut: () =>
      [...upstreams.values()].flatMap(({ addresses }) => addresses).filter(({ health }) => health.outUntilMs !== 0)
        .length,
    endUpgrades: upgrades.close,
    close: async () => {
      upgrades.close();
      await Promise.all(
        [...upstreams.values()].flatMap(({ addresses }) => addresses.map(({ connections }) => connections.destroy())),
      );
    },
  };
};

const createSigners = ({ upstreams, box, clock }: AssembleDeps): Map<string, SignAssertion> => {
  const key = box.derive('assertion');
  const now = (): number => clock.now().getTime();
  return new Map(Object.keys(upstreams).map((audience) => [audience, createAssertionSigner({ key, audience, now })]));
};

/** A store that is away is worth a retry; anything else that is not a Fault is a defect. */
const toFault = (thrown: unknown): Fault | undefined => {
  if (thrown instanceof Fault) return thrown;
  return isTransient(thrown) ? storeUnavailable(thrown) : undefined;
};
