/** Says which route a request would meet, and why no other, by comparing it with each route: for people, not for requests. */

import type { Route, RouteTable } from '../model/route.ts';
import { unitsOfRoute } from '../model/route-limits.ts';
import { isParameter, ownPathOf, segmentsOf } from '../model/route-path.ts';
import { type ExplainedCors, explainCors } from './cors.ts';
import { areSegments, isOneSegment } from './path-segment.ts';
import { rewrittenTarget } from './rewrite-target.ts';
import { allowOf, type CompiledRoutes, compileRoutes, findRoute, namesHost } from './route-table.ts';

export type ExplainedRoute = {
  /** The program answers this path, or everything below it, itself, and no route does. */
  ownPath: string | undefined;
  /** Undefined: no route answers. */
  route: Route | undefined;
  /** Units that the request costs. Undefined: no route answers. */
  units: number | undefined;
  /** What the upstream gets. Undefined: nothing, since no route answers or the path could not be changed. */
  upstreamTarget: string | undefined;
  /** Without a route OPTIONS is 204 with `allow` and any other method 405 with it; undefined: 404. */
  allow: string | undefined;
  /** What scripts of other origins may do with the method of the request. Undefined: the answers are not for them. */
  cors: ExplainedCors | undefined;
  /** Of OPTIONS, where a policy applies: each method of the path with what the answer to a preflight about it says. */
  preflights: Readonly<Record<string, ExplainedCors>> | undefined;
  /** Routes that do not answer, the nearest first, at most `othersMax`. */
  others: { route: Route; reason: string }[];
};

const othersMax = 10;

/** `target`: path and query as they are sent. `host`: value of the Host field. `free`: own paths that the settings turn off. `taken`: those that they turn on. */
export const explainRoute = (
  table: Pick<RouteTable, 'routes' | 'cors'>,
  {
    method,
    target,
    host,
    free,
    taken,
  }: {
    method: string;
    target: string;
    host: string | undefined;
    free?: readonly string[];
    taken?: readonly string[];
  },
): ExplainedRoute => {
  const { routes } = table;
  const path = target.split('?', 1)[0] ?? '';
  const ownPath = taken?.find((own) => own === path) ?? ownPathOf(path);
  if (ownPath !== undefined && !free?.includes(ownPath)) return { ...nothing, ownPath };
  const compiled = compileRoutes({ routes });
  const route = findRoute(compiled, { path, host, method });
  const others = [...new Map(routes.map((one) => [one.id, one])).values()]
    .filter(({ id }) => id !== route?.id)
    .map((one) => ({ one, compared: comparePath(one.path, path) }))
    .filter(({ compared }) => compared.reason === undefined || compared.equal > 0)
    .toSorted((a, b) => b.compared.equal - a.compared.equal)
    .slice(0, othersMax)
    .map(({ one, compared }) => ({
      route: one,
      reason: compared.reason ?? reasonAgainst(routes, one, { method, host, winner: route }),
    }));
  return {
    ...nothing,
    route,
    units: route && unitsOfRoute(route),
    upstreamTarget: route && rewrittenTarget(route, target),
    allow: route === undefined ? allowOf(compiled, { path, host }) : undefined,
    cors: route && explainCors(compiled, table, { path, host, method }),
    preflights: method === 'OPTIONS' ? preflightsOf(compiled, table, { path, host }) : undefined,
    others,
  };
};

const nothing: ExplainedRoute = {
  ownPath: undefined,
  route: undefined,
  units: undefined,
  upstreamTarget: undefined,
  allow: undefined,
  cors: undefined,
  preflights: undefined,
  others: [],
};

const preflightsOf = (
  compiled: CompiledRoutes,
  table: Pick<RouteTable, 'cors'>,
  place: { path: string; host: string | undefined },
): ExplainedRoute['preflights'] => {
  const methods = allowOf(compiled, place)?.split(', ') ?? [];
  const found = methods.flatMap((method) => {
    const isThere = findRoute(compiled, { ...place, method }) !== undefined;
    const cors = isThere ? explainCors(compiled, table, { ...place, method }) : undefined;
    return cors === undefined ? [] : [[method, cors] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
};

/** Why a route does not answer whose path matches. */
const reasonAgainst = (
  routes: readonly Route[],
  { id, hosts }: Route,
  { method, host, winner }: { method: string; host: string | undefined; winner: Route | undefined },
): string => {
  if (hosts !== undefined && !namesHost(hosts, host ?? '')) return `is for the host ${hosts.join(', ')}`;
  const methods = routes.filter((one) => one.id === id).map((one) => one.method);
  if (!methods.some((one) => one === method || (method === 'HEAD' && one === 'GET')))
    return `has ${methods.join(', ')}`;
  return winner === undefined
    ? 'a service may read the path as another spelling of a more specific one'
    : `${winner.id} is more specific`;
};

/** `equal`: segments that match from the left. No `reason`: the whole path matches. */
const comparePath = (pattern: string, path: string): { equal: number; reason?: string } => {
  const wanted = segmentsOf(pattern);
  const given = segmentsOf(path);
  for (const [equal, segment] of wanted.entries()) {
    const sent = given[equal];
    if (segment === '*') {
      if (sent === undefined) return { equal, reason: 'needs a slash at the end' };
      const from = given.slice(0, equal).join('/').length + (equal === 0 ? 1 : 2);
      return areSegments(path, from) ? { equal } : { equal, reason: 'a segment below is ambiguous or empty' };
    }
    if (sent === undefined) return { equal, reason: `needs ${segment === '' ? 'a slash at the end' : segment} next` };
    if (isParameter(segment)) {
      if (!isOneSegment(sent)) return { equal, reason: `${JSON.stringify(sent)} is no value of ${segment}` };
    } else if (segment !== sent)
      return { equal, reason: `has ${JSON.stringify(segment)} and not ${JSON.stringify(sent)}` };
  }
  const extra = given[wanted.length];
  if (extra === undefined) return { equal: wanted.length };
  return {
    equal: wanted.length,
    reason: extra === '' ? 'has no slash at the end' : `ends before ${JSON.stringify(extra)}`,
  };
};
