/**
 * What the gateway is told: its settings, and the route table, which is the only place where it meets the trade of the
 * service behind it. Both are checked completely before any socket opens.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { auditSettings } from './audit/config.ts';
import { dpopSettings } from './dpop/config.ts';
import { limitsSettings } from './limits/config.ts';
import { mayBePassed } from './model/claimed-headers.ts';
import { oauthSettings } from './oauth/config.ts';
import { addressesOf, policySettings } from './policy/config.ts';

const number = (min: number, max: number, value: number) => z.coerce.number().int().min(min).max(max).default(value);

/**
 * `core=http://10.0.0.5:8081|http://10.0.0.6:8081,other=http://10.0.0.7:8081` from the environment, an object from a file;
 * several addresses of one upstream are separated by `|` in both.
 */
const upstreams = z.preprocess(
  (value) => (typeof value === 'string' ? parsePairs(value) : value),
  z.record(
    z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'a name of lower-case letters, digits and hyphens'),
    z
      .string()
      .refine(areUpstreamUrls, 'must be http://host[:port] or https://host[:port], without a path; several apart by |'),
  ),
);

export const gatewaySettings = z.strictObject({
  realm: z
    .string()
    .regex(/^[A-Za-z0-9 ._-]{1,64}$/, 'at most 64 letters, digits, spaces, dots, hyphens and underscores')
    .default('orderpass')
    .meta({ description: 'Realm that challenges name', env: 'ORDERPASS_REALM' }),
  routes_file: z.string().min(1).optional().meta({
    description:
      'Route table (JSON): operations, scopes, limits, upstreams. Default: `config/routes.json` of the program',
    env: 'ORDERPASS_ROUTES_FILE',
  }),
  upstreams: upstreams.default({}).meta({
    description:
      'Addresses of the services behind the gateway, as name=url pairs, several for one name as url|url; role all fills in its own',
    env: 'ORDERPASS_UPSTREAMS',
  }),
  url_bytes_max: number(256, 16_384, 8_192).meta({
    description: 'Longest request target (414)',
    env: 'ORDERPASS_URL_BYTES_MAX',
  }),
  header_bytes_max: number(1_024, 16_384, 16_384).meta({
    description: 'All header fields of a request together (431)',
    env: 'ORDERPASS_HEADER_BYTES_MAX',
  }),
  upstream_connect_timeout_ms: number(50, 60_000, 5_000).meta({
    description: 'Time to open a connection to an upstream (502)',
    env: 'ORDERPASS_UPSTREAM_CONNECT_TIMEOUT_MS',
  }),
  upstream_connections_max: number(1, 10_000, 256).meta({
    description: 'Connections to one address of an upstream',
    env: 'ORDERPASS_UPSTREAM_CONNECTIONS_MAX',
  }),
  upstream_waiting_max: number(0, 100_000, 1_024).meta({
    description: 'Requests that may wait for a connection to one upstream; more are refused (503)',
    env: 'ORDERPASS_UPSTREAM_WAITING_MAX',
  }),
  ...policySettings.shape,
  ...oauthSettings.shape,
  ...dpopSettings.shape,
  ...limitsSettings.shape,
  ...auditSettings.shape,
});

export type GatewaySettings = z.infer<typeof gatewaySettings>;

/** The route table that the settings name, or the one that comes with the program. */
export const routesFileOf = (settings: Pick<GatewaySettings, 'routes_file'>): string =>
  settings.routes_file ?? fileURLToPath(new URL('../../config/routes.json', import.meta.url));

/** Upstream of operations that the gateway answers by itself. */
export const ownUpstream = 'self';

/** The operation that tells a caller why it was refused. */
export const denialRoute = 'whoami.denial';

const kind = z.enum(['api_key', 'api_client', 'bearer']);

const routeSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9._-]{1,64}$/),
  method: z.enum(['GET', 'POST']),
  path: z
    .string()
    .regex(
      /^(\/[A-Za-z0-9._-]+)+(\/\{[a-z_]+\})?$/,
      'an absolute path without a trailing slash; the last segment may be a {name}',
    ),
  scopes: z.array(z.string()),
  kinds: z.array(kind).min(1),
  class: z.enum(['R', 'W', 'H']),
  bodyBytesMax: z
    .int()
    .min(0)
    .default(1024 * 1024),
  bodyTimeoutMs: z.int().min(10).default(30_000),
  /** How long the upstream may be silent, first after the request, then between two pieces of its answer. */
  answerTimeoutMs: z.int().min(10).default(30_000),
  upstream: z.string(),
  /** The connection may become a WebSocket when the client asks for it. */
  upgrade: z.boolean().default(false),
  /** Scopes that are tried out: callers without them are noted and let through. */
  dryRun: z.strictObject({ scopes: z.array(z.string()).min(1) }).optional(),
});

const upstreamPolicy = z.strictObject({
  /** Fields of callers that go on to this upstream though they claim who calls, from where or what is meant. */
  passHeaders: z
    .array(z.string().refine(mayBePassed, 'a field in lower case that the gateway drops by default and does not set'))
    .default([]),
});

const routeTable = z
  .strictObject({
    /** In the sequence that every list of scopes follows. */
    scopes: z.array(
      z.strictObject({
        name: z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/, 'a scope token of RFC 6749'),
        description: z.string().min(1),
      }),
    ),
    /** What every API key holds. */
    apiKeyScopes: z.array(z.string()),
    /** How callers say "tenants", and which facts of each they are told (who am I). */
    tenantWords: z
      .strictObject({ list: z.string().regex(/^[a-z_]+$/), facts: z.array(z.string().regex(/^[a-z_]+$/)) })
      .default({ list: 'tenants', facts: [] }),
    /** Name of an upstream -> what is special about it. */
    upstreams: z.record(z.string(), upstreamPolicy).default({}),
    routes: z.array(routeSchema).min(1),
  })
  .superRefine((table, context) => {
    for (const [path, message] of contradictions(table)) context.addIssue({ code: 'custom', path, message });
  });

