/**
 * Selects the header fields that an upstream gets. Dropped are credentials, hop-by-hop fields, names that only the gateway
 * may set, and claims that a proxy would make. The gateway's own fields are added after the removal, so a client cannot
 * name one of them in `Connection` to have it dropped.
 */
import { requestIdHeader } from '#src/contract/headers.ts';
import { isClaimedHeader } from '../model/claimed-headers.ts';
import { isRuled, pushSetFields } from '../model/header-rules.ts';
import { hopByHop, reservedName } from '../model/hop-by-hop.ts';
import { type Exchange, upstreamNameOf } from '../request/exchange.ts';
import { publicHostOf } from '../request/public-host.ts';
import { withoutOwnCookies } from './own-cookies.ts';

const stopped: ReadonlySet<string> = new Set([
  ...hopByHop,
  // Credentials: the identity of the caller takes their place.
  'authorization',
  'x-api-key',
  'x-client-id',
  'x-client-secret',
  'dpop',
  // Trace context: replaced by that of the gateway, unless the context of callers is trusted.
  'traceparent',
  'tracestate',
  'baggage',
  // Handled or set by the gateway.
  'host',
  'expect',
  'content-length',
  'via',
  requestIdHeader,
]);

/**
 * Where fields become variables, `_` and `-` are alike; PHP makes `_` of a dot too, and lighttpd of every character that is
 * no letter or digit. So each dropped name has several spellings.
 */
const folded = (name: string): string => (unusual.test(name) ? name.replace(notAlphanumeric, '-') : name);
const unusual = /[^a-z0-9-]/;
const notAlphanumeric = /[^a-z0-9]/g;

const letterX = 120;
const letterP = 112;

const isReserved = (name: string): boolean => {
  const first = name.charCodeAt(0);
  return (first === letterX || first === letterP) && reservedName.test(name);
};

const noNames: readonly string[] = [];

/**
 * Lower-case names listed in `Connection`, which are hop-by-hop for this message. Fields about the body are for all its
 * recipients (RFC 9110 section 7.6.1) and were checked as such, so they cannot be taken off the body.
 */
export const connectionNames = (value: string | undefined): readonly string[] => {
  if (value === undefined || value === 'keep-alive' || value === 'close') return noNames;
  return value
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !name.startsWith('content-'));
};

export type ForwardedFacts = {
  proto: string;
  /** Of the public address. */
  host: string;
  /** Proxies of the operator in front, each adding to X-Forwarded-For. */
  proxyHops: number;
  /** The trace context of callers is forwarded. */
  trustsTraces: boolean;
  /** Upstream -> field that holds the token of the caller there. */
  tokenHeaders: ReadonlyMap<string, string>;
  /** Upstream -> claims of callers that are passed on to it. */
  passedClaims: ReadonlyMap<string, ReadonlySet<string>>;
};

const isStopped = (name: string, exchange: Exchange, { passedClaims, tokenHeaders }: ForwardedFacts): boolean => {
  const { route } = exchange;
  const plain = folded(name);
  if (stopped.has(plain) || isReserved(plain)) return true;
  // A field about the body in another spelling, which the checks of the body did not see.
  if (plain !== name && plain.startsWith('content-')) return true;
  if (route?.requestHeaders !== undefined && isRuled(route.requestHeaders, plain)) return true;
  if (tokenHeaders.size > 0 && tokenHeaders.get(upstreamNameOf(exchange) ?? '') === plain) return true;
  return isClaimedHeader(plain) && passedClaims.get(upstreamNameOf(exchange) ?? '')?.has(name) !== true;
};

/** True when the upstream gets the value that the caller sent in this field. `name`: in lower case. */
export const isForwarded = (exchange: Exchange, name: string, facts: ForwardedFacts): boolean => {
  const { headers } = exchange.req;
  return (
    headers[name] !== undefined &&
    !isStopped(name, exchange, facts) &&
    !connectionNames(headers.connection).includes(name)
  );
};

/** A flat list of names and values for undici. */
export const buildRequestHeaders = (exchange: Exchange, facts: ForwardedFacts): string[] => {
  const { headers } = exchange.req;
  const listed = connectionNames(headers.connection);
  const forwarded: string[] = [];
  const withBody = exchange.body === 'unread';
  // An empty file has a type too, which only routes for JSON can do without.
  const withContentFields = withBody || exchange.route?.body !== 'json';
  for (const name in headers) {
    if (isStopped(name, exchange, facts) || listed.includes(name)) continue;
    if (!withContentFields && name.startsWith('content-')) continue;
    const value = headers[name];
    if (name === 'cookie') pushCookies(forwarded, value);
    // Only set-cookie comes as a list, and it has no place in a request.
    else if (typeof value === 'string') forwarded.push(name, value);
  }
  if (withBody && headers['content-length'] !== undefined) forwarded.push('content-length', headers['content-length']);
  forwarded.push(
    requestIdHeader,
    exchange.requestId,
    'x-forwarded-for',
    forwardedFor(exchange, facts),
    'x-forwarded-proto',
    facts.proto,
    'x-forwarded-host',
    publicHostOf(exchange) ?? facts.host,
  );
  const { route } = exchange;
  if (route?.stripPrefix !== undefined) forwarded.push('x-forwarded-prefix', route.stripPrefix);
  if (route?.requestHeaders !== undefined) pushSetFields(route.requestHeaders, forwarded);
  for (const field of exchange.identity) forwarded.push(field);
  if (exchange.span !== undefined || facts.trustsTraces) pushTraceContext(forwarded, exchange, facts);
  return forwarded;
};

/** The entries that proxies of the operator appended, which begin with the address of the client, and that of the last one. */
const forwardedFor = ({ req }: Exchange, { proxyHops }: ForwardedFacts): string => {
  const peer = req.socket.remoteAddress ?? 'unknown';
  const given = proxyHops === 0 ? undefined : req.headers['x-forwarded-for'];
  if (typeof given !== 'string') return peer;
  const entries = given.split(',').map((entry) => entry.trim());
  return [...entries.slice(-proxyHops), peer].join(', ');
};

const pushCookies = (into: string[], value: string | string[] | undefined): void => {
  const cookies = typeof value === 'string' ? withoutOwnCookies(value) : '';
  if (cookies !== '') into.push('cookie', cookies);
};

const pushTraceContext = (forwarded: string[], exchange: Exchange, { trustsTraces }: ForwardedFacts): void => {
  const { headers } = exchange.req;
  const push = (name: string, value: string | string[] | undefined): void => {
    if (typeof value === 'string') forwarded.push(name, value);
  };
  const { traceparent, tracestate } = exchange.attempt ?? exchange.span ?? headers;
  push('traceparent', traceparent);
  push('tracestate', tracestate);
  if (trustsTraces) push('baggage', headers.baggage);
};
