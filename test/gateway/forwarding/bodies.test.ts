/** Bodies of every type and coding on their way to a service (interface 9.3 and 14). */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createRandom, type Random, randomSeed } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import {
  type Headers,
  openDoor,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const mebibyte = 1024 * 1024;

const route = (id: string, members: Record<string, unknown>): Record<string, unknown> => ({
  id,
  method: 'POST',
  path: `/files/${id}`,
  scopes: ['read:menu'],
  kinds: ['api_key', 'api_client', 'bearer'],
  class: 'R',
  upstream: 'ordering',
  ...members,
});

type Arrived = { headers: IncomingMessage['headers']; body: Buffer; ended: boolean };

let upstream: TestUpstream;
let door: PublicDoor;
let arrived: Arrived[] = [];

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url, {
    moreRoutes: [
      route('any', { body: 'any', bodyBytesMax: 64 * mebibyte }),
      route('long', { body: 'any', bodyBytesMax: 1024 * mebibyte }),
      route('listed', { body: ['multipart/form-data', 'image/*'] }),
      route('small', { body: 'any', bodyBytesMax: 100_000, timeouts: { bodyMs: 1_000 } }),
      route('read', { method: 'GET', body: 'any' }),
      route('json', {}),
      route('below', { method: '*', path: '/dav/*', body: 'any', stripPrefix: '/dav' }),
      route('json-read', { method: 'GET' }),
    ],
    settings: { auth_check: 'on' },
  });
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
});

beforeEach(() => {
  arrived = [];
  upstream.seen.length = 0;
  upstream.answer = (req, res) => {
    const chunks: Buffer[] = [];
    const one: Arrived = { headers: req.headers, body: Buffer.alloc(0), ended: false };
    arrived.push(one);
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('error', () => undefined);
    req.on('end', () => {
      one.body = Buffer.concat(chunks);
      one.ended = true;
      res.end('{}');
    });
  };
});

const post = (id: string, body: string | Buffer, headers: Headers = {}, as: Headers = door.asKey) =>
  sendRequest(door.url, 'POST', `/files/${id}`, { headers: { ...as, ...headers }, body });

const csv = 'id;name\r\n1;Ada\r\n';
const form = 'application/x-www-form-urlencoded';
const multipart =
  '--b0\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n\0\xff\r\n\r\n--b0--\r\n';

test('A-160 a route that takes any body passes every type and coding on byte for byte, with its fields', async () => {
  const cases: [string | undefined, string | undefined, Buffer][] = [
    ['multipart/form-data; boundary=b0', undefined, Buffer.from(multipart, 'latin1')],
    [`${form}; charset=UTF-8`, undefined, Buffer.from('a=1&b=%C3%A9&access_token=of-the-service')],
    ['text/csv', undefined, Buffer.from(csv)],
    ['application/xml', undefined, Buffer.from('<?xml version="1.0"?><a/>')],
    ['text/csv', 'gzip', gzipSync(csv)],
    ['application/json', 'br', brotliCompressSync('{"a":1}')],
    ['application/json; charset=latin1', undefined, Buffer.from('{"access_token":"\xe9"', 'latin1')],
    ['application/octet-stream', undefined, randomBytes(3 * mebibyte)],
    ['image/png', 'gzip, identity', randomBytes(17)],
    [undefined, undefined, randomBytes(70_000)],
  ];
  for (const [type, coding, body] of cases) {
    for (const framing of [{ 'content-length': String(body.length) }, { 'transfer-encoding': 'chunked' }]) {
      const reply = await post('any', body, {
        ...(type && { 'content-type': type }),
        ...(coding && { 'content-encoding': coding }),
        'content-language': 'it',
        ...framing,
      });
      expect([type, reply.status]).toEqual([type, 200]);
      const got = arrived.at(-1);
      expect(got?.body.equals(body)).toBe(true);
      const headers = got?.headers ?? {};
      expect([headers['content-type'], headers['content-encoding'], headers['content-language']]).toEqual([
        type,
        coding,
        'it',
      ]);
      // A body that is whole when its head is sent may get a length instead of chunks.
      if (headers['transfer-encoding'] === undefined) expect(headers['content-length']).toBe(String(body.length));
    }
  }
});

