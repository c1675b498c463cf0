/** Headers of every answer of the panel but its assets. */

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
 * Nothing from elsewhere, nothing written into the page. The referrer stays in the house; without any, browsers would not
 * say where a form comes from either. `origin`: public address.
 */
export const createSecurityHeaders = (origin: string): Readonly<Record<string, string>> => ({
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  'cache-control': 'no-store',
  // Only said over TLS, where RFC 6797 gives it a meaning.
  ...(origin.startsWith('https:') ? { 'strict-transport-security': 'max-age=31536000' } : undefined),
});
