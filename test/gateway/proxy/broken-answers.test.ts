/** Answers that break at their start, and addresses in answers that only the inside knows. */
import { get as httpGet, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '#src/platform/log.ts';
import {
  openDoor,
  origin,
  type PublicDoor,
  type RawUpstream,
  sendRequest,
  startRawUpstream,
} from '../harness/public-door.ts';

let upstream: RawUpstream;
let second: RawUpstream;
let door: PublicDoor;

const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const good = `${ok}Content-Length: 2\r\n\r\n{}`;

beforeAll(async () => {
  upstream = await startRawUpstream((socket) => socket.write(good));
  second = await startRawUpstream((socket) => socket.write(good));
  door = await openDoor(`${upstream.url}|${second.url}`);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
  await second.close();
});

const answerWith = (...pieces: string[]): void => {
  const onData: RawUpstream['onData'] = (socket) => {
    const [first = '', ...rest] = pieces;
    socket.write(first);
    // Each piece in a packet of its own.
    for (const [index, piece] of rest.entries())
      setTimeout(() => (piece === 'end' ? socket.destroy() : socket.write(piece)), 20 * (index + 1));
  };
  upstream.onData = onData;
  second.onData = onData;
};

const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

const broken: [string, string[]][] = [
  ['a chunk of no length in the packet of the head', [`${chunked}ZZ\r\nx`]],
  ['a chunk of no length behind the head', [chunked, 'ZZ\r\nx']],
  ['a chunk with a length below zero', [chunked, '-1\r\nx']],
  ['nothing of the body that was announced', [`${ok}Content-Length: 10\r\n\r\n`, 'end']],
  ['no chunk at all', [chunked, 'end']],
  ['a transfer coding besides chunked', [`${ok}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`]],
  ['a transfer coding without chunked', [`${ok}Transfer-Encoding: gzip\r\n\r\n{}`, 'end']],
];

test.each(broken)('F-12 an answer with %s is 502 in the dialect of the caller', async (_name, pieces) => {
  answerWith(...pieces);
  for (const method of ['GET', 'POST']) {
    const path = method === 'GET' ? '/api/orders/list' : '/api/customer/create';
    const key = await sendRequest(door.url, method, path, { headers: door.asKey });
    expect([key.status, key.json.success, key.json.error]).toEqual([502, false, 'UPSTREAM_UNREACHABLE']);
    expect(key.json.request_id).toBe(key.headers['x-request-id']);
    const problem = await sendRequest(door.url, method, path, {
      headers: { ...door.asBearer, accept: 'application/problem+json' },
    });
    expect([problem.status, problem.json.code]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
  }
  answerWith(good);
  expect((await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey })).status).toBe(200);
});

test('A-638 the log names route, upstream and address of a failed answer once for each address, and nothing of the request', async () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const log = createLog({ level: 'warn', role: 'gateway', destination });
  const logged = await openDoor(`${upstream.url}|${second.url}`, { log });
  answerWith(`${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`);
  const { 'x-api-key': apiKey = '' } = logged.asKey;
  for (let count = 0; count < 20; count += 1) {
    const answer = await sendRequest(logged.url, 'GET', '/api/orders/list?page=hidden', { headers: logged.asKey });
    expect(answer.status).toBe(502);
  }
  await logged.close();
  const failed = lines.filter(({ msg }) => msg === 'request failed');
  expect(failed.map(({ address }) => address).sort()).toEqual([upstream.url, second.url].sort());
  for (const line of failed) {
    expect(line).toMatchObject({
      ...{ level: 'error', code: 'UPSTREAM_UNREACHABLE', route: 'orders.list', upstream: 'ordering' },
      err: { message: 'the upstream sent the transfer coding gzip' },
    });
  }
  for (const part of ['hidden', apiKey]) expect(JSON.stringify(lines)).not.toContain(part);
});

