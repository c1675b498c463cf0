/**
 * Supervises the processes of a gateway. This process opens the ports and hands each connection to one of the others in turn
 * (node:cluster); it reads no request and opens no store. It counts the limits for all, gathers their metrics, replaces a
 * process that died, and forwards SIGHUP and the stop.
 */
import cluster, { type Worker } from 'node:cluster';
import { createSharedCounts } from '#src/platform/kv/index.ts';
import type { Logger } from '#src/platform/log.ts';
import { supervise } from '#src/platform/supervisor.ts';
import { createMetrics } from '#src/platform/telemetry/metrics.ts';
import { openCertificates } from '../listeners/certificates.ts';
import { createInternalServer, createMetricsHandler, type Listener, listen } from '../listeners/listeners.ts';
import { createProbes } from '../probes/answer-probes.ts';
import { watchReadiness } from '../probes/watch-readiness.ts';
import type { Settings, SettingsSource } from '../settings/config.ts';
import { type LiveSecrets, openLiveSecrets } from '../settings/live-secrets.ts';
import { hasInternal } from '../settings/role-parts.ts';
import { createGatherMetrics, type GatherMetrics, type Scraped } from './gather-metrics.ts';
import { createGatherReadiness, type GatherReadiness, type Probed } from './gather-readiness.ts';
import type { FirstState, FromProcess, ToProcess } from './messages.ts';
import { handOverLostConnections } from './node-cluster/lost-connections.ts';

export type Processes = {
  /** Resolves when all processes serve. Rejects when one of them, or the internal listener, cannot start. */
  started: Promise<{ publicUrl: string; internalUrl: string | undefined }>;
  /** Rejects when no process serves and none can be started. */
  failed: Promise<never>;
  /** Makes all processes read again what SIGHUP makes one process read. */
  reload(): void;
  /** Running requests of all processes end within their bound. */
  stop(): Promise<void>;
};

type Child = Scraped &
  Probed & {
    worker: Worker;
    /** Its public address; undefined until it serves. */
    url: string | undefined;
    startedAtMs: number;
    /** Scrapes in a row that were not answered. */
    unanswered: number;
    /** A reload was asked for while it was starting: it gets the message when it serves. */
    missesReload: boolean;
  };

/** A process that lived shorter counts as failed: its replacement waits longer each time. */
const shortLifeMs = 10_000;
const backoffMsMin = 100;
const backoffMsMax = 5_000;
/** Starts in a row that failed. Beyond it the program ends, unless a process still serves. */
const failedStartsMax = 5;
const checkEveryMs = 2_000;
/** A process that answers nothing for that many checks hangs. A suspended machine sends no checks. */
const unansweredMax = 10;
/** Beside drain and grace, longer than every bound within a process that stops. */
const stopMsMax = 20_000;
const stopAgainMs = 500;
const internalGraceMs = 500;

export const startProcesses = (settings: Settings, source: SettingsSource, count: number, log: Logger): Processes => {
  const metrics = createMetrics();
  const certificates = openCertificates(internalOnly(settings), metrics, log);
  const ended = new AbortController();
  // Its own metrics would repeat what each process shows of its secrets.
  const secrets = openLiveSecrets({ source, settings, metrics: createMetrics({ process: false }), log });
  const supervised = supervise([...certificates.services, ...secrets.services], ended.signal, log);
  const children = new Set<Child>();
  const gather = createGatherMetrics({ own: metrics, serving: () => [...children].filter(isServing) });
  let isStopping = false;
  const readiness = createGatherReadiness({
    ...{ role: settings.role, count },
    serving: () => [...children].filter(isServing),
    isStopping: () => isStopping,
  });
  const stopBoundMs = settings.drain_ms + settings.grace_ms + stopMsMax;
  const first = createFirstState(count, secrets);
  const group = createGroup({ count, children, gather, readiness, first, log, stopBoundMs });
  metrics.gauge('processes', 'Processes that serve requests', group.serving);
  metrics.total('process_restarts_total', 'Processes that were started in place of one that died', group.restarts);
  watchReadiness(metrics, readiness.read);
  const probes = createProbes(settings.role);
  probes.serve(readiness.read);
  const internal = startInternal(
    settings,
    { metrics: gather, probes, readToken: () => secrets.read('metrics_token') },
    log,
    certificates.createInternalServer,
  );
  const start = async (): Promise<{ publicUrl: string; internalUrl: string | undefined }> => {
    const listener = await internal;
    return { publicUrl: await group.start(), internalUrl: listener?.url };
  };
  return {
    started: start(),
    failed: group.failed,
    reload: () => {
      certificates.reload();
      group.reload();
    },
    stop: async () => {
      isStopping = true;
      await group.stop();
      const listener = await internal.catch(() => undefined);
      await listener?.close(internalGraceMs);
      ended.abort();
      await supervised;
    },
  };
};

