/**
 * The files of secrets while the program runs. A changed file is read again, checked with all settings, and its value is used
 * from then on where no connection depends on it. A value that only another start can use is logged once and shown by a
 * metric and by /readyz. A file that cannot be used changes nothing.
 */
import { watchFiles } from '#src/platform/files/watch-files.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { getAt } from './at-path.ts';
import { loadSettings, type Settings, SettingsError, type SettingsSource, settingFields } from './config.ts';
import { fileOfSecret } from './secret-files.ts';

/** Secret settings that a running program takes from their changed files. */
export const livePaths = [
  'metrics_token',
  'master_key_previous',
  'tracing.headers',
  'gateway.audit_http_authorization',
  'gateway.audit_key',
  'ordering.address_resolver_url',
  'panel.oidc_client_secret',
] as const;

type LivePath = (typeof livePaths)[number];

export type LiveSecrets = {
  /** The value now: that of the start, or of its file since. Undefined: not given. */
  read(path: LivePath): string | undefined;
  /** Secret settings whose file has a value that only the next start uses. */
  waiting(): readonly string[];
  /** None: no secret is in a file. */
  services: Service[];
};

type LiveSecretsDeps = { source: SettingsSource; settings: Settings; metrics: Metrics; log: Logger };

export const openLiveSecrets = ({ source, settings, metrics, log }: LiveSecretsDeps): LiveSecrets => {
  const inFiles = settingFields().flatMap((field) => {
    const file = fileOfSecret(field, source.env);
    return file === undefined
      ? []
      : [{ path: field.path, file, isLive: livePaths.some((path) => path === field.path) }];
  });
  let current = settings;
  let waiting: readonly string[] = [];
  metrics.gauges(
    'secret_restart_needed',
    '1: the file of this secret setting has a value that only another start uses',
    ['setting'],
    () => waiting.map((setting) => [{ setting }, 1] as const),
  );

  const readAgain = (): void => {
    const next = loadAgain(source, log);
    if (next === undefined) return;
    for (const { path, isLive } of inFiles)
      if (isLive && getAt(next, path) !== getAt(current, path)) log.warn({ setting: path }, 'a changed secret is used');
    current = next;
    const before = waiting;
    waiting = inFiles
      .filter(({ path, isLive }) => !isLive && getAt(next, path) !== getAt(settings, path))
      .map(({ path }) => path);
    for (const setting of waiting)
      if (!before.includes(setting)) log.warn({ setting }, 'a changed secret is used by the next start only');
  };

  return {
    // The settings file is read again too, and what else has changed in it waits for a start.
    read: (path) => getAt(inFiles.some((one) => one.path === path) ? current : settings, path) as string | undefined,
    waiting: () => waiting,
    services:
      inFiles.length === 0
        ? []
        : [
            {
              name: 'secret-files',
              run: (signal) => watchFiles(() => inFiles.map(({ file }) => file), readAgain, signal),
            },
          ],
  };
};

/** Undefined, after a log line: the settings cannot be used as they are now. */
const loadAgain = (source: SettingsSource, log: Logger): Settings | undefined => {
  try {
    return loadSettings(source);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    log.error({ problems: error.problems }, 'a changed secret cannot be used; the earlier one stays');
    return undefined;
  }
};
