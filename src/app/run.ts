/**
 * Starts a role and stops it again. What was opened last is closed first: the program stops accepting, lets running requests
 * finish within a bound, ends the workers, and closes the store at the end.
 */
import { resolve } from 'node:path';
import { createGateway, type Gateway } from '#src/gateway/index.ts';
import { createOrdering } from '#src/ordering/index.ts';
import { type Closers, createClosers } from '#src/platform/closers.ts';
import { readSchemaState } from '#src/platform/db/schema/pending.ts';
import { createWriteProbe } from '#src/platform/db/write-probe.ts';
import { createKv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { type Service, supervise } from '#src/platform/supervisor.ts';
import { createMetrics } from '#src/platform/telemetry/metrics.ts';
import { openTraces } from '#src/platform/telemetry/traces.ts';
import { createFetchDocument, createWebhooks, type Webhooks } from '#src/webhooks/index.ts';
import type { Context } from './context.ts';
import type { Demo } from './demo/demo.ts';
import { createDemoWithWeek, type WeekProgress } from './demo/week/fill-week.ts';
import { createCoreConnections } from './installation/core-connections.ts';
import { openInstallation } from './installation/installation.ts';
import { createKeyHolder } from './installation/key-holder.ts';
import { readMasterKeys } from './installation/master-keys.ts';
import { allMigrations } from './installation/migrations.ts';
import { orderingDeps } from './installation/ordering-deps.ts';
import { retryWhileFull } from './installation/retry-while-full.ts';
import { startInternal } from './internal-listener.ts';
import { boundPublicConnections } from './listeners/bound-connections.ts';
import { clientAuthoritiesOf, openCertificates } from './listeners/certificates.ts';
import type { Listener } from './listeners/listeners.ts';
import { openNotices } from './panel/notices/open-notices.ts';
import { startPanel } from './panel/panel.ts';
import { createProbes } from './probes/answer-probes.ts';
import { createDrain } from './probes/drain.ts';
import { showProcess, showStore } from './probes/process-metrics.ts';
import { createRoleReadiness, type ReadRoleReadiness } from './probes/role-readiness.ts';
import { watchReadiness } from './probes/watch-readiness.ts';
import type { SupervisingProcess } from './processes/supervising-process.ts';
import { openPublicListener, type PublicListener } from './public-listener.ts';
import { createReference } from './reference/reference.ts';
import type { Settings, SettingsSource } from './settings/config.ts';
import { openLiveSecrets } from './settings/live-secrets.ts';
import { orderingAudience } from './settings/ordering-audience.ts';
import { hasInternal, runsGateway, runsWorker } from './settings/role-parts.ts';
import { publishWebhookKeys } from './webhooks/publish-webhook-keys.ts';
import { openSignalServices, pushProblemOf } from './webhooks/send-signals.ts';
import { ownerRights, targetRules } from './webhooks/wire-engine.ts';

export type Program = {
  /** Address of the public listener; undefined for roles without one. */
  publicUrl: string | undefined;
  internalUrl: string | undefined;
  /** The demo, until a start has shown its credentials. */
  demo: ShownDemo | undefined;
  /** Reads the certificates and the route table again. Returns what it reads, which is nothing in some roles. */
  reload(actor: string): readonly string[];
  stop(): Promise<void>;
};

/**
 * Resolves when everything listens. Throws when the program cannot start, with nothing left open; and the reason of
 * `stopping` when that is aborted during the wait for the database.
 */
export const startProgram = (given: StartOptions): Promise<Program> =>
  retryWhileFull(() => startOnce(given), given.log, given.stopping);

type StartOptions = {
  settings: Settings;
  /** Where the settings came from: files of secrets are read again from there. */
  source: SettingsSource;
  log: Logger;
  stopping: AbortSignal;
  /** Undefined: this process is the only one behind its port. */
  supervising: SupervisingProcess | undefined;
  /** `wanted`: the demo restaurant gets a week of data. Default: only a week that an earlier start began is finished. */
  demoData?: { wanted: boolean; progress: WeekProgress };
};

const startOnce = async ({
  settings,
  source,
  log,
  stopping,
  supervising,
  demoData,
}: StartOptions): Promise<Program> => {
  const metrics = createMetrics();
  showProcess(metrics);
  const secrets = openLiveSecrets({ source, settings, metrics, log });
  const readKeys = () =>
    readMasterKeys({ ...settings, master_key_previous: secrets.read('master_key_previous') }, { makes: false });
  const holder = createKeyHolder({ role: settings.role, readKeys, onCompared: secrets.setMasterKeyUsable, log });
  const installation = await openInstallation(settings, log, { exclusive: settings.role === 'all', stopping, holder });
  const coreConnections = createCoreConnections(settings);
  showStore(metrics, installation.store, coreConnections);
  const closers = createClosers();
  closers.add(() => installation.store.close());
  // From here on: a start that takes long must not fall out of the list of those that a rotation of the master key waits for.
  superviseServices([holder.service(installation.store.background)], closers, log);
  try {
    const traces = await openOwnTraces(settings, { metrics, secrets, log }, closers);
    const certificates = openCertificates(settings, metrics, log);
    const services = [installation.clockService, ...secrets.services, ...certificates.services];
    const drain = createDrain();
    const probes = createProbes(settings.role);
    const parts = { metrics, traces, secrets, certificates, closers, coreConnections, services };
    const context: Context = { settings, installation, ...parts, supervising, probes, drain, ownOrigins: [] };
    supervising?.answerScrapes(metrics);
    // Where there are several processes, the supervising one has the only internal listener.
    const internal = supervising === undefined && hasInternal(settings) ? await startInternal(context) : undefined;
    const front = runsGateway(settings) ? await startGateway(context, internal?.core, demoData) : undefined;
    const worker = await startWorkers(context);
    superviseServices(services, closers, log);
    const readiness = readinessOf(context, front, worker);
    probes.serve(readiness);
    watchReadiness(context.metrics, readiness);
    supervising?.answerProbes(readiness);
    if (front !== undefined) closers.add(front.stopAccepting);
    return {
      publicUrl: front?.url,
      internalUrl: internal?.listener.url,
      demo: front?.demo,
      reload: (actor) => {
        const reloaded = certificates.reload() ? ['the certificates'] : [];
        if (front === undefined) return reloaded;
        void front.reloadRoutes(actor);
        return [...reloaded, 'the route table'];
      },
      stop: async () => {
        await drain.run(settings.drain_ms);
        await closers.close();
      },
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
};

const openOwnTraces = async (
  settings: Settings,
  { secrets, ...deps }: Pick<Context, 'metrics' | 'secrets'> & { log: Logger },
  closers: Closers,
): Promise<Context['traces']> => {
  const readHeaders = () => secrets.read('tracing.headers');
  const traces = await openTraces({ settings: settings.tracing, readHeaders, role: settings.role, ...deps });
  // Opened nearly first and so closed nearly last: spans that end during the shutdown are still sent.
  if (traces !== undefined) closers.add(() => traces.close());
  return traces;
};

/** `takesOrders`: the route table has the operation that inserts an order; that of an operator may not. */
type ShownDemo = Demo & { takesOrders: boolean };

type Front = {
  url: string;
  demo: ShownDemo | undefined;
  reloadRoutes: Gateway['reloadRoutes'];
  readiness: Gateway['readiness'];
  /** No new request comes in; running requests still find everything that they need. */
  stopAccepting(): Promise<void>;
};

const noProgress: WeekProgress = { begin: () => undefined, show: () => undefined, end: () => undefined };

/** `core`: a listener of this process with the core, where it runs the core. */
const startGateway = async (
  context: Context,
  core: Listener | undefined,
  demoData: StartOptions['demoData'] = { wanted: false, progress: noProgress },
): Promise<Front> => {
  const { settings, installation, secrets, certificates, closers, services, ownOrigins, supervising, drain } = context;
  const { grace_ms: graceMs } = settings;
  const listener = await openPublicListener(settings, installation.log, {
    createServer: certificates.createPublicServer,
    opensLate: supervising !== undefined,
    bound: boundPublicConnections(context.metrics, installation.log),
  });
  drain.onBegin(listener.announceEnd);
  closers.add(() => listener.close(graceMs));
  const demo = await createDemoWithWeek({
    ...{ installation, settings, secrets, ...demoData },
    dataDir: resolve(settings.data_dir),
    origin: listener.localOrigin,
    operations: () => createOrdering(orderingDeps(settings, installation, secrets)).operations,
  });
  if (demo !== undefined) ownOrigins.push(listener.localOrigin, ...demo.origins);
  const gateway = await openGateway(context, listener, core, demo);
  const panel = startPanel({
    installation,
    settings,
    secrets,
    routeTable: gateway.routeTable,
    origin: listener.origin,
    ownOrigins,
    onStop: (stop) => closers.add(stop),
  });
  services.push(...(panel?.services ?? []));
  await listener.serve(gateway, [
    ...(panel === undefined ? [] : [{ owns: panel.owns, handle: panel.handler }]),
    ...(demo === undefined ? [] : [demo.receiver]),
  ]);
  const stopAccepting = (): Promise<void> => {
    gateway.endUpgrades();
    panel?.close();
    return listener.close(graceMs);
  };
  const { reloadRoutes, readiness } = gateway;
  const takesOrders = gateway.routeTable().routes.some(({ path }) => path === '/api/order/create');
  return { url: listener.url, demo: demo && { ...demo, takesOrders }, reloadRoutes, readiness, stopAccepting };
};

const openKv = (settings: Settings, log: Logger): ReturnType<typeof createKv> =>
  createKv({
    url: settings.redis_url,
    caFile: settings.redis_ca_file,
    sentinelPassword: settings.redis_sentinel_password,
    waitMsMax: settings.redis_wait_ms,
    log,
  });

const openGateway = async (
  context: Context,
  { origin }: PublicListener,
  core: Listener | undefined,
  demo: Demo | undefined,
): Promise<Gateway> => {
  const { settings, installation, metrics, traces, secrets, certificates, closers, services, supervising, drain } =
    context;
  const { store, box, clock, log } = installation;
  const webhookKeys = await publishWebhookKeys(installation, settings, origin);
  const reference = createReference(settings, origin, demo?.samples, clock);
  const ofProcesses = settings.redis_url === undefined ? supervising?.kv : undefined;
  const kv = ofProcesses ?? (await openKv(settings, log));
  // Another attempt of this start uses the one of the supervising process again.
  if (ofProcesses === undefined) closers.add(() => kv.close());
  const gateway = await createGateway({
    kv,
    metrics,
    traces,
    trustsTraces: settings.tracing.incoming === 'continue',
    settings: settings.gateway,
    fetchDocument: createFetchDocument(settings.gateway.internal_issuers),
    readAuditAuthorization: () => secrets.read('gateway.audit_http_authorization'),
    readAuditKey: () => secrets.read('gateway.audit_key'),
    origin,
    db: store.db,
    background: store.background,
    pool: store.pool,
    sessions: store.sessions,
    box,
    clock,
    log,
    pushProblem: pushProblemOf(settings, context.ownOrigins),
    moreDocuments: webhookKeys.documents,
    pages: (table) => new Map([...reference(table), ...webhookKeys.pages]),
    freePaths: settings.panel.enabled === 'on' ? [] : ['/panel'],
    certificateState: certificates.state,
    clientAuthorities: clientAuthoritiesOf(settings, log),
    isDraining: drain.isDraining,
    processesState: supervising?.processes,
    sharedTable: supervising && { handed: supervising.table, keep: supervising.keepTable },
    upstreams: {
      ...settings.gateway.upstreams,
      ...(core === undefined ? undefined : { [orderingAudience]: core.url }),
    },
  });
  closers.add(() => gateway.close());
  services.push(...gateway.services, webhookKeys.service);
  return gateway;
};

const startWorkers = async ({
  settings,
  installation,
  secrets,
  services,
  ownOrigins,
  ...rest
}: Context): Promise<Webhooks | undefined> => {
  if (!runsWorker(settings)) return undefined;
  const { store, box, clock, log } = installation;
  const webhooks = createWebhooks({
    db: store.db,
    background: store.background,
    pool: store.sessions,
    box,
    clock,
    log,
    settings: settings.webhooks,
    observers: { metrics: rest.metrics, traces: rest.traces },
    rights: ownerRights(store.background),
    rules: targetRules(settings, ownOrigins),
  });
  const ordering = createOrdering({ ...orderingDeps(settings, installation, secrets), db: store.background });
  services.push(...webhooks.services, ...ordering.services);
  const signals = await openSignalServices(installation, settings, ownOrigins, rest.metrics);
  const notices = openNotices(installation, settings, ownOrigins);
  services.push(...signals.services, notices.service);
  rest.closers.add(notices.close);
  rest.closers.add(signals.close);
  return webhooks;
};

const readinessOf = (
  { settings, installation: { store }, secrets, drain }: Context,
  front: Front | undefined,
  worker: Webhooks | undefined,
): ReadRoleReadiness =>
  createRoleReadiness({
    role: settings.role,
    isDraining: drain.isDraining,
    readSchema: () => readSchemaState(store.pool, allMigrations),
    checkWrites: createWriteProbe(store.db),
    waitingSecrets: secrets.waiting,
    refusedSecrets: secrets.refused,
    gateway: front?.readiness,
    worker: worker?.state,
  });

const superviseServices = (services: readonly Service[], closers: Closers, log: Logger): void => {
  const ended = new AbortController();
  const supervised = supervise(services, ended.signal, log);
  closers.add(async () => {
    ended.abort();
    await supervised;
  });
};