const isServing = ({ url }: Child): boolean => url !== undefined;

/** The public certificate belongs to the processes that serve. */
const internalOnly = (settings: Settings): Settings => ({
  ...settings,
  tls: { ...settings.tls, cert_file: undefined, key_file: undefined },
});

const startInternal = async (
  settings: Settings,
  shown: Parameters<typeof createMetricsHandler>[0],
  log: Logger,
  createServer: Parameters<typeof createInternalServer>[1],
): Promise<Listener | undefined> => {
  if (!hasInternal(settings)) return Promise.resolve(undefined);
  const handler = createMetricsHandler(shown, log);
  return listen(createInternalServer(handler, createServer), settings.internal_host, settings.internal_port);
};

type GroupDeps = {
  count: number;
  children: Set<Child>;
  gather: GatherMetrics;
  readiness: Pick<GatherReadiness, 'receive'>;
  first: ReturnType<typeof createFirstState>;
  log: Logger;
  /** A process that has not stopped by then is killed. */
  stopBoundMs: number;
};

const createGroup = ({ count, children, gather, readiness, first, log, stopBoundMs }: GroupDeps) => {
  const counts = createSharedCounts();
  const started = Promise.withResolvers<string>();
  const failed = Promise.withResolvers<never>();
  // It is read only after the start.
  failed.promise.catch(() => undefined);
  let isStarted = false;
  let isStopping = false;
  const backoff = createBackoff();
  let restarts = 0;

  const serving = (): number => [...children].filter(isServing).length;
  const receive = (child: Child, message: FromProcess): void => {
    child.unanswered = 0;
    if (message.kind === 'asks') send(child.worker, { kind: 'answers', answers: message.asks.map(counts) });
    else if (message.kind === 'publish') sendAll(children, { ...message, kind: 'published' });
    else if (message.kind === 'reading') gather.receive(child, message.id, message.reading);
    else if (message.kind === 'probed') readiness.receive(message.id, message.readiness);
    else if (message.kind === 'table') first.keepTable(message.table);
    else if (message.kind === 'begin') send(child.worker, { kind: 'first', first: first.now() });
    else {
      child.url = message.url;
      if (child.missesReload) send(child.worker, { kind: 'reload' });
      backoff.started();
      sendAll(children, { kind: 'state', serving: serving() });
      isStarted ||= serving() === count;
      if (isStarted) started.resolve(message.url);
    }
  };

  const fork = (): void => {
    const worker = cluster.fork();
    handOverLostConnections(worker.process, () => serving() > 0);
    const child = childOf(worker);
    children.add(child);
    worker.on('message', (message: FromProcess) => receive(child, message));
    worker.once('exit', (code, signal) => ended(child, { code, signal }));
    // A process that could not be made has no exit.
    worker.on('error', (err) => worker.process.pid === undefined && ended(child, { err }));
  };

  const ended = (child: Child, how: Record<string, unknown>): void => {
    if (!children.delete(child)) return;
    gather.ended(child);
    if (isStopping) return;
    log.error({ ...how, process: child.worker.process.pid }, 'a process has died');
    if (!isStarted) return started.reject(new Error('a process could not start; its own message says why'));
    sendAll(children, { kind: 'state', serving: serving() });
    const { waitMs, failedStarts } = backoff.ended(child);
    if (failedStarts >= failedStartsMax && serving() === 0)
      return failed.reject(new Error(`no process serves, and ${failedStarts} starts in a row failed`));
    setTimeout(() => {
      if (isStopping) return;
      restarts += 1;
      fork();
    }, waitMs);
  };

  const checking = setInterval(() => killHanging(children, log), checkEveryMs).unref();

  return {
    failed: failed.promise,
    serving,
    restarts: () => restarts,
    reload: (): void => reloadAll(children),
    /** Resolves to the public address when all processes serve. Rejects when one ends before. */
    start: (): Promise<string> => {
      if (isStopping) return started.promise;
      cluster.setupPrimary({ serialization: 'advanced' });
      for (let i = 0; i < count; i += 1) fork();
      return started.promise;
    },
    stop: async (): Promise<void> => {
      isStopping = true;
      clearInterval(checking);
      await stopChildren(children, stopBoundMs);
    },
  };
};

