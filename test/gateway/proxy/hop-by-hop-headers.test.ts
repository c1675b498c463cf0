import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  openDoor,
  type PublicDoor,
  sendRaw,
  sendRequest,
  startRawUpstream,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.seen.length = 0;
});

test('hop-by-hop headers and those named in Connection stay here; the others go on', async () => {
  const headers = {
    ...door.asKey,
    connection: 'close, X-Private, TE , Keep-Alive',
    'x-private': '1',
    'keep-alive': 'timeout=9',
    te: 'trailers',
    'proxy-connection': 'keep-alive',
    'http2-settings': 'AAMAAABk',
    upgrade: 'h2c',
    'x-public': '2',
  };
  const answer = await sendRequest(door.url, 'GET', '/api/orders/list', { headers });
  expect(answer.status).toBe(200);
  const seen = upstream.seen[0]?.headers ?? {};
  for (const name of ['x-private', 'te', 'proxy-connection', 'http2-settings', 'upgrade', 'keep-alive']) {
    expect([name, seen[name]]).toEqual([name, undefined]);
  }
  expect([seen.connection, seen['x-public']]).toEqual(['keep-alive', '2']);
});

test('A-640 the fields that config/README.md lists stay here, of a request and of an answer; the others go on', async () => {
  const listed = (from: string, to: string): string => {
    const text = readFileSync(new URL('../../../config/README.md', import.meta.url), 'utf8');
    return text.slice(text.indexOf(from), text.indexOf(to, text.indexOf(from)));
  };
  const ofRequests = listed('These are removed too, and', '**Who calls.**');
  const ofAnswers = listed('These fields of an answer are dropped', '## `/auth/check`');
  const stopped = ['Server', 'X-Powered-By', 'WWW-Authenticate', 'DPoP-Nonce', 'Alt-Svc', 'Strict-Transport-Security'];
  const replaced = ['X-Content-Type-Options', 'X-Request-Id', 'X-API-Version', 'RateLimit', 'RateLimit-Policy'];
  const { answer: before } = upstream;
  onTestFinished(() => {
    upstream.answer = before;
  });
  upstream.answer = (_req, res) => {
    for (const name of [...stopped, ...replaced, 'Proxy-Own', 'X-Orderpass-Own', 'X-Own', 'ETag', 'Vary'])
      res.setHeader(name, 'of the service');
    res.setHeader('content-type', 'application/json').end('{}');
  };
  const headers = { ...door.asKey, via: '1.1 other', 'x-request-id': 'mine', 'proxy-own': '1', 'x-orderpass-own': '1' };
  const answer = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: { ...headers, 'x-own': '1' } });
  const seen = upstream.seen[0]?.headers ?? {};
  for (const name of ['Via', 'X-Api-Key', 'Proxy-*', 'X-Orderpass-*']) expect(ofRequests).toContain(`\`${name}\``);
  for (const name of ['via', 'x-api-key', 'proxy-own', 'x-orderpass-own'])
    expect([name, seen[name]]).toEqual([name, undefined]);
  expect([seen['x-own'], seen['x-request-id'] === answer.headers['x-request-id']]).toEqual(['1', true]);
  for (const name of [...stopped, ...replaced]) {
    expect(ofAnswers).toContain(`\`${name}\``);
    expect([name, answer.headers[name.toLowerCase()]]).not.toEqual([name, 'of the service']);
  }
  for (const name of ['x-own', 'etag', 'vary']) expect(answer.headers[name]).toBe('of the service');
  for (const name of ['proxy-own', 'x-orderpass-own']) expect(answer.headers[name]).toBeUndefined();
});

