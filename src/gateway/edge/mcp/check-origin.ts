/**
 * The guard against DNS rebinding: a page of another site that makes its own name point to this server could otherwise talk to
 * it from a browser. A browser names the page in `Origin` and the name in `Host` (MCP, Streamable HTTP, Security).
 */
import type { IncomingMessage } from 'node:http';

/** What is not allowed about a request; undefined: nothing. */
export type CheckOrigin = (req: IncomingMessage) => string | undefined;

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** `origin`: the public address. `more`: further origins of the operator. */
export const createCheckOrigin = (origin: string, more: readonly string[]): CheckOrigin => {
  const origins = new Set([origin, ...more]);
  const hosts = new Set([...loopback, ...[...origins].map((one) => new URL(one).hostname)]);
  return ({ headers }) => {
    const { host = '', origin: page } = headers;
    const name = hostnameOf(`http://${host}`);
    if (name === undefined || !hosts.has(name)) return 'The Host of this request is not allowed here';
    if (page === undefined || origins.has(page)) return undefined;
    const from = hostnameOf(page);
    return from !== undefined && loopback.includes(from) ? undefined : 'The Origin of this request is not allowed here';
  };
};

const hostnameOf = (address: string): string | undefined =>
  URL.canParse(address) ? new URL(address).hostname : undefined;
