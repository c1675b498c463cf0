/**
 * Starts a role and stops it again. What was opened last is closed first: the program stops accepting, lets running requests
 * finish within a bound, ends the workers, and closes the store at the end.
 */
import { resolve } from 'node:path';
import { assertionKeyLabel } from '#src/contract/assertion.ts';
import { createGateway, type Gateway } from '#src/gateway/index.ts';
import { createOrdering } from '#src/ordering/index.ts';
import { type Closers, createClosers } from '#src/platform/closers.ts';
import { readSchemaState } from '#src/platform/db/migrate.ts';
import { createWriteProbe } from '#src/platform/db/write-probe.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { createKv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { type Service, supervise } from '#src/platform/supervisor.ts';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import { openTraces, type Traces } from '#src/platform/telemetry/traces.ts';
import { createWebhooks, type Webhooks } from '#src/webhooks/index.ts';
import { createDemo, type Demo } from './demo/demo.ts';
import { createImportProcess, type ImportProcess } from './import-process/forward-imports.ts';
import { type Installation, openInstallation } from './installation/installation.ts';
import { allMigrations } from './installation/migrations.ts';
import { retryWhileFull } from './installation/retry-while-full.ts';
import { type Certificates, openCertificates } from './listeners/certificates.ts';
import { createInternalHandler, createInternalServer, type Listener, listen } from './listeners/listeners.ts';
import { startPanel } from './panel/panel.ts';
import { createProbes, type Probes } from './probes/answer-probes.ts';
import { createDrain, type Drain } from './probes/drain.ts';
import { createRoleReadiness, type ReadRoleReadiness } from './probes/role-readiness.ts';
import type { SupervisingProcess } from './processes/supervising-process.ts';
import { openPublicListener, type PublicListener } from './public-listener.ts';
import { createReference } from './reference/reference.ts';
import type { Settings } from './settings/config.ts';
import { orderingAudience } from './settings/ordering-audience.ts';
import { hasInternal, runsGateway, runsOrdering, runsWorker } from './settings/role-parts.ts';
import { publishWebhookKeys } from './webhooks/publish-webhook-keys.ts';
import { ownerRights, targetRules, webhookApiOf } from './webhooks/wire-engine.ts';

export type Program = {
  /** Address of the public listener; undefined for roles without one. */
  publicUrl: string | undefined;
  internalUrl: string | undefined;
  /** The demo, until a start has shown its credentials. */
  demo: Demo | undefined;
  /** Reads the certificates and the route table again. Returns what it reads, which is nothing in some roles. */
  reload(actor: string): readonly string[];
  stop(): Promise<void>;
};

/** Gateways use most of their connections to the core within this time. */
const coreDrainMs = 500;

/** What every part of a role needs to start. */
type Context = {
  settings: Settings;
  installation: Installation;
  metrics: Metrics;
  /** Undefined: tracing is not configured. */
  traces: Traces | undefined;
  certificates: Certificates;
  closers: Closers;
  services: Service[];
  /** Origins that webhooks may always go to: the receiver of the demo. */
  ownOrigins: string[];
  /** Undefined: this process is the only one behind its port. */
  supervising: SupervisingProcess | undefined;
  probes: Probes;
  drain: Drain;
};

/**
 * Resolves when everything listens. Throws when the program cannot start, with nothing left open; and the reason of
 * `stopping` when that is aborted during the wait for the database.
 */
export const startProgram = (
  settings: Settings,
  log: Logger,
  stopping: AbortSignal,
  supervising?: SupervisingProcess,
): Promise<Program> => retryWhileFull(() => startOnce(settings, log, stopping, supervising), log, stopping);

