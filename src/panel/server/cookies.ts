/**
 * Cookies of the panel. `__Host-` makes a browser take them only over a secure connection, from this host, for all paths;
 * browsers count loopback as secure. Lax, because a visitor may come back from an external provider: every change needs a
 * token besides.
 */
import type { IncomingMessage } from 'node:http';
import type { Kept } from '../ports/staff.ts';

export const sessionCookie = '__Host-orderpass';
/** A sign-in on its way. */
export const pendingCookie = '__Host-orderpass-pending';
/** A browser that signed in before. */
export const browserCookie = '__Host-orderpass-browser';
/** Language of somebody who is not signed in. */
export const languageCookie = '__Host-orderpass-language';

/** The first value that came under the name. */
export const readCookie = (request: IncomingMessage, name: string): string | undefined => {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const equals = part.indexOf('=');
    if (equals !== -1 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
};

/** `value` must need no quoting. Without `maxAgeSeconds` it ends with the browser. */
export const cookie = (name: string, value: string, maxAgeSeconds?: number): string =>
  `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax${maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`}`;

export const keptCookie = (name: string, { value, seconds }: Kept): string => cookie(name, value, seconds);

export const endCookie = (name: string): string => cookie(name, '', 0);
