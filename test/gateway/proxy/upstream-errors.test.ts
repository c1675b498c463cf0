import type { RequestListener } from 'node:http';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  metadata,
  openDoor,
  origin,
  type PublicDoor,
  plainChallenge,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

const heads = [
  { id: 'all', method: '*', path: '/all', scopes: [], upstream: 'ordering' },
  { id: 'both', method: ['GET', 'HEAD'], path: '/both', scopes: [], upstream: 'ordering' },
  { id: 'alone', method: 'HEAD', path: '/alone', scopes: [], upstream: 'ordering' },
  {
    ...{ id: 'unequal', method: ['GET', 'HEAD'], path: '/unequal', upstream: 'ordering' },
    scopes: { GET: ['write:webhooks'], HEAD: ['read:webhooks'] },
  },
];

beforeAll(async () => {
  upstream = await startUpstream();
  // Half of the requests of these tests are refused HEADs.
  const table = { upstreams: { ordering: { retries: { minPerSecond: 10_000 } } } };
  door = await openDoor(upstream.url, { table, moreRoutes: heads });
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.seen.length = 0;
});

type UpstreamHeaders = Record<string, string | string[]>;

const answers =
  (status: number, headers: UpstreamHeaders, body: string | Buffer): RequestListener =>
  (_req, res) => {
    res.writeHead(status, headers).end(body);
  };

const get = (headers: Record<string, string>, method = 'GET') =>
  sendRequest(door.url, method, '/api/orders/list', { headers });

const errors: Record<number, string> = { 400: 'invalid_request', 401: 'invalid_token', 403: 'insufficient_scope' };
const fixed: Record<number, string> = {
  400: 'The request is not valid',
  401: 'The access token is not accepted here',
  403: 'This request is not allowed',
};
const statuses = [400, 401, 403];

const expectOAuth = (answer: Awaited<ReturnType<typeof get>>, status: number, description: string): void => {
  expect(answer.status).toBe(status);
  expect(answer.json.error).toBe(errors[status]);
  expect(answer.json.error_description).toBe(description);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.headers['content-length']).toBe(String(answer.body.length));
  expect(answer.headers['transfer-encoding']).toBeUndefined();
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.headers['www-authenticate']).toBe(
    `Bearer realm="orderpass", error="${errors[status]}", error_description="${description}", resource_metadata="${metadata}"`,
  );
  for (const gone of ['content-encoding', 'etag', 'set-cookie']) expect(answer.headers[gone]).toBeUndefined();
};

const foreign: UpstreamHeaders = {
  'www-authenticate': 'Basic realm="inner"',
  etag: '"1"',
  'set-cookie': ['a=b', 'c=d'],
  'retry-after': '7',
};

const json = JSON.stringify({ message: 'Not today' });
type Case = [string, UpstreamHeaders, string | Buffer, string | undefined];
const jsonType = { 'content-type': 'application/json' };

const bodies: Case[] = [
  ['JSON with message', jsonType, json, 'Not today'],
  ['JSON with error_description', jsonType, '{"error_description":"Second","title":"x"}', 'Second'],
  ['a problem document', { 'content-type': 'application/problem+json' }, '{"title":"T","detail":"D"}', 'D'],
  ['JSON with title', jsonType, '{"title":"T","message":""}', 'T'],
  ['JSON without a message', jsonType, '{"code":5}', undefined],
  ['a JSON array', jsonType, '[{"x":1},7]', undefined],
  ['broken JSON', jsonType, '{"message":', undefined],
  ['deep JSON', jsonType, '['.repeat(60_000), undefined],
  ['text', { 'content-type': 'text/plain' }, 'Plain words\n', 'Plain words'],
  ['text of Latin-1', { 'content-type': 'text/plain; charset=iso-8859-1' }, Buffer.from('caf\xe9', 'latin1'), 'cafe'],
  ['text that is not its charset', { 'content-type': 'text/plain' }, Buffer.from('caf\xe9', 'latin1'), undefined],
  ['HTML', { 'content-type': 'text/html' }, '<h1>Forbidden</h1>', undefined],
  ['no type', {}, 'words', undefined],
  ['nothing', jsonType, '', undefined],
  ['gzip', { ...jsonType, 'content-encoding': 'gzip' }, gzipSync(json), 'Not today'],
  ['br', { ...jsonType, 'content-encoding': 'br' }, brotliCompressSync(json), 'Not today'],
  ['deflate', { ...jsonType, 'content-encoding': 'deflate' }, deflateSync(json), 'Not today'],
  ['raw deflate', { ...jsonType, 'content-encoding': 'deflate' }, deflateRawSync(json), 'Not today'],
  ['zstd', { ...jsonType, 'content-encoding': 'zstd' }, zstdCompressSync(Buffer.from(json)), 'Not today'],
  ['two codings', { ...jsonType, 'content-encoding': 'gzip, br' }, brotliCompressSync(gzipSync(json)), 'Not today'],
  ['an unknown coding', { ...jsonType, 'content-encoding': 'rot13' }, json, undefined],
  ['damaged gzip', { ...jsonType, 'content-encoding': 'gzip' }, gzipSync(json).subarray(0, 20), undefined],
  [
    'a bomb',
    { ...jsonType, 'content-encoding': 'gzip' },
    gzipSync(`{"message":"${'x'.repeat(20_000_000)}"}`),
    undefined,
  ],
  ['64 KiB and one byte', { 'content-type': 'text/plain' }, 'x'.repeat(64 * 1024 + 1), undefined],
];