const startOnce = async (
  settings: Settings,
  log: Logger,
  stopping: AbortSignal,
  supervising: SupervisingProcess | undefined,
): Promise<Program> => {
  const installation = await openInstallation(settings, log, { exclusive: settings.role === 'all', stopping });
  const closers = createClosers();
  closers.add(() => installation.store.close());
  try {
    const telemetry = await openTelemetry(settings, log, closers);
    const certificates = openCertificates(settings, telemetry.metrics, log);
    const services = [installation.clockService, ...certificates.services];
    const drain = createDrain();
    const probes = createProbes(settings.role);
    const parts = { ...telemetry, certificates, closers, services, supervising, probes, drain };
    const context: Context = { settings, installation, ...parts, ownOrigins: [] };
    supervising?.answerScrapes(telemetry.metrics);
    // Where there are several processes, the supervising one has the only internal listener.
    const internal = supervising === undefined && hasInternal(settings) ? await startInternal(context) : undefined;
    const front = runsGateway(settings) ? await startGateway(context, internal?.core) : undefined;
    const worker = startWorkers(context);
    superviseServices(context);
    probes.serve(readinessOf(context, front, worker));
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

const openTelemetry = async (
  settings: Settings,
  log: Logger,
  closers: Closers,
): Promise<Pick<Context, 'metrics' | 'traces'>> => {
  const metrics = createMetrics();
  const traces = await openTraces({ settings: settings.tracing, role: settings.role, metrics, log });
  // Opened nearly first and so closed nearly last: spans that end during the shutdown are still sent.
  if (traces !== undefined) closers.add(() => traces.close());
  return { metrics, traces };
};

type Internal = {
  listener: Listener;
  /** Where the gateway of this process reaches the core; undefined: the role has no core. */
  core: Listener | undefined;
};

const startInternal = async (context: Context): Promise<Internal> => {
  const { settings, installation, metrics, traces, certificates, closers, probes, drain } = context;
  const { grace_ms: graceMs } = settings;
  const operations = runsOrdering(settings) ? coreOperations(context) : [];
  const imports = runsOrdering(settings) ? openImportProcess(context) : undefined;
  const telemetry = { metrics, traces, metricsToken: settings.metrics_token, probes };
  const handler = createInternalHandler(installation, operations, telemetry, imports?.serve);
  const server = createInternalServer(handler, certificates.createInternalServer);
  // Loopback, or the private network that the operator named: the core trusts assertions, not addresses.
  const listener = await listen(server, settings.internal_host, settings.internal_port);
  drain.onBegin(listener.announceEnd);
  closers.add(() => listener.close(graceMs, coreDrainMs));
  if (!runsOrdering(settings)) return { listener, core: undefined };
  if (certificates.createInternalServer === undefined || !runsGateway(settings)) return { listener, core: listener };
  // The certificate names the host of other processes. The gateway of this one needs no TLS to reach its own core.
  const core = await listen(createInternalServer(handler), '127.0.0.1', 0);
  closers.add(() => core.close(graceMs));
  return { listener, core };
};

/** The operations of the core. `ownOrigins` is filled later, when the public listener is open. */
const coreOperations = ({ settings, installation, closers, ownOrigins }: Context): Operation[] => {
  const webhooks = webhookApiOf(installation, settings, targetRules(settings, ownOrigins));
  closers.add(() => webhooks.close());
  return [...createOrdering(orderingDeps(settings, installation)).operations, ...webhooks.operations];
};

const openImportProcess = ({ settings, installation, closers }: Context): ImportProcess => {
  const { store, box, log } = installation;
  const imports = createImportProcess(
    {
      databaseUrl: store.url,
      embedded: store.embedded,
      applicationName: `orderpass-${settings.role}-import`,
      logLevel: settings.log_level,
      graceMs: settings.grace_ms,
      assertionKey: box.derive(assertionKeyLabel(orderingAudience)).toString('base64'),
      cursorKey: box.derive('cursor').toString('base64'),
      orderTokenKey: box.derive('order-token').toString('base64'),
      ordering: settings.ordering,
    },
    { log },
  );
  closers.add(() => imports.close());
  return imports;
};

const orderingDeps = (settings: Settings, { store, box, clock, log }: Installation) => ({
  db: store.db,
  cursorKey: box.derive('cursor'),
  orderTokenKey: box.derive('order-token'),
  clock,
  log,
  settings: settings.ordering,
});

type Front = {
  url: string;
  demo: Demo | undefined;
  reloadRoutes: Gateway['reloadRoutes'];
  readiness: Gateway['readiness'];
  /** No new request comes in; running requests still find everything that they need. */
  stopAccepting(): Promise<void>;
};

/** `core`: a listener of this process with the core, where it runs the core. */
const startGateway = async (context: Context, core: Listener | undefined): Promise<Front> => {
  const { settings, installation, certificates, closers, services, ownOrigins, supervising, drain } = context;
  const { grace_ms: graceMs } = settings;
  const listener = await openPublicListener(settings, installation.log, {
    createServer: certificates.createPublicServer,
    opensLate: supervising !== undefined,
  });
  drain.onBegin(listener.announceEnd);
  closers.add(() => listener.close(graceMs));
  const gateway = await openGateway(context, listener, core);
  const demo = hasDemo(settings, installation)
    ? await createDemo({
        installation,
        settings,
        dataDir: resolve(settings.data_dir),
        origin: listener.localOrigin,
        routes: gateway.routeTable().routes,
      })
    : undefined;
  if (demo !== undefined) ownOrigins.push(listener.localOrigin);
  const panel = startPanel({
    installation,
    settings,
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
  return { url: listener.url, demo, reloadRoutes, readiness, stopAccepting };
};

const openGateway = async (
  { settings, installation, metrics, traces, certificates, closers, services, supervising, drain }: Context,
  { origin }: PublicListener,
  core: Listener | undefined,
): Promise<Gateway> => {
  const { store, box, clock, log } = installation;
  const webhookKeys = await publishWebhookKeys(installation);
  const ofProcesses = settings.redis_url === undefined ? supervising?.kv : undefined;
  const kv = ofProcesses ?? (await createKv({ url: settings.redis_url, waitMsMax: settings.redis_wait_ms, log }));
  closers.add(() => kv.close());
  const gateway = await createGateway({
    kv,
    metrics,
    traces,
    trustsTraces: settings.tracing.incoming === 'continue',
    settings: settings.gateway,
    origin,
    db: store.db,
    pool: store.pool,
    box,
    clock,
    log,
    moreDocuments: { '/.well-known/webhook-keys': webhookKeys.document },
    pages: createReference(settings, origin),
    certificateState: certificates.state,
    isDraining: drain.isDraining,
    processesState: supervising?.processes,
    upstreams: {
      ...settings.gateway.upstreams,
      ...(core === undefined ? undefined : { [orderingAudience]: core.url }),
    },
  });
  closers.add(() => gateway.close());
  services.push(...gateway.services, webhookKeys.service);
  return gateway;
};

/**
 * The demo belongs to a trial on one machine: never with a database server of the operator or in production. With TLS its
 * webhooks could not reach its receiver, since few certificates name 127.0.0.1.
 */
const hasDemo = (settings: Settings, { store }: Installation): boolean =>
  settings.role === 'all' &&
  store.embedded &&
  settings.environment !== 'production' &&
  settings.tls.cert_file === undefined;

const startWorkers = ({ settings, installation, services, ownOrigins, ...rest }: Context): Webhooks | undefined => {
  if (!runsWorker(settings)) return undefined;
  const { store, box, clock, log } = installation;
  const webhooks = createWebhooks({
    db: store.db,
    pool: store.pool,
    box,
    clock,
    log,
    settings: settings.webhooks,
    observers: { metrics: rest.metrics, traces: rest.traces },
    rights: ownerRights(store),
    rules: targetRules(settings, ownOrigins),
  });
  services.push(...webhooks.services, ...createOrdering(orderingDeps(settings, installation)).services);
  return webhooks;
};

const readinessOf = (
  { settings, installation: { store }, drain }: Context,
  front: Front | undefined,
  worker: Webhooks | undefined,
): ReadRoleReadiness =>
  createRoleReadiness({
    role: settings.role,
    isDraining: drain.isDraining,
    readSchema: () => readSchemaState(store.pool, allMigrations),
    checkWrites: createWriteProbe(store.db),
    gateway: front?.readiness,
    worker: worker?.state,
  });

const superviseServices = ({ services, closers, installation }: Context): void => {
  const ended = new AbortController();
  const supervised = supervise(services, ended.signal, installation.log);
  closers.add(async () => {
    ended.abort();
    await supervised;
  });
};
