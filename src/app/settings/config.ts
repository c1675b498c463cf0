/**
 * Every setting of the program, read once: schema defaults < `--config` file (JSON) < environment. All problems
 * are found together, with their paths, before any socket opens.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { gatewaySettings } from '#src/gateway/config.ts';
import { orderingSettings } from '#src/ordering/config.ts';
import { panelSettings } from '#src/panel/config.ts';
import { addressProblem, hasSessionParameters } from '#src/platform/db/database-address.ts';
import { plainIssues, plainTexts } from '#src/platform/files/plain-issues.ts';
import { internalTlsSettings, tlsSettings } from '#src/platform/http/tls/config.ts';
import { isCluster, redisAddressProblem, speaksTls } from '#src/platform/kv/redis-address.ts';
import { asNumber, number } from '#src/platform/settings.ts';
import { tracingSettings } from '#src/platform/telemetry/tracing-config.ts';
import { mailSettings, staffSettings } from '#src/staff/config.ts';
import { webhooksSettings } from '#src/webhooks/config.ts';
import { getAt, setAt } from './at-path.ts';
import { readSecretFiles } from './secret-files.ts';
import { type SettingProblem, SettingsError } from './settings-error.ts';
import { type JoinedSettings, processSettingsSource, type SettingsSource } from './settings-source.ts';

export { type SettingProblem, SettingsError } from './settings-error.ts';
export type { SettingsSource } from './settings-source.ts';

const secret = true;

const migrateModes = ['auto', 'check', 'off'] as const;

const loopbackHosts = new Set(['127.0.0.1', 'localhost', '[::1]']);

const isOrigin = (value: string): boolean => {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  if (url.origin !== value) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopbackHosts.has(url.hostname));
};

/** Numbers arrive as text from the environment and as numbers from a file. */
const port = (value: number) => number(0, 65_535, value);

const processesMax = 64;
const processesText = { error: `must be auto or a number from 1 to ${processesMax}` };

const processCount = z
  .preprocess(
    (value) => (value === 'auto' ? Math.min(availableParallelism(), processesMax) : asNumber(value)),
    z.number(processesText).int(processesText).min(1, processesText).max(processesMax, processesText),
  )
  .default(1);

const databaseAddress = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: 'must begin with postgresql://', abort: true })
  .refine((text) => addressProblem(text) === undefined, { error: ({ input }) => addressProblem(String(input)) })
  .optional();

