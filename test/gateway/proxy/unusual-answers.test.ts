/** Answers that a service may not send, or that were not asked for (interface 15). */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
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
const logged: string[] = [];

const read = '/api/orders/list';
const write = '/api/customer/create';
const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"success":true}';
const asked100 = 'HTTP/1.1 100 Continue\r\n\r\n';

beforeAll(async () => {
  upstream = await startRawUpstream((socket) => void socket.write(ok));
  door = await openDoor(upstream.url, {
    perRoute: (route) => ({ ...route, timeouts: { answerMs: 2_000 }, upgrade: route.method === 'GET' }),
    log: pino({ level: 'warn' }, { write: (line) => void logged.push(line) }),
  });
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
});

/** The pieces leave in packets of their own. */
const answerWith = (...pieces: string[]): void => {
  upstream.onData = async (socket) => {
    for (const piece of pieces) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, pieces.length > 50 ? 1 : 20));
    }
  };
};

const ask = (method = 'GET') =>
  sendRequest(door.url, method, method === 'POST' ? write : read, {
    headers: { ...door.asKey, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: '{}' }),
  });

const informational: [string, string[]][] = [
  ['100 in the packet of the answer', [asked100 + ok]],
  ['100 in a packet before the answer', [asked100, ok]],
  ['100 byte by byte', [...asked100, ok]],
  ['100 without a phrase, with fields', [`HTTP/1.1 100\r\nServer: x\r\nX: y\r\n\r\n${ok}`]],
  [
    '100, 102, 103, 100 and 199 in one packet and in several',
    [
      `${asked100}HTTP/1.1 102 Processing\r\n\r\n`,
      `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${asked100}HTTP/1.1 199 Other\r\n\r\n`,
      ok.slice(0, 9),
      ok.slice(9),
    ],
  ],
];

test.each(informational)('A-447 %s: passed over, and the connection is used again', async (_name, pieces) => {
  answerWith(...pieces);
  const before = upstream.connections();
  for (const method of ['POST', 'GET', 'POST', 'HEAD']) {
    if (method === 'HEAD') answerWith(...pieces.slice(0, -1), (pieces.at(-1) ?? '').replace('{"success":true}', ''));
    const answer = await ask(method);
    expect([method, answer.status, answer.headers.link]).toEqual([method, 200, undefined]);
    if (method !== 'HEAD') expect(answer.text).toBe('{"success":true}');
  }
  expect(upstream.connections() - before).toBeLessThanOrEqual(1);
});

test('A-447 a client that waits for 100 Continue gets the one of the gateway and no second one of the service', async () => {
  answerWith(asked100 + asked100 + ok);
  const key = door.asKey['x-api-key'];
  const head = `POST ${write} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n`;
  const answer = await sendRaw(door.port, `${head}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`);
  expect(answer.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
});

test('A-447 a service that sends informational answers without end, or a 100 that never ends, is 502', async () => {
  answerWith(...Array.from({ length: 10 }, () => asked100.repeat(10)), ok);
  expect((await ask()).status).toBe(200);
  for (const endless of [asked100.repeat(101) + ok, `HTTP/1.1 100 Continue\r\nX: ${'x'.repeat(20_000)}`]) {
    answerWith(endless);
    const answer = await ask();
    expect([answer.status, answer.json.error]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
  }
  expect(logged.filter((line) => /informational answer/.test(line))).toHaveLength(2);
});

test('A-447 informational answers do not prolong the time for an answer', async () => {
  upstream.onData = (socket) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 100);
    socket.on('close', () => clearInterval(timer));
  };
  // They come without an end, so a time that each of them prolonged would never be over.
  expect((await ask()).status).toBe(504);
});

const wrong: [string, string][] = [
  ['101 that was not asked for', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['101 with a protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n'],
  ['an informational answer with a broken end of line', `HTTP/1.1 103 Early Hints\nLink: </x>\n\r\n\r\n${ok}`],
  ['a status below 100', 'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n'],
  ['status 600', 'HTTP/1.1 600 High\r\nContent-Length: 2\r\n\r\nab'],
  ['status 999', 'HTTP/1.1 999 Denied\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nab'],
  ['a body of known length with 205', 'HTTP/1.1 205 Reset Content\r\nContent-Length: 2\r\n\r\nab'],
  ['a body in chunks with 205', 'HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n'],
];

test.each(wrong)('A-448 %s is 502 in the dialect of the caller', async (_name, bytes) => {
  upstream.onData = (socket) => void socket.write(bytes);
  for (const method of ['GET', 'POST']) {
    const answer = await ask(method);
    expect([method, answer.status, answer.json.error]).toEqual([method, 502, 'UPSTREAM_UNREACHABLE']);
  }
});

test('A-448 the log has the reason of such an answer, and the audit the request as allowed', async () => {
  logged.length = 0;
  answerWith('HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n');
  const answer = await ask();
  expect(answer.status).toBe(502);
  expect(logged.filter((line) => line.includes(answer.headers['x-request-id'] as string)).join()).toContain(
    'the upstream sent the status 799',
  );
  const { pool } = door.database;
  const actions = async (): Promise<unknown[]> =>
    (
      await pool.query('select action from gateway.audit_events where $1 = any (request_ids)', [
        answer.headers['x-request-id'],
      ])
    ).rows;
  // The service failed, not the caller.
  await until(async () => (await actions()).length > 0);
  expect(await actions()).toEqual([{ action: 'request.allowed' }]);
});

test('A-448 205 without a body passes, also with a length of 0, in no chunks and for HEAD', async () => {
  for (const end of ['Content-Length: 0\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n']) {
    answerWith(`HTTP/1.1 205 Reset Content\r\n${end}`);
    const answer = await ask('POST');
    expect([answer.status, answer.text]).toEqual([205, '']);
  }
  answerWith('HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n');
  expect((await ask('HEAD')).status).toBe(205);
});

test('A-448 a body that follows the head of 205 later cuts the answer', async () => {
  upstream.onData = (socket) => {
    socket.write('HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n');
    // The head is held back for 250 ms.
    setTimeout(() => socket.write('2\r\nab\r\n0\r\n\r\n'), 1_000);
  };
  await expect(ask()).rejects.toThrow();
});

test('A-448 a WebSocket that is answered with a status above 599 is 502; informational answers before 101 pass over', async () => {
  const open = (): Promise<number> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${door.url.replace('http', 'ws')}${read}`, { headers: door.asKey });
      socket.on('error', () => undefined);
      socket.once('unexpected-response', (_request, response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
    });
  answerWith('HTTP/1.1 700 Odd\r\nContent-Length: 0\r\n\r\n');
  expect(await open()).toBe(502);
  answerWith(`${asked100}HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n`);
  expect(await open()).toBe(404);
});