test.each(bodies)(
  'A-053 400, 401 and 403 with %s become OAuth errors for a Bearer caller',
  async (_name, headers, body, text) => {
    for (const status of statuses) {
      upstream.answer = answers(status, { ...foreign, ...headers }, body);
      const answer = await get(door.asBearer);
      expectOAuth(answer, status, text ?? fixed[status] ?? '');
      expect(answer.headers['retry-after']).toBe('7');
      expect(answer.json.request_id).toBe(answer.headers['x-request-id']);
      expect(Object.hasOwn(answer.json, 'error_uri')).toBe(false);
    }
  },
);

test('A-053 a body of 50 MB is not read to its end, with or without a Content-Length', async () => {
  for (const hasLength of [true, false]) {
    let sent = 0;
    upstream.answer = (_req, res) => {
      const piece = Buffer.alloc(1024 * 1024, 'x');
      res.writeHead(403, {
        'content-type': 'text/plain',
        ...(hasLength ? { 'content-length': 50 * piece.length } : undefined),
      });
      const more = (): void => {
        if (sent === 50 || res.destroyed) return void res.end();
        sent += 1;
        res.write(piece, more);
      };
      more();
    };
    expectOAuth(await get(door.asBearer), 403, fixed[403] ?? '');
    expect(sent).toBeLessThan(50);
  }
});

test('A-053 a chunked body and one that is shorter or longer than it claims', async () => {
  upstream.answer = (_req, res) => {
    res.writeHead(401, jsonType);
    res.write('{"message":');
    res.end('"In pieces"}');
  };
  expectOAuth(await get(door.asBearer), 401, 'In pieces');
  for (const [length, text] of [
    [json.length + 100, 'Not today'],
    [5, fixed[401]],
  ] as const) {
    upstream.answer = (req, res) => {
      const { socket } = req;
      socket.write(
        `HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${json}`,
      );
      res.destroy();
      socket.end();
    };
    expectOAuth(await get(door.asBearer), 401, text ?? '');
  }
});

test.each(bodies)('A-054 HEAD of a refusal with %s has the status and headers of GET', async (_name, headers, body) => {
  for (const status of statuses) {
    upstream.answer = answers(status, { ...foreign, ...headers }, body);
    const as = { ...door.asBearer, 'x-request-id': 'same' };
    const [whole, head] = [await get(as), await get(as, 'HEAD')];
    expect(head.text).toBe('');
    // The second of two calls has less left of its limits.
    const same = { date: '', ratelimit: '' };
    expect({ ...head.headers, ...same }).toEqual({ ...whole.headers, ...same });
    expect(head.status).toBe(status);
  }
});

test('A-054 a refused HEAD is asked again with GET only where its caller may send GET', async () => {
  upstream.answer = answers(403, jsonType, json);
  for (const [path, methods, said] of [
    ['/all', ['HEAD', 'GET'], 'Not today'],
    ['/both', ['HEAD', 'GET'], 'Not today'],
    ['/alone', ['HEAD'], fixed[403]],
    ['/unequal', ['HEAD'], fixed[403]],
  ] as const) {
    upstream.seen.length = 0;
    const answer = await sendRequest(door.url, 'HEAD', path, { headers: door.asBearer });
    expect([path, answer.status, upstream.seen.map(({ method }) => method)]).toEqual([path, 403, methods]);
    expect(answer.headers['www-authenticate']).toContain(`error_description="${said}"`);
  }
});

