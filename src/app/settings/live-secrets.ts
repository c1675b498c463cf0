/**
 * The files of secrets while the program runs. A changed file is read again, checked with all settings of the start, and its
 * value is used from then on where no connection depends on it. A value that only another start can use is logged once and
 * shown by a metric and by /readyz. So is a file that cannot be used: its earlier value stays, and the other files are used.
 */
import { watchFiles } from '#src/platform/files/watch-files.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { getAt, setAt } from './at-path.ts';
import {
  collectSettings,
  parseSettings,
  type Settings,
  SettingsError,
  type SettingsSource,
  settingFields,
} from './config.ts';
import { fileOfSecret, readSecretFiles } from './secret-files.ts';

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
  /** Secret settings whose file cannot be used: the next start would fail. The master key counts without a file too. */
  refused(): readonly string[];
  /** Raw settings for a process that starts later: those of this one's start, with the secrets in use since. */
  rawSettings(): Record<string, unknown>;
  /** Of the master key, which this module does not read. False: the next start would fail. */
  setMasterKeyUsable(isUsable: boolean): void;
  /** None: no secret is in a file. */
  services: Service[];
};

type LiveSecretsDeps = { source: SettingsSource; settings: Settings; metrics: Metrics; log: Logger };

export const openLiveSecrets = ({ source, settings, metrics, log }: LiveSecretsDeps): LiveSecrets => {
  const inFiles = settingFields().flatMap((field) => {
    const file = fileOfSecret(field, source.env);
    return file === undefined
      ? []
      : [{ field, path: field.path, file, isLive: livePaths.some((path) => path === field.path) }];
  });
  const fields = inFiles.map(({ field }) => field);
  const first = collectSettings(source).raw;
  let inUse: InUse = { raw: first, settings };
  let refused: ReadonlyMap<string, string> = new Map();
  let isMasterKeyUsable = true;
  let waiting: readonly string[] = [];
  const allRefused = (): string[] => [...refused.keys(), ...(isMasterKeyUsable ? [] : ['master_key'])];
  const shown = (paths: Iterable<string>) => [...paths].map((setting) => [{ setting }, 1] as const);
  metrics.gauges(
    'secret_restart_needed',
    '1: the file of this secret setting has a value that only another start uses',
    ['setting'],
    () => shown(waiting),
  );
  metrics.gauges(
    'secret_refused',
    '1: the next start would not accept this secret, of a changed file or the master key; the earlier one stays in use',
    ['setting'],
    () => shown(allRefused()),
  );

  const readAgain = (): void => {
    const before = { inUse, refused, waiting };
    ({ inUse, refused } = takeSecrets(inUse, readSecretFiles(fields, source.env)));
    for (const [setting, message] of refused)
      if (before.refused.get(setting) !== message)
        log.error({ setting, problem: message }, 'a changed secret cannot be used; the earlier one stays');
    const isOther = (path: string, than: Settings): boolean => getAt(inUse.settings, path) !== getAt(than, path);
    for (const { path, isLive } of inFiles)
      if (isLive && isOther(path, before.inUse.settings)) log.warn({ setting: path }, 'a changed secret is used');
    waiting = inFiles.filter(({ path, isLive }) => !isLive && isOther(path, settings)).map(({ path }) => path);
    for (const setting of waiting)
      if (!before.waiting.includes(setting)) log.warn({ setting }, 'a changed secret is used by the next start only');
  };

  return {
    read: (path) =>
      getAt(inFiles.some((one) => one.path === path) ? inUse.settings : settings, path) as string | undefined,
    waiting: () => waiting,
    refused: allRefused,
    rawSettings: () => {
      const raw = structuredClone(first);
      for (const { path, isLive } of inFiles) if (isLive) setAt(raw, path, getAt(inUse.raw, path));
      return raw;
    },
    setMasterKeyUsable: (isUsable) => {
      isMasterKeyUsable = isUsable;
    },
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

/** The settings, and the raw ones that they come from: those of the start, with the secrets since. */
type InUse = { raw: Record<string, unknown>; settings: Settings };

type Taken = { inUse: InUse; refused: ReadonlyMap<string, string> };

/** All values at once where they fit together, else each one that fits the others in use. `refused`: settings and reasons. */
const takeSecrets = (inUse: InUse, { values, problems }: ReturnType<typeof readSecretFiles>): Taken => {
  const unread = new Map(problems.map(({ setting, message }) => [setting, message] as const));
  const together = withSecrets(inUse, values);
  if (!(together instanceof SettingsError)) return { inUse: together, refused: unread };
  let taken = inUse;
  const refused = new Map(unread);
  for (const one of values) {
    const next = withSecrets(taken, [one]);
    if (next instanceof SettingsError) refused.set(one.path, next.message);
    else taken = next;
  }
  return { inUse: taken, refused };
};

const withSecrets = ({ raw }: InUse, values: readonly { path: string; value: string }[]): InUse | SettingsError => {
  const next = structuredClone(raw);
  for (const { path, value } of values) setAt(next, path, value);
  try {
    return { raw: next, settings: parseSettings(next) };
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
};
