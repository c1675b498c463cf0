/**
 * The route table: the only place where the gateway meets the names of the services behind it. Every rule that the table
 * must keep is checked here, so a table that parses can be used. A route of the file may name several methods; the table
 * has one route for each.
 */
import { z } from 'zod';
import { foundText, type PlainIssue, plainIssues, plainTexts } from '#src/platform/files/plain-issues.ts';
import { deprecationFields } from './deprecation.ts';
import { contradictions, type Problem } from './route-contradictions.ts';
import {
  type FileRoute,
  kind,
  methodsOf,
  opensToKeys,
  type RouteFile,
  routeFile,
  routeMembers,
  scopesFor,
} from './route-file.ts';
import { classFor, type RouteClass, type TenantLimits } from './route-limits.ts';
import type { Method } from './route-path.ts';
import { upstreamPolicy } from './upstream-policy.ts';

export { denialRoute, ownUpstream } from './route-file.ts';

/** One method of one route of the file. */
export type Route = Omit<FileRoute, 'method' | 'scopes' | 'kinds' | 'class' | 'anyOf'> & {
  method: Method;
  /** The file says `*`, so a route that names the method comes first. */
  anyMethod: boolean;
  /** Needed all, in the sequence of the table. */
  scopes: readonly string[];
  /** Beside `scopes`, one of these sets is needed. Empty: no set is. */
  anyOf: readonly (readonly string[])[];
  kinds: readonly z.infer<typeof kind>[];
  class: RouteClass;
  /** Those of the file, on every route. */
  tenantLimits?: TenantLimits;
  /** Header fields of every answer, as a flat list, where the route has a `deprecation`. */
  deprecationFields?: readonly string[];
};

/** A route that no file names, for a path of the gateway itself that every credential may use. */
export const routeOfGateway = ({
  method,
  ...members
}: Pick<FileRoute, 'id' | 'path' | 'upstream' | 'body'> & { method: Method }): Route => ({
  ...routeMembers.parse({ ...members, method }),
  method,
  anyMethod: false,
  scopes: [],
  anyOf: [],
  kinds: kind.options,
  class: 'R',
});

/**
 * All scopes that a caller needs who holds `held`: those of the route, and of its sets the one of which the fewest are
 * missing, the first of several. So a refusal names the shortest way to be let in.
 */
export const neededScopes = ({ scopes, anyOf }: Route, held: ReadonlySet<string>): readonly string[] => {
  const missing = (set: readonly string[]): number => set.filter((name) => !held.has(name)).length;
  const [first, ...others] = anyOf;
  if (first === undefined) return scopes;
  const nearest = others.reduce((best, set) => (missing(set) < missing(best) ? set : best), first);
  return [...scopes, ...nearest.filter((name) => !scopes.includes(name))];
};

/** Sets of scopes of which a caller needs one: those of the route, each time with one of its sets. */
export const scopeSetsOf = ({ scopes, anyOf }: Route): readonly (readonly string[])[] =>
  anyOf.length === 0 ? [scopes] : anyOf.map((set) => [...new Set([...scopes, ...set])]);

/** A request without a credential passes. One that is presented is checked all the same. */
export const mayBeAnonymous = (route: Route | undefined): boolean =>
  route !== undefined && route.access !== 'credential';

/**
 * The routes that HEAD may meet and whose callers may send GET to the same path, by their scopes, each with the route of that GET.
 * HEAD comes with a route for GET. A route of the file for both may need other scopes for each.
 */
export const headAsGet = (routes: readonly Route[]): ReadonlyMap<Route, Route> => {
  const byId = new Map(routes.flatMap((one) => (one.method === 'GET' ? [[one.id, one]] : [])));
  return new Map(
    routes.flatMap((one): [Route, Route][] => {
      const get = one.method === 'GET' ? one : one.method === 'HEAD' ? byId.get(one.id) : undefined;
      return get?.scopes.join(' ') === one.scopes.join(' ') ? [[one, get]] : [];
    }),
  );
};

export type RouteTable = Omit<RouteFile, 'routes' | '$schema'> & { routes: Route[] };
export type TenantWords = RouteTable['tenantWords'];

/** The table of a parsed JSON or YAML value, or every problem of it with its path. */
export const parseRouteTable = (
  value: unknown,
): { table: RouteTable; problems?: never } | { table?: never; problems: Problem[] } => {
  const parsed = routeFile.safeParse(value, plainTexts);
  if (!parsed.success) {
    const malformed = plainIssues(parsed.error).map((issue): Problem => [issue.path as Problem[0], textOf(issue)]);
    return { problems: [...malformed, ...contradictions(wellFormedPart(value))] };
  }
  const problems = contradictions(parsed.data);
  return problems.length > 0 ? { problems } : { table: tableOf(parsed.data) };
};

