/** Security headers of every response of the panel except assets. */

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The policy allows no resource of another origin and no inline script or style. The referrer policy is `same-origin`,
 * because with `no-referrer` browsers would send `Origin: null` with forms. `origin`: public origin of the server. `hstsSeconds`: see
 * ORDERPASS_HSTS_SECONDS.
 */
export const createSecurityHeaders = (origin: string, hstsSeconds: number): Readonly<Record<string, string>> => ({
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  'cache-control': 'no-store',
  // RFC 6797 section 7.2: the header must not be sent over plain HTTP.
  ...(origin.startsWith('https:') ? { 'strict-transport-security': `max-age=${hstsSeconds}` } : undefined),
});
