/**
 * The public door: OAuth server, access policy and proxy in front of any upstream.
 *
 * Owns credentials and tokens, the route table with its scopes, the three error dialects, and every check of a request
 * before an upstream gets it; the audit, with its signed checkpoints and the signals that partners receive from it; reports
 * of leaked credentials. The service behind owns parameters, idempotency and the operation itself.
 * Names of that service are in config/routes.json only.
 *
 * README.md beside this file shows the way of a request. pipeline.ts lists the steps; createGateway below joins the parts.
 */
import type { Middleware } from 'koa';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { loadMigrations } from '#src/platform/db/schema/migrate.ts';
import { createWriteProbe } from '#src/platform/db/write-probe.ts';
import type { ClientAuthorities } from '#src/platform/http/tls/client-authorities.ts';
import type { CertificateState } from '#src/platform/http/tls/open-certificate.ts';
import { createMemoryKv, type Kv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import type { Traces } from '#src/platform/telemetry/traces.ts';
import { openAuthCheck } from './access/auth-check.ts';
import { type Access, openAccess } from './access/open-access.ts';
import { type Answers, openAnswers } from './answer/open-answers.ts';
import type { WriteAnswer } from './answer/write-answer.ts';
import { type Audit, openAudit } from './audit/open-audit.ts';
import { signalScopes } from './audit/signals/config.ts';
import { openSignals, type Signals } from './audit/signals/endpoints/open-signals.ts';
import { type GatewaySettings, type RouteTable, routesFileOf } from './config.ts';
import { createDropEnded } from './credentials/change/drop-ended.ts';
import { readEpoch } from './credentials/lookup/epoch-store.ts';
import { type FetchDocument, noDocuments } from './credentials/trust/fetch-document.ts';
import { createCheckVersion } from './edge/check-version.ts';
import { createGatewayMetrics, type GatewayMetrics } from './edge/gateway-metrics.ts';
import { type Mcp, openMcp } from './edge/mcp/open-mcp.ts';
import { openDoor, type PublicDoor } from './edge/open-door.ts';
import { bodyOf, type Page } from './edge/pages.ts';
import { createReadiness, type Readiness } from './edge/readiness.ts';
import { openLeakReports } from './incident/leak/open-leak-reports.ts';
import { createCallerTurns, type InCallerTurn } from './limits/caller-turns.ts';
import { createChangeTurns } from './limits/change-turns.ts';
import { createLimits } from './limits/limits.ts';
import { methodNotAllowed } from './model/faults.ts';
import { turnedOnPaths } from './model/route-path.ts';
import { openSigningKeys } from './oauth/keys/signing-keys.ts';
import { openOAuth } from './oauth/open-oauth.ts';
import { createPipeline, type Steps, stepsFor } from './pipeline.ts';
import { createDryRunLog, type DryRunLog } from './policy/dry-run-log.ts';
import { createSimulateFault } from './policy/simulate-fault.ts';
import { createTryScopes } from './policy/try-scopes.ts';
import { createClientCertificates } from './request/client-certificate.ts';
import { createLimitBody } from './request/limit-body.ts';
import { createChooseCell } from './routing/choose-cell.ts';
import { createAllowOrigins } from './routing/cors.ts';
import { loadVersion } from './routing/load-route-table.ts';
import { createMatchRoute } from './routing/match-route.ts';
import { createCurrent } from './routing/reload/current.ts';
import { createRequestWatch } from './routing/reload/follow-requests.ts';
import { openReload, type SharedTable } from './routing/reload/open-reload.ts';
import type { Reloaded, TableReloader } from './routing/reload/reload-table.ts';
import { readRequest } from './routing/reload/served-store.ts';
import { rewriteTarget } from './routing/rewrite-target.ts';
import { type CompiledRoutes, compileRoutes } from './routing/route-table.ts';
import { upstreamNames } from './upstream/addresses/resolve-upstreams.ts';
import { createSharedUpstreams, type SharedUpstreams } from './upstream/addresses/shared-upstreams.ts';
import { openUpstreams } from './upstream/open-upstreams.ts';
import { createTunnels, type Tunnels } from './upstream/tunnels.ts';
import { createAnswerSelf } from './whoami/answer-self.ts';
import { createDenialLog, type DenialLog } from './whoami/denial-log.ts';
import { createRequestLists, type RequestLists } from './whoami/requests/list-requests.ts';
import { type OpenedRequestLog, openRequestLog } from './whoami/requests/open-request-log.ts';

export { type CallerUsage, reportCallerUsage, reportUsage } from './access/quotas/report-usage.ts';
export { copyExternalHeads, isHeadsFile, openExternalHeads } from './audit/chain/external-heads.ts';
export { type AuditAction, auditActions } from './audit/event/event.ts';
export type { FoundEvent } from './audit/event/found-event.ts';
export { appendChange } from './audit/record/append-change.ts';
export { chartAudit } from './audit/search/chart-audit.ts';
export {
  type ExportRequest,
  exportAudit,
} from './audit/search/export-audit.ts';
export { exportFound } from './audit/search/export-found.ts';
export { listOnlyRefused } from './audit/search/hours-store.ts';
export { listAuditAlarms, readRefusedHours } from './audit/search/recent-alarms-store.ts';
export {
  assertNoCredential,
  findAuditEvent,
  newestEvent,
  searchAudit,
} from './audit/search/search-audit.ts';
export { createSignalAdmin } from './audit/signals/admin/signal-admin.ts';
export { openSignalSender } from './audit/signals/delivery/open-sender.ts';
export { createSignalUpkeep } from './audit/signals/delivery/upkeep.ts';
export { newestCheckpoint, proveConsistency, proveEvent } from './audit/tree/prove.ts';
export { describeTree } from './audit/tree/tree-state-store.ts';
export { verifyCheckpoint } from './audit/tree/verify-checkpoint.ts';
export { witnessedCheckpoint } from './audit/tree/witness/witness.ts';
export { listHeads } from './audit/verify/verification-store.ts';
export { verifyAgainst } from './audit/verify/verify-against.ts';
export { type VerifiedAudit, verifyAudit } from './audit/verify/verify-audit.ts';
export { listVerifications, startVerification } from './audit/verify/verify-in-background.ts';
export { gatewaySettings } from './config.ts';
export { readGivenCertificate } from './credentials/change/certificates.ts';
export { type Credentials, createCredentials } from './credentials/credentials.ts';
export { readChangedCredentials, readClientRights } from './credentials/lookup/client-rights-store.ts';
export { type CredentialState, credentialVersion, readEpoch } from './credentials/lookup/epoch-store.ts';
export { findKeysOf, keysNamed } from './credentials/lookup/key-name-store.ts';
export { newestClientUse } from './credentials/lookup/use-store.ts';
export {
  listElsewhere,
  listFailingCallers,
  listNearLimits,
  listNewestRefusals,
  listQuarantined,
  readTenantAccess,
} from './credentials/show/attention-store.ts';
export { findClientsByName, readClientNames } from './credentials/show/client-page-store.ts';
export { listEndingCredentials } from './credentials/show/ending-credentials-store.ts';
export { listEndingKeys, listEndingKeysOf } from './credentials/show/ending-keys-store.ts';
export { clientOfId, tenantOfKey } from './credentials/show/holder-store.ts';
export { findKeysByName, listOpenTenants } from './credentials/show/key-page-store.ts';
export { listLiveCredentials } from './credentials/show/live-credentials.ts';
export { readNames } from './credentials/show/name-store.ts';
export { pageClients, pageGrants } from './credentials/show/page-clients.ts';
export { readBounds } from './credentials/show/show-bounds.ts';
export { createKeyViews } from './credentials/show/show-keys.ts';
export { lockCredential } from './credentials/state/limit-store.ts';
export { attachDoor } from './edge/attach-door.ts';
export { gatewayServerOptions } from './edge/client-error.ts';
export type { DoorHandlers } from './edge/front.ts';
export { type ConnectionBound, createConnectionBound } from './edge/node-http/bound-connections.ts';
export type { Page } from './edge/pages.ts';
export { createRedirectDoor } from './edge/redirect-door.ts';
export { createStartingDoor } from './edge/starting-door.ts';
export { listReportedLeaks } from './incident/leak/reported-store.ts';
export { listLiveTokens } from './incident/live-tokens.ts';
export { readHashedTrace, readTrace } from './incident/read-trace.ts';
export { revokeHashed, revokeTraced } from './incident/revoke-traced.ts';
export type { Traced } from './incident/trace-credential.ts';
export { readNetworks } from './limits/address-list.ts';
export { createReadSource } from './limits/source-address.ts';
export { replaceSigningKeys, rotateSigningKey } from './oauth/keys/rotate-signing-key.ts';
export { revokePresentedToken } from './oauth/revoke-presented-token.ts';
export { reportClientUse } from './policy/client-use.ts';
export { newestCall } from './policy/client-use-store.ts';
export { reportDryRuns } from './policy/dry-run-report.ts';
export { pageDryRuns } from './policy/page-dry-runs.ts';
export { shrinkClientScopes } from './policy/shrink-scopes.ts';
export { reportUnusedScopes } from './policy/unused-scopes.ts';
export type { TableState } from './routing/reload/open-reload.ts';
export {
  listSeenTables,
  listServedTables,
  type ReloadAnswers,
  requestReload,
} from './routing/reload/request-reload.ts';
export { type ProbedAddress, probeUpstream } from './upstream/addresses/probe-upstream.ts';
export { readDenial } from './whoami/denial-log.ts';
export { type DescribedSelfOperation, describedSelfOperations } from './whoami/described-operations.ts';
export { findCallingKeys, findRefusedCallers } from './whoami/requests/find-request-store.ts';
export { createRequestLists } from './whoami/requests/list-requests.ts';
export type { RequestFilter } from './whoami/requests/request-store.ts';
export type { Readiness };

export const gatewayMigrations = loadMigrations('gateway', new URL('./migrations/', import.meta.url));

export type GatewayDeps = {
  settings: GatewaySettings;
  /** Authorization for the receiver of the audit now. Default: that of the settings. */
  readAuditAuthorization?: () => string | undefined;
  /** Private key for checkpoints of the audit now, in PEM. Default: that of the settings. */
  readAuditKey?: () => string | undefined;
  /** Public address: issuer of tokens and base of links. */
  origin: string;
  db: Kysely<unknown>;
  /** For loops that have time (platform/db/pool.ts, createBackground). Default: `db`. */
  background?: Kysely<unknown>;
  pool: Pool;
  /** Connections that keep their session, for LISTEN. Default: `pool`. */
  sessions?: Pool;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  /** Name in the route table -> address, several separated by `|`. They win over addresses in the table. */
  upstreams: Readonly<Record<string, string>>;
  /** Path below /.well-known/ → body: public documents of other parts, served as the gateway's own. */
  moreDocuments?: Readonly<Record<string, () => string>>;
  /** What forbids that security events are pushed to an address; undefined: nothing. Default: none may be. */
  pushProblem?: (url: string) => Promise<string | undefined>;
  /** Public pages and documents at paths of their own, answered before any route. */
  pages?: (table: RouteTable) => ReadonlyMap<string, Page>;
  /** Own paths that the settings of other parts turn off, so that routes may have them. Default: none. */
  freePaths?: readonly string[];
  /** For /readyz. Default: the listeners have no certificate. */
  certificateState?: () => CertificateState | undefined;
  /** Of certificates by which clients are known by name (RFC 8705). Default: there are none. */
  clientAuthorities?: ClientAuthorities | undefined;
  /** For /readyz: the process is about to stop. Default: it is not. */
  isDraining?: () => boolean;
  /** For /readyz. Undefined: one process. */
  processesState?: (() => 'ok' | 'missing') | undefined;
  /** Where several processes are one gateway. Default: the first table is that of its file. */
  sharedTable?: SharedTable | undefined;
  /** Reads public keys of issuers and of those who report leaks. Default: none are read. */
  fetchDocument?: FetchDocument;
  /** Default: limits are this process's own. */
  kv?: Kv;
  /** Default: counted and not shown. */
  metrics?: Metrics;
  /** Default: nothing is traced. */
  traces?: Traces | undefined;
  /** Trace context of callers is used: their trace and their sampling decision. Default: it is ignored. */
  trustsTraces?: boolean;
};

/** To be served with `gatewayServerOptions` and `attachDoor`. */
export type Gateway = PublicDoor & {
  /** Reads the route table again (routing/reload). Never rejects. `actor`: who asked for it, for the audit. */
  reloadRoutes(actor: string): Promise<Reloaded>;
  /** The table that is served now. */
  routeTable(): RouteTable;
  /** What /readyz answers. Never rejects, and answers within little more than 2 s. */
  readiness(): Promise<Readiness>;
  services: Service[];
  /** Ends upgraded connections: they have left the server, which would wait for them when it closes. */
  endUpgrades: () => void;
  close: () => Promise<void>;
};

/** Rejects when the route table cannot be used or the store cannot be read. */
export const createGateway = async (deps: GatewayDeps): Promise<Gateway> => {
  const { settings, db, background = db, box, clock, log } = deps;
  const requests = createRequestWatch(deps.sharedTable?.handed?.request ?? (await readRequest(db)).number);
  const first = deps.sharedTable?.handed ?? loadVersion(routesFileOf(settings), Object.keys(deps.upstreams));
  const current = createCurrent<ServedTable>();
  const kv = deps.kv ?? createMemoryKv();
  const metrics = createGatewayMetrics(deps.metrics ?? createMetrics({ process: false }), () => performance.now());
  const { refused, token: countToken, authenticated: countAuthentication } = metrics;
  const keys = await openSigningKeys({ db, box, clock, settings });
  const limits = createLimits(settings, kv);
  const audit = await openAudit({ ...deps, background });
  const known = { ...deps, ...defaultsOf(deps), limits, audit, keys, kv, inChangeTurn: createChangeTurns() };
  const access = openAccess({
    ...known,
    pool: deps.sessions ?? deps.pool,
    beside: requests.beside,
    countAuthentication,
    observeLag: metrics.revocationLag,
    authenticate: (...presented) => current.get().authenticate(...presented),
    probed: (exchange, callerId) => requestLog.probed(exchange, callerId),
  });
  const logs = openLogs({ ...deps, background }, metrics, access);
  const { requestLog } = logs;
  const answers = openAnswers({ ...deps, ...requestLog, refused, auditRefusal: access.decisions.refuse });
  const sharedUpstreams = createSharedUpstreams(deps.origin, log);
  const tunnels = createTunnels(settings.upgrades_max);
  const mcp = await openMcp(settings, deps.origin);
  const shared = { ...deps, ...logs, access, answers, metrics, sharedUpstreams, tunnels, mcp };
  const prepare = (table: RouteTable): Prepared => {
    const served = serveTable(shared, table);
    return { swap: () => current.swap(served), discard: served.close };
  };
  prepare(first.table).swap();
  const file = routesFileOf(settings);
  const reload = openReload({ ...deps, background, file, first, requests, prepare, count: metrics.reloaded });
  const oauth = openOAuth({
    ...known,
    moreDocuments: { ...deps.moreDocuments, '/.well-known/audit-log': audit.logDocument },
    access,
    countToken,
    tokenRefused: requestLog.tokenRefused,
    resources: turnedOnPaths(settings),
    allScopes: () => current.get().scopes,
    table: () => current.get().table,
    inspectToken: (token) => current.get().inspectToken(token),
  });
  const leakReports = openLeakReports({ ...known, access, count: metrics.leakReport });
  const signals = await openSignals({ ...known, access, current });
  const readiness = openReadiness(deps, kv, audit, reload);
  const answering = { oauth: withSignals(signals, oauth), leakReports, mcp, readiness };
  const door = openDoor({ ...deps, current, answers, metrics, ...answering });
  metrics.watch({
    auditWaiting: audit.recorder.waiting,
    auditLag: audit.recorder.lag,
    auditProblems: audit.problems,
    tokenCache: access.tokens.figures,
    credentialCache: access.credentials.figures,
    sharedHealth: kv.health,
    upstreamAddresses: () => current.get().upstreamAddresses(),
    routeTable: () => ({ version: reload.current().version, isRefused: reload.problems().length > 0 }),
  });
  const endUpgrades = (): void => closeUpgrades(current.all());
  return {
    ...door,
    reloadRoutes: reload.reload,
    routeTable: () => reload.current().table,
    readiness,
    endUpgrades,
    services: [...audit.services, ...access.services, keys.service, ...logs.services, ...reload.services],
    close: async () => {
      limits.close();
      signals?.close();
      endUpgrades();
      await Promise.all(current.all().map((served) => served.close()));
      await access.close();
    },
  };
};

const closeUpgrades = (tables: readonly Pick<ServedTable, 'upgrades'>[]): void => {
  for (const { upgrades } of tables) upgrades.close();
};

const defaultsOf = ({ settings, clientAuthorities, fetchDocument = noDocuments }: GatewayDeps) => ({
  certificates: createClientCertificates(settings, clientAuthorities),
  fetchDocument,
});

/** What callers and staff read later about single requests, beside the audit. */
const openLogs = (
  { settings, db, background, clock, log, box }: GatewayDeps & { background: Kysely<unknown> },
  metrics: GatewayMetrics,
  { decisions }: Access,
) => {
  const dryRuns = createDryRunLog({ db, clock, log });
  const denials = createDenialLog({ db, clock, log });
  const days = settings.request_log_days;
  const requestLog = openRequestLog({
    ...{ days, db, background, clock, log },
    dropped: metrics.requestsDropped,
    hooks: { noteDenial: denials.note, answered: metrics.answered, settle: decisions.settle },
  });
  const requestLists = createRequestLists({ db, clock, box, days });
  const inSelfTurn = createCallerTurns();
  const dropEnded = createDropEnded({ db: background, clock, log }, settings.audit_days);
  const services = [dryRuns.service, ...denials.services, ...requestLog.services, dropEnded];
  return { dryRuns, denials, requestLog, requestLists, inSelfTurn, services };
};

/** The transmitter answers its own paths and leaves the others. */
const withSignals = (signals: Signals | undefined, oauth: Middleware): Middleware =>
  signals === undefined ? oauth : (ctx, next) => signals.middleware(ctx, () => oauth(ctx, next));

type Prepared = { swap: () => void; discard: () => Promise<void> };

/** What every route table uses. */
type SharedParts = Omit<GatewayDeps, 'metrics'> & {
  access: Access;
  answers: Answers;
  metrics: GatewayMetrics;
  dryRuns: DryRunLog;
  denials: DenialLog;
  requestLog: OpenedRequestLog;
  requestLists: RequestLists;
  /** For answers about the caller itself. */
  inSelfTurn: InCallerTurn;
  sharedUpstreams: SharedUpstreams;
  tunnels: Tunnels;
  mcp: Mcp | undefined;
};

/** Everything that depends on one route table. Throws when the table cannot be served, with nothing left open. */
const serveTable = (shared: SharedParts, described: RouteTable) => {
  const table = withSignalScopes(described, shared.settings);
  const { settings, db, clock, access, answers, metrics, dryRuns, denials, requestLog } = shared;
  const routes = compileRoutes(table);
  const {
    authenticate,
    inspectToken,
    identifyTo,
    recheckCaller,
    steps: accessSteps,
  } = access.forTable(table, upstreamNames(table.upstreams, shared.upstreams));
  const { requestLists: lists, inSelfTurn: inTurn } = shared;
  const answerSelf = createAnswerSelf({ db, clock, table, denials, lists, inTurn, write: answers.write });
  const pages = shared.pages?.(described) ?? new Map<string, Page>();
  const upstreams = openUpstreams({
    ...shared,
    table,
    access: { recheckCaller, identifyTo, decisions: { ...access.decisions, settle: requestLog.settle } },
    noteDenial: requestLog.noteDenial,
    answered: requestLog.answered,
    repeated: metrics.repeated,
  });
  const steps: Steps = {
    ...matchRouteSteps(table, routes, answers.write),
    checkVersion: createCheckVersion(),
    ...accessSteps,
    tryScopes: createTryScopes({ noteDryRun: dryRuns.note }),
    simulateFault: createSimulateFault(),
    chooseCell: createChooseCell(table),
    limitBody: createLimitBody(),
    rewriteTarget,
    answerSelf,
    ...upstreams.steps,
  };
  const upgrades = upstreams.openUpgrades(stepsFor('upgrade', steps));
  return {
    table,
    routes,
    pages,
    scopes: table.scopes.map(({ name }) => name),
    authenticate,
    inspectToken,
    identifyCaller: accessSteps.identifyCaller,
    recheckCaller,
    pipeline: createPipeline(stepsFor('plain', steps), answers.writeFault),
    authCheck: openAuthCheck({ settings, steps: stepsFor('check', steps), identifyTo, answers }),
    mcp: shared.mcp && { toolSet: shared.mcp.describe(documentOf(pages), table), steps: accessSteps },
    upgrades,
    upstreamAddresses: upstreams.addresses,
    close: upstreams.close,
  };
};

/** The document of the operations does not have these scopes: no operation needs one. */
const withSignalScopes = (table: RouteTable, settings: GatewaySettings): RouteTable => {
  const names = signalScopes(settings).filter((name) => table.scopes.every((scope) => scope.name !== name));
  const scopes = names.map((name) => ({ name, description: 'Streams of security events (Shared Signals)' }));
  return scopes.length === 0 ? table : { ...table, scopes: [...table.scopes, ...scopes] };
};

/** The OpenAPI document among the pages. */
const documentOf = (pages: ReadonlyMap<string, Page>): ReturnType<typeof bodyOf> => {
  const page = pages.get('/api/openapi.json');
  return page === undefined ? undefined : bodyOf(page);
};

type ServedTable = ReturnType<typeof serveTable>;

/** An operation's OPTIONS is answered to every client; on behalf of another proxy it would allow a request without a caller. */
const matchRouteSteps = (
  table: RouteTable,
  routes: CompiledRoutes,
  write: WriteAnswer,
): Pick<Steps, 'matchRoute' | 'matchRouteOnly'> => ({
  matchRoute: createMatchRoute({
    routes,
    answerOptions: (exchange, allow) => write(exchange, { status: 204, headers: ['allow', allow], body: undefined }),
    allowOrigins: createAllowOrigins({
      routes,
      table,
      answerPreflight: (exchange, headers) => write(exchange, { status: 204, headers, body: undefined }),
    }),
  }),
  matchRouteOnly: createMatchRoute({
    routes,
    answerOptions: (_exchange, allow) => {
      throw methodNotAllowed(allow);
    },
  }),
});

const openReadiness = (
  { db, certificateState, isDraining, processesState }: GatewayDeps,
  kv: Kv,
  { recorder }: Audit,
  { current, problems }: TableReloader,
): (() => Promise<Readiness>) =>
  createReadiness({
    isDraining: isDraining ?? (() => false),
    checkStore: async () => {
      await readEpoch(db);
    },
    checkWrites: createWriteProbe(db),
    sharedHealth: kv.health,
    auditLag: recorder.lag,
    certificateState: certificateState ?? (() => undefined),
    routes: () => ({ version: current().version, isRefused: problems().length > 0 }),
    processesState: processesState ?? (() => undefined),
  });
