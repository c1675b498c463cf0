/**
 * Bounds the connections of public listeners, so that clients cannot take every file descriptor of the process: at that point the
 * system refuses new clients, and the process gets no connection to its store or to an upstream.
 *
 * At the bound a new connection takes the place of one that serves no request, the one that was unused longest first, as in nginx; where
 * all have requests, that of one whose body hardly arrives. So a client with many idle or slow connections cannot keep others out, and
 * those who use their connections keep them. There is no bound for one address, since all clients of a load balancer have one.
 *
 * It leans on these parts of node:http and node:tls of Node 24 that the documentation does not promise;
 * test/platform/parity/node-http.test.ts holds them:
 * - `socket._httpMessage`, see responses.ts;
 * - `_parent` of a socket of TLS is the socket of the connection, which the server emits before the handshake;
 * - `bytesRead` of a socket counts also what the parser of HTTP reads.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type CurrentResponse, currentResponseOf } from './responses.ts';

export type ConnectionBound = {
  /** To be called before the server listens. The connections of all such servers share the bound. */
  watch(server: Server): void;
  /** Open connections. */
  open(): number;
};

type BoundOptions = {
  /** Infinity: no bound. */
  max: number;
  onEnd: (ended: EndedConnection) => void;
};

/**
 * `idle`: one that served no request. `slow`: the body of its request hardly arrived. `busy`: a new one, since all that were looked at
 * serve a request.
 */
type EndedConnection = 'idle' | 'slow' | 'busy';

type Connection = {
  /** The one that HTTP knows: that of TLS once its handshake is done. */
  socket: Socket;
  /** It carries another protocol. */
  isUpgraded: boolean;
  /** At a look: what was read before it, its time, and the response to the request whose body was arriving. */
  seen: { bytesRead: number; atMs: number; response: CurrentResponse | undefined };
};

/** chosen: looking at so many costs less than a connection does. Each look goes on where the last one ended. */
const looksMax = 1_000;

/** chosen: the least rate of Apache's mod_reqtimeout. */
const bodyBytesPerSecondMin = 500;
/** Over a shorter time the rate of a body says nothing. */
const rateMsMin = 1_000;

/** `used`: idle, and not so at the last look. Undefined: it serves a request as it should. */
const lookAt = (connection: Connection, nowMs: number): 'idle' | 'used' | 'slow' | undefined => {
  const { socket, isUpgraded, seen } = connection;
  if (isUpgraded) return undefined;
  const response = currentResponseOf(socket);
  const { bytesRead } = socket;
  if (response !== undefined) {
    if (!awaitsBody(response)) return undefined;
    const elapsedMs = nowMs - seen.atMs;
    if (response === seen.response) {
      if (elapsedMs < rateMsMin) return undefined;
      if ((bytesRead - seen.bytesRead) * 1_000 < bodyBytesPerSecondMin * elapsedMs) return 'slow';
    }
    connection.seen = { bytesRead, atMs: nowMs, response };
    return undefined;
  }
  if (bytesRead === seen.bytesRead) return 'idle';
  connection.seen = { bytesRead, atMs: nowMs, response };
  return 'used';
};

/** The client has to send more of the body. Where some of it waits to be read, an upstream is slow. */
const awaitsBody = ({ req }: CurrentResponse): boolean => !req.complete && req.readableLength === 0;

export const createConnectionBound = ({ max, onEnd }: BoundOptions): ConnectionBound => {
  /** By the socket of the system. First is the one whose last look is longest ago. */
  const connections = new Map<Socket, Connection>();

  /** An idle connection: the first that was not used since the last look, or else the first of all. Otherwise a slow one. */
  const findOther = (newest: Socket): { raw: Socket; ended: EndedConnection } | undefined => {
    const nowMs = performance.now();
    let used: Socket | undefined;
    let slow: Socket | undefined;
    let looks = Math.min(looksMax, connections.size);
    for (const [raw, connection] of connections) {
      if (looks === 0) break;
      looks -= 1;
      if (raw === newest) continue;
      const found = lookAt(connection, nowMs);
      if (found === 'idle') return { raw, ended: found };
      if (found === 'used') used ??= raw;
      if (found === 'slow') slow ??= raw;
      connections.delete(raw);
      connections.set(raw, connection);
    }
    if (used !== undefined) return { raw: used, ended: 'idle' };
    return slow && { raw: slow, ended: 'slow' };
  };

  const makeRoom = (newest: Socket): void => {
    const { raw, ended } = findOther(newest) ?? { raw: newest, ended: 'busy' };
    connections.delete(raw);
    raw.destroy();
    onEnd(ended);
  };

  return {
    open: () => connections.size,
    watch: (server) => {
      server.on('connection', (raw: Socket) => {
        const seen = { bytesRead: 0, atMs: performance.now(), response: undefined };
        connections.set(raw, { socket: raw, isUpgraded: false, seen });
        raw.once('close', () => connections.delete(raw));
        if (connections.size > max) makeRoom(raw);
      });
      server.on('secureConnection', (socket: Socket) => {
        const connection = connections.get(rawOf(socket));
        if (connection !== undefined) connection.socket = socket;
      });
      for (const event of ['upgrade', 'connect'])
        server.on(event, (_request, socket: Socket) => {
          const connection = connections.get(rawOf(socket));
          if (connection !== undefined) connection.isUpgraded = true;
        });
    },
  };
};

const rawOf = (socket: Socket): Socket => (socket as Socket & { _parent?: Socket | null })._parent ?? socket;