export const settingsSchema = z.strictObject({
  role: z
    .enum(['all', 'gateway', 'ordering', 'worker'])
    .default('all')
    .meta({ description: 'What this process runs: everything, or one service of several', env: 'ORDERPASS_ROLE' }),
  processes: processCount.meta({
    description:
      'Processes behind one port, each with its own connections to PostgreSQL; `auto` is one per core, at most 64. More than 1 only in role gateway',
    env: 'ORDERPASS_PROCESSES',
  }),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .meta({ description: 'Address of the public listener', env: 'ORDERPASS_HOST' }),
  port: port(8080).meta({ description: 'Port of the public listener; 0 takes a free one', env: 'PORT' }),
  origin: z
    .string()
    .refine(isOrigin, 'must be https://host[:port] without a path; plain http only for loopback')
    .optional()
    .meta({
      description: 'Public address: issuer and links. Default http://127.0.0.1:PORT, https with TLS',
      env: 'ORDERPASS_ORIGIN',
    }),
  internal_host: z.string().min(1).default('127.0.0.1').meta({
    description: 'Address of the internal listener: the ordering core, /metrics, /healthz and /readyz',
    env: 'ORDERPASS_INTERNAL_HOST',
  }),
  internal_port: port(0).meta({
    description:
      'Port of the internal listener; 0 takes a free one (role all only); roles gateway and worker have one, for /metrics and probes, when it is set',
    env: 'ORDERPASS_INTERNAL_PORT',
  }),
  metrics_token: z
    .string()
    .regex(/^[A-Za-z0-9._~+/-]{16,256}=*$/, 'must have 16 to 256 letters, digits or any of . _ ~ + / -')
    .optional()
    .meta({
      description:
        'Bearer token that /metrics of the internal listener then asks for; without it every client that reaches the listener may read',
      env: 'ORDERPASS_METRICS_TOKEN',
      secret,
    }),
  drain_ms: number(0, 300_000, 0).meta({
    description:
      'After SIGTERM or SIGINT, how long requests are still taken while /readyz is 503, so that a load balancer sends them elsewhere. 0: none; behind a load balancer, longer than it takes to notice',
    env: 'ORDERPASS_DRAIN_MS',
  }),
  grace_ms: number(0, 300_000, 3_000).meta({
    description: 'How long running requests and streams may take after the port has closed; then they are cut',
    env: 'ORDERPASS_GRACE_MS',
  }),
  data_dir: z.string().min(1).default('./data').meta({
    description:
      'Folder of the embedded PostgreSQL, of the master key, and of the last signed ends of the audit, by which a database that was set back is noticed: keep it, one for each gateway',
    env: 'ORDERPASS_DATA_DIR',
  }),
  database_url: databaseAddress.meta({
    description: 'PostgreSQL to use instead of the embedded one, at one host or several (HOST1:PORT,HOST2:PORT)',
    env: 'DATABASE_URL',
    secret,
  }),
  database_direct_url: databaseAddress.meta({
    description:
      'The same database without its pooler, for LISTEN, locks, migrations and the loops of webhooks, when DATABASE_URL leads to PgBouncer in transaction mode',
    env: 'DATABASE_DIRECT_URL',
    secret,
  }),
  database_prepared: z.enum(['on', 'off']).optional().meta({
    description:
      'Hot statements are prepared by name, so that the server parses them once. Default: on, and off with DATABASE_DIRECT_URL, since PgBouncer knows them from 1.21 with max_prepared_statements',
    env: 'ORDERPASS_DATABASE_PREPARED',
  }),
  migrate: z.enum(migrateModes).default('auto').meta({
    description:
      'What a start does when migrations are missing: `auto` applies them, `check` refuses to start, `off` starts with any schema and logs the difference',
    env: 'ORDERPASS_MIGRATE',
  }),
  database_connections_max: number(2, 500, 12).meta({
    description:
      'Connections to PostgreSQL that this process may hold; six more while the core imports menus. At least 7 in role all, 5 in worker, 3 in gateway, 2 in ordering, and 2 in each with DATABASE_DIRECT_URL',
    env: 'ORDERPASS_DATABASE_CONNECTIONS_MAX',
  }),
  redis_url: z
    .string()
    .refine((text) => redisAddressProblem(text) === undefined, {
      error: ({ input }) => redisAddressProblem(String(input)),
    })
    .optional()
    .meta({
      description:
        'Redis for limits that several gateways share (`rediss` instead of `redis` for TLS): one server, Sentinels that name its primary (redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/NAME), or a cluster (redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT). Without it each gateway counts by itself',
      env: 'REDIS_URL',
      secret,
    }),
  redis_ca_file: z.string().optional().meta({
    description:
      'Authorities (PEM) that sign the certificates of Redis, its Sentinels or the nodes of its cluster. Default: those of Node',
    env: 'ORDERPASS_REDIS_CA_FILE',
  }),
  redis_sentinel_password: z.string().optional().meta({
    description: 'Password of the Sentinels, where they ask for one',
    env: 'ORDERPASS_REDIS_SENTINEL_PASSWORD',
    secret,
  }),
  redis_wait_ms: number(1, 5_000, 10).meta({
    description:
      'Longest silence of Redis that a request waits for; then each gateway counts by itself until it answers',
    env: 'ORDERPASS_REDIS_WAIT_MS',
  }),
  master_key: z.string().optional().meta({
    description:
      '32 bytes as base64 or hex; it opens the root from which every other key is derived. Default: made once in the data folder',
    env: 'ORDERPASS_MASTER_KEY',
    secret,
  }),
  master_key_previous: z.string().optional().meta({
    description: 'The master key before, while `master-key rotate` replaces it',
    env: 'ORDERPASS_MASTER_KEY_PREVIOUS',
    secret,
  }),
  master_key_file: z
    .string()
    .optional()
    .meta({ description: 'File that holds the master key', env: 'ORDERPASS_MASTER_KEY_FILE' }),
  environment: z
    .string()
    .default('development')
    .meta({ description: '`production` makes no demo restaurant', env: 'NODE_ENV' }),
  log_level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('warn')
    .meta({ description: 'Least severe lines that the log (stderr) shows', env: 'ORDERPASS_LOG_LEVEL' }),
  tls: tlsSettings.prefault({}),
  internal_tls: internalTlsSettings.prefault({}),
  tracing: tracingSettings.prefault({}),
  mail: mailSettings.prefault({}),
  gateway: gatewaySettings.prefault({}),
  ordering: orderingSettings.prefault({}),
  webhooks: webhooksSettings.prefault({}),
  panel: staffSettings.safeExtend(panelSettings.shape).prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;

export type SettingField = {
  path: string;
  env: string | undefined;
  description: string;
  secret: boolean;
  defaultText: string;
};

/** Every field with its environment name, from the schema itself: the start, `config print` and config/README.md read this list. */
export const settingFields = (schema: z.ZodType = settingsSchema, prefix = ''): SettingField[] => {
  const shape = shapeOf(schema);
  if (shape === undefined) return [];
  return Object.entries(shape).flatMap(([name, field]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const meta = field.meta();
    if (meta?.description === undefined) return settingFields(field, path);
    return [
      {
        path,
        env: typeof meta.env === 'string' ? meta.env : undefined,
        description: meta.description,
        secret: meta.secret === true,
        defaultText: defaultTextOf(field),
      },
    ];
  });
};

const shapeOf = (schema: z.ZodType): Record<string, z.ZodType> | undefined => {
  if (schema instanceof z.ZodObject) return schema.shape as Record<string, z.ZodType>;
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) {
    return shapeOf(schema.unwrap() as z.ZodType);
  }
  return undefined;
};

const defaultTextOf = (field: z.ZodType): string => {
  const parsed = field.safeParse(undefined);
  if (!parsed.success || parsed.data === undefined) return '';
  return typeof parsed.data === 'string' ? parsed.data : JSON.stringify(parsed.data);
};

/** Raw settings joined in their order of precedence. Throws SettingsError for a settings file that cannot be used. */
export const collectSettings = (source: SettingsSource): JoinedSettings => {
  if (source.joined !== undefined) return structuredClone(source.joined);
  const raw = source.configFile === undefined ? {} : readConfigFile(source.configFile);
  for (const field of settingFields()) {
    const value = field.env === undefined ? undefined : source.env[field.env];
    if (value !== undefined && value !== '') setAt(raw, field.path, value);
  }
  const { values, problems } = readSecretFiles(settingFields(), source.env);
  for (const { path, value } of values) setAt(raw, path, value);
  return { raw, problems };
};

/** The settings, frozen. Throws SettingsError with every problem at once. */
export const loadSettings = (source: SettingsSource): Settings => {
  const { raw, problems: ofFiles } = collectSettings(source);
  if (ofFiles.length > 0) throw new SettingsError(ofFiles);
  return parseSettings(raw);
};

/** As `loadSettings`, of raw settings that `collectSettings` has joined. */
export const parseSettings = (raw: Record<string, unknown>): Settings => {
  const parsed = settingsSchema.safeParse(raw, plainTexts);
  if (!parsed.success) {
    throw new SettingsError(
      plainIssues(parsed.error).map(({ path, message }) => ({ path: nameOf(path.join('.')), message })),
    );
  }
  const problems = contradictions(parsed.data);
  if (problems.length > 0) throw new SettingsError(problems);
  return Object.freeze(parsed.data);
};

/** The settings of this process, from its environment and an optional file. */
export const loadProcessSettings = (options: { configFile?: string | undefined } = {}): Settings =>
  loadSettings(processSettingsSource(options.configFile));

const certificateRows = ({ tls, gateway }: Settings): [boolean, string, string][] => {
  const { client_certificates: mode, client_certificate_proxies: proxies, mtls_origin: origin } = gateway;
  const speaksTlsHere = tls.cert_file !== undefined;
  const byProxies = mode === 'on' && proxies.length > 0;
  const needsOn = 'needs ORDERPASS_CLIENT_CERTIFICATES to be on';
  return [
    [
      tls.client_ca_file !== undefined && !speaksTlsHere && !byProxies,
      'tls.client_ca_file',
      'needs a certificate and a key for TLS',
    ],
    [
      mode === 'on' && !speaksTlsHere && !byProxies,
      'gateway.client_certificates',
      'needs a certificate and a key for TLS, or ORDERPASS_CLIENT_CERTIFICATE_PROXIES',
    ],
    [mode === 'off' && proxies.length > 0, 'gateway.client_certificate_proxies', needsOn],
    [mode === 'off' && origin !== undefined, 'gateway.mtls_origin', needsOn],
  ];
};

/**
 * Two more than the role keeps: a worker keeps those of its dispatcher, its claims and its results, a gateway the one that watches
 * credentials, and role all also the one of open pages of the panel. With a direct address they are none of the pool.
 */
const connectionsMin = { all: 7, gateway: 3, ordering: 2, worker: 5 } as const;

/** Those that the role keeps are none of the pool with a direct address. */
const connectionsKept = ({ role, database_direct_url: direct }: Settings): number =>
  direct === undefined ? connectionsMin[role] - 2 : 0;

/** Of the pool, for requests to the core at a time. The others are for the gateway and the loops of the process. */
export const coreConnectionsMax = (settings: Settings): number => {
  const others = settings.role === 'all' ? 2 : 1;
  return Math.max(1, settings.database_connections_max - connectionsKept(settings) - others);
};

const connectionRow = (settings: Settings): [boolean, string, string] => {
  const { role, database_connections_max: max, database_direct_url: direct } = settings;
  const min = connectionsMin[role];
  const text = `must be at least ${min} in role ${role}, which keeps ${min - 2} of them`;
  return [direct === undefined && max < min, 'database_connections_max', text];
};

export const contradictions = (settings: Settings): SettingProblem[] => {
  const rows: [boolean, string, string][] = [
    [
      settings.role !== 'all' && settings.database_url === undefined,
      'database_url',
      `role ${settings.role} runs beside others, so it needs DATABASE_URL: the embedded store belongs to role all`,
    ],
    [
      settings.database_direct_url !== undefined && settings.database_url === undefined,
      'database_direct_url',
      'is the server behind the pooler of DATABASE_URL, which is missing',
    ],
    [
      settings.database_direct_url !== undefined && settings.database_direct_url === settings.database_url,
      'database_direct_url',
      'is DATABASE_URL; without a pooler give DATABASE_URL alone',
    ],
    [
      settings.database_direct_url !== undefined && hasSessionParameters(settings.database_url ?? ''),
      'database_url',
      'has parameters of the session, which a pooler refuses or drops: set them for the role (alter role … set …)',
    ],
    [
      settings.processes !== 1 && settings.role !== 'gateway',
      'processes',
      `role ${settings.role} runs in one process: give role gateway several, beside the other roles in processes of their own`,
    ],
    [
      settings.processes !== 1 && settings.port === 0,
      'port',
      'several processes need a fixed port: a replaced process could not find a free one again',
    ],
    [settings.role === 'ordering' && settings.internal_port === 0, 'internal_port', 'role ordering needs a fixed port'],
    [
      settings.master_key !== undefined && settings.master_key_file !== undefined,
      'master_key_file',
      'give the master key once: as value or as file',
    ],
    [
      settings.redis_ca_file !== undefined && !speaksTls(settings.redis_url ?? ''),
      'redis_ca_file',
      'authorities are for a Redis that speaks TLS: REDIS_URL begins with rediss',
    ],
    [
      settings.redis_sentinel_password !== undefined && isCluster(settings.redis_url ?? ''),
      'redis_sentinel_password',
      'is for Sentinels, and REDIS_URL names a cluster, which has none',
    ],
    [
      settings.tracing.endpoint === undefined && settings.tracing.headers !== undefined,
      'tracing.endpoint',
      'headers for a collector are given, and no collector',
    ],
    connectionRow(settings),
    ...certificateRows(settings),
    [
      (settings.gateway.audit_witness_url === undefined) !== (settings.gateway.audit_witness_key === undefined),
      'gateway.audit_witness_url',
      'a witness needs both its address and its verifier key',
    ],
    [
      settings.gateway.profile === 'fapi2' && settings.gateway.legacy_status === 'on',
      'gateway.legacy_status',
      'the profile fapi2 needs real statuses',
    ],
    [
      settings.environment === 'production' && settings.role === 'gateway' && settings.origin === undefined,
      'origin',
      'a gateway in production needs its public address',
    ],
  ];
  return rows.filter(([broken]) => broken).map(([, path, message]) => ({ path: nameOf(path), message }));
};

/** Problems name the environment variable beside the path, since operators set that. */
export const nameOf = (path: string): string => {
  const env = settingFields().find((field) => field.path === path)?.env;
  return env === undefined ? path : `${path} (${env})`;
};

/** The result with secrets masked, one line per field, for `config print`. Works on settings that are not valid too. */
export const maskedSettings = (source: SettingsSource): Record<string, unknown> => {
  const { raw } = collectSettings(source);
  const parsed = settingsSchema.safeParse(raw);
  const shown: Record<string, unknown> = parsed.success ? (parsed.data as Record<string, unknown>) : raw;
  const result: Record<string, unknown> = {};
  for (const field of settingFields()) {
    const value = getAt(shown, field.path);
    result[field.path] = value === undefined ? null : field.secret ? '********' : withoutLogin(value);
  }
  return result;
};

/** An address may hold a password where none belongs, which `config check` refuses. A settings file has some in lists and objects. */
const withoutLogin = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_name, part: unknown) =>
      typeof part === 'string' ? part.replaceAll(/\/\/[^/?#\s|,]*@/g, '//********@') : part,
    ),
  );

const readConfigFile = (path: string): Record<string, unknown> => {
  let text: string;
  try {
    text = readFileSync(resolve(path), 'utf8');
  } catch (error) {
    throw new SettingsError([{ path, message: error instanceof Error ? error.message : 'cannot be read' }]);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of the parser quotes the file, which may hold secrets.
    throw new SettingsError([{ path, message: 'is not JSON' }]);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SettingsError([{ path, message: 'must hold a JSON object' }]);
  }
  return value as Record<string, unknown>;
};
