/**
 * Ends a connection so that the other side cannot take what it has for everything, over TLS too.
 *
 * It leans on this part of node:tls of Node 24 that its documentation does not promise; test/platform/parity/node-tls.test.ts holds it:
 * - `_handle._parentWrap` of a `TLSSocket` is the TCP socket below it, which can be reset. The own `resetAndDestroy` of a `TLSSocket`
 *   throws, because it has no TCP handle.
 */
import type { Socket } from 'node:net';

/**
 * Resets the TCP connection. Where the socket below TLS is not found, the connection ends without the `close_notify` of TLS, which
 * says the same to a client that looks for it (RFC 9112 section 9.8).
 */
export const resetConnection = (socket: Socket): void => {
  const below = 'encrypted' in socket ? socketBelow(socket) : socket;
  if (below === undefined) socket.destroy();
  else below.resetAndDestroy();
};

const socketBelow = (socket: Socket): Socket | undefined =>
  (socket as Socket & { _handle?: { _parentWrap?: Socket } | null })._handle?._parentWrap;
