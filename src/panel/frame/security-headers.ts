/** Headers of every answer of the panel but its assets. */

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

/**
 * Nothing from elsewhere, nothing written into the page. `formTargets`: origins beside our own that a form may lead to, as
 * the external provider behind the sign-in button. The referrer stays in the house; without any, browsers would not say
 * where a form comes from either.
 */
export const createSecurityHeaders = (formTargets: readonly string[]): Readonly<Record<string, string>> => ({
  'content-security-policy': [...policy, `form-action ${["'self'", ...formTargets].join(' ')}`].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  'cache-control': 'no-store',
});
