/**
 * Responses of connections that Node's HTTP server has no longer, or not yet, given to a handler.
 *
 * It leans on these parts of node:http of Node 24 that its documentation does not promise;
 * test/platform/parity/node-http.test.ts holds them:
 * - `socket._httpMessage` is the response that the connection is to carry: an error of the parser comes with a socket alone,
 *   and a second status line must not be written into an answer that was begun;
 * - `new ServerResponse(request)` and `assignSocket` make a response for a request whose socket has left the server (event
 *   `upgrade`), so that it is refused like any other request; with `shouldKeepAlive` false it says `connection: close`;
 * - a response that waits behind another one of its connection (pipelining) has no socket yet. When the connection ends, Node 24
 *   closes it, but not where an upgrade has taken the connection off HTTP, and Node 20 never does.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type CurrentResponse = Pick<ServerResponse, 'headersSent' | 'shouldKeepAlive'> & { req: IncomingMessage };

/** The response that is due on this connection; undefined between two requests. */
export const currentResponseOf = (socket: Socket): CurrentResponse | undefined =>
  (socket as Socket & { _httpMessage?: CurrentResponse | null })._httpMessage ?? undefined;

/** The responses of a connection that wait behind another one. Only a client that sends requests without waiting has any. */
const queued = new WeakMap<Socket, Set<ServerResponse>>();

/** To be called for each request: its response emits `close` when the connection ends, also where it waits behind another one. */
export const closeWithConnection = ({ socket }: IncomingMessage, response: ServerResponse): void => {
  if (response.socket !== null) return;
  let waiting = queued.get(socket);
  if (waiting === undefined) {
    const made = new Set<ServerResponse>();
    queued.set(socket, made);
    // After the listener of Node, which may have closed some of them.
    socket.once('close', () => closeAll(made));
    waiting = made;
  }
  const responses = waiting.add(response);
  response.once('close', () => responses.delete(response));
};

const closeAll = (responses: ReadonlySet<ServerResponse>): void => {
  for (const response of responses) {
    response.destroy();
    // Node 24 closes a response without a socket a tick later; Node 20 only marks it as destroyed.
    process.nextTick(() => {
      if (responses.has(response)) response.emit('close');
    });
  }
};

/** A response on the socket of an upgrade, whose connection ends with it. */
export const responseOn = (socket: Socket, req: IncomingMessage): ServerResponse => {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.assignSocket(socket);
  return res;
};
