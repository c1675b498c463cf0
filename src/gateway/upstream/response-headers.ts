/** Selects the header fields of an upstream's answer that the client gets. */
import { isRuled, pushSetFields } from '../model/header-rules.ts';
import { hopByHop, reservedName } from '../model/hop-by-hop.ts';
import type { Route } from '../model/route.ts';
import type { ToPublicLocation } from './addresses/public-location.ts';
import { isOwnCookie } from './own-cookies.ts';
import { connectionNames } from './request-headers.ts';

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
  // It names another address for all that this host serves (RFC 7838 section 3).
  'alt-svc',
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

/** undici gives a list for every field that came more than once, also for those that may come once only. */
export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of a field that has one meaning only: of several, the first. */
export const firstValueOf = (headers: UpstreamHeaders, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};

/** The value of a field that is a list: several lines are one list (RFC 9110 section 5.3). */
export const listedValueOf = (headers: UpstreamHeaders, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
};

const letterX = 120;
const letterP = 112;

/** What decides which fields of an answer are passed on. */
export type AnswerRules = {
  toPublicLocation: ToPublicLocation;
  /** See publicHostOf. */
  host: string | undefined;
  route: Pick<Route, 'stripPrefix' | 'addPrefix' | 'responseHeaders' | 'deprecationFields'> | undefined;
  /** The gateway sends the fields of the CORS protocol, so those of the upstream are dropped. */
  ownsCors: boolean;
};

const leaves = (name: string, listed: readonly string[], { route, ownsCors }: AnswerRules): boolean => {
  if (stopped.has(name) || listed.includes(name)) return false;
  if (route?.deprecationFields !== undefined && (name === 'deprecation' || name === 'sunset')) return false;
  if (ownsCors && name.startsWith('access-control-')) return false;
  if (route?.responseHeaders !== undefined && isRuled(route.responseHeaders, name)) return false;
  const first = name.charCodeAt(0);
  return (first !== letterX && first !== letterP) || !reservedName.test(name);
};

const pushValues = (into: string[], name: string, value: string | string[] | undefined): void => {
  if (typeof value === 'string') into.push(name, value);
  else if (value !== undefined) for (const one of value) into.push(name, one);
};

const isLocation = (name: string): boolean => name === 'location' || name === 'content-location';

const pushField = (into: string[], name: string, headers: UpstreamHeaders, rules: AnswerRules): void => {
  const value = headers[name];
  if (name === 'set-cookie') {
    for (const cookie of [value ?? []].flat()) if (!isOwnCookie(cookie)) into.push(name, cookie);
    return;
  }
  const toPublic = (one: string): string => rules.toPublicLocation(one, rules.route, rules.host);
  // Each of several lines, or a second one would show an internal address.
  pushValues(into, name, isLocation(name) ? [value ?? []].flat().map(toPublic) : value);
};

/** Appends to `into` the fields of an answer that is passed on with its body. */
export const passHeaders = (headers: UpstreamHeaders, into: string[], rules: AnswerRules): string[] => {
  const listed = connectionNames(listedValueOf(headers, 'connection'));
  for (const name in headers) if (leaves(name, listed, rules)) pushField(into, name, headers, rules);
  if (rules.route?.responseHeaders !== undefined) pushSetFields(rules.route.responseHeaders, into);
  // A line of its own, so a Link of the upstream stays as it came.
  if (rules.route?.deprecationFields !== undefined) into.push(...rules.route.deprecationFields);
  return into;
};

/** Neither the upstream nor the route says whether caches may store the answer. */
export const lacksCacheControl = (headers: UpstreamHeaders, route: AnswerRules['route']): boolean => {
  const own = route?.responseHeaders;
  if (own === undefined || !isRuled(own, 'cache-control')) return headers['cache-control'] === undefined;
  return own.set['cache-control'] === undefined;
};

/** In 416 it is the length of what was asked for (RFC 9110 section 15.5.17) and has nothing to do with the body. */
const isAboutBody = (name: string, status: number): boolean =>
  ofReplacedBody.has(name) && !(status === 416 && name === 'content-range');

/** Fields kept when the gateway replaces the body: `Retry-After` and other fields that are not about the body. */
export const passHeadersWithoutBody = (headers: UpstreamHeaders, status: number, rules: AnswerRules): string[] => {
  const listed = connectionNames(listedValueOf(headers, 'connection'));
  const kept: string[] = [];
  for (const name in headers) {
    if (leaves(name, listed, rules) && !isAboutBody(name, status)) pushField(kept, name, headers, rules);
  }
  const set = rules.route?.responseHeaders?.set ?? {};
  for (const name in set) if (!ofReplacedBody.has(name)) kept.push(name, set[name] as string);
  return kept;
};
