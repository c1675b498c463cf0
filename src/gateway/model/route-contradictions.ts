/** What a file of routes may not say although each member by itself is well-formed. */
import { isDeepStrictEqual } from 'node:util';
import { deprecationNames } from './deprecation.ts';
import { isRuled } from './header-rules.ts';
import {
  type FileRoute,
  methodsOf,
  opensToKeys,
  ownOperations,
  ownUpstream,
  type RouteFile,
  scopesFor,
} from './route-file.ts';
import { classFor, unitsOfRoute } from './route-limits.ts';
import { isParameter, type Method, ownPathOf, patternOf, segmentsOf, takenPathText } from './route-path.ts';
import { identityPolicyOf, isTokenHeaderPassed } from './upstream-identity.ts';
import { addressesIn, type UpstreamPolicy, upstreamName, upstreamPolicy, upstreamsBehind } from './upstream-policy.ts';

type Path = (string | number)[];
/** Where it stands in the file, and what is wrong. */
export type Problem = [Path, string];

/** A file of which some routes and upstreams may be malformed. */
type CheckedFile = Pick<RouteFile, 'scopes' | 'apiKeyScopes' | 'cors' | 'tenantLimits'> & {
  upstreams: Readonly<Record<string, UpstreamPolicy | undefined>>;
  routes: (FileRoute | undefined)[];
  /** Those whose id is malformed, so that another one stands for it. Default: none. */
  unnamedRoutes?: ReadonlySet<FileRoute | undefined>;
  /** Also those of malformed routes. Default: those of `routes`. */
  namedUpstreams?: readonly string[];
};

/** Every contradiction with its path in the file. */
export const contradictions = (file: CheckedFile): Problem[] => {
  const known = new Set(file.scopes.map(({ name }) => name));
  const keyScopes = new Set(file.apiKeyScopes);
  const hostsHaveCors = Object.keys(file.cors).length > 0;
  return [
    ...problemsOfScopes(file, known),
    ...unusedUpstreams(file),
    ...problemsOfUpstreams(file),
    ...problemsOfCells(file),
    ...ruledTokenHeaders(file),
    ...sameRoutes(file.routes),
    ...file.routes.flatMap((route, index) =>
      route === undefined
        ? []
        : [
            ...problemsOfRoute(route, { known, keyScopes, hostsHaveCors }),
            ...problemsOfLimits(route, file.tenantLimits),
            ...problemsOfRouteToCells(route, file.upstreams),
            ...(file.unnamedRoutes?.has(route) === true ? [] : lostOperation(route)),
          ].map(([path, message]): Problem => [['routes', index, ...path], message]),
    ),
  ];
};

const problemsOfScopes = (file: CheckedFile, known: ReadonlySet<string>): Problem[] => {
  const names = file.scopes.map(({ name }) => name);
  const found = names.flatMap((name, index): Problem[] =>
    names.indexOf(name) < index ? [[['scopes', index, 'name'], `${name} is listed twice`]] : [],
  );
  for (const [index, scope] of file.apiKeyScopes.entries())
    if (!known.has(scope)) found.push([['apiKeyScopes', index], `no such scope: ${scope}`]);
  return found;
};

const unusedUpstreams = ({ upstreams, routes, namedUpstreams }: CheckedFile): Problem[] => {
  const named = namedUpstreams ?? routes.flatMap((route) => route?.upstream ?? []);
  const used = new Set(named.flatMap((name) => [name, ...upstreamsBehind(name, upstreams)]));
  return Object.keys(upstreams)
    .filter((name) => !used.has(name))
    .map((name) => [['upstreams', name], 'no route goes to this upstream']);
};

const problemsOfUpstreams = ({ upstreams }: CheckedFile): Problem[] =>
  Object.entries(upstreams).flatMap(([name, policy]): Problem[] => {
    const found: Problem[] = [];
    const named = upstreamName.safeParse(name);
    if (!named.success) found.push([['upstreams', name], named.error.issues[0]?.message ?? '']);
    if (policy === undefined) return found;
    if (isTokenHeaderPassed(policy.identity, policy.passHeaders))
      found.push([['upstreams', name, 'identity', 'header'], 'passHeaders has the same field']);
    const origins = addressesIn(policy).map(({ origin }) => origin);
    if (name === ownUpstream && origins.length > 0)
      found.push([['upstreams', name, 'addresses'], 'operations of the gateway itself have no address']);
    for (const [index, origin] of origins.entries())
      if (origins.indexOf(origin) !== index)
        found.push([['upstreams', name, 'addresses', index], `${origin} is listed twice`]);
    if (policy.tls !== undefined && origins.some((origin) => origin.startsWith('http:')))
      found.push([['upstreams', name, 'tls'], 'needs addresses that begin with https://']);
    return found;
  });

