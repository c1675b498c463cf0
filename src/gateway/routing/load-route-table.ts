/** Reads the route table from its file and checks it completely. The gateway does this before it opens any socket. */
import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { duplicateMembers } from '#src/platform/http/exact-json.ts';
import { ownUpstream, parseRouteTable, type RouteTable } from '../model/route.ts';
import type { Problem } from '../model/route-contradictions.ts';
import { takenPathText } from '../model/route-path.ts';
import { ownAudienceProblem } from '../model/upstream-identity.ts';
import { type VersionedTable, versionOf } from './table-changes.ts';
import { looseTlsFileProblems, looseTlsFiles, tlsFileProblems, withAbsolutePaths } from './tls-files.ts';

/** An invalid route table: every problem with its path. */
class RouteTableError extends Error {
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file}: ${problems.join('; ')}`);
    this.name = 'RouteTableError';
    this.problems = problems;
  }
}

/** Reads the table without checking that upstreams have addresses and usable files of TLS. Throws RouteTableError with all problems together. */
export const readRouteTable = (file: string): RouteTable => tableIn(file, readValue(file));

const tableIn = (file: string, value: unknown): RouteTable => {
  const { table, problems } = parseRouteTable(value);
  if (table === undefined) throw new RouteTableError(file, problems.map(textOf));
  return withAbsolutePaths(table, file);
};

/** Throws RouteTableError with all problems together. `upstreamNames`: those that have an address outside the table. */
export const loadRouteTable = (file: string, upstreamNames: readonly string[]): RouteTable =>
  loadVersion(file, upstreamNames).table;

/** The table with its version, which is equal for equal tables. Throws as loadRouteTable. */
export const loadVersion = (file: string, upstreamNames: readonly string[]): VersionedTable => {
  const value = readValue(file);
  const table = tableIn(file, value);
  const lost = lostUpstreams(namedUpstreams(value), [...upstreamNames, ...addressedUpstreams(table)]);
  const problems = [...tlsFileProblems(table.upstreams), ...lost];
  if (problems.length > 0) throw new RouteTableError(file, problems);
  return { table, version: versionOf(value) };
};

/** All problems for which `loadRouteTable` would throw. Missing addresses are found even when the table has other errors. */
export const routeTableProblems = (file: string, upstreamNames: readonly string[]): readonly string[] => {
  try {
    loadRouteTable(file, upstreamNames);
    return [];
  } catch (error) {
    if (!(error instanceof RouteTableError)) throw error;
    const known = [...upstreamNames, ...upstreamNamesIn(file)];
    const value = tryValue(file);
    const files = looseTlsFileProblems(value, file);
    return [...new Set([...error.problems, ...files, ...lostUpstreams(namedUpstreams(value), known)])];
  }
};

const addressedUpstreams = ({ upstreams }: Pick<RouteTable, 'upstreams'>): string[] =>
  Object.keys(upstreams).filter((name) => upstreams[name]?.addresses !== undefined);

/** Names of the upstreams that have an address in the table, which may have problems. */
export const upstreamNamesIn = (file: string): string[] => {
  const loose = z.object({ upstreams: z.record(z.string(), z.unknown()) }).catch({ upstreams: {} });
  return Object.entries(loose.parse(tryValue(file)).upstreams).flatMap(([name, policy]) =>
    typeof policy === 'object' && policy !== null && 'addresses' in policy ? [name] : [],
  );
};

/**
 * Upstreams with TLS whose addresses in the settings are plain, which would be a connection without the protection that the
 * table demands. `urls`: name -> address, several separated by `|`.
 */
export const plainAddressProblems = (file: string, urls: Readonly<Record<string, string>>): string[] => {
  const loose = z.object({ upstreams: z.record(z.string(), z.object({ tls: z.unknown() }).catch({ tls: undefined })) });
  const upstreams = loose.safeParse(tryValue(file)).data?.upstreams ?? {};
  return Object.keys(upstreams)
    .filter((name) => upstreams[name]?.tls !== undefined && urls[name]?.includes('http://') === true)
    .map((name) => `upstreams.${name}.tls: needs addresses that begin with https://, and the settings name others`);
};