export type RouteTable = z.infer<typeof routeTable>;
export type Route = RouteTable['routes'][number];
export type TenantWords = RouteTable['tenantWords'];

type Place = (string | number)[];

const contradictions = (table: RouteTable): [Place, string][] => {
  const known = new Set(table.scopes.map(({ name }) => name));
  const found: [Place, string][] = [];
  if (known.size !== table.scopes.length) found.push([['scopes'], 'a scope is listed twice']);
  for (const [index, scope] of table.apiKeyScopes.entries()) {
    if (!known.has(scope)) found.push([['apiKeyScopes', index], `no such scope: ${scope}`]);
  }
  const used = new Set(table.routes.map(({ upstream }) => upstream));
  for (const name of Object.keys(table.upstreams)) {
    if (!used.has(name)) found.push([['upstreams', name], 'no route goes to this upstream']);
  }
  const seen = new Set<string>();
  for (const [index, route] of table.routes.entries()) {
    for (const name of [route.id, `${route.method} ${route.path}`]) {
      if (seen.has(name)) found.push([['routes', index], `${name} is listed twice`]);
      seen.add(name);
    }
    const missing = [...route.scopes, ...(route.dryRun?.scopes ?? [])].filter((scope) => !known.has(scope));
    if (missing.length > 0) found.push([['routes', index, 'scopes'], `no such scope: ${missing.join(' ')}`]);
    if (route.upgrade && route.method !== 'GET') found.push([['routes', index, 'upgrade'], 'only GET can be upgraded']);
    // The scopes decide who may pass; `kinds` states the intention, and the two may not drift apart.
    const opensToKeys = route.scopes.every((scope) => table.apiKeyScopes.includes(scope));
    if (opensToKeys !== route.kinds.includes('api_key')) {
      found.push([['routes', index, 'kinds'], 'api_key must be listed exactly when API keys hold every scope']);
    }
  }
  return found;
};

/** A route table that cannot be used: every problem with its path. */
export class RouteTableError extends Error {
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file}: ${problems.join('; ')}`);
    this.name = 'RouteTableError';
    this.problems = problems;
  }
}

/** The table by itself, whoever has the addresses. Throws RouteTableError with all problems together. */
export const readRouteTable = (file: string): RouteTable => {
  const parsed = routeTable.safeParse(readJson(file));
  if (!parsed.success) throw new RouteTableError(file, problemsOf(parsed.error));
  return parsed.data;
};

/** Throws RouteTableError with all problems together. `upstreams`: names that have an address. */
export const loadRouteTable = (file: string, upstreamNames: readonly string[]): RouteTable => {
  const table = readRouteTable(file);
  const lost = [...new Set(table.routes.map(({ upstream }) => upstream))].filter(
    (name) => name !== ownUpstream && !upstreamNames.includes(name),
  );
  if (lost.length > 0) throw new RouteTableError(file, [`no address for upstream ${lost.join(', ')}`]);
  return table;
};

/** All for which `loadRouteTable` would reject the file, at once: also upstreams without an address in a table that is wrong elsewhere. */
export const routeTableProblems = (file: string, upstreamNames: readonly string[]): readonly string[] => {
  try {
    loadRouteTable(file, upstreamNames);
    return [];
  } catch (error) {
    if (!(error instanceof RouteTableError)) throw error;
    return [...new Set([...error.problems, ...lostUpstreams(file, upstreamNames)])];
  }
};

const lostUpstreams = (file: string, upstreamNames: readonly string[]): string[] => {
  const loose = z
    .object({ routes: z.array(z.unknown()) })
    .catch({ routes: [] })
    .parse(tryJson(file));
  const upstream = z.object({ upstream: z.string() });
  const named = loose.routes.flatMap((route) => upstream.safeParse(route).data?.upstream ?? []);
  return noAddress([...new Set(named)].filter((name) => name !== ownUpstream && !upstreamNames.includes(name)));
};

const noAddress = (lost: readonly string[]): string[] =>
  lost.length === 0 ? [] : [`no address for upstream ${lost.join(', ')}`];

const tryJson = (file: string): unknown => {
  try {
    return readJson(file);
  } catch {
    return undefined;
  }
};

/** Names of the scopes that exist, in their sequence. Throws RouteTableError. */
export const loadScopeNames = (file: string): string[] => readRouteTable(file).scopes.map(({ name }) => name);

const problemsOf = (error: z.ZodError): string[] =>
  error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new RouteTableError(file, [error instanceof Error ? error.message : String(error)]);
  }
};

function areUpstreamUrls(value: string): boolean {
  const addresses = addressesOf(value);
  return (
    addresses.every(isUpstreamUrl) && new Set(addresses.map((url) => new URL(url).origin)).size === addresses.length
  );
}

function isUpstreamUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.origin === value.replace(/\/$/, '');
}

/** Text that is not made of pairs is left as it is, for the schema to complain about. */
const parsePairs = (text: string): unknown => {
  const pairs = text.split(',').map((part) => part.trim().split(/=(.*)/s, 2));
  if (pairs.some((pair) => pair.length !== 2)) return text;
  return Object.fromEntries(pairs.map(([name, url]) => [name, url]));
};