/** A rule of a route on the field with which the gateway states the caller. */
const ruledTokenHeaders = ({ upstreams, routes }: CheckedFile): Problem[] =>
  routes.flatMap((route, index): Problem[] => {
    const rules = route?.requestHeaders;
    if (route === undefined || rules === undefined) return [];
    const held = upstreamsBehind(route.upstream, upstreams).flatMap((name) => {
      const { kind, header } = identityPolicyOf(name, upstreams[name]?.identity);
      return kind === 'jwt' && isRuled(rules, header) ? [header] : [];
    });
    return [...new Set(held)].map((header) => [
      ['routes', index, 'requestHeaders'],
      `${header} holds the identity for this upstream`,
    ]);
  });

/** What an upstream has without a member in the file: a group of cells may name no other. */
const unnamedPolicy = upstreamPolicy.parse({});

const problemsOfCells = ({ upstreams }: CheckedFile): Problem[] =>
  Object.entries(upstreams).flatMap(([name, policy]): Problem[] => {
    if (policy?.cells === undefined) return [];
    const found: Problem[] = [];
    for (const member of Object.keys(policy) as (keyof UpstreamPolicy)[])
      if (member !== 'cells' && !isDeepStrictEqual(policy[member], unnamedPolicy[member]))
        found.push([['upstreams', name, member], 'stands at the upstreams of the cells, not at their group']);
    for (const [cell, upstream] of Object.entries(policy.cells)) {
      const path = ['upstreams', name, 'cells', cell];
      if (upstream === ownUpstream) found.push([path, 'operations of the gateway itself are in no cell']);
      else if (upstreams[upstream]?.cells !== undefined) found.push([path, `${upstream} is a group of cells itself`]);
    }
    return found;
  });

/** A request to cells needs a caller, and a way to name one of its tenants. */
const problemsOfRouteToCells = (
  { access, tenant, upstream }: FileRoute,
  upstreams: CheckedFile['upstreams'],
): Problem[] => {
  if (upstreams[upstream]?.cells === undefined) return [];
  const found: Problem[] = [];
  if (access !== 'credential')
    found.push([['access'], `${upstream} has cells, which are chosen by the tenants of a caller`]);
  if (tenant === undefined)
    found.push([['tenant'], `say where a request names its tenant, since ${upstream} has cells`]);
  return found;
};

const lostOperation = ({ id, upstream }: FileRoute): Problem[] =>
  upstream !== ownUpstream || (ownOperations as readonly string[]).includes(id)
    ? []
    : [[['id'], `the gateway has no operation ${id}; a route to ${ownUpstream} is ${ownOperations.join(', ')}`]];

/** Two routes of one name, or for the same host, path and method: the sequence of the file would have to decide. */
const sameRoutes = (routes: CheckedFile['routes']): Problem[] => {
  const found: Problem[] = [];
  const ids = new Set<string>();
  const taken = new Map<string, FileRoute>();
  for (const [index, route] of routes.entries()) {
    if (route === undefined) continue;
    if (ids.has(route.id)) found.push([['routes', index, 'id'], `${route.id} is listed twice`]);
    ids.add(route.id);
    const same = matchesOf(route)
      .map((match) => ({ match, other: taken.get(match) }))
      .find(({ other }) => other !== undefined && other !== route);
    if (same?.other !== undefined)
      found.push([
        ['routes', index],
        `${route.id} (${route.path}) and ${same.other.id} (${same.other.path}) match the same requests: ${same.match}`,
      ]);
    for (const match of matchesOf(route)) if (!taken.has(match)) taken.set(match, route);
  }
  return found;
};

/** Texts that are equal for two routes when neither is more specific, such as `api.example.com GET /shops/{}`. */
const matchesOf = (route: FileRoute): string[] => {
  const named = route.method === '*' ? ['*'] : methodsOf(route);
  return (route.hosts ?? ['']).flatMap((host) =>
    named.map((method) => `${host} ${method} ${patternOf(route.path)}`.trimStart()),
  );
};

type KnownNames = { known: ReadonlySet<string>; keyScopes: ReadonlySet<string>; hostsHaveCors: boolean };

