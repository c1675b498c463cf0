/** Was a request that changes something sent by a page of ours? A second lock beside the token, and the only one at sign-in. */
import type { IncomingMessage } from 'node:http';

/**
 * Browsers say where a request comes from in Sec-Fetch-Site or at least in Origin; a page elsewhere can forge neither. A
 * request with neither is no browser's and is refused too.
 */
export const isSameOrigin = (request: IncomingMessage, origin: string): boolean => {
  const site = request.headers['sec-fetch-site'];
  const from = request.headers.origin;
  if (site !== undefined && site !== 'same-origin') return false;
  if (from !== undefined) return from === origin || isOwnHost(from, request);
  return site === 'same-origin';
};

/** By another name of this server, as http://localhost for a program that calls itself 127.0.0.1. */
const isOwnHost = (from: string, request: IncomingMessage): boolean =>
  URL.canParse(from) && request.headers.host !== undefined && new URL(from).host === request.headers.host;
