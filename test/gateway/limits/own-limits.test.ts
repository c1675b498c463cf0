/** Own rates and running requests of a credential (interface 20.1, 20.3 and 20.4). */
import { createServer, get as httpGet, type IncomingMessage, type ServerResponse } from 'node:http';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createCredentials } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { Kv } from '#src/platform/kv/index.ts';
import { createRedisKv } from '#src/platform/kv/redis-kv.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { hasRedis, startRedis, type TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Door,
  type Harness,
  openHarness,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import {
  closeServer,
  type Headers,
  listen,
  masterKey,
  openDoor,
  type Reply,
  sendRequest,
} from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let held: ServerResponse[] = [];

beforeAll(async () => {
  harness = await openHarness({ settings: { rate_minute_units: 600, rate_burst_units: 500 } });
  tenant = await harness.createTenant();
});

afterEach(() => {
  answerAll();
  harness.upstream.answer = answer;
});

afterAll(() => harness?.close());

const answer = (req: IncomingMessage, res: ServerResponse): void => {
  req.resume();
  res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
};

/** The upstream answers nothing until `answerAll`. */
const holdAnswers = (): void => {
  harness.upstream.answer = (req, res) => {
    req.resume();
    held.push(res);
  };
};

const answerAll = (): void => {
  for (const res of held) if (!res.destroyed) answer(res.req, res);
  held = [];
};

const get = (headers: Headers, url = harness.url): Promise<Reply> => sendRequest(url, 'GET', read, { headers });

type Limits = Parameters<Harness['credentials']['setLimits']>[2];

const limitedClient = async (limits: Limits) => {
  const client = await harness.createClient([tenant]);
  await harness.credentials.setLimits('client', client.client_id, limits);
  return { id: client.client_id, headers: clientHeaders(client), token: bearer(await tokenOf(harness.url, client)) };
};

const policiesOf = ({ headers }: Reply): unknown => headers['ratelimit-policy'];

test('A-215 own minute and burst of a client and of a key replace the defaults, a change keeps what was used', async () => {
  const { id, headers, token } = await limitedClient({ minute: 3 });
  const replies = [await get(headers), await get(token), await get(headers), await get(token)];
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(policiesOf(replies[0] as Reply)).toBe('"minute";q=3;w=60, "burst";q=500;w=1');
  expect(Number(replies[3]?.headers['retry-after'])).toBeGreaterThan(1);
  await harness.credentials.setLimits('client', id, { minute: 5, burst: 400 });
  await until(async () => policiesOf(await get(headers)) === '"minute";q=5;w=60, "burst";q=400;w=1');
  while ((await get(headers)).status === 200);
  // The refused ones used nothing, so a larger limit leaves exactly the difference.
  await harness.credentials.setLimits('client', id, { minute: 8 });
  let first: Reply | undefined;
  await until(async () => {
    first = await get(headers);
    return first.status === 200;
  });
  expect(first?.headers.ratelimit).toContain('"minute";r=2;');
  const { value: api_key, keyId } = await harness.credentials.createApiKey({ tenant, name: 'till' });
  await harness.credentials.setLimits('key', keyId, { burst: 7 });
  await until(async () => policiesOf(await get({ 'x-api-key': api_key })) === '"minute";q=600;w=60, "burst";q=7;w=1');
  expect(policiesOf(await get(clientHeaders(await harness.createClient([tenant]))))).toBe(
    '"minute";q=600;w=60, "burst";q=500;w=1',
  );
});

test('A-216 one request more than the bound gets 429, costs nothing, and a slot is free when an answer has ended', async () => {
  const { headers, token } = await limitedClient({ concurrency: 2 });
  holdAnswers();
  const running = [get(headers), get(token)];
  await until(() => held.length === 2);
  const refused = await get(token);
  expect([refused.status, refused.json.error, refused.headers['retry-after']]).toEqual([
    429,
    'RATE_LIMIT_EXCEEDED',
    '1',
  ]);
  expect(policiesOf(refused)).toMatch(/, "concurrency";q=2;qu="concurrent-requests"$/);
  expect(refused.headers.ratelimit).toMatch(/^"minute";r=598;t=\d+, "burst";r=\d+;t=1, "concurrency";r=0$/);
  expect(refused.json.message ?? refused.json.error_description).toContain('2 requests');
  answerAll();
  for (const reply of await Promise.all(running)) expect(reply.status).toBe(200);
  harness.upstream.answer = answer;
  await until(async () => (await get(headers)).status === 200);
  expect((await get(headers)).headers.ratelimit).toContain('"concurrency";r=1');
});