const problemsOfRoute = (route: FileRoute, { known, keyScopes, hostsHaveCors }: KnownNames): Problem[] => {
  const found: Problem[] = [];
  const named = methodsOf(route);
  const unknown = (names: readonly string[], path: Path): void => {
    const missing = names.filter((name) => !known.has(name));
    if (missing.length > 0) found.push([path, `no such scope: ${missing.join(' ')}`]);
  };
  unknown(allScopes(route), ['scopes']);
  unknown((route.anyOf ?? []).flat(), ['anyOf']);
  unknown(route.dryRun?.scopes ?? [], ['dryRun', 'scopes']);
  const own = ownPathOf(route.path);
  if (own !== undefined) found.push([['path'], takenPathText(own)]);
  if (route.stripPrefix !== undefined && !`${route.path}/`.startsWith(`${route.stripPrefix}/`))
    found.push([['stripPrefix'], 'the path of the route does not begin with it']);
  const { set = {}, remove = [] } = route.responseHeaders ?? {};
  const ruled = [...Object.keys(set), ...remove].find((name) => name.startsWith('access-control-'));
  if (ruled !== undefined && (route.cors === undefined ? hostsHaveCors : route.cors !== false))
    found.push([['responseHeaders'], `${ruled} is set by \`cors\`, which is on for this route`]);
  const announced = route.deprecation && [...Object.keys(set), ...remove].find(isDeprecationName);
  if (announced !== undefined)
    found.push([['responseHeaders'], `${announced} is set by \`deprecation\` of this route`]);
  if (route.upgrade && !named.includes('GET')) found.push([['upgrade'], 'only GET can be upgraded']);
  found.push(...problemsOfAccess(route, named));
  if (route.kinds !== undefined)
    for (const method of named) {
      const opens = opensToKeys({ scopes: scopesFor(route, method), anyOf: route.anyOf ?? [] }, keyScopes);
      if (opens === route.kinds.includes('api_key')) continue;
      found.push([['kinds'], 'api_key must be listed exactly when API keys hold every scope']);
      break;
    }
  return found;
};

const isDeprecationName = (name: string): boolean => (deprecationNames as readonly string[]).includes(name);

const allScopes = ({ scopes = [] }: FileRoute): string[] =>
  Array.isArray(scopes) ? scopes : Object.values(scopes).flatMap((names) => names ?? []);

const problemsOfAccess = (route: FileRoute, named: readonly Method[]): Problem[] => {
  const { access, scopes } = route;
  if (access !== 'credential') {
    const demands = (['scopes', 'anyOf', 'dryRun', 'kinds'] as const).filter((name) => route[name] !== undefined);
    const found = demands.map((name): Problem => [[name], `a route with access ${access} demands nothing of a caller`]);
    if (route.upstream === ownUpstream) found.push([['access'], 'operations of the gateway itself need a credential']);
    return found;
  }
  if (scopes === undefined) return [[['scopes'], 'say which scopes a caller needs; [] lets every caller in']];
  if (Array.isArray(scopes)) return [];
  const found: Problem[] = [];
  // HEAD has the scopes of GET, where the route has both.
  const left = named.filter(
    (method) => scopes[method] === undefined && !(method === 'HEAD' && scopes.GET !== undefined),
  );
  if (left.length > 0) found.push([['scopes'], `say which scopes ${left.join(', ')} needs; [] lets every caller in`]);
  const others = Object.keys(scopes).filter((method) => !(named as readonly string[]).includes(method));
  if (others.length > 0) found.push([['scopes'], `the route does not have ${others.join(', ')}`]);
  return found;
};

/** Limits that no request could meet, and a tenant that the path does not name. */
const problemsOfLimits = (route: FileRoute, ofTenants: RouteFile['tenantLimits']): Problem[] => {
  const { limits, tenant, path, access, class: given } = route;
  const found: Problem[] = [];
  // Those of its cheapest method.
  const least = Math.min(...methodsOf(route).map((method) => unitsOfRoute({ class: classFor(given, method), limits })));
  for (const name of ['perMinute', 'burst'] as const) {
    const own = limits?.[name];
    if (own !== undefined && own < least)
      found.push([['limits', name], `a request costs ${least} units, so every one would be refused`]);
    // Requests without a credential are charged to no tenant.
    const all = access === 'credential' ? ofTenants?.[name] : undefined;
    if (all !== undefined && all < least)
      found.push([
        limits?.cost === undefined ? ['class'] : ['limits', 'cost'],
        `a request costs ${least} units and tenantLimits.${name} is ${all}, so every one would be refused`,
      ]);
  }
  if (tenant !== undefined && isParameter(tenant) && !segmentsOf(path).includes(tenant))
    found.push([['tenant'], `the path has no ${tenant}`]);
  return found;
};
