/** A real HTTP receiver on loopback whose behaviour a test sets, request by request. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReceivedRequest = { path: string; headers: IncomingHttpHeaders; body: string; at: number };

/** Answers one request; the number counts from 1. */
export type Behaviour = (response: ServerResponse, request: ReceivedRequest, number: number) => void;

export const status =
  (code: number, headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    void response.writeHead(code, headers).end();

export type WebhookReceiver = {
  url: string;
  port: number;
  received: ReceivedRequest[];
  /** TCP connections so far: a target that is refused must not even be connected to. */
  connections(): number;
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
};

export const startReceiver = async (behaviour: Behaviour = status(204)): Promise<WebhookReceiver> => {
  const received: ReceivedRequest[] = [];
  let connections = 0;
  let current = behaviour;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const entry = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        at: Date.now(),
      };
      received.push(entry);
      current(response, entry, received.length);
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    connections: () => connections,
    behave: (next) => {
      current = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
