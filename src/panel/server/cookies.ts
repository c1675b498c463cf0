/**
 * Cookies of the panel. With the prefix `__Host-` a browser accepts them only over a secure connection, from this host and
 * for all paths; browsers treat loopback as secure. SameSite is Lax, because a visitor may come back from an external
 * provider; every change needs the CSRF token as well.
 */
import { ownCookiePrefix } from '#src/contract/headers.ts';
import type { Kept } from '../ports/staff.ts';

export const sessionCookie = ownCookiePrefix;
/** State of a sign-in that is not complete. */
export const pendingCookie = `${ownCookiePrefix}-pending`;
/** Marks a browser from which a sign-in succeeded before. */
export const browserCookie = `${ownCookiePrefix}-browser`;
/** Language of a visitor who is not signed in. */
export const languageCookie = `${ownCookiePrefix}-language`;

/** `value` must need no quoting. Without `maxAgeSeconds` it is a session cookie. */
export const cookie = (name: string, value: string, maxAgeSeconds?: number): string =>
  `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax${maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`}`;

export const keptCookie = (name: string, { value, seconds }: Kept): string => cookie(name, value, seconds);

export const endCookie = (name: string): string => cookie(name, '', 0);
