/** Pure: the paths of an OpenAPI document that has the routes of a table, and which route each of their methods has. */
import type { Route } from '../../model/route.ts';
import { isParameter, patternOf, segmentsOf } from '../../model/route-path.ts';
import { unique } from './import-path.ts';

/** Paths that differ by the names of their parameters only are one path (OpenAPI 3.1, Paths Object), with the names of the first. */
export type DocumentItem = { path: string; byMethod: Map<string, Route> };

/** `onLost`: called for a route whose place `before` has, since OpenAPI has one operation for a path and method. */
export const documentItemsOf = (
  routes: readonly Route[],
  onLost: (route: Route, before: Route) => void = () => undefined,
): DocumentItem[] => {
  const items = new Map<string, DocumentItem>();
  // As the gateway prefers them: one segment before everything below, then a method that is named before `*`.
  const preferred = routes.toSorted((a, b) => +hasTail(a) - +hasTail(b) || +a.anyMethod - +b.anyMethod);
  for (const route of preferred) {
    const path = pathOf(route);
    const item = items.get(patternOf(path)) ?? { path, byMethod: new Map() };
    items.set(patternOf(path), item);
    const before = item.byMethod.get(route.method);
    if (before === undefined) item.byMethod.set(route.method, route);
    else onLost(route, before);
  }
  return [...items.values()];
};

/** The route has everything below its path. */
export const hasTail = ({ path }: Route): boolean => path.endsWith('/*');

/** Names of the parameters in a path. */
export const namesIn = (path: string): string[] =>
  segmentsOf(path)
    .filter(isParameter)
    .map((name) => name.slice(1, -1));

/** OpenAPI has no path for everything below, so it becomes a parameter. */
const pathOf = ({ path }: Route): string => path.replace(/\/\*$/, () => `/{${unique('rest', new Set(namesIn(path)))}}`);