test('A-054 a refused HEAD is not asked again beyond the retry budget, and has the headers of a refusal without a body', async () => {
  const table = { upstreams: { ordering: { retries: { budgetPercent: 0, minPerSecond: 1 } } } };
  const bounded = await openDoor(upstream.url, { table });
  onTestFinished(() => bounded.close());
  upstream.answer = answers(403, jsonType, json);
  const startedMs = performance.now();
  const said: boolean[] = [];
  for (let i = 0; i < 20; i += 1) {
    const answer = await sendRequest(bounded.url, 'HEAD', '/api/orders/list', { headers: bounded.asBearer });
    expect([answer.status, answer.text]).toEqual([403, '']);
    said.push(String(answer.headers['www-authenticate']).includes('Not today'));
  }
  const asked = upstream.seen.filter(({ method }) => method === 'GET').length;
  expect([said[0], said.filter((one) => one).length]).toEqual([true, asked]);
  expect(asked).toBeLessThanOrEqual(2 + (performance.now() - startedMs) / 1_000);
});

test('A-055 401 to a valid token is invalid_token, 403 without a scope has no scope', async () => {
  upstream.answer = answers(401, {}, '');
  expectOAuth(await get(door.asBearer), 401, fixed[401] ?? '');
  upstream.answer = answers(403, jsonType, '{"error":"UNAUTHORIZED","success":false,"message":"Not granted"}');
  const refused = await get(door.asBearer);
  expectOAuth({ ...refused, headers: refused.headers }, 403, 'Not granted');
  expect(refused.json.error_uri).toBe(`${origin}/docs/errors#UNAUTHORIZED`);
});

test('an upstream that names missing scopes has exactly those in the challenge, in their order', async () => {
  const missing = ['write:orders', 'no such', 'read:orders', 'x", evil="1'];
  upstream.answer = answers(403, jsonType, JSON.stringify({ message: 'm', missing_scopes: missing }));
  const answer = await get(door.asBearer);
  expect(answer.headers['www-authenticate']).toBe(
    `Bearer realm="orderpass", error="insufficient_scope", error_description="m", scope="read:orders write:orders", resource_metadata="${metadata}"`,
  );
});

test('A-056 a description is one line of safe characters, the same in body and header', async () => {
  const message = 'say "hi"\\ now\r\nSet-Cookie: a=b\tè Ångström ﬁ 🍕\u2028\u0000end';
  upstream.answer = answers(400, jsonType, JSON.stringify({ message }));
  const answer = await get(door.asBearer);
  const { error_description: description } = answer.json;
  expect(description).toBe("say 'hi'/ now Set-Cookie: a=b e Angstrom ? ? ?end");
  expect(description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/);
  expect(answer.headers['www-authenticate']).toContain(`error_description="${description}"`);
  expect(answer.headers['set-cookie']).toBeUndefined();
  upstream.answer = answers(400, jsonType, JSON.stringify({ message: 'é'.repeat(2000) }));
  expect((await get(door.asBearer)).json.error_description).toBe('e'.repeat(512));
});

const envelope = (code: string, more: object = {}): string =>
  JSON.stringify({ success: false, error: code, message: 'As said', ...more, request_id: 'req_first' });

test('validation errors are described in up to three parts', async () => {
  const three = ['a', '/b/0', 'c', 'd'].map((pointer) => ({ pointer, code: 'TYPE', message: 'is wrong' }));
  upstream.answer = answers(400, jsonType, envelope('VALIDATION_ERROR', { errors: three }));
  const answer = await get(door.asBearer);
  expectOAuth(answer, 400, 'a: is wrong; /b/0: is wrong; c: is wrong');
  expect(answer.json.error_uri).toBe(`${origin}/docs/errors#VALIDATION_ERROR`);
});

