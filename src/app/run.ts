/**
 * Starts a role and stops it again. Shutdown goes backwards: stop accepting, let what runs finish within a bound, end the
 * workers, close the store.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { resolve } from 'node:path';
import {
  attachDoor,
  createGateway,
  createStartingDoor,
  type DoorHandlers,
  type Gateway,
  gatewayServerOptions,
} from '#src/gateway/index.ts';
import { createOrdering } from '#src/ordering/index.ts';
import { openDatabaseClock } from '#src/platform/db/database-clock.ts';
import type { Operation } from '#src/platform/http/operation.ts';
import { createKv } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { type Service, supervise } from '#src/platform/supervisor.ts';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import { openTraces, type Traces } from '#src/platform/telemetry/traces.ts';
import { createWebhooks } from '#src/webhooks/index.ts';
import { createDemo, type Demo } from './demo/demo.ts';
import { type Apart, createApart } from './import-process/forward-imports.ts';
import { type Installation, openInstallation } from './installation/installation.ts';
import { retryWhileFull } from './installation/retry-while-full.ts';
import { createInternalHandler, createInternalServer, type Listener, listen } from './listeners/listeners.ts';
import { startPanel } from './panel/panel.ts';
import { createReference } from './reference/reference.ts';
import type { Settings } from './settings/config.ts';
import { orderingAudience } from './settings/ordering-audience.ts';
import { publishWebhookKeys } from './webhooks/publish-webhook-keys.ts';
import { targetRules, webhookApiOf } from './webhooks/wire-engine.ts';

export type Program = {
  /** Where the public listener answers; undefined for roles without one. */
  publicUrl: string | undefined;
  internalUrl: string | undefined;
  /** The demo, where this start has one whose credentials were not shown yet. */
  demo: Demo | undefined;
  stop(): Promise<void>;
};

const graceMs = 3_000;

/** What is counted, and traced where that is configured. */
type Telemetry = { metrics: Metrics; traces: Traces | undefined };

type Running = {
  stops: (() => Promise<void>)[];
  services: Service[];
  /** Origins of our own that webhooks may go to: the receiver of the demo. */
  ownOrigins: string[];
};

/**
 * Resolves when everything listens. Throws when it cannot start, with nothing left open, and the reason of `stopping` when
 * that is aborted while the database is waited for.
 */
export const startProgram = (settings: Settings, log: Logger, stopping: AbortSignal): Promise<Program> =>
  retryWhileFull(() => startOnce(settings, log, stopping), log, stopping);