test('A-216 a slot is free after an abort, a failure of the service and a refusal, and an open stream keeps its slot', async () => {
  const { headers } = await limitedClient({ concurrency: 1, minute: 50 });
  const open = (): Promise<{ status: number | undefined; end(): void }> =>
    new Promise((resolve, reject) => {
      const request = httpGet(`${harness.url}${read}`, { headers, agent: false }, (res) => {
        res.on('error', () => undefined).resume();
        resolve({ status: res.statusCode, end: () => void request.destroy() });
      });
      request.on('error', reject);
    });
  harness.upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: 1\n\n');
  };
  for (let i = 0; i < 3; i += 1) {
    let stream = await open();
    await until(async () => {
      if (stream.status === 200) return true;
      stream = await open();
      return false;
    });
    expect((await get(headers)).status).toBe(429);
    stream.end();
  }
  const aborted = httpGet(`${harness.url}${read}`, { headers, agent: false });
  aborted.on('error', () => undefined);
  aborted.destroy();
  harness.upstream.answer = (req) => void req.socket.destroy();
  await until(async () => (await get(headers)).status === 502);
  await until(async () => (await get(headers)).status === 502);
  harness.upstream.answer = answer;
  const post = () => sendRequest(harness.url, 'POST', '/api/order/create', { headers, body: 'x' });
  await until(async () => (await post()).status === 415);
  await until(async () => (await get(headers)).status === 200);
  const spent = await get(headers);
  expect(spent.status).toBe(200);
});

test('A-216 a WebSocket keeps its slot while it is open', async () => {
  const server = createServer((req, res) => answer(req, res));
  const sockets = new WebSocketServer({ server });
  const door = await openDoor(await listen(server), {
    perRoute: (route) => ({ ...route, upgrade: route.method === 'GET' }),
  });
  try {
    const { db } = door.database;
    const credentials = createCredentials({ db, box: createSecretBox(masterKey), clock: systemClock });
    await credentials.setLimits('client', door.asClient['x-client-id'] ?? '', { concurrency: 1 });
    const ask = () => sendRequest(door.url, 'GET', read, { headers: door.asClient });
    await until(async () => String(policiesOf(await ask())).includes('concurrency'));
    const open = () => new WebSocket(`${door.url.replace('http', 'ws')}${read}`, { headers: door.asClient });
    let socket = open();
    const isOpen = () =>
      new Promise<boolean>((resolve) => {
        socket.once('open', () => resolve(true)).once('error', () => resolve(false));
      });
    // The request before may still have the slot.
    while (!(await isOpen())) socket = open();
    for (let i = 0; i < 3; i += 1) expect((await ask()).status).toBe(429);
    socket.terminate();
    await until(async () => (await ask()).status === 200);
  } finally {
    for (const socket of sockets.clients) socket.terminate();
    await door.close();
    await closeServer(server);
  }
});

describe.skipIf(!hasRedis)('over two gateways with one Redis', () => {
  let redis: TestRedis;
  const kvs: Kv[] = [];

  beforeAll(async () => {
    redis = await startRedis();
  });

  afterAll(async () => {
    for (const kv of kvs) await kv.close();
    await redis?.kill();
  });

  test('A-217 running requests of one client at both are bounded together', async () => {
    const log = pino({ level: 'silent' });
    for (let i = 0; i < 2; i += 1) kvs.push(createRedisKv({ url: redis.url, log, waitMsMax: 10_000 }));
    await until(() => kvs.every((kv) => kv.health() === 'up'));
    const doors: Door[] = [];
    for (const kv of kvs) doors.push(await harness.openDoor({ kv }));
    const { headers } = await limitedClient({ concurrency: 3 });
    holdAnswers();
    const replies = Array.from({ length: 10 }, (_, i) => get(headers, doors[i % 2]?.url));
    await until(() => held.length === 3);
    const refused = await Promise.all(doors.map(({ url }) => get(headers, url)));
    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
    answerAll();
    harness.upstream.answer = answer;
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    for (const { url } of doors) await until(async () => (await get(headers, url)).status === 200);
  });
});
