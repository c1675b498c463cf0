/** RFC 8707: the audience of a token by the parameter `resource`, which may be given several times. */
import { knownAudiences } from '../../access/rights/narrow-caller.ts';
import type { RouteTable } from '../../model/route.ts';
import { NarrowRefusal } from './narrow-refusal.ts';

type AudiencesDeps = {
  origin: string;
  /** Paths that are resources of their own; a token for one of them is for the whole server all the same. */
  resources: readonly string[];
  /** The current one. */
  table: () => Pick<RouteTable, 'routes' | 'upstreams'>;
};

const resourcesMax = 10;

/**
 * Undefined: the whole server, which is the default. `held`: audiences of the subject token of an exchange; undefined: it has
 * no such limit. Throws invalid_target.
 */
export const settleAudiences = (
  { origin, resources, table }: AudiencesDeps,
  asked: readonly string[] = [],
  held?: readonly string[],
): readonly string[] | undefined => {
  if (asked.length === 0) return held;
  const whole = ['', '/api', ...resources].map((path) => origin + path);
  const isWhole = asked.some((resource) => whole.includes(resource));
  const others = asked.filter((resource) => !whole.includes(resource));
  const audiences = others.length === 0 ? [] : knownAudiences(origin, table());
  if (asked.length > resourcesMax || others.some((resource) => !audiences.includes(resource)))
    throw invalidTarget(`must be ${whole.join(' or ')}, or the audience of a service behind it`);
  if (isWhole && held === undefined) return undefined;
  if (held !== undefined && asked.some((resource) => !held.includes(resource)))
    throw invalidTarget('must be one that the subject token is for');
  return [...new Set(others)];
};

export const invalidTarget = (text: string, pointer = 'resource'): NarrowRefusal =>
  new NarrowRefusal('invalid_target', text, { pointer, code: 'ENUM' });
