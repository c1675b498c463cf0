/**
 * Responses of connections that Node's HTTP server has no longer, or not yet, given to a handler.
 *
 * It leans on these parts of node:http of Node 24 that its documentation does not promise;
 * test/platform/parity/node-http.test.ts holds them:
 * - `socket._httpMessage` is the response that the connection is to carry: an error of the parser comes with a socket alone,
 *   and a second status line must not be written into an answer that was begun;
 * - `new ServerResponse(request)` and `assignSocket` make a response for a request whose socket has left the server (event
 *   `upgrade`), so that it is refused like any other request; with `shouldKeepAlive` false it says `connection: close`.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type CurrentResponse = Pick<ServerResponse, 'headersSent' | 'shouldKeepAlive'> & { req: IncomingMessage };

/** The response that is due on this connection; undefined between two requests. */
export const currentResponseOf = (socket: Socket): CurrentResponse | undefined =>
  (socket as Socket & { _httpMessage?: CurrentResponse | null })._httpMessage ?? undefined;

/** A response on the socket of an upgrade, whose connection ends with it. */
export const responseOn = (socket: Socket, req: IncomingMessage): ServerResponse => {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  return res;
};
