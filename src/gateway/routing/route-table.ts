/** The route table in the form that a request is looked up in: one Map from the exact path to its methods. */
import type { Route, RouteTable } from '../config.ts';

export type CompiledPath = {
  /** Ready for the Allow header. */
  allow: string;
  byMethod: ReadonlyMap<string, Route>;
};

export type CompiledRoutes = ReadonlyMap<string, CompiledPath>;

/** Scopes of each route come out in the sequence of the table, so that every list made from them has it too. */
export const compileRoutes = (table: RouteTable): CompiledRoutes => {
  const rank = new Map(table.scopes.map(({ name }, index) => [name, index]));
  const paths = new Map<string, CompiledPath & { byMethod: Map<string, Route> }>();
  for (const route of table.routes) {
    const scopes = route.scopes.toSorted((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
    const place = paths.get(route.path) ?? { allow: '', byMethod: new Map<string, Route>() };
    place.byMethod.set(route.method, { ...route, scopes });
    if (route.method === 'GET') place.byMethod.set('HEAD', { ...route, scopes });
    place.allow = [...place.byMethod.keys(), 'OPTIONS'].join(', ');
    paths.set(route.path, place);
  }
  return paths;
};
