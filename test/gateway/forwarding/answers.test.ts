/** Answers of any service on their way back: streams, ranges, conditional answers, and what is dropped. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  type Headers,
  openDoor,
  type PublicDoor,
  type RawUpstream,
  sendRaw,
  sendRequest,
  startRawUpstream,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const path = '/files/one';
const oneRoute = {
  ...{ id: 'files.one', method: 'GET', path, scopes: ['read:menu'], kinds: ['api_key', 'api_client', 'bearer'] },
  ...{ class: 'R', upstream: 'ordering', body: 'any', timeouts: { answerMs: 20_000 } },
};

let upstream: TestUpstream;
let raw: RawUpstream;
let door: PublicDoor;
let rawDoor: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  raw = await startRawUpstream(() => undefined);
  const open = { id: 'open', path: '/open', access: 'public', upstream: 'ordering' };
  const optional = { ...open, id: 'optional', path: '/optional', access: 'optional' };
  door = await openDoor(upstream.url, { moreRoutes: [oneRoute, open, optional] });
  rawDoor = await openDoor(raw.url, { moreRoutes: [oneRoute] });
});

afterAll(async () => {
  await door?.close();
  await rawDoor?.close();
  await upstream?.close();
  await raw?.close();
});

beforeEach(() => {
  upstream.seen.length = 0;
});

const get = (headers: Headers = {}, method = 'GET') =>
  sendRequest(door.url, method, path, { headers: { ...door.asKey, ...headers } });

const file = randomBytes(10_000);

test('A-169 a range, its conditions and its headers go both ways untouched', async () => {
  upstream.answer = (req, res) => {
    const [, from = '', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(req.headers.range ?? '') ?? [];
    const part = file.subarray(Number(from), Number(to) + 1);
    const fields = { 'accept-ranges': 'bytes', etag: '"7"', 'content-type': 'video/mp4', 'last-modified': 'x' };
    const range = `bytes ${from}-${to}/${file.length}`;
    res.writeHead(206, { ...fields, 'content-range': range, 'content-length': part.length }).end(part);
  };
  const reply = await get({ range: 'bytes=100-299', 'if-range': '"7"' });
  expect([reply.status, reply.headers['content-range'], reply.headers['accept-ranges']]).toEqual([
    206,
    'bytes 100-299/10000',
    'bytes',
  ]);
  expect(reply.body.equals(file.subarray(100, 300))).toBe(true);
  expect([upstream.seen[0]?.headers.range, upstream.seen[0]?.headers['if-range']]).toEqual(['bytes=100-299', '"7"']);
});

test('A-169 416 tells every caller the length of what was asked for', async () => {
  upstream.answer = (_req, res) => {
    const fields = { 'content-range': `bytes */${file.length}`, 'content-type': 'text/html', etag: '"7"' };
    res.writeHead(416, fields).end('<h1>Range Not Satisfiable</h1>');
  };
  for (const caller of [door.asKey, door.asBearer, { ...door.asKey, accept: 'application/problem+json' }]) {
    const reply = await sendRequest(door.url, 'GET', path, { headers: { ...caller, range: 'bytes=20000-' } });
    const { 'content-range': range, etag, 'content-type': type } = reply.headers;
    expect([reply.status, range, etag, /json/.test(type ?? '')]).toEqual([416, 'bytes */10000', undefined, true]);
  }
  // Elsewhere the range is that of a body which is replaced.
  upstream.answer = (_req, res) => void res.writeHead(404, { 'content-range': 'bytes 0-1/2' }).end('no');
  expect((await get()).headers['content-range']).toBeUndefined();
});

test('A-169 304 to a conditional request, 204, and HEAD have their headers and no body', async () => {
  const fields = { etag: '"7"', 'content-length': String(file.length), 'cache-control': 'max-age=60' };
  upstream.answer = (req, res) => void res.writeHead(req.headers['if-none-match'] === '"7"' ? 304 : 200, fields).end();
  const unchanged = await get({ 'if-none-match': '"7"' });
  expect([unchanged.status, unchanged.text, unchanged.headers.etag]).toEqual([304, '', '"7"']);
  expect(unchanged.headers['cache-control']).toBe('max-age=60');
  const head = await get({}, 'HEAD');
  expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(file.length)]);
  expect(upstream.seen.at(-1)?.method).toBe('HEAD');
  upstream.answer = (_req, res) => void res.writeHead(204, { etag: '"8"' }).end();
  const empty = await get();
  expect([empty.status, empty.text, empty.headers.etag]).toEqual([204, '', '"8"']);
  upstream.answer = (_req, res) => void res.writeHead(204, { 'content-length': '5' }).end();
  expect((await get()).headers['content-length']).toBeUndefined();
});

test('A-169 a compressed answer arrives as it was sent, whatever the caller accepts', async () => {
  const packed = gzipSync(file);
  upstream.answer = (_req, res) =>
    void res
      .writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/csv', vary: 'accept-encoding' })
      .end(packed);
  const reply = await get({ 'accept-encoding': 'gzip;q=1, br' });
  expect([reply.headers['content-encoding'], reply.headers['content-type'], reply.headers.vary]).toEqual([
    'gzip',
    'text/csv',
    'accept-encoding',
  ]);
  expect(reply.body.equals(packed)).toBe(true);
  expect(upstream.seen[0]?.headers['accept-encoding']).toBe('gzip;q=1, br');
});

test('A-169 an event stream arrives event by event, and its head before the first event', async () => {
  let send = (_text: string): void => undefined;
  let finish = (): void => undefined;
  upstream.answer = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    send = (text) => void res.write(text);
    finish = () => void res.end();
  };
  const outgoing = request({ port: door.port, host: '127.0.0.1', path, headers: door.asKey }).end();
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(answer.headers['content-type']).toBe('text/event-stream');
  let text = '';
  answer.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
    const before = text;
    send(event);
    await until(() => text === before + event);
  }
  finish();
  await once(answer, 'end');
});

test('A-169 trailers and 103 of a service are dropped, and the answer is whole', async () => {
  raw.onData = (socket) =>
    void socket.write(
      'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n' +
        'HTTP/1.1 200 OK\r\nTrailer: X-Checksum\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Checksum: 7\r\n\r\n',
    );
  const answer = await sendRaw(
    rawDoor.port,
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTE: trailers\r\nX-Api-Key: ${rawDoor.asKey['x-api-key']}\r\n\r\n`,
  );
  expect(answer.startsWith('HTTP/1.1 200 OK\r\n')).toBe(true);
  expect(answer.endsWith('5\r\nhello\r\n0\r\n\r\n')).toBe(true);
  expect(answer).not.toMatch(/103|checksum|preload|trailer/i);
});

