/** Pure: the host under which a caller reached a route of certain hosts. */
import type { Exchange } from './exchange.ts';

/** A `*.` host in the route table lets any text in front that a Host field may have, and a service builds links of it. */
const plainHost = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** Host and port of the request. Undefined: the route is for every host, so only the public address of the operator is known. */
export const publicHostOf = ({ route, host }: Pick<Exchange, 'route' | 'host'>): string | undefined =>
  route?.hosts !== undefined && host !== undefined && plainHost.test(host) ? host : undefined;
