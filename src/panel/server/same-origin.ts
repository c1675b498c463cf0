/** Was a request that changes something sent by a page of the panel? A second lock beside the token, and the only one at sign-in. */
import type { IncomingMessage } from 'node:http';

/**
 * Browsers name the page that sent a form in Sec-Fetch-Site or at least in Origin; a page elsewhere can forge neither. A
 * request with neither comes from no browser and is refused too. `origin`: public address of the server, scheme included.
 */
export const isSameOrigin = (request: IncomingMessage, origin: string): boolean => {
  const site = request.headers['sec-fetch-site'];
  const from = request.headers.origin;
  if (site !== undefined && site !== 'same-origin') return false;
  if (from !== undefined) return from === origin || isLoopback(from, request);
  return site === 'same-origin';
};

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Another name of this server, such as http://localhost for a program that calls itself 127.0.0.1, or an SSH tunnel to it.
 * Only for loopback: elsewhere the Host field says nothing about the scheme, and a page that was read over plain http may
 * have been written by anybody on the way.
 */
const isLoopback = (from: string, request: IncomingMessage): boolean => {
  if (!URL.canParse(from)) return false;
  const { protocol, hostname, host } = new URL(from);
  return protocol === 'http:' && loopbackNames.has(hostname) && host === request.headers.host?.toLowerCase();
};
