/**
 * The route table compiled for lookups. A route of a host comes before a route without one; then the most specific path
 * wins (path-tree.ts), then a method that is named before `*`. A route that matches the path but not the method lets the
 * next one answer. So the sequence of the file does not matter.
 */

import type { Route, RouteTable } from '../model/route.ts';
import { methods } from '../model/route-path.ts';
import { createPathTree, type PathTree } from './path-tree.ts';

/** Methods of one path -> their routes. HEAD has the route of GET unless it has one of its own. */
type PathRoutes = Map<string, Route>;

type HostRoutes = {
  /**
   * Paths without parameters, with all their methods: also those of less specific paths that match them. `otherwise`: how a
   * search for any other method ends.
   */
  literal: Map<string, { byMethod: PathRoutes; otherwise: 'ambiguous' | 'none' }>;
  tree: PathTree<PathRoutes>;
};

export type CompiledRoutes = {
  /** Undefined: no route names a host. */
  byHost: { exact: ReadonlyMap<string, HostRoutes>; below: ReadonlyMap<string, HostRoutes> } | undefined;
  rest: HostRoutes;
};

/** `host`: value of the Host field. Undefined: no such path, or only with other methods (`allowOf`). */
export const findRoute = (
  routes: CompiledRoutes,
  { path, host, method }: { path: string; host: string | undefined; method: string },
): Route | undefined => {
  // A plain loop over the tables that apply: on most installations there is one.
  if (routes.byHost !== undefined) {
    for (const table of tablesOf(routes, host)) {
      const route = routeIn(table, path, method);
      if (route !== 'none') return route === 'ambiguous' ? undefined : route;
    }
    return undefined;
  }
  const route = routeIn(routes.rest, path, method);
  return typeof route === 'string' ? undefined : route;
};

/** Value of the Allow field for a path (RFC 9110 section 10.2.1). Undefined: no such path. */
export const allowOf = (
  routes: CompiledRoutes,
  { path, host }: { path: string; host: string | undefined },
): string | undefined => {
  const found = new Set<string>();
  for (const { tree } of tablesOf(routes, host)) {
    const ended = tree.find(path, (byMethod) => {
      for (const method of byMethod.keys()) found.add(method);
      return false;
    });
    if (ended === 'ambiguous') break;
  }
  if (found.size === 0) return undefined;
  found.add('OPTIONS');
  return methods.filter((method) => found.has(method)).join(', ');
};

/** Every route that matches the path with any method, the most specific first. */
export const routesAt = (
  routes: CompiledRoutes,
  { path, host }: { path: string; host: string | undefined },
): Route[] => {
  const found = new Set<Route>();
  for (const { tree } of tablesOf(routes, host))
    tree.find(path, (byMethod) => {
      for (const route of byMethod.values()) found.add(route);
      return false;
    });
  return [...found];
};

const routeIn = ({ literal, tree }: HostRoutes, path: string, method: string): Route | 'ambiguous' | 'none' => {
  const known = literal.get(path);
  if (known !== undefined) return known.byMethod.get(method) ?? known.otherwise;
  let route: Route | undefined;
  const found = tree.find(path, (byMethod) => {
    route = byMethod.get(method);
    return route !== undefined;
  });
  return route ?? (found === 'ambiguous' ? found : 'none');
};

/** The routes of the host itself, then those of `*.` hosts, the longest first, then those without a host. */
const tablesOf = ({ byHost, rest }: CompiledRoutes, host: string | undefined): HostRoutes[] => {
  if (byHost === undefined) return [rest];
  const name = hostName(host ?? '');
  const tables: HostRoutes[] = [];
  const exact = byHost.exact.get(name);
  if (exact !== undefined) tables.push(exact);
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const below = byHost.below.get(name.slice(dot + 1));
    if (below !== undefined) tables.push(below);
  }
  tables.push(rest);
  return tables;
};

/** In lower case, without a port and without the dot that ends a full name. */
export const hostName = (host: string): string => host.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');

/** True when the Host field names one of these hosts. */
export const namesHost = (hosts: readonly string[], host: string): boolean => {
  const name = hostName(host);
  return hosts.some((one) =>
    one.startsWith('*.') ? name.endsWith(one.slice(1)) && name.length >= one.length : one === name,
  );
};

export const compileRoutes = ({ routes }: Pick<RouteTable, 'routes'>): CompiledRoutes => {
  const rest = compileHost(routes.filter(({ hosts }) => hosts === undefined));
  const bound = routes.filter(({ hosts }) => hosts !== undefined);
  if (bound.length === 0) return { byHost: undefined, rest };
  const exact = new Map<string, HostRoutes>();
  const below = new Map<string, HostRoutes>();
  for (const host of new Set(bound.flatMap(({ hosts = [] }) => hosts))) {
    const compiled = compileHost(bound.filter(({ hosts }) => hosts?.includes(host)));
    if (host.startsWith('*.')) below.set(host.slice(2), compiled);
    else exact.set(host, compiled);
  }
  return { byHost: { exact, below }, rest };
};

const compileHost = (routes: readonly Route[]): HostRoutes => {
  const tree = createPathTree<PathRoutes>();
  // Named methods come first, with the HEAD of a named GET, so those of `*` fill what is left.
  for (const route of routes) if (!route.anyMethod) tree.at(route.path, () => new Map()).set(route.method, route);
  for (const { path } of routes) {
    const byMethod = tree.at(path, () => new Map());
    const get = byMethod.get('GET');
    if (get !== undefined && !byMethod.has('HEAD')) byMethod.set('HEAD', get);
  }
  for (const route of routes) {
    if (!route.anyMethod) continue;
    const byMethod = tree.at(route.path, () => new Map());
    if (!byMethod.has(route.method)) byMethod.set(route.method, route);
  }
  return { tree, literal: literalPaths(routes, tree) };
};

const literalPaths = (routes: readonly Route[], tree: PathTree<PathRoutes>): HostRoutes['literal'] => {
  const literal: HostRoutes['literal'] = new Map();
  for (const { path } of routes) {
    if (path.includes('{') || path.endsWith('/*') || literal.has(path)) continue;
    const merged: PathRoutes = new Map();
    const found = tree.find(path, (byMethod) => {
      for (const [method, route] of byMethod) if (!merged.has(method)) merged.set(method, route);
      return false;
    });
    literal.set(path, { byMethod: merged, otherwise: found === 'ambiguous' ? found : 'none' });
  }
  return literal;
};
