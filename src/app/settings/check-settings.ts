/**
 * All reasons for which a start would refuse its settings, found at once: single values, combinations of values, and the
 * named files.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import {
  ownAudienceProblems,
  ownPathProblems,
  plainAddressProblems,
  routesFileOf,
  routeTableProblems,
  turnedOnPaths,
  upstreamNamesIn,
} from '#src/gateway/config.ts';
import { plainIssues, plainTexts } from '#src/platform/files/plain-issues.ts';
import { parseMasterKey } from '#src/platform/secret-box.ts';
import { deleteAt } from './at-path.ts';
import {
  collectSettings,
  contradictions,
  loadSettings,
  nameOf,
  type SettingProblem,
  type Settings,
  SettingsError,
  type SettingsSource,
  settingFields,
  settingsSchema,
} from './config.ts';
import { orderingAudience } from './ordering-audience.ts';
import { runsGateway } from './role-parts.ts';
import { fileVariableOf } from './secret-files.ts';
import { publicOriginOf } from './tls-files.ts';
import { tlsProblems, validityProblems } from './tls-problems.ts';

/** Variables of commands that talk to a remote server (remote-caller.ts). */
const namesOfCommands = [
  'ORDERPASS_API_KEY',
  'ORDERPASS_CLIENT_ID',
  'ORDERPASS_CLIENT_SECRET',
  'ORDERPASS_WEBHOOK_SECRET',
];

/** Empty when a start would accept the settings. */
export const settingsProblems = (source: SettingsSource): SettingProblem[] => {
  let collected: ReturnType<typeof collectSettings>;
  try {
    collected = collectSettings(source);
  } catch (error) {
    if (error instanceof SettingsError) return [...error.problems];
    throw error;
  }
  return [...collected.problems, ...problemsOf(collected.raw)];
};

const problemsOf = (raw: Record<string, unknown>): SettingProblem[] => {
  const parsed = settingsSchema.safeParse(raw, plainTexts);
  if (parsed.success) return [...contradictions(parsed.data), ...outsideProblems(parsed.data)];
  const wrong = plainIssues(parsed.error).map(({ path, message }) => ({ path: path.join('.'), message }));
  const problems = wrong.map(({ path, message }) => ({ path: nameOf(path), message }));
  // Wrong values are replaced by their defaults, so that the other values can be checked too.
  for (const { path } of wrong) deleteAt(raw, fieldOf(path));
  const rest = settingsSchema.safeParse(raw);
  const named = new Set(problems.map(({ path }) => path));
  const more = rest.success ? [...contradictions(rest.data), ...outsideProblems(rest.data)] : [];
  return [...problems, ...more.filter(({ path }) => !named.has(path))];
};

/** A problem may lie within a setting: that of one upstream in the list of all. */
const fieldOf = (path: string): string =>
  settingFields().find((field) => path === field.path || path.startsWith(`${field.path}.`))?.path ?? path;

const outsideProblems = (settings: Settings): SettingProblem[] => [
  ...masterKeyProblems(settings),
  ...gatewayProblems(settings),
  ...portProblems(settings),
  ...redisProblems(settings),
  ...tlsProblems(settings),
];

const redisProblems = ({ redis_ca_file: file }: Settings): SettingProblem[] => {
  if (file === undefined) return [];
  try {
    createSecureContext({ ca: readFileSync(file) });
    return [];
  } catch (error) {
    return [{ path: nameOf('redis_ca_file'), message: error instanceof Error ? error.message : String(error) }];
  }
};

const notAKey = 'must be 32 bytes as base64 or hex';

const masterKeyProblems = (settings: Settings): SettingProblem[] => {
  const { master_key: given, master_key_previous: previous } = settings;
  const isWrong = (text: string | undefined): boolean => text !== undefined && parseMasterKey(text) === undefined;
  return [
    ...(isWrong(given) ? [{ path: nameOf('master_key'), message: notAKey }] : []),
    ...(isWrong(previous) ? [{ path: nameOf('master_key_previous'), message: notAKey }] : []),
    ...(given === undefined ? keyFileProblems(settings) : []),
  ];
};

const keyFileProblems = ({ master_key_file, data_dir }: Settings): SettingProblem[] => {
  const file = master_key_file ?? join(resolve(data_dir), 'master.key');
  if (master_key_file === undefined && !existsSync(file)) return [];
  const path = nameOf(master_key_file === undefined ? 'data_dir' : 'master_key_file');
  try {
    return parseMasterKey(readFileSync(file, 'utf8')) === undefined ? [{ path, message: `${file} ${notAKey}` }] : [];
  } catch (error) {
    return [{ path, message: error instanceof Error ? error.message : String(error) }];
  }
};

/** Names of the upstreams with an address in the settings; role all fills in its own. */
const upstreamNames = ({ role, gateway }: Settings): string[] => [
  ...Object.keys(gateway.upstreams),
  ...(role === 'all' ? [orderingAudience] : []),
];

