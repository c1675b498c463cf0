/** Changes the path for an upstream whose paths begin differently from the public ones. */
import { noSuchOperation } from '../model/faults.ts';
import type { Route } from '../model/route.ts';
import type { Step } from '../request/exchange.ts';

export const rewriteTarget: Step = (exchange) => {
  const { route, target } = exchange;
  if (route === undefined || (route.stripPrefix === undefined && route.addPrefix === undefined)) return;
  const rewritten = rewrittenTarget(route, target);
  if (rewritten === undefined) throw noSuchOperation();
  exchange.upstreamTarget = rewritten;
};

/**
 * The target for the upstream of a route that matched, so the path begins with `stripPrefix`. The query stays as it was sent.
 * Undefined: two slashes at the front would make a host name of the first segment (RFC 3986 section 4.2).
 */
export const rewrittenTarget = (
  { stripPrefix = '', addPrefix = '' }: Pick<Route, 'stripPrefix' | 'addPrefix'>,
  target: string,
): string | undefined => {
  const changed = addPrefix + target.slice(stripPrefix.length);
  const rooted = changed.startsWith('/') ? changed : `/${changed}`;
  return rooted.startsWith('//') ? undefined : rooted;
};