test('the upstream’s hop-by-hop headers, trailers and those named in its Connection stay behind', async () => {
  const raw = await startRawUpstream((socket) => {
    socket.end(
      [
        'HTTP/1.1 200 OK',
        'Connection: close, X-Private',
        'X-Private: 1',
        'Keep-Alive: timeout=99',
        'Proxy-Authenticate: Basic',
        'Proxy-Connection: close',
        'Trailer: X-After',
        'Upgrade: h2c',
        'X-Public: 2',
        'Transfer-Encoding: chunked',
        '',
        '2\r\nok\r\n0\r\nX-After: 1\r\n\r\n',
      ].join('\r\n'),
    );
  });
  const own = await openDoor(raw.url);
  const request = `GET /api/orders/list HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${own.asKey['x-api-key']}\r\n\r\n`;
  const answer = await sendRaw(own.port, request, (text) => text.endsWith('0\r\n\r\n'));
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(answer).toContain('x-public: 2');
  expect(answer).not.toMatch(/x-private|proxy-|trailer|upgrade|x-after|timeout=99/i);
  await own.close();
  await raw.close();
});

test('a wish to change the protocol is not granted: the request is answered as a plain one', async () => {
  for (const wish of ['h2c', 'websocket']) {
    const headers = {
      ...door.asKey,
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: wish,
      'http2-settings': 'AAMAAABk',
    };
    const answer = await sendRequest(door.url, 'GET', '/api/orders/list', { headers });
    expect([answer.status, answer.headers.upgrade]).toEqual([200, undefined]);
    expect(upstream.seen.at(-1)?.headers.upgrade).toBeUndefined();
  }
});

/** What a second parser could take for a second request. */
const smuggled = 'GET /api/orders/get HTTP/1.1\r\nHost: x\r\n\r\n';

const shapes: [string, string][] = [
  [
    'a length and chunks',
    `Content-Length: ${smuggled.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['chunks and a length', `Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${smuggled}`],
  ['two lengths', `Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`],
  ['two equal lengths', `Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
  ['a list of lengths', `Content-Length: 2, 2\r\n\r\n{}`],
  ['a signed length', `Content-Length: +2\r\n\r\n{}`],
  ['a hexadecimal length', `Content-Length: 0x2\r\n\r\n{}`],
  ['an unknown coding', `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['chunked and then another coding', `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`],
  ['gzip and then chunked', `Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked twice', `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a space before the colon', `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['a folded header', `X-A: 1\r\n Transfer-Encoding: chunked\r\n\r\n`],
  ['a vertical tab before the coding', `Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
  ['a line end of one sign', `X-A: 1\nContent-Length: 2\r\n\r\n{}`],
  ['a chunk size that is no number', `Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`],
];

test.each(shapes)('a request with %s is refused and never forwarded', async (_name, rest) => {
  const head = `POST /api/customer/create HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\nContent-Type: application/json\r\n`;
  const answer = await sendRaw(door.port, head + rest, (text) => text.includes('"request_id"'));
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain('"error":"VALIDATION_ERROR"');
  expect(answer.toLowerCase()).toContain('x-api-version: 1.0.0');
  expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  expect(upstream.seen.filter(({ method }) => method === 'GET')).toEqual([]);
  expect((await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey })).status).toBe(200);
});

test('HTTP/1.0 with chunks is refused', async () => {
  const head = `POST /api/customer/create HTTP/1.0\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n`;
  const answer = await sendRaw(door.port, `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(upstream.seen).toEqual([]);
});

test('HTTP/1.0 without chunks is served and its connection closed', async () => {
  const answer = await sendRaw(
    door.port,
    `GET /api/orders/list HTTP/1.0\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(answer.endsWith('{"success":true}')).toBe(true);
});

test('a body of GET stays behind and cannot become a second request', async () => {
  const body = smuggled;
  const head = `GET /api/orders/list HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n`;
  const answer = await sendRaw(
    door.port,
    `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    (text) => text.includes('{"success":true}'),
  );
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect((await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey })).status).toBe(200);
  expect(upstream.seen.map(({ target }) => target)).toEqual(['/api/orders/list', '/api/orders/list']);
  expect(upstream.seen[0]?.headers['content-length']).toBeUndefined();
});
