/**
 * The public door: OAuth server, access policy and proxy in front of any upstream.
 *
 * Owns credentials and tokens, the route table with its scopes, the three error dialects, and everything that must be true
 * of a request before an upstream sees it. It leaves to the service behind: parameters, idempotency, the operation itself.
 * It knows no word of that service's trade; those stand in config/routes.json only.
 *
 * The way through: front (id, head) -> own-paths (health, oauth/) or pipeline: routing/match-route -> edge/check-version ->
 * access/identify-caller -> access/require-scopes -> access/limit-rate (limits/) -> edge/limit-body -> whoami/answer-self or
 * upstream/assert-identity -> upstream/forward -> upstream/relay-answer or upstream/translate-errors. Whatever refuses
 * throws a Fault (faults.ts), which edge/write-answer renders (edge/dialects). The same decision serves WebSockets
 * (upstream/upgrade) and other proxies (access/auth-check). assemble.ts joins the parts. Beside the way: credentials/ and
 * oauth/ (what is issued and revoked), dpop/ (proofs of bound tokens), audit/ (who did what, chained and signed).
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { loadMigrations } from '#src/platform/db/migrate.ts';
import { createWriteProbe } from '#src/platform/db/write-probe.ts';
import { createMemoryKv, type Kv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import type { Traces } from '#src/platform/telemetry/traces.ts';
import { createAuthenticator } from './access/authenticate.ts';
import { createBearerTokens } from './access/bearer-tokens.ts';
import { createAuditDecisions } from './access/record-decision.ts';
import { assemble, type PublicDoor } from './assemble.ts';
import { openExternalHeads } from './audit/chain/external-heads.ts';
import { createFingerprint } from './audit/event/fingerprint.ts';
import { openRecorder } from './audit/record/recorder.ts';
import { createAuditRetention } from './audit/retention/retention.ts';
import { createAuditHours } from './audit/search/hours.ts';
import { createAuditSinks } from './audit/sinks/feed-sinks.ts';
import { createAuditGuard } from './audit/verify/guard.ts';
import { type GatewaySettings, loadRouteTable, routesFileOf } from './config.ts';
import { createRevokeToken } from './credentials/change/revoke-token.ts';
import { createCredentialCache } from './credentials/lookup/cache.ts';
import { createCredentialUse } from './credentials/lookup/count-use.ts';
import { readEpoch } from './credentials/lookup/epoch-store.ts';
import { createDpop } from './dpop/dpop.ts';
import { createGatewayMetrics } from './edge/gateway-metrics.ts';
import type { Page } from './edge/pages.ts';
import { createReadiness } from './edge/readiness.ts';
import { createLimits } from './limits/limits.ts';
import { createThrottle } from './limits/throttle.ts';
import { createAuditOAuth } from './oauth/audit-oauth.ts';
import { createCountFailure, createLimitFailures } from './oauth/limit-failures.ts';
import { createOAuth } from './oauth/oauth.ts';
import { openSigningKeys } from './oauth/signing-keys.ts';
import { tokenPath } from './oauth/token-issuer.ts';
import { markAssertionUsed } from './oauth/used-assertion-store.ts';
import { createDryRunLog } from './policy/dry-run-log.ts';
import { createDenialLog } from './whoami/denial-log.ts';

export { openExternalHeads } from './audit/chain/external-heads.ts';
export { type AuditProblemKind, kindOfAuditProblem } from './audit/chain/problem.ts';
export { type AuditAction, auditActions } from './audit/event/event.ts';
export { appendChange } from './audit/record/append-change.ts';
export { type AuditChart, type ChartDimension, chartAudit } from './audit/search/chart-audit.ts';
export {
  type ExportedAudit,
  type ExportFormat,
  type ExportRequest,
  exportAudit,
  exportFormats,
} from './audit/search/export-audit.ts';
export { exportFound } from './audit/search/export-found.ts';
export {
  type FoundAudit,
  findAuditEvent,
  newestEvent,
  searchAudit,
  searchLimitMax,
} from './audit/search/search-audit.ts';
export { listHeads, type SignedHead } from './audit/verify/verification-store.ts';
export { type ComparedAudit, verifyAgainst } from './audit/verify/verify-against.ts';
export { type VerifiedAudit, verifyAudit } from './audit/verify/verify-audit.ts';
export { listVerifications, startVerification, type Verification } from './audit/verify/verify-in-background.ts';
export { type GatewaySettings, gatewaySettings } from './config.ts';
export { type Credentials, createCredentials } from './credentials/credentials.ts';
export { readEpoch } from './credentials/lookup/epoch-store.ts';
export { newestClientUse } from './credentials/lookup/use-store.ts';
export {
  findCredential,
  type LiveCredential,
  type LiveKind,
  listLiveCredentials,
  liveKinds,
} from './credentials/show/live-credentials.ts';
export {
  type ClientSearch,
  type ListedClient,
  listTenantStates,
  pageClients,
  pageGrants,
} from './credentials/show/page-clients.ts';
export type { CredentialState, ShownClient, ShownCredential } from './credentials/show/show-credentials.ts';
export { createKeyViews, type KeyViews, type ShownKey } from './credentials/show/show-keys.ts';
export { attachDoor } from './edge/attach-door.ts';
export { gatewayServerOptions } from './edge/client-error.ts';
export type { DoorHandlers } from './edge/front.ts';
export type { Page } from './edge/pages.ts';
export { createStartingDoor } from './edge/starting-door.ts';
export type { IssuedToken } from './incident/issued-tokens.ts';
export { listLiveTokens } from './incident/live-tokens.ts';
export { revokeHashed, revokeTraced } from './incident/revoke-traced.ts';
export { traceCredential } from './incident/trace-credential.ts';
export { type HashedCredential, type HashedTrace, traceHashed } from './incident/trace-hashed.ts';
export { createSourceOf } from './limits/source-address.ts';
export { type PresentedToken, revokePresentedToken } from './oauth/revoke-presented-token.ts';
export { type RotatedKey, rotateSigningKey } from './oauth/rotate-signing-key.ts';
export { type ClientUse, reportClientUse } from './policy/client-use.ts';
export { newestCall } from './policy/client-use-store.ts';
export { reportDryRuns } from './policy/dry-run-report.ts';
export { pageDryRuns } from './policy/page-dry-runs.ts';
export { shrinkClientScopes } from './policy/shrink-scopes.ts';
export { reportUnusedScopes } from './policy/unused-scopes.ts';
export { type DescribedSelfOperation, describedSelfOperations } from './whoami/described-operations.ts';

export const gatewayMigrations = loadMigrations('gateway', new URL('./migrations/', import.meta.url));

export type GatewayDeps = {
  settings: GatewaySettings;
  /** Public address: issuer of tokens and base of links. */
  origin: string;
  db: Kysely<unknown>;
  pool: Pool;
  box: SecretBox;
  clock: Clock;
  log: Logger;
  /** Name in the route table -> address, several apart by `|`. */
  upstreams: Readonly<Record<string, string>>;
  /** Path below /.well-known/ → body: public documents of other parts, served as the gateway's own. */
  moreDocuments?: Readonly<Record<string, () => string>>;
  /** Public pages and documents at paths of their own, answered before any route. */
  pages?: ReadonlyMap<string, Page>;
  /** Default: limits are this process's own. */
  kv?: Kv;
  /** Default: counted and shown to nobody. */
  metrics?: Metrics;
  /** Default: nothing is traced. */
  traces?: Traces | undefined;
  /** Callers say which trace a request belongs to, and whether it is sampled. Default: they do not. */
  trustsTraces?: boolean;
};