/** Values of fields may be secrets, so they are not shown. */
const textOf = ({ path, message, input }: PlainIssue): string =>
  path.includes('set') ? message : `${message}${foundText(input)}`;

/** So that a problem in one member does not hide those between the others, and causes no other. */
const wellFormedPart = (value: unknown): Parameters<typeof contradictions>[0] => {
  const { apiKeyScopes, cors, tenantLimits } = routeFile.shape;
  const named = z.object({ name: z.string() }).transform(({ name }) => ({ name, description: name }));
  const loose = z
    .object({
      scopes: z.array(named.optional().catch(undefined)).catch([]),
      apiKeyScopes: apiKeyScopes.catch([]),
      upstreams: z.record(z.string(), upstreamPolicy.optional().catch(undefined)).catch({}),
      cors: cors.catch({}),
      tenantLimits: tenantLimits.catch(undefined),
      routes: z.array(z.unknown()).catch([]),
    })
    .catch({ scopes: [], apiKeyScopes: [], upstreams: {}, cors: {}, routes: [] });
  const file = loose.parse(value);
  const upstream = z.object({ upstream: z.string() });
  const group = z.object({ cells: z.record(z.string(), z.unknown()) });
  const { upstreams } = z
    .object({ upstreams: z.record(z.string(), z.unknown()) })
    .catch({ upstreams: {} })
    .parse(value);
  const routes = file.routes.map(withoutWrongMembers);
  const isUnnamed = (route: FileRoute | undefined, index: number): boolean =>
    route?.id !== Reflect.get(Object(file.routes[index]), 'id');
  return {
    ...file,
    scopes: file.scopes.filter((scope) => scope !== undefined),
    routes,
    unnamedRoutes: new Set(routes.filter(isUnnamed)),
    namedUpstreams: [
      ...file.routes.flatMap((route) => upstream.safeParse(route).data?.upstream ?? []),
      ...Object.values(upstreams).flatMap((one) =>
        // Not converted to text, which throws for an object such as {"toString":0}.
        Object.values(group.safeParse(one).data?.cells ?? {}).filter((cell) => typeof cell === 'string'),
      ),
    ],
  };
};

/** Members that may be left out with those that depend on them. Without one of the others no rule can be checked. */
const dependents: ReadonlyMap<string, readonly string[]> = new Map([
  ...[
    ...['kinds', 'class', 'stripPrefix', 'addPrefix', 'body', 'bodyBytesMax', 'timeouts', 'requestHeaders'],
    ...['responseHeaders', 'upgrade', 'dryRun', 'deprecation', 'limits', 'tenant', 'id'],
  ].map((name): [string, string[]] => [name, []]),
  // What it may name depends on the policy for scripts.
  ['cors', ['responseHeaders']],
  ['anyOf', ['kinds']],
  ['path', ['hosts', 'stripPrefix', 'tenant']],
  ['hosts', ['path', 'stripPrefix', 'tenant']],
]);

/** Undefined: what is wrong could make other members look wrong, such as the scopes. */
const withoutWrongMembers = (value: unknown, index: number): FileRoute | undefined => {
  const { success, data, error } = routeMembers.safeParse(value);
  if (success) return data;
  if (typeof value !== 'object' || value === null) return undefined;
  const wrong = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [String(issue.path[0])],
  );
  if (wrong.some((name) => Object.hasOwn(routeMembers.shape, name) && !dependents.has(name))) return undefined;
  const dropped = new Set(wrong.flatMap((name) => [name, ...(dependents.get(name) ?? [])]));
  const left = Object.entries(value).filter(([name]) => !dropped.has(name));
  // Every route needs a name and a path; these are equal to no other.
  const standIns = { id: `malformed-${index}`, path: `/malformed/${index}` };
  return routeMembers.safeParse({ ...standIns, ...Object.fromEntries(left) }).data;
};

const tableOf = ({ $schema, ...file }: RouteFile): RouteTable => {
  const rank = new Map(file.scopes.map(({ name }, index) => [name, index]));
  const sorted = (names: readonly string[]): string[] =>
    names.toSorted((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
  const keyScopes = new Set(file.apiKeyScopes);
  const routes = file.routes.flatMap((route) =>
    methodsOf(route).map((method): Route => {
      const scopes = sorted(scopesFor(route, method));
      const anyOf = (route.anyOf ?? []).map(sorted);
      return {
        ...route,
        method,
        anyMethod: route.method === '*',
        scopes,
        anyOf,
        kinds: route.kinds ?? (opensToKeys({ scopes, anyOf }, keyScopes) ? kind.options : ['api_client', 'bearer']),
        class: classFor(route.class, method),
        ...(file.tenantLimits !== undefined && { tenantLimits: file.tenantLimits }),
        ...(route.deprecation && { deprecationFields: deprecationFields(route.deprecation) }),
      };
    }),
  );
  return { ...file, routes };
};
