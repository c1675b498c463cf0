/**
 * Ends connections whose client reads nothing of an answer. Node bounds the time of a request and of an idle connection, but none
 * for an answer: what waits for its end, such as a slot of running requests, would be held for as long as the client likes.
 *
 * It leans on these parts of node:http of Node 24 that its documentation does not promise; test/platform/parity/node-http.test.ts
 * holds them:
 * - `server.timeout` is the time without activity on a connection, and the listener of `timeout` decides what becomes of it, also
 *   of one that is idle between two requests;
 * - `_handle.writeQueueSize` of a socket is how much the kernel has not taken. Over TLS that of `_handle._parent` counts.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponseOf } from './responses.ts';

/**
 * The kernel takes more only when a third of its buffer is free, which may be 1.8 MB, so only a client that reads as much within
 * this time is seen to read. chosen: for 15 kB/s, as on a slow line.
 */
const unreadMs = 120_000;

/** A connection ends after one to two times `server.timeout`, which this sets, without a byte of the answer being taken. */
export const endUnread = (server: Server): void => {
  const leftBefore = new WeakMap<Socket, number>();
  server.setTimeout(unreadMs, (socket) => {
    // Between two requests: what Node does without this listener.
    if (currentResponseOf(socket) === undefined) return void socket.destroy();
    const left = socket.writableLength === 0 ? 0 : queueOf(socket);
    if (left > 0 && left === leftBefore.get(socket)) return void socket.destroy();
    leftBefore.set(socket, left);
    socket.setTimeout(server.timeout);
  });
};

type Handle = { writeQueueSize?: number; _parent?: Handle };

const queueOf = (socket: Socket): number => {
  const handle = (socket as Socket & { _handle?: Handle | null })._handle;
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0;
};
