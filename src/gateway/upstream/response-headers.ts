/** Selects the header fields of an upstream's answer that the client gets. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ToPublicLocation } from './public-location.ts';
import { connectionNames, hopByHop, reserved } from './request-headers.ts';

/** Set by the gateway, or revealing the software behind it. Only the gateway sends `www-authenticate` and `dpop-nonce`. */
const stopped: ReadonlySet<string> = new Set([
  ...hopByHop,
  'x-request-id',
  'x-api-version',
  'x-content-type-options',
  'strict-transport-security',
  'www-authenticate',
  'dpop-nonce',
  'ratelimit',
  'ratelimit-policy',
  'server',
  'x-powered-by',
]);

/** Fields about a body that is replaced. */
const ofReplacedBody: ReadonlySet<string> = new Set([
  'accept-ranges',
  'cache-control',
  'content-digest',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'digest',
  'etag',
  'expires',
  'last-modified',
  'repr-digest',
  'set-cookie',
]);

export type UpstreamHeaders = IncomingHttpHeaders;

const letterX = 120;
const letterP = 112;

const leaves = (name: string, listed: readonly string[]): boolean => {
  if (stopped.has(name) || listed.includes(name)) return false;
  const first = name.charCodeAt(0);
  return (first !== letterX && first !== letterP) || !reserved.test(name);
};

const pushValues = (into: string[], name: string, value: string | string[] | undefined): void => {
  if (typeof value === 'string') into.push(name, value);
  else if (value !== undefined) for (const one of value) into.push(name, one);
};

const connectionOf = (headers: UpstreamHeaders): string | undefined => {
  // undici gives a list for a field that came more than once, also for this one.
  const value: unknown = headers.connection;
  return Array.isArray(value) ? value.join(',') : (value as string | undefined);
};

const isLocation = (name: string): boolean => name === 'location' || name === 'content-location';

/** Appends to `into` the fields of an answer that is passed on with its body. */
export const passHeaders = (
  headers: UpstreamHeaders,
  into: string[],
  toPublicLocation: ToPublicLocation = unchanged,
): string[] => {
  const listed = connectionNames(connectionOf(headers));
  for (const name in headers) {
    if (!leaves(name, listed)) continue;
    const value = headers[name];
    pushValues(into, name, typeof value === 'string' && isLocation(name) ? toPublicLocation(value) : value);
  }
  return into;
};

const unchanged: ToPublicLocation = (value) => value;

/** Fields kept when the gateway replaces the body: `Retry-After` and other fields that are not about the body. */
export const passHeadersWithoutBody = (headers: UpstreamHeaders, toPublicLocation: ToPublicLocation): string[] => {
  const listed = connectionNames(connectionOf(headers));
  const kept: string[] = [];
  for (const name in headers) {
    if (!leaves(name, listed) || ofReplacedBody.has(name)) continue;
    const value = headers[name];
    pushValues(kept, name, typeof value === 'string' && isLocation(name) ? toPublicLocation(value) : value);
  }
  return kept;
};