test('A-247 what everyone may read is cached as the service allows, and other answers only where the service allows it', async () => {
  const cacheControlOf = async (target: string, as: Headers, sent?: string): Promise<string | undefined> => {
    upstream.answer = (_req, res) =>
      void res.writeHead(200, { etag: '"7"', ...(sent === undefined ? {} : { 'cache-control': sent }) }).end('x');
    const reply = await sendRequest(door.url, 'GET', target, { headers: as });
    expect([reply.status, reply.headers.etag]).toEqual([200, '"7"']);
    return reply.headers['cache-control'];
  };
  expect(await cacheControlOf('/open', {})).toBeUndefined();
  for (const [target, as] of [
    ['/open', door.asKey],
    ['/open', door.asBearer],
    ['/optional', {}],
    ['/optional', door.asClient],
    [path, door.asKey],
  ] as const)
    expect([target, await cacheControlOf(target, as)]).toEqual([target, 'no-store']);
  for (const [target, as] of [
    ['/open', {}],
    [path, door.asKey],
  ] as const)
    expect(await cacheControlOf(target, as, 'private, max-age=5')).toBe('private, max-age=5');
});

test('A-203 a service that refuses HEAD and gives no usable answer to the GET for its reason: HEAD gets the refusal', async () => {
  upstream.answer = (req, res) => {
    if (req.method === 'HEAD') res.writeHead(404, { 'x-own': 'head' }).end();
    else req.socket.destroy();
  };
  for (const as of [door.asKey, door.asBearer]) {
    const reply = await sendRequest(door.url, 'HEAD', path, { headers: as });
    expect([reply.status, reply.text, reply.headers['x-own']]).toEqual([404, '', 'head']);
  }
  expect(upstream.seen.filter(({ method }) => method === 'HEAD').length).toBe(2);
});

test('a service that refuses HEAD and answers GET: HEAD gets the refusal, and the answer to GET is not read', async () => {
  let [ended, sent] = [0, 0];
  upstream.answer = (req, res) => {
    if (req.method === 'HEAD') return void res.writeHead(405, { allow: 'GET', 'x-own': 'head' }).end();
    const timer = setInterval(() => {
      sent += 1;
      res.write('more');
    }, 20);
    res.writeHead(200, { 'content-type': 'text/plain', 'x-own': 'get' });
    res.once('close', () => {
      ended += 1;
      clearInterval(timer);
    });
  };
  for (const as of [door.asKey, door.asBearer]) {
    const reply = await sendRequest(door.url, 'HEAD', path, { headers: as });
    expect([reply.status, reply.text, reply.headers.allow, reply.headers['x-own']]).toEqual([405, '', 'GET', 'head']);
  }
  expect(upstream.seen.map(({ method }) => method)).toEqual(['HEAD', 'GET', 'HEAD', 'GET']);
  await until(() => ended === 2);
  expect(sent).toBeLessThan(1_000);
});
