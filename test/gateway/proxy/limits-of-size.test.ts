import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  openDoor,
  type PublicDoor,
  sendRaw,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
/** Waits a second for a body. */
let door: PublicDoor;
/** Waits as long as it does by default, however busy the machine is. */
let patient: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url, { routes: { timeouts: { bodyMs: 1_000 } } });
  patient = await openDoor(upstream.url);
});

afterAll(async () => {
  await Promise.all([door.close(), patient.close()]);
  await upstream.close();
});

let received = 0;
let ended = 0;

beforeEach(() => {
  upstream.seen.length = 0;
  received = 0;
  ended = 0;
  upstream.answer = (req, res) => {
    req.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    req.on('end', () => {
      ended += 1;
      res.end('{}');
    });
    req.on('error', () => undefined);
  };
});

const mebibyte = 1024 * 1024;
const json = { 'content-type': 'application/json' };
const chunked = { 'transfer-encoding': 'chunked' };

const post = (to: PublicDoor, path: string, size: number, headers: Record<string, string> = {}) =>
  sendRequest(to.url, 'POST', path, {
    headers: { ...to.asClient, ...json, ...headers },
    body: Buffer.alloc(size, 'x'),
  });

test('A-009 a body of exactly the limit passes, one byte more is 413, declared or in chunks', async () => {
  for (const [path, limit] of [
    ['/api/customer/create', mebibyte],
    ['/api/menu/import', 32 * mebibyte],
  ] as const) {
    for (const headers of [{}, chunked]) {
      received = 0;
      ended = 0;
      expect((await post(patient, path, limit, headers)).status).toBe(200);
      expect([received, ended]).toEqual([limit, 1]);
      const refused = await post(patient, path, limit + 1, headers);
      expect([refused.status, refused.json.error]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
      // The upstream never saw a body that looked whole.
      expect(ended).toBe(1);
    }
  }
});

test('a large body that is all there at once rests on its way, so that others have their turn', async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const answer = await post(patient, '/api/menu/import', 32 * mebibyte);
  isOver = true;
  expect(answer.status).toBe(200);
  // A turn of the event loop at least behind each 128 KiB and a chunk of 64 KiB.
  expect(turns).toBeGreaterThan(160);
});

test('A-009 a declared length above the limit is refused before the body is sent, and nothing is forwarded', async () => {
  const outgoing = request({
    port: door.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/api/customer/create',
    headers: { ...door.asKey, ...json, 'content-length': String(mebibyte + 1) },
  });
  outgoing.on('error', () => undefined).flushHeaders();
  const [answer] = await once(outgoing, 'response');
  expect(answer.statusCode).toBe(413);
  expect(answer.headers.connection).toBe('close');
  outgoing.destroy();
  expect(upstream.seen).toEqual([]);
});

test('A-009 a client that sends without end gets its 413, and its upstream request is broken off', async () => {
  let broken = 0;
  upstream.answer = (req) => {
    req.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    req
      .on('error', () => undefined)
      .on('close', () => {
        broken += 1;
      });
  };
  const socket = connect(door.port, '127.0.0.1');
  const key = door.asKey['x-api-key'];
  socket.write(
    `POST /api/customer/create HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  let answer = '';
  let closed = false;
  socket.on('data', (chunk) => {
    answer += chunk.toString();
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      closed = true;
    });
  const pump = (failed?: Error | null): void => {
    if (failed === undefined || failed === null) socket.write(piece, pump);
  };
  pump();
  await until(() => closed);
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  await until(() => broken === 1);
  expect(received).toBeLessThanOrEqual(mebibyte);
});

test('A-010 a request target over 8 KiB is 414, up to any length', async () => {
  const target = (length: number) => `/api/orders/list?${'x'.repeat(length - '/api/orders/list?'.length)}`;
  const get = (length: number) => sendRequest(door.url, 'GET', target(length), { headers: door.asKey });
  expect((await get(8 * 1024)).status).toBe(200);
  for (const length of [8 * 1024 + 1, 20 * 1024]) {
    const answer = await get(length);
    expect([answer.status, answer.json.error]).toEqual([414, 'URI_TOO_LONG']);
    expect(answer.json.request_id).toBe(answer.headers['x-request-id']);
  }
  const huge = await sendRaw(door.port, `GET ${target(60_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(huge).toMatch(/^HTTP\/1\.1 414 /);
  expect(huge).toContain('"error":"URI_TOO_LONG"');
});

test('A-010 headers over 16 KiB are 431, in one field or many, up to any size', async () => {
  const big = await sendRequest(door.url, 'GET', '/api/orders/list', {
    headers: { ...door.asKey, 'x-a': 'x'.repeat(15_000) },
  });
  expect(big.status).toBe(200);
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x-${index}`, 'x'.repeat(30)]));
  for (const headers of [{ 'x-a': 'x'.repeat(16_400) }, many]) {
    const answer = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: { ...door.asKey, ...headers } });
    expect([answer.status, answer.json.error]).toEqual([431, 'HEADERS_TOO_LARGE']);
  }
  const huge = await sendRaw(
    door.port,
    `GET /api/orders/list HTTP/1.1\r\nHost: x\r\nX-A: ${'x'.repeat(100_000)}\r\n\r\n`,
  );
  expect(huge).toMatch(/^HTTP\/1\.1 431 /);
  expect(huge).toContain('"error":"HEADERS_TOO_LARGE"');
  expect(huge.toLowerCase()).toContain('x-api-version: 1.0.0');
});

test('a path that does not exist is 404 only after the head was found good', async () => {
  expect((await sendRequest(door.url, 'GET', `/api/${'x'.repeat(9_000)}`)).status).toBe(414);
});

test('a body that comes too slowly is 408 and never looks whole to the upstream', async () => {
  for (const length of [{ 'content-length': '10' }, chunked]) {
    const outgoing = request({
      port: door.port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/api/customer/create',
      headers: { ...door.asKey, ...json, ...length },
    });
    outgoing.on('error', () => undefined).write('{"a"');
    const [answer] = await once(outgoing, 'response');
    expect(answer.statusCode).toBe(408);
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ success: false, error: 'REQUEST_TIMEOUT' });
    outgoing.destroy();
  }
  expect(ended).toBe(0);
  expect((await post(door, '/api/customer/create', 4)).status).toBe(200);
  expect(ended).toBe(1);
});

test('the time that an upstream takes to read is not charged to the client', async () => {
  let read = (): void => undefined;
  upstream.answer = (req, res) => {
    req.on('end', () => res.end('{}'));
    req.pause();
    read = () => void req.resume();
  };
  const sending = post(door, '/api/menu/import', 20 * mebibyte);
  await until(() => upstream.seen.length === 1);
  const startedAt = performance.now();
  await until(() => performance.now() - startedAt > 1_500);
  read();
  expect((await sending).status).toBe(200);
});

test('garbage in place of a request is 400 in our own words', async () => {
  for (const text of [
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'HELLO\r\n\r\n',
    'GET /api/orders/list HTTP/9.9\r\n\r\n',
  ]) {
    const answer = await sendRaw(door.port, text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"request_id":"req_');
  }
});
