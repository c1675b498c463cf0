/** Receivers of the webhook bench: as many listeners on loopback as asked for, all answering 204 as soon as they have the body. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { tuneForFewCores } from '#src/platform/tune-memory.ts';

tuneForFewCores();

const listenersCount = Number(process.argv[2] ?? 1);
const slowMs = 5_000;

/** Arrivals in milliseconds of the wall clock, which other processes share. */
let arrivals: number[] = [];
let probes: Record<string, number> = {};
let wanted = Number.POSITIVE_INFINITY;
let onWanted = (): void => undefined;

const now = (): number => performance.timeOrigin + performance.now();

const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
  request.resume();
  request.once('end', () => {
    if (request.url === '/slow') return void setTimeout(() => response.writeHead(204).end(), slowMs);
    if (request.url === '/probe') probes[String(request.headers['webhook-id'])] ??= now();
    else arrivals.push(now());
    response.writeHead(204).end();
    if (arrivals.length >= wanted) onWanted();
  });
};

const ports = await Promise.all(
  Array.from({ length: listenersCount }, async () => {
    const server = createServer(onRequest);
    server.keepAliveTimeout = 600_000;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }),
);

const say = (value: object): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

/** Deliveries per second between the first and the last tenth of `count` arrivals. */
const rateOf = (count: number): number => {
  const [from, to] = [Math.floor(count * 0.1), Math.floor(count * 0.9)];
  return ((to - from) * 1000) / ((arrivals[to] ?? 0) - (arrivals[from] ?? 0));
};

type Order = { count: number } | { forget: true } | { probes: true };

/** `count`: answered when so many have arrived since the last `forget`. */
const run = async (order: Order): Promise<object> => {
  if ('forget' in order) {
    [arrivals, probes] = [[], {}];
    return {};
  }
  if ('probes' in order) return { probes };
  wanted = order.count;
  if (arrivals.length < wanted)
    await new Promise<void>((resolve) => {
      onWanted = resolve;
    });
  wanted = Number.POSITIVE_INFINITY;
  return { rate: rateOf(order.count) };
};

say({ ports });
for await (const line of createInterface({ input: process.stdin })) say(await run(JSON.parse(line) as Order));
process.exit(0);
