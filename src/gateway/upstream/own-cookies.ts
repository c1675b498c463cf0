/**
 * Cookies of the panel, which has the host of the services behind the gateway. A service that got one could act as the account
 * that is signed in, and one that set it could sign a visitor in to an account of its choice.
 */
import { ownCookiePrefix } from '#src/contract/headers.ts';

const prefix = ownCookiePrefix.toLowerCase();

/**
 * `cookie`: `name=value`, spaces around it allowed. The name is what stands before the first `=` (RFC 6265 section 5.2). One without a
 * name counts by its value, since browsers send it back without the `=`.
 */
export const isOwnCookie = (cookie: string): boolean =>
  cookie.trimStart().replace(/^=\s*/, '').toLowerCase().startsWith(prefix);

/** A `Cookie` field without those of the panel; empty when no other is left. */
export const withoutOwnCookies = (value: string): string => {
  if (!value.toLowerCase().includes(prefix)) return value;
  return value
    .split(';')
    .filter((cookie) => !isOwnCookie(cookie))
    .join(';')
    .trim();
};
