/** The route table compiled for lookups: one Map from the exact path to its methods. */
import type { Route, RouteTable } from '../model/route.ts';

export type CompiledPath = {
  /** Ready for the Allow header. */
  allow: string;
  byMethod: ReadonlyMap<string, Route>;
};

export type CompiledRoutes = ReadonlyMap<string, CompiledPath>;

/** The scopes of each route are sorted by the table, so every list made from them has the same sequence. */
/** A path whose last segment may be anything is kept under this name of the segment, which no request can spell. */
const anySegment = '{}';

/** The id of something: what a request may say in the place of a {name}. */
const segment = /^[A-Za-z0-9._-]{1,64}$/;

export const findPath = (routes: CompiledRoutes, path: string): CompiledPath | undefined => {
  const place = routes.get(path);
  if (place !== undefined) return path.endsWith(anySegment) ? undefined : place;
  const last = path.lastIndexOf('/') + 1;
  return segment.test(path.slice(last)) ? routes.get(path.slice(0, last) + anySegment) : undefined;
};

export const compileRoutes = (table: RouteTable): CompiledRoutes => {
  const rank = new Map(table.scopes.map(({ name }, index) => [name, index]));
  const paths = new Map<string, CompiledPath & { byMethod: Map<string, Route> }>();
  for (const route of table.routes) {
    const scopes = route.scopes.toSorted((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
    const path = route.path.replace(/\{[a-z_]+\}$/, anySegment);
    const place = paths.get(path) ?? { allow: '', byMethod: new Map<string, Route>() };
    place.byMethod.set(route.method, { ...route, scopes });
    if (route.method === 'GET') place.byMethod.set('HEAD', { ...route, scopes });
    place.allow = [...place.byMethod.keys(), 'OPTIONS'].join(', ');
    paths.set(path, place);
  }
  return paths;
};