/** All reasons for which a gateway with these settings refuses its route table, at a start and at a reload. */
export const tableProblems = (settings: Settings): string[] => {
  const { gateway, role } = settings;
  const file = routesFileOf(gateway);
  const ownCore = role === 'all' ? { [orderingAudience]: 'http://127.0.0.1' } : {};
  return [
    ...routeTableProblems(file, upstreamNames(settings)),
    ...plainAddressProblems(file, { ...gateway.upstreams, ...ownCore }),
    ...ownAudienceProblems(file, publicOriginOf(settings)),
    ...ownPathProblems(file, turnedOnPaths(gateway)),
  ];
};

/** Names in `auth_check_audiences` that are no upstream with an address. */
export const lostAudiences = (settings: Settings): string[] => {
  const known = new Set([...upstreamNames(settings), ...upstreamNamesIn(routesFileOf(settings.gateway))]);
  return settings.gateway.auth_check_audiences.filter((name) => !known.has(name));
};

const gatewayProblems = (settings: Settings): SettingProblem[] => {
  if (!runsGateway(settings)) return [];
  const file = routesFileOf(settings.gateway);
  return [
    ...tableProblems(settings).map((message) => ({
      path: nameOf('gateway.routes_file'),
      message: `${file}: ${message}`,
    })),
    ...lostAudiences(settings).map((name) => ({
      path: nameOf('gateway.auth_check_audiences'),
      message: `${name} is no upstream that has an address`,
    })),
  ];
};

const everywhere = new Set(['0.0.0.0', '::']);

/** Two listeners of one process may not have one port at one address. Port 0 takes a free one. */
const portProblems = (settings: Settings): SettingProblem[] => {
  const { host, port, internal_host, internal_port, tls } = settings;
  if (!runsGateway(settings)) return [];
  const isOneAddress = host === internal_host || everywhere.has(host) || everywhere.has(internal_host);
  const rows: [boolean, string, string][] = [
    [isOneAddress && port === internal_port, 'internal_port', `is ${port}, the port of the public listener`],
    [tls.redirect_port === port, 'tls.redirect_port', `is ${port}, the port of the public listener`],
    [
      isOneAddress && tls.redirect_port === internal_port,
      'tls.redirect_port',
      `is ${internal_port}, the port of the internal listener`,
    ],
  ];
  return rows
    .filter(([isTaken, path]) => isTaken && (path !== 'internal_port' || port !== 0))
    .map(([, path, message]) => ({ path: nameOf(path), message }));
};

/** What `config check` refuses and a start only warns about. */
export const settingsWarnings = (source: SettingsSource): SettingProblem[] => [
  ...unknownNames(source),
  ...(settingsProblems(source).length > 0 ? [] : laterProblems(loadSettings(source))),
];

/** The file itself is made, and may be rotated away; the audit is kept until the folder is there. */
const sinkProblems = (settings: Settings): SettingProblem[] => {
  const { audit_file: file } = settings.gateway;
  if (file === undefined || !runsGateway(settings) || existsSync(dirname(resolve(file)))) return [];
  return [{ path: nameOf('gateway.audit_file'), message: `there is no folder ${dirname(resolve(file))}` }];
};

const laterProblems = (settings: Settings): SettingProblem[] => {
  const { environment, role, origin } = settings;
  const isLost = environment === 'production' && role === 'worker' && origin === undefined;
  const message = 'a worker in production needs the public address, for the links in notices to users of the panel';
  return [
    ...validityProblems(settings),
    ...sinkProblems(settings),
    ...(isLost ? [{ path: nameOf('origin'), message }] : []),
  ];
};

/** Names in the environment that look like settings of the program and are none, each with the one that was meant. */
export const unknownNames = ({ env }: Pick<SettingsSource, 'env'>): SettingProblem[] => {
  const fields = settingFields();
  const files = fields.flatMap((field) => fileVariableOf(field) ?? []);
  const known = [...fields.flatMap((field) => field.env ?? []), ...files, ...namesOfCommands];
  return Object.keys(env)
    .filter((name) => name.startsWith('ORDERPASS_') && !known.includes(name))
    .map((name) => {
      const nearest = nearestOf(name, known);
      return {
        path: name,
        message: `is no setting of this program${nearest === undefined ? '' : `; the nearest is ${nearest}`}`,
      };
    });
};

const nearestOf = (name: string, known: readonly string[]): string | undefined => {
  const ranked = known
    .map((candidate) => ({ candidate, away: distance(name, candidate) }))
    .sort((a, b) => a.away - b.away);
  const [first] = ranked;
  // Farther away than a third of the name it would be a guess.
  return first !== undefined && first.away <= (name.length - 'ORDERPASS_'.length) / 3 + 1 ? first.candidate : undefined;
};

/** Levenshtein: letters to insert, remove or replace. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row[b.length] ?? 0;
};
