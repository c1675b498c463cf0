/** Requests that are sent a second time after their connection was lost, and those that never are. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import { openDoor, type PublicDoor, sendRequest } from '../harness/public-door.ts';
import { answerOf, isOfCaller, type RestartableServer, startRestartableServer } from './restartable-server.ts';

let a: RestartableServer;
let b: RestartableServer;
let door: PublicDoor;
let metrics: Metrics;

const open = async (
  upstream: string,
  policy: Record<string, unknown> = {},
  ofOrders: Record<string, unknown> = {},
): Promise<void> => {
  metrics = createMetrics({ process: false });
  door = await openDoor(upstream, {
    settings: { upstream_failures_max: 1_000 },
    table: { upstreams: { ordering: policy } },
    perRoute: (route) => (route.id === 'order.create' ? { ...route, ...ofOrders } : route),
    metrics,
  });
};

beforeEach(async () => {
  a = await startRestartableServer('a');
  b = await startRestartableServer('b');
});

afterEach(async () => {
  await door.close();
  await a.die();
  await b.die();
});

const send = (method: string, headers: Record<string, string> = {}, body?: string | Buffer) =>
  sendRequest(door.url, method, method === 'POST' ? '/api/order/create' : '/api/orders/list', {
    headers: { ...door.asClient, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body }),
  });

/** The requests of callers that `server` lost, each with its connection. */
const loseEverything = (server: RestartableServer): void => {
  server.onRequest = (socket) => void socket.destroy();
};

const countOf = (server: RestartableServer): number => server.seen.filter(isOfCaller).length;

const repeats = async (outcome: string): Promise<number> =>
  Number(
    new RegExp(`^orderpass_upstream_repeats_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(
      (await metrics.render()).text,
    )?.[1],
  );

test('A-203 GET and HEAD that lost their connection are repeated once, on another address', async () => {
  await open(`${a.url}|${b.url}`);
  loseEverything(a);
  for (let i = 0; i < 6; i += 1) expect((await send('GET')).json.name).toBe('b');
  for (let i = 0; i < 6; i += 1) expect((await send('HEAD')).status).toBe(200);
  expect(countOf(a)).toBeGreaterThanOrEqual(2);
  expect(await repeats('repeated')).toBe(countOf(a));
  loseEverything(b);
  const before = countOf(a) + countOf(b);
  expect((await send('GET')).status).toBe(502);
  expect(countOf(a) + countOf(b)).toBe(before + 2);
});

test('A-203 a request with an Idempotency-Key is repeated with the same key and the same body, and only once', async () => {
  await open(`${a.url}|${b.url}`);
  loseEverything(a);
  const arrived: string[] = [];
  let whole = '';
  b.onRequest = (socket, text) => {
    whole += text;
    if (!whole.includes('"end"}')) return;
    arrived.push(whole);
    whole = '';
    socket.write(answerOf('b'));
  };
  const body = JSON.stringify({ text: 'è'.repeat(20_000), last: 'end' });
  for (let i = 0; i < 4; i += 1) {
    const answer = await send('POST', { 'idempotency-key': `key-${i}` }, body);
    expect([answer.status, answer.json.name]).toEqual([200, 'b']);
  }
  expect(countOf(a)).toBeGreaterThanOrEqual(1);
  expect(arrived.map((text) => /^idempotency-key: (.*)\r$/m.exec(text)?.[1])).toEqual(
    [0, 1, 2, 3].map((i) => `key-${i}`),
  );
  const bytes = Buffer.from(body).toString('latin1');
  for (const text of arrived) expect(text.endsWith(bytes)).toBe(true);
  loseEverything(b);
  const before = countOf(a) + countOf(b);
  expect((await send('POST', { 'idempotency-key': 'last' }, '{}')).status).toBe(502);
  expect(countOf(a) + countOf(b)).toBe(before + 2);
});

test('A-203 a POST without a key, and one whose body is too long to be kept, are sent once', async () => {
  await open(a.url);
  loseEverything(a);
  expect((await send('POST', {}, '{}')).status).toBe(502);
  expect(a.seen.filter((line) => line.startsWith('POST')).length).toBe(1);
  const long = JSON.stringify({ text: 'x'.repeat(70_000) });
  expect((await send('POST', { 'idempotency-key': 'long' }, long)).status).toBe(502);
  expect(a.seen.filter((line) => line.startsWith('POST')).length).toBe(2);
});

test('A-203 the time to an answer is that of all attempts together', async () => {
  metrics = createMetrics({ process: false });
  door = await openDoor(`${a.url}|${b.url}`, {
    settings: { upstream_failures_max: 1_000 },
    perRoute: (route) => ({ ...route, timeouts: { answerMs: 4_000 } }),
    metrics,
  });
  let requests = 0;
  const answer = (socket: Socket) => {
    requests += 1;
    if (requests === 1) setTimeout(() => socket.destroy(), 1_000);
    // Within the time that one attempt has.
    else setTimeout(() => socket.write(answerOf('late')), 3_800);
  };
  a.onRequest = answer;
  b.onRequest = answer;
  expect((await send('GET')).status).toBe(504);
  expect(requests).toBe(2);
});

test('A-203 a request that cannot be repeated gets no connection that was idle for seconds, because the service may be closing it', async () => {
  await open(a.url);
  // Without this the client of the gateway ends a connection after 4 s, which a busy machine may take for one of the waits.
  a.onRequest = (socket) => {
    socket.write(answerOf('a').replace('\r\n\r\n', '\r\nKeep-Alive: timeout=60\r\n\r\n'));
  };
  const idle = () => new Promise((resolve) => setTimeout(resolve, 2_300));
  expect((await send('GET')).status).toBe(200);
  const before = a.connections;
  await idle();
  expect((await send('GET')).status).toBe(200);
  expect(a.connections).toBe(before);
  await idle();
  expect((await send('POST', {}, '{}')).status).toBe(200);
  expect(a.connections).toBe(before + 1);
});

test('A-203 a POST whose key does not reach the service is sent once', async () => {
  await open(a.url);
  loseEverything(a);
  const key = { 'idempotency-key': 'kept-back' };
  expect((await send('POST', { ...key, connection: 'close, Idempotency-Key' }, '{}')).status).toBe(502);
  expect(countOf(a)).toBe(1);
  await door.close();
  await open(a.url, {}, { requestHeaders: { remove: ['idempotency-key'] } });
  expect((await send('POST', key, '{}')).status).toBe(502);
  expect(countOf(a)).toBe(2);
});

test('A-203 the retry budget bounds repeats to a share of the requests and a few each second', async () => {
  await open(a.url, { retries: { budgetPercent: 20, minPerSecond: 1 } });
  const startedMs = performance.now();
  loseEverything(a);
  for (let i = 0; i < 100; i += 1) expect((await send('GET')).status).toBe(502);
  const seconds = (performance.now() - startedMs) / 1_000;
  expect(countOf(a)).toBeGreaterThanOrEqual(120);
  expect(countOf(a)).toBeLessThanOrEqual(120 + 1 + Math.ceil(seconds));
  expect(await repeats('repeated')).toBe(countOf(a) - 100);
  expect(await repeats('over_budget')).toBe(200 - countOf(a));
});

test('A-203 an answer that breaks before its first byte reached the caller is asked for again', async () => {
  await open(`${a.url}|${b.url}`);
  a.onRequest = (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n');
  for (let i = 0; i < 4; i += 1) expect((await send('GET')).json.name).toBe('b');
  expect(countOf(a)).toBeGreaterThanOrEqual(1);
});