/** To be served with `gatewayServerOptions` and `attachDoor`. */
export type Gateway = PublicDoor & { services: Service[] };

/** Rejects when the route table cannot be used or the store cannot be read. */
export const createGateway = async (deps: GatewayDeps): Promise<Gateway> => {
  const { settings, origin, db, pool, box, clock, log } = deps;
  const table = loadRouteTable(routesFileOf(settings), Object.keys(deps.upstreams));
  const allScopes = table.scopes.map(({ name }) => name);
  const keys = await openSigningKeys({ db, box, clock, settings });
  const metrics = createGatewayMetrics(deps.metrics ?? createMetrics({ process: false }), () => performance.now());
  const observeLag = metrics.revocationLag;
  const credentials = createCredentialCache({ db, pool, box, clock, log, observeLag, onChange: keys.reload });
  const use = createCredentialUse({ db, clock, log });
  const tokens = createBearerTokens({ origin, clock, findKey: keys.find });
  const kv = deps.kv ?? createMemoryKv();
  const limits = createLimits(settings, kv);
  const denials = createDenialLog({ db, clock, log });
  const { failures, sourceOf } = limits;
  const processName = `${hostname()}:${process.pid}`;
  const recorder = await openRecorder({ db, box, clock, log, process: processName });
  const audited = { recorder, fingerprint: createFingerprint(box), sourceOf };
  const { authenticate, inspectToken } = createAuthenticator({
    credentials,
    tokens,
    box,
    clock,
    failures,
    sourceOf,
    allScopes,
    apiKeyScopes: table.apiKeyScopes,
  });
  const dpop = createDpop({ settings, origin, db, box, clock, failures, sourceOf });
  const oauth = createOAuth({
    ...{ origin, box, clock, settings, allScopes, keys, credentials, realm: settings.realm, log },
    moreDocuments: deps.moreDocuments,
    dpop,
    ...{ tokens, inspectToken, recordUse: use.record, revokeToken: createRevokeToken({ db, box, clock }) },
    limitFailures: createLimitFailures({ failures, sourceOf }),
    countFailure: createCountFailure({ failures, sourceOf }),
    audit: createAuditOAuth({ ...audited, countToken: metrics.token }),
    throttleIntrospection: createThrottle({ kv, name: 'introspect', callsMax: 600, windowSeconds: 60 }),
    assertions: {
      clock,
      audiences: [origin, origin + tokenPath],
      markUsed: (assertion, now) => markAssertionUsed(db, assertion, now),
    },
  });
  const checkStore = async (): Promise<void> => {
    await readEpoch(db);
  };
  const readiness = createReadiness({
    checkStore,
    checkWrites: createWriteProbe(db),
    sharedHealth: kv.health,
    auditLag: recorder.lag,
  });
  const dryRuns = createDryRunLog({ db, clock, log });
  const door = assemble({
    metrics,
    noteDryRun: dryRuns.note,
    pages: deps.pages ?? new Map(),
    settings,
    origin,
    table,
    upstreams: deps.upstreams,
    box,
    clock,
    log,
    authenticate,
    requireProof: dpop?.requireProof,
    recordUse: use.record,
    oauth,
    limits: limits.rates,
    denials,
    decisions: createAuditDecisions({ ...audited, authenticate }),
    db,
    readiness,
    traces: deps.traces,
    trustsTraces: deps.trustsTraces ?? false,
  });
  metrics.watch({
    auditWaiting: recorder.waiting,
    auditLag: recorder.lag,
    auditProblems: () => openExternalHeads(box).problems().length,
    tokenCache: tokens.figures,
    sharedHealth: kv.health,
    readiness,
    storeWaiting: () => pool.waitingCount,
    upstreamsOut: door.addressesOut,
  });
  const close = async (): Promise<void> => {
    limits.close();
    await door.close();
  };
  const retention = createAuditRetention({ db, box, clock, log }, settings.audit_days);
  const services = [
    recorder.service,
    retention,
    createAuditGuard({ db, box, clock, log }),
    createAuditHours({ db, clock, log }),
    ...createAuditSinks({ db, box, log, holder: `${processName}:${randomUUID()}` }, settings),
    credentials.service,
    use.service,
    keys.service,
    dryRuns.service,
    ...denials.services,
  ];
  return { ...door, close, services };
};
