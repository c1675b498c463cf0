import { once } from 'node:events';
import type { Command } from 'commander';
import type { DemoCredentials } from '#src/app/demo/demo.ts';
import type { Program } from '#src/app/run.ts';
import { settingsProblems, unknownNames } from '#src/app/settings/check-settings.ts';
import { loadProcessSettings, processSettingsSource, type Settings, SettingsError } from '#src/app/settings/config.ts';
import { createLog, type Logger } from '#src/platform/log.ts';
import { tuneMemory } from '#src/platform/tune-memory.ts';
import type { Output } from '../../terminal/output.ts';
import { configFileOf } from '../../terminal/with-admin.ts';

export const startCommand = (program: Command, output: Output): void => {
  program
    .command('start', { isDefault: false })
    .description('start the role of this process (default: everything) and run until SIGINT or SIGTERM')
    .action(async (_options: unknown, command: Command) => {
      const source = processSettingsSource(configFileOf(command));
      const problems = settingsProblems(source);
      if (problems.length > 0) throw new SettingsError(problems);
      const settings = loadProcessSettings({ configFile: configFileOf(command) });
      tuneMemory();
      const log = createLog({ level: settings.log_level, role: settings.role });
      // A warning, not an error: after a rollback to an older version the environment may name newer settings.
      for (const { path, message } of unknownNames(source)) log.warn(`${path} ${message}`);
      const stopping = stopOnSignal();
      let running: Program | undefined;
      onHangUp(log, (actor) => running?.reload(actor) ?? []);
      running = await startUnlessStopped(settings, log, stopping);
      if (running === undefined) return;
      const { demo, publicUrl, internalUrl } = running;
      const where = publicUrl ?? internalUrl;
      output.line(where === undefined ? `Orderpass runs as ${settings.role}` : `Orderpass listens on ${where}`);
      for (const line of publicUrl === undefined ? [] : places(publicUrl, settings)) output.line(line);
      if (demo?.fresh !== undefined && publicUrl !== undefined) {
        for (const line of introduction(demo.fresh, publicUrl)) output.line(line);
        await demo.markShown();
      }
      if (!stopping.aborted) await once(stopping, 'abort');
      await running.stop();
    });
};

/** Undefined when a signal asked to stop during the start. */
const startUnlessStopped = async (
  settings: Settings,
  log: Logger,
  stopping: AbortSignal,
): Promise<Program | undefined> => {
  try {
    // Loaded only here, since every other command would wait for it.
    const { startProgram } = await import('#src/app/run.ts');
    return await startProgram(settings, log, stopping);
  } catch (error) {
    if (stopping.aborted && error === stopping.reason) return undefined;
    throw error;
  }
};

/** The first signal aborts it and asks for a clean stop. The second one ends the process at once. */
const stopOnSignal = (): AbortSignal => {
  const stopping = new AbortController();
  const onSignal = (): void => {
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return stopping.signal;
};

/**
 * A closed terminal and log rotation send SIGHUP, which does not ask the program to end. It makes the program read its
 * certificates and its route table. Failed writes to a closed terminal are ignored too. `reload`: names what it reads.
 */
const onHangUp = (log: Logger, reload: (actor: string) => readonly string[]): void => {
  process.on('SIGHUP', () => {
    const reloaded = reload('signal:SIGHUP').join(' and ');
    log.warn(
      reloaded === ''
        ? 'SIGHUP is ignored: settings are read at the start only'
        : `SIGHUP: the program reads ${reloaded} again; settings are read at the start only`,
    );
  });
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
};

const places = (url: string, settings: Settings): string[] => [
  `  Reference   ${url}/docs`,
  ...(settings.panel.enabled === 'on'
    ? [
        `  Panel       ${url}/panel`,
        '              first account: npm run -s cli -- user create --email YOU@EXAMPLE.COM --role admin',
      ]
    : []),
];

const introduction = (demo: DemoCredentials, url: string): string[] => {
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
