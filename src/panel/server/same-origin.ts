/**
 * Checks that a changing request comes from a page of the panel: a second check beside the CSRF token, and the only one
 * at sign-in.
 */
import type { IncomingMessage } from 'node:http';

/**
 * Browsers send Sec-Fetch-Site or at least Origin with a form, and a page of another site can forge neither. A request with
 * neither header does not come from a browser and is refused too. `origin`: public origin of the server, with its scheme.
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
 * Accepts another loopback name of this server, such as http://localhost instead of http://127.0.0.1, or an SSH tunnel.
 * Other hosts must match `origin`: the Host header does not tell the scheme, and an attacker on the network can change a
 * page that is read over plain http.
 */
const isLoopback = (from: string, request: IncomingMessage): boolean => {
  if (!URL.canParse(from)) return false;
  const { protocol, hostname, host } = new URL(from);
  return protocol === 'http:' && loopbackNames.has(hostname) && host === request.headers.host?.toLowerCase();
};
