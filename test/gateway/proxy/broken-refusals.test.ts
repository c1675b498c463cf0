/** Refusals of an upstream that are cut, stalled, endless, packed or no JSON, to callers of every dialect (interface 6.3). */
import type { RequestListener, ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  type Headers,
  metadata,
  openDoor,
  origin,
  type PublicDoor,
  plainChallenge,
  sendRaw,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;
let legacy: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  // Many requests of these tests are refused HEADs, each of which is asked again with GET.
  const table = { upstreams: { ordering: { retries: { minPerSecond: 10_000 } } } };
  door = await openDoor(upstream.url, { table, routes: { timeouts: { answerMs: 1_000 } } });
  legacy = await openDoor(upstream.url, { settings: { legacy_status: 'on' } });
});

afterAll(async () => {
  await door?.close();
  await legacy?.close();
  await upstream?.close();
});

const target = '/api/orders/list';
const problem = { accept: 'application/problem+json' };
const get = (headers: Headers, method = 'GET', at = door) => sendRequest(at.url, method, target, { headers });

const answers =
  (status: number, headers: Record<string, string>, body: string | Buffer): RequestListener =>
  (_req, res) => {
    res.writeHead(status, headers).end(body);
  };

const envelope = (code: string, message = 'As said'): string =>
  JSON.stringify({ success: false, error: code, message, request_id: 'req_first' });

/** An envelope with a length beyond the bound of a refusal, of which only the first half is sent. */
const beginLong = (status: number, then: (res: ServerResponse) => void): RequestListener => {
  const start = envelope('IMPORT_ERROR').slice(0, -1);
  return (_req, res) => {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.write(`${start},"errors":["${'x'.repeat(100_000)}`, () => then(res));
  };
};

const statuses = [400, 401, 403];
const errors: Record<number, string> = { 400: 'invalid_request', 401: 'invalid_token', 403: 'insufficient_scope' };

test('A-053 a refusal that is cut in the middle of its body is whole for a Bearer caller, and 502 for others', async () => {
  const cut =
    (status: number, chunked: boolean): RequestListener =>
    (req, res) => {
      res.writeHead(status, {
        'content-type': 'application/json',
        ...(chunked ? undefined : { 'content-length': '500' }),
      });
      if (req.method === 'HEAD') return void res.end();
      res.write('{"success":false,"error":"VALIDATION_ERROR","mess', () => res.destroy());
    };
  for (const chunked of [true, false]) {
    for (const status of statuses) {
      upstream.answer = cut(status, chunked);
      for (const method of ['GET', 'HEAD']) {
        const answer = await get(door.asBearer, method);
        expect(answer.status).toBe(status);
        expect(answer.headers['www-authenticate']).toContain(`error="${errors[status]}"`);
        if (method === 'GET') expect(answer.json.error).toBe(errors[status]);
      }
    }
    for (const status of [400, 403, 404, 409, 422, 500]) {
      upstream.answer = cut(status, chunked);
      for (const [at, headers] of [
        [door, door.asKey],
        [door, { ...door.asKey, ...problem }],
        [legacy, legacy.asKey],
      ] as const) {
        const answer = await get(headers, 'GET', at);
        expect([status, answer.status, answer.json.error ?? answer.json.code]).toEqual([
          status,
          502,
          'UPSTREAM_UNREACHABLE',
        ]);
      }
    }
  }
});