/** Upstreams with tokens that would be access tokens by their audience. `origin`: the public address. */
export const ownAudienceProblems = (file: string, origin: string): string[] => {
  const identity = z.object({ kind: z.literal('jwt'), audience: z.literal(origin) });
  const loose = z.object({ upstreams: z.record(z.string(), z.unknown()) }).catch({ upstreams: {} });
  return Object.entries(loose.parse(tryValue(file)).upstreams)
    .filter(([, policy]) => z.object({ identity }).safeParse(policy).success)
    .map(([name]) => ownAudienceProblem(name));
};

/** Routes at paths that the settings turn on for the gateway itself. `own`: those paths. */
export const ownPathProblems = (file: string, own: readonly string[]): string[] => {
  const loose = z.object({ routes: z.array(z.object({ path: z.unknown() }).catch({ path: undefined })) });
  const routes = loose.safeParse(tryValue(file)).data?.routes ?? [];
  return routes.flatMap(({ path }, index) =>
    typeof path === 'string' && own.includes(path) ? [textOf([['routes', index, 'path'], takenPathText(path)])] : [],
  );
};

/** Where an upstream is named in the file, and its name. */
type NamedUpstream = [Problem[0], string];

/** Each upstream that a request may go to. */
const namedUpstreams = (value: unknown): NamedUpstream[] => {
  const upstream = z.object({ upstream: z.string() });
  const cells = z.object({ cells: z.record(z.string(), z.string()) });
  const loose = z
    .object({ routes: z.array(z.unknown()).catch([]), upstreams: z.record(z.string(), z.unknown()).catch({}) })
    .catch({ routes: [], upstreams: {} });
  const { routes, upstreams } = loose.parse(value);
  return routes.flatMap((route, index): NamedUpstream[] => {
    const name = upstream.safeParse(route).data?.upstream;
    if (name === undefined) return [];
    const group = cells.safeParse(upstreams[name]).data?.cells;
    if (group === undefined) return [[['routes', index, 'upstream'], name]];
    return Object.entries(group).map(([cell, one]) => [['upstreams', name, 'cells', cell], one]);
  });
};

/** One problem for each upstream without an address, at the first place that names it. */
const lostUpstreams = (named: readonly NamedUpstream[], known: readonly string[]): string[] => {
  const places = new Map(named.toReversed().map(([path, name]) => [name, path]));
  return named
    .filter(([path, name]) => places.get(name) === path && name !== ownUpstream && !known.includes(name))
    .map(([path, name]) => textOf([path, `no address for upstream ${name}`]));
};

/** The files of TLS that the table names, which may have problems. */
export const namedTlsFiles = (file: string): string[] => looseTlsFiles(tryValue(file), file);

const tryValue = (file: string): unknown => {
  try {
    return readValue(file);
  } catch {
    return undefined;
  }
};

/** Names of the scopes that exist, in their sequence. Throws RouteTableError. */
export const loadScopeNames = (file: string): string[] => readRouteTable(file).scopes.map(({ name }) => name);

const textOf = ([path, message]: Problem): string => (path.length === 0 ? message : `${path.join('.')}: ${message}`);

const isYaml = (file: string): boolean => /\.ya?ml$/i.test(file);

/** Anchors of YAML are expanded at most so often, so that a small file cannot become a large value. */
const aliasesMax = 100;

const readValue = (file: string): unknown => {
  let text: string;
  let value: unknown;
  try {
    // Editors of Windows write a byte order mark, which RFC 8259 section 8.1 lets a reader ignore.
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    value = isYaml(file) ? readYaml(text) : JSON.parse(text);
  } catch (error) {
    throw new RouteTableError(file, [error instanceof Error ? error.message : String(error)]);
  }
  if (!isYaml(file)) requireUniqueMembers(file, text);
  return value;
};

const readYaml = (text: string): unknown => {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error?.code === 'MULTIPLE_DOCS') throw new Error('a route table is one YAML document: a line --- begins another');
  if (error !== undefined) throw error;
  return document.toJS({ maxAliasCount: aliasesMax });
};

/** JSON.parse takes the last of two members with one name, so the first one would be lost without a word. */
const requireUniqueMembers = (file: string, text: string): void => {
  const paths = new Set([...duplicateMembers(text)].map((path) => path.join('.')));
  if (paths.size > 0)
    throw new RouteTableError(
      file,
      [...paths].map((path) => `${path}: is given twice`),
    );
};
