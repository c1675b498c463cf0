/** Upstream and load generator of the bench, in one process so that they share a core. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { Client, type Dispatcher } from 'undici';

const upstreamBody = JSON.stringify({ success: true, items: 'x'.repeat(990) });

const upstream = createServer((req, res) => {
  const answer = (): void => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': upstreamBody.length });
    res.end(upstreamBody);
  };
  if (req.method === 'GET') answer();
  else req.on('end', answer).resume();
});
upstream.keepAliveTimeout = 600_000;
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));

type Order = {
  url: string;
  path: string;
  headers: Record<string, string>;
  /** Either a time or a number of requests. */
  ms?: number;
  count?: number;
  method?: 'GET' | 'POST';
  body?: string;
  /** Sends a body of this many bytes instead. */
  bodyBytes?: number;
  /** Taken in turn as the body. */
  bodies?: string[];
  /** Taken in turn as the Authorization header. */
  authorizations?: string[];
};

/** As many requests as go or as are ordered, one at a time on each connection. A GET must bring the upstream's whole body. */
const run = async (order: Order): Promise<{ requests: number; failures: number; ms: number }> => {
  const { url, path, ms = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY } = order;
  const { method = 'GET', bodies = [], authorizations = [] } = order;
  const sent = order.bodyBytes === undefined ? (order.body ?? null) : Buffer.alloc(order.bodyBytes, 'x');
  const several = authorizations.map((authorization) => ({ ...order.headers, authorization }));
  const clients = Array.from(
    { length: connections },
    () => new Client(url, { pipelining: 1, connect: { rejectUnauthorized: false } }),
  );
  const startedAt = performance.now();
  const end = startedAt + ms;
  let requests = 0;
  let failures = 0;
  let started = 0;
  const drive = (client: Client): Promise<void> =>
    new Promise((resolve) => {
      const next = (): void => {
        if (started >= count || performance.now() >= end) return resolve();
        let bytes = 0;
        let status = 0;
        const handler: Dispatcher.DispatchHandler = {
          onRequestStart: () => undefined,
          onResponseStart: (_controller, code) => {
            status = code;
          },
          onResponseData: (_controller, chunk) => {
            bytes += chunk.length;
          },
          onResponseEnd: () => {
            requests += 1;
            if (status !== 200 || (method === 'GET' && bytes !== upstreamBody.length)) failures += 1;
            next();
          },
          onResponseError: () => {
            failures += 1;
            next();
          },
        };
        const headers = several[started % several.length] ?? order.headers;
        const body = bodies[started % bodies.length] ?? sent;
        started += 1;
        client.dispatch({ path, method, headers, body }, handler);
      };
      next();
    });
  await Promise.all(clients.map(drive));
  const took = performance.now() - startedAt;
  await Promise.all(clients.map((client) => client.destroy()));
  return { requests, failures, ms: took };
};

const connections = Number(process.argv[2] ?? 32);

const say = (value: object): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

say({ url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` });
for await (const line of createInterface({ input: process.stdin })) say(await run(JSON.parse(line) as Order));
process.exit(0);
