/** Pure: the host under which a caller reached a route of certain hosts. */
import type { Exchange } from './exchange.ts';

/** A `*.` host in the route table lets any text in front that a Host field may have, and a service builds links of it. */
const plainHost = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/**
 * Addresses are made of it, so it must also be the host of one: a port above 65535, or a label that is no punycode, is none.
 */
const canBeAddress = (host: string): boolean => plainHost.test(host) && URL.canParse(`http://${host}`);

/** Host and port of the request. Undefined: the route is for every host, so only the public address of the operator is known. */
export const publicHostOf = ({ route, host }: Pick<Exchange, 'route' | 'host'>): string | undefined =>
  route?.hosts !== undefined && host !== undefined && canBeAddress(host) ? host : undefined;