const childOf = (worker: Worker): Child => ({
  worker,
  pid: worker.process.pid ?? 0,
  ask: (id) => send(worker, { kind: 'read', id }),
  probe: (id) => send(worker, { kind: 'probe', id }),
  url: undefined,
  startedAtMs: performance.now(),
  unanswered: 0,
  missesReload: false,
});

/** For each process that starts: the settings, and the table that a process reported last. */
const createFirstState = (count: number, secrets: Pick<LiveSecrets, 'rawSettings'>) => {
  let table: FirstState['table'];
  return {
    now: (): FirstState => ({ count, settings: { ...secrets.rawSettings(), processes: count }, table }),
    keepTable: (reported: FirstState['table']): void => {
      table = reported;
    },
  };
};

const sendAll = (children: ReadonlySet<Child>, message: ToProcess): void => {
  for (const { worker } of children) send(worker, message);
};

const reloadAll = (children: ReadonlySet<Child>): void => {
  for (const child of children) {
    if (isServing(child)) send(child.worker, { kind: 'reload' });
    else child.missesReload = true;
  }
};

/** How long a replacement waits. */
const createBackoff = () => {
  let failures = 0;
  let failedStarts = 0;
  return {
    started: (): void => {
      failedStarts = 0;
    },
    ended: ({ url, startedAtMs }: Child): { waitMs: number; failedStarts: number } => {
      if (url === undefined) failedStarts += 1;
      failures = performance.now() - startedAtMs < shortLifeMs ? failures + 1 : 0;
      const waitMs = failures === 0 ? 0 : Math.min(backoffMsMin * 2 ** (failures - 1), backoffMsMax);
      return { waitMs, failedStarts };
    },
  };
};

/** node:cluster gives a process that hangs no further connection; its own ones end with it. */
const killHanging = (children: ReadonlySet<Child>, log: Logger): void => {
  for (const child of [...children].filter(isServing)) {
    child.unanswered += 1;
    if (child.unanswered > unansweredMax) {
      log.error({ process: child.worker.process.pid }, 'a process does not answer and is killed');
      child.worker.process.kill('SIGKILL');
    } else child.ask(0);
  }
};

const stopChildren = async (children: ReadonlySet<Child>, boundMs: number): Promise<void> => {
  const sendStop = (): void => {
    for (const { worker } of children) send(worker, { kind: 'stop' });
  };
  sendStop();
  // Again: a process that is still starting may not read messages yet.
  const again = setInterval(sendStop, stopAgainMs);
  const force = setTimeout(() => {
    for (const { worker } of children) worker.process.kill('SIGKILL');
  }, boundMs);
  await Promise.all([...children].map(({ worker }) => exitOf(worker)));
  clearInterval(again);
  clearTimeout(force);
};

/** A message to a process that has just ended is lost. */
const send = (worker: Worker, message: ToProcess): void => {
  if (worker.isConnected()) worker.send(message, () => undefined);
};

const exitOf = (worker: Worker): Promise<void> =>
  new Promise((resolve) => {
    if (worker.isDead()) resolve();
    else worker.once('exit', () => resolve());
  });