test('A-160 an empty body arrives as an empty body, with its type', async () => {
  for (const framing of [{ 'content-length': '0' }, { 'transfer-encoding': 'chunked' }]) {
    expect((await post('any', '', { 'content-type': 'image/png', ...framing })).status).toBe(200);
    expect([arrived.at(-1)?.body.length, arrived.at(-1)?.headers['content-type']]).toEqual([0, 'image/png']);
  }
});

/** Writes a request in pieces of random sizes, in chunks or with a declared length; resolves with the status. */
const sendPieces = (random: Random, body: Buffer, chunked: boolean, fields: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(door.port, '127.0.0.1');
    let answer = '';
    socket.on('error', reject).on('data', (data: Buffer) => {
      answer += data.toString('latin1');
    });
    socket.on('close', () => resolve(answer.slice(9, 12)));
    const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
    socket.write(
      `POST /files/any HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n${fields}${framing}\r\n\r\n`,
    );
    void writePieces(random, body, chunked, socket).catch(reject);
  });

const writePieces = async (random: Random, body: Buffer, chunked: boolean, socket: Socket): Promise<void> => {
  let sent = 0;
  while (sent < body.length) {
    const size = random.pick([
      [3, random.between(1, 9)],
      [3, random.between(10, 2_000)],
      [2, random.between(2_001, 200_000)],
    ]);
    const piece = body.subarray(sent, sent + size);
    sent += piece.length;
    const framed = chunked ? [`${piece.length.toString(16)}\r\n`, piece, '\r\n'] : [piece];
    for (const part of framed) if (!socket.write(part)) await once(socket, 'drain');
    if (random.next() < 0.1) await new Promise((resolve) => setImmediate(resolve));
  }
  if (chunked) socket.write('0\r\n\r\n');
};

test('A-160 random bodies in random pieces arrive as they were sent', async () => {
  const random = createRandom(randomSeed());
  const types = ['text/csv', 'multipart/form-data; boundary=x', form, 'application/json', 'application/octet-stream'];
  for (let turn = 0; turn < 60; turn += 1) {
    const bytes = Buffer.from(Array.from({ length: 64 }, () => random.between(0, 255)));
    const size = random.pick([
      [1, 0],
      [3, random.between(1, 300)],
      [3, random.between(301, 70_000)],
      [1, random.between(70_001, 2_000_000)],
    ]);
    const body = Buffer.alloc(size, bytes);
    const type = types[random.between(0, types.length)];
    const chunked = random.next() < 0.5;
    const fields = type === undefined ? '' : `Content-Type: ${type}\r\nContent-Encoding: gzip\r\n`;
    const status = await sendPieces(random, body, chunked, fields);
    const got = arrived.at(-1);
    const seen = { turn, seed: random.seed, status, type: got?.headers['content-type'], same: got?.body.equals(body) };
    expect(seen).toEqual({ turn, seed: random.seed, status: '200', type, same: true });
  }
});

/** Bytes that the system keeps of one direction of a connection at most: what was written and is not sent, and what was not read. */
const socketBufferMax = (): number =>
  ['rmem', 'wmem'].reduce((sum, name) => {
    const path = `/proc/sys/net/ipv4/tcp_${name}`;
    return sum + (existsSync(path) ? Number(readFileSync(path, 'utf8').trim().split(/\s+/)[2]) : 6 * mebibyte);
  }, 0);

test('A-160 a large upload waits for a slow service without filling memory', async () => {
  // Two pairs of socket buffers, and some chunks of the gateway.
  const waitingMax = 2 * socketBufferMax() + 5 * mebibyte;
  const size = Math.max(50 * mebibyte, 2 * waitingMax);
  const hash = createHash('sha256');
  let read = 0;
  let slow = true;
  upstream.answer = (req, res) => {
    req.on('data', (chunk: Buffer) => {
      read += chunk.length;
      hash.update(chunk);
      if (!slow) return;
      req.pause();
      setTimeout(() => req.resume(), 5);
    });
    req.on('end', () => res.end('{}'));
  };
  const piece = randomBytes(mebibyte);
  const outgoing = request({
    port: door.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/files/long',
    headers: { ...door.asKey, 'content-type': 'application/octet-stream', 'content-length': String(size) },
  });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  const sent = createHash('sha256');
  let most = 0;
  for (let at = 0; at < size; at += piece.length) {
    sent.update(piece);
    if (!outgoing.write(piece)) await once(outgoing, 'drain');
    // What left the client and was not read by the service is in the gateway or in buffers of sockets.
    if (slow) most = Math.max(most, (outgoing.socket?.bytesWritten ?? 0) - read);
    if (read > 10 * mebibyte) slow = false;
  }
  outgoing.end();
  expect((await answered)[0].statusCode).toBe(200);
  expect([read, hash.digest('hex')]).toEqual([size, sent.digest('hex')]);
  expect(most).toBeLessThan(waitingMax);
});