test('A-639 an answer may have a head of 64 KiB; a larger one is 502', async () => {
  const options = { headers: door.asKey, maxHeaderSize: 128 * 1024 };
  const get = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      httpGet(`${door.url}/api/orders/list`, options, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode));
      }).once('error', reject);
    });
  const fields = (count: number): string =>
    Array.from({ length: count }, (_, index) => `X-Field-${index}: ${'x'.repeat(1_000)}\r\n`).join('');
  answerWith(`${ok}${fields(60)}Content-Length: 2\r\n\r\n{}`);
  expect(await get()).toBe(200);
  answerWith(`${ok}${fields(66)}Content-Length: 2\r\n\r\n{}`);
  expect(await get()).toBe(502);
});

test('F-12 an answer that breaks after its first bytes is cut, never a whole one', async () => {
  answerWith(`${chunked}2\r\n{}\r\n`, 'ZZ\r\n');
  await expect(sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey })).rejects.toThrow();
});

test('F-12 a stream that sends its head alone is begun all the same', async () => {
  const sockets: { write(text: string): void }[] = [];
  const onData: RawUpstream['onData'] = (socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
  };
  upstream.onData = onData;
  second.onData = onData;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    httpGet(`${door.url}/api/orders/list`, { headers: door.asKey, agent: false }, resolve).on('error', reject);
  });
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/event-stream']);
  // Nothing but the head was sent so far; the event comes now.
  for (const socket of sockets) socket.write('9\r\ndata: 1\n\n\r\n0\r\n\r\n');
  let text = '';
  for await (const piece of answer) text += String(piece);
  expect(text).toBe('data: 1\n\n');
});

test('F-12 a Location of any address of the upstream leaves with the public one, any other as it is', async () => {
  const [first, other] = [new URL(upstream.url), new URL(second.url)];
  const inner = [
    [`${upstream.url}/menu?a=b%20c#d`, `${origin}/menu?a=b%20c#d`],
    [`${second.url}/menu`, `${origin}/menu`],
    [`HTTP://${first.host}/Menu`, `${origin}/Menu`],
    [`https://${first.host}/menu`, `${origin}/menu`],
    [`//${other.host}/menu`, `${origin}/menu`],
    [`http://user:secret@${first.host}/menu`, `${origin}/menu`],
    [first.origin, `${origin}/`],
    ['/menu', '/menu'],
    ['../menu?x', '../menu?x'],
    ['?page=2', '?page=2'],
    ['https://elsewhere.example/menu', 'https://elsewhere.example/menu'],
    [`http://127.0.0.1:1/menu?to=${upstream.url}`, `http://127.0.0.1:1/menu?to=${upstream.url}`],
    [`http://${first.host}.example/`, `http://${first.host}.example/`],
    ['http://[broken', 'http://[broken'],
    ['mailto:a@b', 'mailto:a@b'],
  ];
  for (const [sent, left] of inner) {
    for (const status of ['302 Found', '201 Created', '404 Not Found']) {
      answerWith(`HTTP/1.1 ${status}\r\nLocation: ${sent}\r\nContent-Location: ${sent}\r\nContent-Length: 0\r\n\r\n`);
      const { headers } = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey });
      expect([sent, status, headers.location]).toEqual([sent, status, left]);
      // The body of a refusal is the gateway's own, so nothing is said of where it is.
      expect(headers['content-location']).toBe(status.startsWith('404') ? undefined : left);
    }
  }
});

test('F-12 an address that leaves its default port out is the same as one that names it', async () => {
  const { createPublicLocation } = await import('#src/gateway/upstream/addresses/public-location.ts');
  const toPublic = createPublicLocation(['http://inner', 'https://Core.example:443', 'http://[::1]:8081'], origin);
  for (const value of [
    'http://inner/x',
    'http://INNER:80/x',
    'http://inner./x',
    '//inner/x',
    'https://core.example/x',
    // The scheme is ignored, and so are its ports.
    'http://core.example/x',
    'https://inner/x',
    'http://[0:0:0:0:0:0:0:1]:8081/x',
  ])
    expect([value, toPublic(value)]).toEqual([value, `${origin}/x`]);
  for (const value of ['http://inner:81/x', 'http://inner.example/x', 'ftp://inner:80/x', 'http://core.example:8080/x'])
    expect(toPublic(value)).toBe(value);
});
