/**
 * Bounds the age of the connections of a listener. A balancer that chooses a process for each connection, such as a Service of
 * Kubernetes, sends requests to a process that was added only over new connections, and gateways keep theirs in use.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** chosen: a new process has its share after a minute, and opening a connection costs as much as one request. */
export const connectionMs = 60_000;

/**
 * A listener of requests: the answer to a request over a connection that is older than about `ageMs` announces its end, so that
 * the client sends no other request over it. The ages differ by a quarter, since connections that were opened together would
 * be opened again together.
 */
export const boundConnectionAge = (ageMs: number): RequestListener => {
  const ends = new WeakMap<Socket, number>();
  return (request, response) => {
    const now = performance.now();
    const end = ends.get(request.socket);
    if (end === undefined) ends.set(request.socket, now + ageMs * (0.75 + Math.random() / 2));
    else if (now >= end) {
      const announce = (): void => {
        response.shouldKeepAlive = false;
      };
      // Closed while a body still arrives, a connection is reset, and the client may lose the answer.
      if (hasBody(request)) request.once('end', announce);
      else announce();
    }
  };
};

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
