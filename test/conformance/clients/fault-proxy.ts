/** A proxy in front of the program that gives some requests another answer, or none, and records every request. */
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

export type Fault = {
  /** Path without the query. */
  path: string;
  times: number;
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Closes the connection before the program sees the request, or after the program answered; `never`: keeps it open. */
  drop?: 'before' | 'after' | 'never';
  /** Answers with an object in a body of 96 MiB. */
  isHuge?: boolean;
};

type SeenRequest = {
  method: string;
  path: string;
  query: string;
  key: string | undefined;
  authorization: string | undefined;
};

export type FaultProxy = {
  url: string;
  add(fault: Fault): void;
  /** The requests of a path since the last call for this path. */
  take(path: string): SeenRequest[];
  /** Forgets faults and requests. */
  reset(): void;
  close(): Promise<void>;
};

const partsOf = ({ url = '' }: IncomingMessage): { path: string; query: string } => {
  const [path = '', query = ''] = url.split('?');
  return { path, query };
};

export const startFaultProxy = async (target: string): Promise<FaultProxy> => {
  const faults: Fault[] = [];
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    const { path, query } = partsOf(request);
    const { authorization, 'idempotency-key': key } = request.headers;
    seen.push({ method: request.method ?? '', path, query, key: key?.toString(), authorization });
    const fault = faults.find((one) => one.path === path && one.times > 0);
    if (fault !== undefined) fault.times -= 1;
    if (fault?.drop === 'never') return;
    if (fault?.drop === 'before') return void request.socket.destroy();
    if (fault?.isHuge === true) return void answerHugely(request, response);
    if (fault?.status !== undefined) return void answerWith(fault, request, response);
    forward(target, request, response, fault?.drop === 'after');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (fault) => {
      faults.push({ ...fault });
    },
    take: (path) => {
      const taken = seen.filter((one) => one.path === path);
      seen.splice(0, seen.length, ...seen.filter((one) => one.path !== path));
      return taken;
    },
    reset: () => {
      faults.length = 0;
      seen.length = 0;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const answerWith = (
  { status = 500, headers, body }: Fault,
  request: IncomingMessage,
  response: ServerResponse,
): void => {
  request.resume().on('end', () => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body === undefined ? {} : body));
  });
};

const answerHugely = (request: IncomingMessage, response: ServerResponse): void => {
  // JSON allows spaces before a value.
  const chunk = Buffer.alloc(256 * 1024, ' ');
  const chunks = function* () {
    for (let count = 0; count < 96 * 4; count += 1) yield chunk;
    yield '{}';
  };
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    pipeline(chunks, response, () => undefined);
  });
};

const forward = (
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
  isLost: boolean,
): ClientRequest => {
  const { host: _host, ...headers } = request.headers;
  const upstream = sendRequest(`${target}${request.url}`, { method: request.method, headers }, (answer) => {
    if (isLost) return void answer.resume().on('end', () => request.socket.destroy());
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  upstream.on('error', () => request.socket.destroy());
  return request.pipe(upstream);
};
