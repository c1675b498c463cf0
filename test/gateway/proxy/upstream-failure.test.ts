import { connect, createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  openDoor,
  type PublicDoor,
  type RawUpstream,
  sendRaw,
  sendRequest,
  startRawUpstream,
} from '../harness/public-door.ts';

let upstream: RawUpstream;
let door: PublicDoor;

const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"success":true}';

beforeEach(async () => {
  upstream = await startRawUpstream((socket) => socket.write(ok));
  door = await openDoor(upstream.url, { routes: { timeouts: { answerMs: 2_000 } } });
});

afterEach(async () => {
  await door.close();
  await upstream.close();
});

const get = (headers: Record<string, string>, method = 'GET') =>
  sendRequest(door.url, method, '/api/orders/list', { headers });

test('A-061 an upstream that is down is 502, and works again as soon as it is back', async () => {
  const { port } = new URL(upstream.url);
  await upstream.close();
  for (const headers of [door.asBearer, door.asKey]) {
    const answer = await get(headers);
    expect([answer.status, answer.json.error]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
    expect(answer.text).not.toContain(port);
  }
  const problem = await get({ ...door.asKey, accept: 'application/problem+json' });
  expect([problem.status, problem.json.code]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
  const back = createServer((socket) => void socket.on('data', () => socket.write(ok)).on('error', () => undefined));
  await new Promise<void>((resolve) => back.listen(Number(port), '127.0.0.1', resolve));
  expect((await get(door.asKey)).status).toBe(200);
  await door.close();
  await new Promise((resolve) => back.close(resolve));
  door = await openDoor('http://127.0.0.1:1');
});

test('A-061 a silent upstream is 504 after the time of the route, before and after the body', async () => {
  upstream.onData = () => undefined;
  const answer = await get(door.asKey);
  expect([answer.status, answer.json.error]).toEqual([504, 'UPSTREAM_TIMEOUT']);
  const posted = await sendRequest(door.url, 'POST', '/api/order/create', {
    headers: { ...door.asClient, 'content-type': 'application/json' },
    body: '{}',
  });
  expect([posted.status, posted.json.error]).toEqual([504, 'UPSTREAM_TIMEOUT']);
});

const cuts: [string, string][] = [
  ['of a known length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it'],
  ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf \r\n'],
  ['in chunks, inside one', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhalf of it'],
];

test.each(cuts)('A-061 an answer %s that is cut in its body cuts the connection to the client', async (_name, half) => {
  for (const end of ['end', 'reset', 'garbage'] as const) {
    upstream.onData = (socket) => {
      socket.write(half, () => {
        if (end === 'end') socket.end();
        else if (end === 'reset') setImmediate(() => socket.resetAndDestroy());
        else socket.write(half.includes('chunked') ? '\r\nzz\r\n' : '', () => socket.end());
      });
    };
    for (const version of ['1.1', '1.0']) {
      const request = `GET /api/orders/list HTTP/${version}\r\nHost: x\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n\r\n`;
      const answer = await sendRaw(door.port, request).catch(() => 'reset');
      expect(answer).not.toContain('0\r\n\r\n');
      if (answer.includes('content-length: 100')) expect(answer.split('\r\n\r\n')[1]?.length ?? 0).toBeLessThan(100);
    }
    await expect(get(door.asKey)).rejects.toThrow();
  }
});

test('A-061 an upstream that falls silent in the middle of its body cuts the connection too', async () => {
  upstream.onData = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it');
  await expect(get(door.asKey)).rejects.toThrow();
});

const broken: [string, string][] = [
  ['is no HTTP', 'SSH-2.0-OpenSSH\r\n'],
  ['closes without a word', ''],
  ['closes in the middle of the header', 'HTTP/1.1 200 OK\r\nContent-'],
  ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab'],
  ['has a header of 100 KiB', `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100 * 1024)}\r\n\r\n`],
  ['upgrades unasked', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n'],
];

test.each(broken)('A-061 an answer that %s is 502', async (_name, bytes) => {
  upstream.onData = (socket) => void socket.end(bytes);
  const answer = await get(door.asKey);
  expect([answer.status, answer.json.error]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
});

test('informational answers before the real one stay behind', async () => {
  upstream.onData = (socket) => void socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${ok}`);
  const answer = await get(door.asKey);
  expect([answer.status, answer.json.success, answer.headers.link]).toEqual([200, true, undefined]);
});

test('a connection that was lost before any answer: GET is tried once more, POST never', async () => {
  let requests = 0;
  upstream.onData = (socket) => {
    requests += 1;
    if (requests === 1) socket.destroy();
    else socket.write(ok);
  };
  expect((await get(door.asKey)).status).toBe(200);
  expect(requests).toBe(2);

  requests = 0;
  const posted = await sendRequest(door.url, 'POST', '/api/customer/create', { headers: door.asKey });
  expect([posted.status, posted.json.error]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
  expect(requests).toBe(1);

  requests = Number.NEGATIVE_INFINITY;
  let tries = 0;
  upstream.onData = (socket) => {
    tries += 1;
    socket.destroy();
  };
  expect((await get(door.asKey)).status).toBe(502);
  expect(tries).toBe(2);
});

test('an idle connection that the upstream closes is noticed, and the next request takes another', async () => {
  upstream.onData = (socket) => void socket.end(ok);
  for (let i = 0; i < 20; i += 1) {
    const answer = await sendRequest(door.url, 'POST', '/api/customer/create', { headers: door.asKey });
    expect(answer.status).toBe(200);
  }
  expect(upstream.connections()).toBe(20);
});

test('when every connection is busy and the queue is full, more requests are refused with 503', async () => {
  await door.close();
  door = await openDoor(upstream.url, {
    routes: { timeouts: { answerMs: 20_000 } },
    settings: { upstream_connections_max: 1, upstream_waiting_max: 1 },
  });
  const waiting: (() => void)[] = [];
  upstream.onData = (socket) => void waiting.push(() => socket.write(ok));
  const first = get(door.asKey);
  await until(() => waiting.length === 1);
  const second = get(door.asKey);
  // Both are inside once a third one finds no room; until the second has arrived, the third would take its place.
  const refused = await get(door.asKey).then(async (answer) =>
    answer.status === 503 ? answer : await get(door.asKey),
  );
  expect([refused.status, refused.json.error, refused.headers['retry-after']]).toEqual([503, 'OVERLOADED', '1']);
  waiting.shift()?.();
  expect((await first).status).toBe(200);
  await until(() => waiting.length === 1);
  waiting.shift()?.();
  expect((await second).status).toBe(200);
});

test('a request that gets no connection in time is refused with 503 and never sent', async () => {
  await door.close();
  door = await openDoor(upstream.url, {
    routes: { timeouts: { answerMs: 20_000 } },
    settings: { upstream_connections_max: 1, upstream_waiting_max: 5 },
  });
  const seen: string[] = [];
  let release = (): void => undefined;
  upstream.onData = (socket, text) => {
    seen.push(text.split('\r\n')[0] ?? '');
    release = () => void socket.write(ok);
  };
  const first = get(door.asKey);
  await until(() => seen.length === 1);
  const late = await sendRequest(door.url, 'POST', '/api/customer/create', { headers: door.asKey });
  expect([late.status, late.json.error]).toEqual([503, 'OVERLOADED']);
  release();
  expect((await first).status).toBe(200);
  const next = get(door.asKey);
  await until(() => seen.length === 2);
  release();
  expect((await next).status).toBe(200);
  expect(seen).toEqual(Array(2).fill('GET /api/orders/list HTTP/1.1'));
});

test('HEAD to an upstream that is down is 502 without a body', async () => {
  await upstream.close();
  const answer = await get(door.asKey, 'HEAD');
  expect([answer.status, answer.text]).toEqual([502, '']);
});

test('a client of HTTP/1.0 gets a reset instead of a short answer without a length', async () => {
  upstream.onData = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf \r\n', () => socket.end());
  };
  const code = await new Promise<string>((resolve) => {
    const socket = connect(door.port, '127.0.0.1', () =>
      socket.write(`GET /api/orders/list HTTP/1.0\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n\r\n`),
    );
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    socket.on('data', () => undefined).on('end', () => resolve('whole'));
  });
  expect(code).toBe('ECONNRESET');
});