const startOnce = async (settings: Settings, log: Logger, stopping: AbortSignal): Promise<Program> => {
  const installation = await openInstallation(settings, log, { exclusive: settings.role === 'all', stopping });
  const running: Running = { stops: [() => installation.store.close()], services: [], ownOrigins: [] };
  const stop = once(() => stopAll(running));
  try {
    const telemetry = await openTelemetry(settings, log, running);
    const internal = hasInternal(settings)
      ? await startInternal(settings, installation, telemetry, running)
      : undefined;
    const core = runsOrdering(settings) ? internal : undefined;
    const front = runsGateway(settings)
      ? await startGateway(settings, installation, { core, telemetry }, running)
      : undefined;
    if (front?.demo !== undefined) running.ownOrigins.push(front.ownOrigin);
    await startWorkers(settings, installation, telemetry, running);
    const ended = new AbortController();
    const supervised = supervise(running.services, ended.signal, log);
    running.stops.push(async () => {
      ended.abort();
      await supervised;
    });
    // First of all nobody new comes in; what runs still finds everything that it needs.
    if (front !== undefined) {
      running.stops.push(() => {
        front.endUpgrades();
        front.endStreams();
        return front.listener.close(graceMs);
      });
    }
    return { publicUrl: front?.listener.url, internalUrl: internal?.url, demo: front?.demo, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const openTelemetry = async (settings: Settings, log: Logger, running: Running): Promise<Telemetry> => {
  const metrics = createMetrics();
  const traces = await openTraces({ settings: settings.tracing, role: settings.role, metrics, log });
  // Nearly the last, so that what ends before can still be told.
  if (traces !== undefined) running.stops.push(() => traces.close());
  return { metrics, traces };
};

const runsGateway = ({ role }: Settings): boolean => role === 'all' || role === 'gateway';
const runsOrdering = ({ role }: Settings): boolean => role === 'all' || role === 'ordering';
const runsWorker = ({ role }: Settings): boolean => role === 'all' || role === 'worker';

/** Without a core it is there for the figures alone, and somebody must know its port to read them. */
const hasInternal = (settings: Settings): boolean => runsOrdering(settings) || settings.internal_port !== 0;

const startInternal = async (
  settings: Settings,
  installation: Installation,
  telemetry: Telemetry,
  running: Running,
): Promise<Listener> => {
  const operations = runsOrdering(settings) ? coreOperations(settings, installation, running) : [];
  const apart = runsOrdering(settings) ? openApart(settings, installation, running) : undefined;
  const server = createInternalServer(
    createInternalHandler(
      installation,
      operations,
      { ...telemetry, metricsToken: settings.metrics_token },
      apart?.serve,
    ),
  );
  // Loopback, or the private network that the operator named: the core trusts assertions, not addresses.
  const listener = await listen(server, settings.internal_host, settings.internal_port);
  running.stops.push(() => listener.close(graceMs));
  return listener;
};

/** What the core answers. Its receiver of the demo is where the public listener will be. */
const coreOperations = (settings: Settings, installation: Installation, running: Running): Operation[] => {
  const webhooks = webhookApiOf(installation, settings, targetRules(settings, running.ownOrigins));
  running.stops.push(() => webhooks.close());
  return [...createOrdering(orderingDeps(settings, installation)).operations, ...webhooks.operations];
};

const openApart = (settings: Settings, { store, box, log }: Installation, running: Running): Apart => {
  const apart = createApart(
    {
      databaseUrl: store.url,
      embedded: store.embedded,
      applicationName: `orderpass-${settings.role}-apart`,
      logLevel: settings.log_level,
      assertionKey: box.derive('assertion').toString('base64'),
      cursorKey: box.derive('cursor').toString('base64'),
      orderTokenKey: box.derive('order-token').toString('base64'),
      ordering: settings.ordering,
    },
    { log },
  );
  running.stops.push(() => apart.close());
  return apart;
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
  listener: Listener;
  demo: Demo | undefined;
  ownOrigin: string;
  endUpgrades: () => void;
  endStreams: () => void;
};

const startGateway = async (
  settings: Settings,
  installation: Installation,
  { core, telemetry }: { core: Listener | undefined; telemetry: Telemetry },
  running: Running,
): Promise<Front> => {
  // The port may be chosen by the system, and the issuer contains it, so the socket comes first and the handler after.
  let door: DoorHandlers | undefined;
  const options = {
    ...gatewayServerOptions,
    shouldUpgradeCallback: (request: IncomingMessage) => door?.wantsUpgrade(request) ?? false,
  };
  const server = createServer(options);
  const listener = await listen(server, settings.host, settings.port);
  running.stops.push(() => listener.close(graceMs));
  const ownOrigin = `http://127.0.0.1:${listener.port}`;
  const starting = createStartingDoor({
    settings: settings.gateway,
    origin: settings.origin ?? ownOrigin,
    log: installation.log,
  });
  let handle: RequestListener = starting.handler;
  attachDoor(
    server,
    () => door ?? starting,
    (request, response) => handle(request, response),
  );
  const webhookKeys = await publishWebhookKeys(installation);
  const kv = createKv({
    url: settings.redis_url,
    waitMsMax: settings.redis_wait_ms,
    log: installation.log,
  });
  running.stops.push(() => kv.close());
  const gateway: Gateway = await createGateway({
    kv,
    ...telemetry,
    trustsTraces: settings.tracing.incoming === 'continue',
    settings: settings.gateway,
    origin: settings.origin ?? ownOrigin,
    db: installation.store.db,
    pool: installation.store.pool,
    box: installation.box,
    clock: installation.clock,
    log: installation.log,
    moreDocuments: { '/.well-known/webhook-keys': webhookKeys.document },
    pages: createReference(settings, settings.origin ?? ownOrigin),
    upstreams: {
      ...settings.gateway.upstreams,
      ...(core === undefined ? undefined : { [orderingAudience]: core.url }),
    },
  });
  running.stops.push(() => gateway.close());
  running.services.push(...gateway.services, webhookKeys.service);
  const demo = hasDemo(settings, installation)
    ? await createDemo({ installation, settings, dataDir: resolve(settings.data_dir), origin: ownOrigin })
    : undefined;
  const panel = startPanel({
    installation,
    settings,
    origin: settings.origin ?? ownOrigin,
    ownOrigins: running.ownOrigins,
    onStop: (stop) => running.stops.push(stop),
  });
  running.services.push(...(panel?.services ?? []));
  const serve: RequestListener = (request, response) =>
    demo?.receiver.accepts(request)
      ? gateway.refuseHead(request, response) || demo.receiver.listener(request, response)
      : gateway.handler(request, response);
  handle =
    panel === undefined
      ? serve
      : (request, response) =>
          panel.owns(request.url ?? '')
            ? gateway.refuseHead(request, response) || panel.handler(request, response)
            : serve(request, response);
  door = gateway;
  return { listener, demo, ownOrigin, endUpgrades: gateway.endUpgrades, endStreams: () => panel?.close() };
};

/** The demo belongs to a trial on one machine: never where a real store or a production setting is named. */
const hasDemo = (settings: Settings, { store }: Installation): boolean =>
  settings.role === 'all' && store.embedded && settings.environment !== 'production';

const startWorkers = async (
  settings: Settings,
  installation: Installation,
  telemetry: Telemetry,
  running: Running,
): Promise<void> => {
  if (!runsWorker(settings)) return;
  const { store, box, log } = installation;
  const databaseClock = await openDatabaseClock(store.pool, log);
  const webhooks = createWebhooks({
    db: store.db,
    pool: store.pool,
    box,
    clock: databaseClock.clock,
    log,
    settings: settings.webhooks,
    observers: telemetry,
    rules: targetRules(settings, running.ownOrigins),
  });
  running.services.push(
    databaseClock.service,
    ...webhooks.services,
    ...createOrdering(orderingDeps(settings, installation)).services,
  );
};

/** Last opened, first closed; one that fails does not keep the others open. */
const stopAll = async ({ stops }: Running): Promise<void> => {
  for (const stop of stops.reverse()) await stop().catch(() => undefined);
};

const once = (action: () => Promise<void>): (() => Promise<void>) => {
  let running: Promise<void> | undefined;
  return () => {
    running ??= action();
    return running;
  };
};
