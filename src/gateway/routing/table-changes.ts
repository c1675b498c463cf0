/** Versions of route tables, and what differs between two of them. */
import { createHash } from 'node:crypto';
import type { RouteTable } from '../model/route.ts';

export type VersionedTable = { table: RouteTable; version: string };

const versionLength = 16;

/** Equal for equal values, whatever the layout and the comments of their files. `value`: the parsed file. */
export const versionOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex')
    .slice(0, versionLength);

/** The sequence of members is no part of a table. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => name !== '$schema');
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, sorted(one)]));
};

/** For the audit. Each list is bounded. */
export type TableChanges = {
  added: readonly string[];
  removed: readonly string[];
  changed: readonly string[];
  /** Changed members beside the routes, such as `scopes` or `upstreams`. */
  members: readonly string[];
  /** Routes that the lists do not name. */
  more: number;
};

const namedMax = 50;

export const changesBetween = (before: RouteTable, after: RouteTable): TableChanges => {
  const [old, fresh] = [routesById(before), routesById(after)];
  const added = [...fresh.keys()].filter((id) => !old.has(id));
  const removed = [...old.keys()].filter((id) => !fresh.has(id));
  const changed = [...fresh].filter(([id, text]) => old.has(id) && old.get(id) !== text).map(([id]) => id);
  const lists = [added, removed, changed];
  return {
    added: added.slice(0, namedMax),
    removed: removed.slice(0, namedMax),
    changed: changed.slice(0, namedMax),
    members: changedMembers(before, after),
    more: lists.reduce((sum, { length }) => sum + Math.max(0, length - namedMax), 0),
  };
};

/** A route of several methods has one id. Each carries the limits of tenants, which are a member of the table. */
const routesById = ({ routes }: RouteTable): Map<string, string> => {
  const texts = new Map<string, string>();
  for (const { tenantLimits: _, ...route } of routes)
    texts.set(route.id, (texts.get(route.id) ?? '') + JSON.stringify(route));
  return texts;
};

const changedMembers = (before: RouteTable, after: RouteTable): string[] => {
  const [old, fresh] = [before, after].map((table) => new Map(Object.entries(table)));
  const names = new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])]);
  return [...names].filter(
    (name) => name !== 'routes' && JSON.stringify(old?.get(name)) !== JSON.stringify(fresh?.get(name)),
  );
};