test('A-057 a wrong order token is invalid_request for a Bearer caller, other statuses stay envelopes', async () => {
  upstream.answer = answers(400, jsonType, envelope('INVALID_TOKEN'));
  const refused = await get(door.asBearer);
  expect([refused.status, refused.json.error]).toEqual([400, 'invalid_request']);
  // A repeated answer keeps the id of its first time.
  expect(refused.json.request_id).toBe('req_first');
  const others: [number, string][] = [
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [413, 'PAYLOAD_TOO_LARGE'],
    [415, 'UNSUPPORTED_MEDIA_TYPE'],
    [422, 'COUPON_ERROR'],
    [429, 'RATE_LIMIT_EXCEEDED'],
    [500, 'INTERNAL_ERROR'],
    [503, 'OVERLOADED'],
  ];
  for (const [status, code] of others) {
    const body = envelope(code, { retry_after: 3, errors: [{ pointer: 'p', code: 'RANGE', message: 'm' }] });
    upstream.answer = answers(status, { ...jsonType, 'retry-after': '3', 'idempotent-replayed': 'true' }, body);
    const same = await get(door.asBearer);
    expect([same.status, same.text, same.headers['retry-after']]).toEqual([status, body, '3']);
    expect(same.headers['idempotent-replayed']).toBe('true');
    const asked = await get({ ...door.asBearer, accept: 'application/problem+json' });
    expect(asked.headers['content-type']).toBe('application/problem+json');
    expect(asked.json).toEqual({
      type: `${origin}/docs/errors#${code}`,
      title: expect.any(String),
      status,
      detail: 'As said',
      instance: 'urn:orderpass:request:req_first',
      code,
      errors: [{ pointer: 'p', code: 'RANGE', message: 'm' }],
      retry_after: 3,
      request_id: 'req_first',
    });
  }
});

test('A-063 an upstream’s 401 has our challenge and not its own', async () => {
  upstream.answer = answers(401, { ...jsonType, ...foreign }, envelope('INVALID_KEY'));
  const answer = await get(door.asKey);
  expect(answer.text).toBe(envelope('INVALID_KEY'));
  expect(answer.headers['www-authenticate']).toBe(plainChallenge);
});

test('an upstream error that is no envelope becomes one of the same status', async () => {
  const cases: [number, string][] = [
    [400, 'VALIDATION_ERROR'],
    [401, 'INVALID_AUTH'],
    [403, 'UNAUTHORIZED'],
    [404, 'NOT_FOUND'],
    [405, 'METHOD_NOT_ALLOWED'],
    [409, 'CONFLICT'],
    [418, 'VALIDATION_ERROR'],
    [422, 'VALIDATION_ERROR'],
    [429, 'RATE_LIMIT_EXCEEDED'],
    [500, 'INTERNAL_ERROR'],
    [501, 'INTERNAL_ERROR'],
    [502, 'UPSTREAM_UNREACHABLE'],
    [503, 'OVERLOADED'],
    [504, 'UPSTREAM_TIMEOUT'],
  ];
  for (const [status, code] of cases) {
    upstream.answer = answers(status, { 'content-type': 'text/plain', server: 'inner/1.0' }, 'stack at inner.js:1');
    const answer = await get(door.asKey);
    expect([answer.status, answer.json.success, answer.json.error]).toEqual([status, false, code]);
    expect(answer.json.request_id).toBe(answer.headers['x-request-id']);
    expect(answer.headers.server).toBeUndefined();
    expect(answer.text).not.toContain('inner.js');
    if (status === 429) expect([answer.headers['retry-after'], answer.json.retry_after]).toEqual(['1', 1]);
  }
});

test('a refusal that our upstream marks is answered in the OAuth dialect to any caller', async () => {
  upstream.answer = answers(400, { ...jsonType, 'x-orderpass-dialect': 'oauth' }, envelope('VALIDATION_ERROR'));
  const answer = await get(door.asKey);
  expectOAuth(answer, 400, 'As said');
  expect(answer.headers['x-orderpass-dialect']).toBeUndefined();
});

test('a long envelope passes through whole, also as a problem document', async () => {
  const items = Array.from({ length: 5000 }, (_, index) => ({ pointer: `/products/${index}`, code: 'TYPE' }));
  const body = envelope('IMPORT_ERROR', { import: { errors: items } });
  expect(body.length).toBeGreaterThan(150_000);
  upstream.answer = answers(422, jsonType, body);
  const whole = await get(door.asKey);
  expect([whole.status, whole.text === body]).toEqual([422, true]);
  const asked = await get({ ...door.asKey, accept: 'application/problem+json' });
  expect([asked.json.code, asked.json.import.errors.length]).toEqual(['IMPORT_ERROR', 5000]);
  const head = await get(door.asKey, 'HEAD');
  expect([head.status, head.text]).toEqual([422, '']);
});
