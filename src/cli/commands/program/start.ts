import { once } from 'node:events';
import type { Command } from 'commander';
import type { DemoCredentials } from '#src/app/demo/demo.ts';
import type { WeekProgress } from '#src/app/demo/week/fill-week.ts';
import type { SupervisingProcess } from '#src/app/processes/supervising-process.ts';
import type { Program } from '#src/app/run.ts';
import type { Settings } from '#src/app/settings/config.ts';
import { SettingsError } from '#src/app/settings/settings-error.ts';
import { processSettingsSource, type SettingsSource, takeNotifySocket } from '#src/app/settings/settings-source.ts';
import { commandLine } from '#src/platform/files/release.ts';
import { logWarnings } from '#src/platform/log/log-warnings.ts';
import { createLog, type Logger } from '#src/platform/log.ts';
import { tuneForFewCores, tuneMemory } from '#src/platform/tune-memory.ts';
import { configFileOf } from '../../terminal/command-settings.ts';
import { showProgress } from '../../terminal/long-command.ts';
import { onStop } from '../../terminal/on-stop.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { announceReady } from './announce-ready.ts';

export const startCommand = (program: Command, output: Output): void => {
  program
    .command('start', { isDefault: false })
    .description('start the role of this process (default: everything) and run until SIGINT or SIGTERM')
    .option(
      '--demo-data',
      'give the demo restaurant of a first start a week of orders, customers, webhooks and refusals',
    )
    .action(async ({ demoData = false }: { demoData?: boolean }, command: Command) => {
      const { findSupervisingProcess } = await import('#src/app/processes/supervising-process.ts');
      const supervising = await findSupervisingProcess();
      if (supervising !== undefined) return await runOneOfSeveral(supervising);
      const { settingsProblems, unknownNames } = await import('#src/app/settings/check-settings.ts');
      const { collectSettings } = await import('#src/app/settings/config.ts');
      const given = processSettingsSource(configFileOf(command));
      // Read once: a file that is edited meanwhile would give this process two kinds of settings.
      const source = { ...given, joined: collectSettings(given) };
      const problems = settingsProblems(source);
      if (problems.length > 0) throw new SettingsError(problems);
      const notifySocket = takeNotifySocket();
      const { settings, log } = await beginWith(source);
      const { processes: count } = settings;
      // A warning, not an error: after a rollback to an older version the environment may name newer settings.
      for (const { path, message } of unknownNames(source)) log.warn(`${path} ${message}`);
      if (demoData && count > 1) throw new UsageError('--demo-data is for one process: ORDERPASS_PROCESSES must be 1');
      if (count > 1) await runSeveral({ settings, source, log, notifySocket }, count, output);
      else await runAlone({ settings, source, log, notifySocket, demoData: weekOf(demoData, output) }, output);
    });
};

type Loaded = {
  settings: Settings;
  source: SettingsSource;
  log: Logger;
  notifySocket?: string | undefined;
  demoData?: DemoData;
};

const beginWith = async (source: SettingsSource): Promise<Loaded> => {
  const { loadSettings } = await import('#src/app/settings/config.ts');
  const settings = loadSettings(source);
  tuneMemory();
  if (settings.role === 'worker') tuneForFewCores();
  const log = createLog({ level: settings.log_level, role: settings.role });
  logWarnings(log);
  return { settings, source, log };
};

type DemoData = { wanted: boolean; progress: WeekProgress };

/** A bar on a terminal, and one line at the end. */
const weekOf = (wanted: boolean, output: Output): DemoData => {
  const bar = showProgress(output);
  const end = (note: string): void => {
    bar.end();
    output.line(note);
  };
  return { wanted, progress: { begin: output.line, show: bar.show, end } };
};

const runAlone = async (loaded: Loaded, output: Output): Promise<void> => {
  const { settings, log } = loaded;
  const stopping = stopOnSignal();
  let running: Program | undefined;
  let isReloadAsked = false;
  onHangUp(() => {
    if (running !== undefined) return logReload(log, running);
    isReloadAsked = true;
    log.warn('SIGHUP: the program starts, and reads its files again when it runs');
  });
  running = await startUnlessStopped(loaded, stopping);
  if (running === undefined) return;
  // They may have been read before the signal.
  if (isReloadAsked) logReload(log, running);
  try {
    const { demo, publicUrl, internalUrl } = running;
    introduce(publicUrl, internalUrl, settings, output);
    void announceReady(loaded.notifySocket, log);
    if (demo?.fresh !== undefined && publicUrl !== undefined) {
      for (const line of introduction(demo.fresh, publicUrl, demo.takesOrders)) output.line(line);
      await demo.markShown();
    }
    await stopped(stopping);
  } finally {
    // Also when the store failed meanwhile: otherwise the program would go on and ignore the first signal.
    await running.stop();
  }
};

/** This process supervises `count` others, which run this command too. */
const runSeveral = async (
  { settings, source, log, notifySocket }: Loaded,
  count: number,
  output: Output,
): Promise<void> => {
  const stopping = stopOnSignal();
  // Loaded only where it is used.
  const { startProcesses } = await import('#src/app/processes/start-processes.ts');
  const processes = startProcesses(settings, source, count, log);
  onHangUp(() => processes.reload());
  try {
    const started = await Promise.race([processes.started, stopped(stopping)]);
    if (started === undefined) return;
    introduce(started.publicUrl, started.internalUrl, settings, output);
    void announceReady(notifySocket, log);
    await Promise.race([processes.failed, stopped(stopping)]);
  } finally {
    await processes.stop();
  }
};

