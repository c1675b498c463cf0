/** A server that can die and come back at the same address, and writes whatever bytes a test wants. */
import { createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../support/free-port.ts';

export type RestartableServer = {
  url: string;
  connections: number;
  /** First lines of what arrived. */
  seen: string[];
  onRequest: (socket: Socket, text: string) => void;
  die(): Promise<void>;
  comeBack(): Promise<void>;
};

/** It answers each request with its name until a test sets `onRequest`. */
export const startRestartableServer = async (name: string): Promise<RestartableServer> => {
  const sockets = new Set<Socket>();
  const port = await freePort();
  const start = (): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer((socket) => {
        self.connections += 1;
        sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
        socket.on('data', (chunk) => {
          const text = chunk.toString('latin1');
          self.seen.push(text.split('\r\n')[0] ?? '');
          self.onRequest(socket, text);
        });
      });
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(server));
    });
  let server: Server | undefined = await start();
  const self: RestartableServer = {
    url: `http://127.0.0.1:${port}`,
    connections: 0,
    seen: [],
    onRequest: (socket, text) => {
      // A later piece of a body is no request.
      if (!/^[A-Z]+ \//.test(text)) return;
      const answer = answerOf(name);
      socket.write(text.startsWith('HEAD') ? answer.slice(0, answer.indexOf('{')) : answer);
    },
    die: async () => {
      const dying = server;
      server = undefined;
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => (dying === undefined ? resolve(undefined) : dying.close(resolve)));
    },
    comeBack: async () => {
      server = await start();
    },
  };
  return self;
};

/** An answer that names its server. */
export const answerOf = (name: string): string => {
  const body = JSON.stringify({ success: true, name });
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

/** A request of a caller and not a probe of the gateway. */
export const isOfCaller = (line: string): boolean => line.includes('/api/');
