/** Ends a connection so that the other side cannot take what it has for everything, over TLS too. */
import type { Socket } from 'node:net';

/**
 * Resets the TCP connection. A `TLSSocket` has no TCP handle, and its own `resetAndDestroy` throws; the socket below it is a
 * private part of Node (`_handle._parentWrap`), which test/gateway/tls holds. Without it the connection ends without the
 * `close_notify` of TLS, which says the same to a client that looks for it (RFC 9112 section 9.8).
 */
export const resetConnection = (socket: Socket): void => {
  const below = 'encrypted' in socket ? socketBelow(socket) : socket;
  if (below === undefined) socket.destroy();
  else below.resetAndDestroy();
};

const socketBelow = (socket: Socket): Socket | undefined =>
  (socket as Socket & { _handle?: { _parentWrap?: Socket } | null })._handle?._parentWrap;