test('A-160 every method that may have a body brings it, below a path whose prefix is removed', async () => {
  const body = randomBytes(5_000);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const framing of [{ 'content-length': String(body.length) }, { 'transfer-encoding': 'chunked' }]) {
      const headers = { ...door.asKey, ...framing, 'content-type': 'text/csv', 'content-encoding': 'gzip' };
      const reply = await sendRequest(door.url, method, '/dav/a/%C3%A9/x.csv?v=1', { headers, body });
      expect([method, reply.status, upstream.seen.at(-1)?.method]).toEqual([method, 200, method]);
      expect(upstream.seen.at(-1)?.target).toBe('/a/%C3%A9/x.csv?v=1');
      expect(arrived.at(-1)?.body.equals(body)).toBe(true);
      expect(arrived.at(-1)?.headers['content-encoding']).toBe('gzip');
    }
    const empty = await sendRequest(door.url, method, '/dav/empty', { headers: door.asKey });
    expect([method, empty.status, arrived.at(-1)?.body.length]).toEqual([method, 200, 0]);
  }
  const before = upstream.seen.length;
  // The rest of the path would be a host name for a reader of relative references.
  expect((await sendRequest(door.url, 'GET', '/dav//evil.test/x', { headers: door.asKey })).status).toBe(404);
  expect(upstream.seen.length).toBe(before);
});

test('A-161 a route with a list of types takes these in every coding, and refuses others before they are forwarded', async () => {
  for (const type of ['multipart/form-data; boundary=b0', 'image/png', 'IMAGE/svg+xml'])
    expect([type, (await post('listed', 'x', { 'content-type': type, 'content-encoding': 'br' })).status]).toEqual([
      type,
      200,
    ]);
  const before = upstream.seen.length;
  const refused: Headers[] = [
    { 'content-type': 'application/json' },
    { 'content-type': form },
    { 'content-type': 'imagex/png' },
    { 'content-type': 'multipart/form-datas' },
    { 'content-type': 'images' },
    { 'content-type': 'image' },
    { 'content-type': 'image/' },
    { 'content-type': 'image/png, text/html' },
    { 'content-type': 'image/png text/html' },
    { 'content-type': 'image/png/html' },
    {},
    { 'content-type': 'text/csv', 'transfer-encoding': 'chunked' },
  ];
  for (const headers of refused) {
    const reply = await post('listed', 'x', headers);
    expect([headers, reply.status, reply.json.error]).toEqual([headers, 415, 'UNSUPPORTED_MEDIA_TYPE']);
    expect(reply.json.message).toContain('multipart/form-data or image/*');
  }
  expect(upstream.seen.length).toBe(before);
  expect((await post('listed', '', { 'content-type': 'text/csv', 'transfer-encoding': 'chunked' })).status).toBe(200);
});

test('A-161 a route without the member takes JSON alone', async () => {
  expect((await post('json', '{}', { 'content-type': 'application/json' })).status).toBe(200);
  for (const headers of [{ 'content-type': 'text/csv' }, { 'content-type': form }, {}])
    expect((await post('json', 'a=1', headers)).status).toBe(415);
});

test('A-161 a field about the body in a spelling that the checks do not read is never forwarded', async () => {
  const spelled = { content_encoding: 'gzip', 'Content-Encoding_': 'gzip', Content_Type: form, content_length: '1' };
  for (const id of ['json', 'any']) {
    expect((await post(id, '{}', { ...spelled, 'content-type': 'application/json' })).status).toBe(200);
    const got = Object.keys(arrived.at(-1)?.headers ?? {}).filter((name) => name.includes('_'));
    expect([id, got]).toEqual([id, []]);
  }
});

