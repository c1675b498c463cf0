/**
 * Allowed names of the plain hex header of a delivery, for the operator and for the owner of an endpoint alike. A name
 * is refused when servers or proxies on the way give it a meaning, or when a delivery has that header already
 * (interface 12.3).
 */
import { deliveryHeaderNames } from './signed-headers.ts';

/** RFC 9110 section 5.6.2 allows more characters; names with these pass every server and proxy. */
export const signatureHeaderPattern = /^[A-Za-z0-9-]{1,64}$/;

const takenNames: ReadonlySet<string> = new Set([
  ...deliveryHeaderNames,
  // Connection and message (RFC 9110, RFC 9112).
  ...[
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'trailers',
    'transfer-encoding',
    'upgrade',
    'host',
    'expect',
    'date',
  ],
  ...['via', 'max-forwards', 'http2-settings', 'upgrade-insecure-requests', 'alt-svc', 'server', 'mime-version'],
  // Credentials and state.
  ...['authorization', 'www-authenticate', 'authentication-info', 'cookie', 'cookie2', 'set-cookie', 'set-cookie2'],
  // Requests and responses.
  ...['age', 'allow', 'cache-control', 'pragma', 'warning', 'expires', 'etag', 'last-modified', 'vary', 'location'],
  ...['retry-after', 'link', 'refresh', 'range', 'from', 'origin', 'referer', 'dnt', 'priority', 'accept', 'if'],
  // Origin and target of a request behind proxies.
  ...['forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip', 'proxy', 'x-forwarded'],
  ...['x-original-url', 'x-rewrite-url', 'x-http-method', 'x-http-method-override', 'x-method-override'],
  // Traces (W3C Trace Context, Baggage, B3).
  ...['traceparent', 'tracestate', 'baggage', 'b3', 'x-request-id', 'x-correlation-id'],
]);

const takenPrefixes = [
  ...['content-', 'proxy-', 'sec-', 'x-forwarded-', 'webhook-', 'accept-', 'access-control-', 'if-', 'x-b3-'],
  ...['x-auth-request-', 'cf-', 'x-orderpass-delivery', 'x-orderpass-attempt', 'x-orderpass-sandbox'],
] as const;

const isTaken = (name: string): boolean =>
  takenNames.has(name) || takenPrefixes.some((prefix) => name.startsWith(prefix));

/**
 * Returns what is wrong with the name, undefined when nothing is. During a rotation `<name>-Next` is sent too, so it is
 * checked as well.
 */
export const signatureHeaderProblem = (name: string): string | undefined => {
  if (!signatureHeaderPattern.test(name)) return 'must be 1 to 64 letters, digits and hyphens';
  const lower = name.toLowerCase();
  return isTaken(lower) || isTaken(lower.replace(/-next$/, '')) ? 'is the name of another header' : undefined;
};
