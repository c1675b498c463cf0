/** Changes the path for an upstream whose paths begin differently from the public ones. */
import { noSuchOperation } from '../model/faults.ts';
import type { Step } from '../request/exchange.ts';

/** The route matched, so the path begins with `stripPrefix`. The query stays as it was sent. */
export const rewriteTarget: Step = (exchange) => {
  const { route, target } = exchange;
  if (route === undefined || (route.stripPrefix === undefined && route.addPrefix === undefined)) return;
  const rest = target.slice(route.stripPrefix?.length ?? 0);
  const changed = (route.addPrefix ?? '') + rest;
  const rooted = changed.startsWith('/') ? changed : `/${changed}`;
  // Two slashes at the front would make a host name of the first segment (RFC 3986 section 4.2).
  if (rooted.startsWith('//')) throw noSuchOperation();
  exchange.upstreamTarget = rooted;
};