test('A-161 the type and the coding of a body arrive with it, also when Connection lists them', async () => {
  const listed = { connection: 'close, content-type, content-encoding', 'content-encoding': 'gzip' };
  expect((await post('any', 'x', { ...listed, 'content-type': 'image/png' })).status).toBe(200);
  expect(arrived.at(-1)?.headers).toMatchObject({ 'content-type': 'image/png', 'content-encoding': 'gzip' });
});

test('A-162 one byte above the bound is 413, and the service never gets a whole body', async () => {
  const bytes = 100_000;
  for (const framing of [undefined, { 'transfer-encoding': 'chunked' }]) {
    expect((await post('small', Buffer.alloc(bytes), framing)).status).toBe(200);
    const reply = await post('small', Buffer.alloc(bytes + 1), framing);
    expect([reply.status, reply.json.error]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  }
  // Compressed bytes count as they are sent, however large their content is.
  const reply = await post('small', gzipSync(Buffer.alloc(mebibyte)), { 'content-encoding': 'gzip' });
  expect(reply.status).toBe(200);
  expect(arrived.filter(({ ended }) => ended)).toHaveLength(3);
});

test('A-162 a body that stops on its way is 408', async () => {
  const outgoing = request({
    port: door.port,
    host: '127.0.0.1',
    method: 'POST',
    path: '/files/small',
    headers: { ...door.asKey, 'transfer-encoding': 'chunked' },
  });
  outgoing.on('error', () => undefined).write('x');
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(answer.statusCode).toBe(408);
  outgoing.destroy();
  expect(arrived.every(({ ended }) => !ended)).toBe(true);
});

test('A-162 an answer before the end of a body reaches the client, and the connection is not left waiting', async () => {
  upstream.answer = (req, res) => {
    req.once('data', () => res.writeHead(200, { 'content-length': '2' }).end('ok'));
    req.on('error', () => undefined);
  };
  const socket = connect(door.port, '127.0.0.1').on('error', () => undefined);
  let answer = '';
  let closed = false;
  socket.on('data', (data: Buffer) => {
    answer += data.toString('latin1');
  });
  socket.on('close', () => {
    closed = true;
  });
  socket.write(
    `POST /files/any HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\nContent-Length: ${40 * mebibyte}\r\n\r\n${'x'.repeat(100_000)}`,
  );
  await until(() => answer.endsWith('\r\n\r\nok'));
  expect(answer.slice(9, 12)).toBe('200');
  await until(() => closed);
});

test('A-162 after an early answer the rest of the body is read away, and the connection takes the next request', async () => {
  upstream.answer = (req, res) => {
    if (req.method === 'GET') return void res.end('next');
    req.once('data', () => res.writeHead(200, { 'content-length': '2' }).end('ok'));
    req.on('error', () => undefined);
  };
  const key = door.asKey['x-api-key'];
  const half = 'x'.repeat(100_000);
  const socket = connect(door.port, '127.0.0.1').on('error', () => undefined);
  let answer = '';
  socket.on('data', (data: Buffer) => {
    answer += data.toString('latin1');
  });
  socket.write(`POST /files/any HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nContent-Length: 200000\r\n\r\n${half}`);
  await until(() => answer.endsWith('\r\n\r\nok'));
  socket.write(`${half}GET /files/read HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\n\r\n`);
  await until(() => answer.includes('next'));
  socket.destroy();
});

test('A-700 what a client still sends after an early error answer is taken at once, and the answer arrives whole', async () => {
  const rest = Buffer.alloc(6 * mebibyte);
  const refused = '{"success":false,"error":"VALIDATION_ERROR","message":"As said"}';
  for (const status of [409, 413, 422, 500]) {
    upstream.answer = (req, res) => {
      req.on('error', () => undefined);
      req.once('data', () => res.writeHead(status, { 'content-type': 'application/json' }).end(refused));
    };
    const errors: Error[] = [];
    const socket = connect(door.port, '127.0.0.1').on('error', (error) => errors.push(error));
    onTestFinished(() => void socket.destroy());
    let answer = '';
    socket.on('data', (data: Buffer) => {
      answer += data.toString('latin1');
    });
    const ended = once(socket, 'end');
    socket.write(
      `POST /files/any HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\nContent-Length: ${rest.length}\r\n\r\n`,
    );
    socket.write(rest);
    await ended;
    expect(answer.slice(9, 12)).toBe(String(status));
    expect(answer.endsWith(`\r\n\r\n${refused}`)).toBe(true);
    // The gateway closes the connection after 2 s, also one whose body it has not taken.
    expect([errors, socket.writableLength]).toEqual([[], 0]);
  }
});

test('A-162 a body that never ends keeps no connection to a path of the gateway itself', async () => {
  for (const [method, target] of [
    ['POST', '/api/oauth/token'],
    ['GET', '/healthz'],
    ['GET', '/files/json-read'],
  ] as const) {
    const socket = connect(door.port, '127.0.0.1').on('error', () => undefined);
    let answer = '';
    let closed = false;
    socket.on('data', (data: Buffer) => {
      answer += data.toString('latin1');
    });
    socket.on('close', () => {
      closed = true;
    });
    socket.write(
      `${method} ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const sending = setInterval(() => socket.write(piece), 20);
    try {
      await until(() => answer.startsWith('HTTP/1.1 '));
      await until(() => closed);
    } finally {
      clearInterval(sending);
    }
  }
});

test('A-163 on a route for other bodies a form or JSON body is never a credential, and is never searched', async () => {
  const token = door.asBearer.authorization?.slice('Bearer '.length) ?? '';
  for (const [type, body] of [
    [form, `access_token=${token}`],
    ['application/json', JSON.stringify({ access_token: token })],
  ] as const) {
    // Without another credential there is no caller, and the body is not read.
    const none = await post('any', body, { 'content-type': type }, {});
    expect([none.status, none.json.error]).toEqual([401, 'INVALID_AUTH']);
    expect(none.headers['www-authenticate']).not.toContain('error=');
    // Beside one it is data.
    expect((await post('any', body, { 'content-type': type }, door.asClient)).status).toBe(200);
    expect(arrived.at(-1)?.body.toString()).toBe(body);
  }
  const asked = { 'x-original-method': 'POST', 'content-type': form };
  const check = (uri: string) =>
    sendRequest(door.url, 'GET', '/auth/check', { headers: { ...door.asKey, ...asked, 'x-original-uri': uri } });
  expect([(await check('/files/any')).status, (await check('/files/json')).status]).toEqual([200, 403]);
});

test('A-163 a GET with a body is refused on a route for other bodies, since services disagree about its meaning', async () => {
  const get = (body: string, headers: Headers = {}) =>
    sendRequest(door.url, 'GET', '/files/read', { headers: { ...door.asKey, ...headers }, body });
  for (const framing of [{ 'content-length': '1' }, { 'transfer-encoding': 'chunked' }]) {
    const reply = await get('x', framing);
    expect([reply.status, reply.json.error]).toEqual([400, 'VALIDATION_ERROR']);
    expect(reply.json.errors[0].message).toContain('another method');
  }
  expect(upstream.seen).toEqual([]);
  expect((await get('', { 'transfer-encoding': 'chunked' })).status).toBe(200);
});

test('A-162 a client that waits for 100 Continue sends its body only when the service may get it', async () => {
  const open = (headers: Headers) =>
    request({ port: door.port, host: '127.0.0.1', method: 'POST', path: '/files/listed', headers }).on(
      'error',
      () => undefined,
    );
  const waits = { expect: '100-continue', 'content-length': '3', ...door.asKey };
  let invited = 0;
  const refused = open({ ...waits, 'content-type': 'text/csv' }).on('continue', () => {
    invited += 1;
  });
  refused.flushHeaders();
  const [no] = (await once(refused, 'response')) as [IncomingMessage];
  expect([no.statusCode, invited]).toEqual([415, 0]);
  refused.destroy();
  const taken = open({ ...waits, 'content-type': 'image/png' }).on('continue', () => {
    invited += 1;
    taken.end('abc');
  });
  taken.flushHeaders();
  const [yes] = (await once(taken, 'response')) as [IncomingMessage];
  expect([yes.statusCode, invited, arrived.at(-1)?.body.toString()]).toEqual([200, 1, 'abc']);
  yes.resume();
});