test('A-061 a long envelope that is cut after it began to pass cuts the connection, in legacy status mode too', async () => {
  upstream.answer = beginLong(422, (res) => res.destroy());
  for (const at of [door, legacy]) {
    await expect(get(at.asKey, 'GET', at)).rejects.toThrow();
    const raw = await sendRaw(
      at.port,
      `GET ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${at.asKey['x-api-key']}\r\n\r\n`,
    );
    expect(raw).toContain('"error":"IMPORT_ERROR"');
    expect(raw.endsWith('0\r\n\r\n')).toBe(false);
  }
  // A problem document is made of the whole, so nothing of it was written yet.
  const asked = await get({ ...door.asKey, ...problem });
  expect([asked.status, asked.json.code]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
});

test('A-053 a refusal whose body never comes to its end is answered in seconds all the same', async () => {
  const held: ServerResponse[] = [];
  upstream.answer = (req, res) => {
    res.writeHead(403, { 'content-type': 'application/json' });
    if (req.method === 'HEAD') return void res.end();
    held.push(res);
    res.write('{"success":false,');
  };
  // The first door waits as long as its routes say, which is shorter than what any refusal gets at the second.
  const [bearer, key, asked, head, patient, patientBearer] = await Promise.all([
    get(door.asBearer),
    get(door.asKey),
    get({ ...door.asKey, ...problem }),
    get(door.asBearer, 'HEAD'),
    get(legacy.asKey, 'GET', legacy),
    get(legacy.asBearer, 'GET', legacy),
  ]);
  expect([bearer.status, bearer.json.error]).toEqual([403, 'insufficient_scope']);
  expect([head.status, head.text]).toEqual([403, '']);
  for (const answer of [key, asked]) {
    expect([answer.status, answer.json.code ?? answer.json.error]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
  }
  expect([patient.status, patient.json.error]).toEqual([403, 'UNAUTHORIZED']);
  expect([patientBearer.status, patientBearer.json.error]).toEqual([403, 'insufficient_scope']);
  expect(held).toHaveLength(6);
  await until(() => held.every((res) => res.destroyed));
});

const packings: [string, (text: string) => Buffer][] = [
  ['gzip', (text) => gzipSync(text)],
  ['br', (text) => brotliCompressSync(text)],
  ['deflate', (text) => deflateSync(text)],
  ['zstd', (text) => zstdCompressSync(text)],
];

test.each(packings)('a refusal in %s reaches every dialect unpacked, by GET and HEAD', async (coding, pack) => {
  const packed = { 'content-type': 'application/json', 'content-encoding': coding };
  upstream.answer = answers(404, packed, pack(envelope('CUSTOMER_NOT_FOUND')));
  for (const headers of [door.asKey, door.asBearer]) {
    const same = await get(headers);
    expect([same.status, same.text]).toEqual([404, envelope('CUSTOMER_NOT_FOUND')]);
    expect([same.headers['content-encoding'], same.headers['content-length']]).toEqual([
      undefined,
      String(same.body.length),
    ]);
  }
  const old = await get(legacy.asKey, 'GET', legacy);
  expect([old.status, old.text]).toEqual([200, envelope('CUSTOMER_NOT_FOUND')]);
  const asked = await get({ ...door.asKey, ...problem });
  expect([asked.status, asked.headers['content-type'], asked.json.code, asked.json.detail]).toEqual([
    404,
    'application/problem+json',
    'CUSTOMER_NOT_FOUND',
    'As said',
  ]);
  const ids = { 'x-request-id': 'same' };
  for (const accept of [{}, problem]) {
    const whole = await get({ ...door.asKey, ...accept, ...ids });
    const head = await get({ ...door.asKey, ...accept, ...ids }, 'HEAD');
    const moving = { date: '', ratelimit: '' };
    expect([head.status, head.text]).toEqual([404, '']);
    expect({ ...head.headers, ...moving }).toEqual({ ...whole.headers, ...moving });
  }
});

/** Each field of a pair comes twice. */
const twice: [string, Record<string, string[]>, string | Buffer][] = [
  ['types', { 'content-type': ['application/json', 'text/html'] }, envelope('CUSTOMER_NOT_FOUND')],
  ['equal types', { 'content-type': ['application/json', 'application/json'] }, envelope('CUSTOMER_NOT_FOUND')],
  [
    'codings',
    { 'content-type': ['application/json'], 'content-encoding': ['gzip', 'br'] },
    brotliCompressSync(gzipSync(envelope('CUSTOMER_NOT_FOUND'))),
  ],
];

test.each(twice)('A-053 a refusal with two %s is answered in every dialect', async (_name, headers, body) => {
  for (const status of [400, 401, 403, 404, 422, 500]) {
    upstream.answer = (_req, res) => void res.writeHead(status, headers).end(body);
    for (const caller of [door.asKey, door.asBearer, { ...door.asKey, ...problem }]) {
      const answer = await get(caller);
      const said = answer.json.error_description ?? answer.json.message ?? answer.json.detail;
      expect([status, answer.status, said]).toEqual([status, status, 'As said']);
      expect((await get(caller, 'HEAD')).status).toBe(status);
    }
  }
});

test('A-053 a refusal with two types whose body is cut or never ends is answered', async () => {
  const type = ['content-type', 'application/json', 'content-type', 'text/html'];
  upstream.answer = (_req, res) => void res.writeHead(403, type).write('{', () => res.destroy());
  expect((await get(door.asBearer)).json.error).toBe('insufficient_scope');
  upstream.answer = (_req, res) => void res.writeHead(403, type).write('{');
  expect((await get(legacy.asBearer, 'GET', legacy)).json.error).toBe('insufficient_scope');
  upstream.answer = (_req, res) => {
    res.writeHead(422, type).end(`${envelope('IMPORT_ERROR').slice(0, -1)},"errors":["${'x'.repeat(100_000)}"]}`);
  };
  expect((await get(door.asKey)).json.error).toBe('IMPORT_ERROR');
});

test('an HTML page never reaches a caller: each dialect says the sentence of the status', async () => {
  const page = '<!doctype html><h1>Denied by inner-proxy-7</h1><script>alert(1)</script>';
  for (const status of [400, 401, 403, 404, 500, 502]) {
    for (const body of [page, gzipSync(page)]) {
      const coding = typeof body === 'string' ? undefined : { 'content-encoding': 'gzip' };
      upstream.answer = answers(status, { 'content-type': 'text/html; charset=utf-8', ...coding }, body);
      for (const headers of [door.asBearer, door.asKey, { ...door.asKey, ...problem }]) {
        const answer = await get(headers);
        expect(answer.status).toBe(status);
        expect(answer.headers['content-type']).toMatch(/^application\/(problem\+)?json/);
        expect(answer.text).not.toMatch(/inner-proxy|<h1|<script|alert/);
        const said = answer.json.error_description ?? answer.json.message ?? answer.json.detail;
        expect(said.length).toBeGreaterThan(10);
      }
    }
  }
  upstream.answer = answers(401, { 'content-type': 'text/html', 'www-authenticate': 'Basic realm="inner"' }, page);
  expect((await get(door.asKey)).headers['www-authenticate']).toBe(plainChallenge);
  expect((await get({ ...door.asKey, ...problem })).headers['www-authenticate']).toBe(plainChallenge);
});

test('A-053 50 MB of any type are not waited for in any dialect, and HEAD is answered like GET', async () => {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  let sent = 0;
  for (const type of ['text/html', 'text/plain', 'application/json', 'application/octet-stream']) {
    upstream.answer = (req, res) => {
      sent = 0;
      res.writeHead(403, { 'content-type': type, 'content-length': 50 * piece.length });
      if (req.method === 'HEAD') return void res.end();
      const more = (): void => {
        if (sent === 50 || res.destroyed) return void res.end();
        sent += 1;
        res.write(piece, more);
      };
      more();
    };
    const callers: [Headers, string][] = [
      [door.asBearer, 'UNAUTHORIZED'],
      [door.asKey, 'UNAUTHORIZED'],
      [{ ...door.asKey, ...problem }, 'UNAUTHORIZED'],
    ];
    for (const [headers, code] of callers) {
      const answer = await get(headers);
      expect([type, answer.status, answer.json.code ?? answer.json.error]).toEqual([type, 403, code]);
      expect(answer.text.length).toBeLessThan(1_000);
      expect(sent).toBeLessThan(50);
      const head = await get(headers, 'HEAD');
      expect([head.status, head.text, head.headers['www-authenticate']]).toEqual([
        403,
        '',
        answer.headers['www-authenticate'],
      ]);
    }
  }
});

test('A-053 a refusal that comes while the request body is still being sent is in the dialect of the caller', async () => {
  upstream.answer = answers(403, { 'content-type': 'text/plain' }, 'Not for you');
  const start = (headers: Headers): string =>
    `POST /api/customer/create HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n${Object.entries(
      headers,
    )
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n{"a":"${'x'.repeat(50_000)}`;
  const whole = (answer: string): boolean => /\r\n\r\n\{.*\}$/s.test(answer);
  const bearer = await sendRaw(door.port, start(door.asBearer), whole);
  expect(bearer).toContain('HTTP/1.1 403 ');
  expect(bearer).toContain('error="insufficient_scope", error_description="Not for you"');
  const key = await sendRaw(door.port, start(door.asKey), whole);
  expect(key).toContain('HTTP/1.1 403 ');
  expect(key).toContain('"success":false,"error":"UNAUTHORIZED","message":"Not for you"');
});

test('A-056 whatever an upstream says, in any charset, the description keeps to its characters and no header is added', async () => {
  const strange = [
    'a\r\nSet-Cookie: x=1\r\n\r\n<html>',
    'a\u0000b\u0001c\u007fd',
    '"\\"\\\\"',
    '\ud800 lonely \udfff',
    '\u202eevil\u202c \u200bzero \ufeffbom',
    'Ünïcödé – “quotes” … ½ Ⅷ ﬀ',
    '日本語の説明',
    '👩‍👩‍👧‍👦'.repeat(300),
    'e\u0301'.repeat(2_000),
  ];
  for (const message of strange) {
    for (const [type, body] of [
      ['application/json', JSON.stringify({ message })],
      ['application/problem+json', JSON.stringify({ detail: message })],
      ['text/plain; charset=utf-8', message],
      ['text/plain; charset=utf-16le', Buffer.from(message, 'utf16le')],
    ] as const) {
      upstream.answer = answers(400, { 'content-type': type }, body);
      const answer = await get(door.asBearer);
      const { error_description: description } = answer.json;
      expect([answer.status, answer.json.error]).toEqual([400, 'invalid_request']);
      expect(description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,512}$/);
      expect(answer.headers['www-authenticate']).toBe(
        `Bearer realm="orderpass", error="invalid_request", error_description="${description}", resource_metadata="${metadata}"`,
      );
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
  }
});

test('A-058 an upstream refusal becomes a problem only for an Accept that names it, its own problem document too', async () => {
  const own = { type: 'https://inner.example/x', title: 'T', status: 409, detail: 'Seen twice', instance: 'urn:x:1' };
  upstream.answer = answers(409, { 'content-type': 'application/problem+json' }, JSON.stringify(own));
  const plain = await get(door.asKey);
  expect(plain.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(plain.json).toEqual({
    success: false,
    error: 'CONFLICT',
    message: 'Seen twice',
    request_id: plain.headers['x-request-id'],
  });
  for (const headers of [door.asKey, door.asBearer]) {
    const asked = await get({ ...headers, ...problem });
    expect(asked.json).toEqual({
      type: `${origin}/docs/errors#CONFLICT`,
      title: expect.any(String),
      status: 409,
      detail: 'Seen twice',
      instance: `urn:orderpass:request:${asked.headers['x-request-id']}`,
      code: 'CONFLICT',
      request_id: asked.headers['x-request-id'],
    });
  }
  for (const accept of ['application/problem+json;q=0', 'application/*', '*/*', 'application/problem+jsonx']) {
    expect((await get({ ...door.asKey, accept })).headers['content-type']).toBe('application/json; charset=utf-8');
  }
});
