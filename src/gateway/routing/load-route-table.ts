/** Reads the route table from its file and checks it completely. The gateway does this before it opens any socket. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ownUpstream, type RouteTable, routeTable } from '../model/route.ts';

/** An invalid route table: every problem with its path. */
class RouteTableError extends Error {
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file}: ${problems.join('; ')}`);
    this.name = 'RouteTableError';
    this.problems = problems;
  }
}

/** Reads the table without checking the upstream addresses. Throws RouteTableError with all problems together. */
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

/** All problems for which `loadRouteTable` would throw. Missing addresses are found even when the table has other errors. */
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