/** The supervising process has checked the settings. Only files of secrets are read again, when they change. */
const runOneOfSeveral = async (supervising: SupervisingProcess): Promise<void> => {
  const { stopping, settings } = supervising;
  const loaded = await beginWith({ ...processSettingsSource(), joined: { raw: settings, problems: [] } });
  onBrokenOutput();
  const running = await startUnlessStopped(loaded, stopping, supervising);
  if (running === undefined) return;
  supervising.onReload(() => logReload(loaded.log, running));
  supervising.serving(running.publicUrl ?? '');
  await stopped(stopping);
  await running.stop();
};

const stopped = async (stopping: AbortSignal): Promise<undefined> => {
  if (!stopping.aborted) await once(stopping, 'abort');
};

const introduce = (
  publicUrl: string | undefined,
  internalUrl: string | undefined,
  settings: Settings,
  output: Output,
): void => {
  const where = publicUrl ?? internalUrl;
  output.line(where === undefined ? `Orderpass runs as ${settings.role}` : `Orderpass listens on ${where}`);
  for (const line of publicUrl === undefined ? [] : places(publicUrl, settings)) output.line(line);
};

/** Undefined when a signal asked to stop during the start. */
const startUnlessStopped = async (
  loaded: Loaded,
  stopping: AbortSignal,
  supervising?: SupervisingProcess,
): Promise<Program | undefined> => {
  try {
    // Loaded only here, since every other command would wait for it.
    const { startProgram } = await import('#src/app/run.ts');
    return await startProgram({ ...loaded, stopping, supervising });
  } catch (error) {
    if (stopping.aborted && error === stopping.reason) return undefined;
    throw error;
  }
};

/** Aborted by a stop, which the program does cleanly. */
const stopOnSignal = (): AbortSignal => {
  const stopping = new AbortController();
  onStop(() => stopping.abort());
  return stopping.signal;
};

/**
 * A closed terminal and log rotation send SIGHUP, which does not ask the program to end. It makes the program read its
 * certificates and its route table.
 */
const onHangUp = (reload: () => void): void => {
  process.on('SIGHUP', reload);
  onBrokenOutput();
};

/** Failed writes to a closed terminal are ignored. */
const onBrokenOutput = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
};

const logReload = (log: Logger, running: Program): void => {
  const reloaded = running.reload('signal:SIGHUP').join(' and ');
  log.warn(
    reloaded === ''
      ? 'SIGHUP is ignored: settings are read at the start only, and files of secrets when they change'
      : `SIGHUP: the program reads ${reloaded} again; settings are read at the start only, and files of secrets when they change`,
  );
};

const places = (url: string, settings: Settings): string[] => [
  `  Guide       ${url}/docs`,
  ...(settings.panel.enabled === 'on'
    ? [
        `  Panel       ${url}/panel`,
        `              first account: ${commandLine} user create --email YOU@EXAMPLE.COM --role admin`,
      ]
    : []),
];

const introduction = (demo: DemoCredentials, url: string, takesOrders: boolean): string[] => [
  '',
  `A demo restaurant was created, ${demo.restaurantName} (${demo.restuid}). Its credentials are shown only now:`,
  '',
  `  API key         ${demo.apiKey}`,
  `  Client id       ${demo.clientId}`,
  `  Client secret   ${demo.clientSecret}`,
  `  Webhook secret  ${demo.webhookSecret}`,
  '',
  '1. Get a token',
  '',
  `curl -s ${url}/api/oauth/token -d grant_type=client_credentials -d client_id=${demo.clientId} -d client_secret=${demo.clientSecret}`,
  '',
  ...(takesOrders ? orderSteps(demo, url) : routeSteps(url)),
];

const routeSteps = (url: string): string[] => [
  '2. See your routes, and call one with the token',
  '',
  `${commandLine} routes list`,
  `curl -s ${url}/YOUR/PATH -H 'Authorization: Bearer TOKEN'`,
];

const orderSteps = (demo: DemoCredentials, url: string): string[] => {
  const order = {
    client: { first_name: 'Ada', email: 'ada@example.com' },
    dmethod: '0t',
    table: '7',
    payment_method: 'cash',
    payment_method_sub: 'cash',
    creator: 'restaurant',
    details: [
      {
        product: { uid: demo.productUid },
        quantity: 2,
        options: [{ uid: demo.sizeOption.uid, values: [{ uid: demo.sizeOption.valueUid }] }],
      },
    ],
  };
  return [
    '2. Insert an order',
    '',
    `curl -s ${url}/api/order/create -H 'X-Client-Id: ${demo.clientId}' -H 'X-Client-Secret: ${demo.clientSecret}' -H 'Content-Type: application/json' -d '${JSON.stringify(order)}'`,
    '',
    '3. See the webhooks that it caused',
    '',
    `curl -s ${url}/demo/receiver/deliveries`,
    '',
    `The same in a browser: ${url}/demo/receiver`,
  ];
};
