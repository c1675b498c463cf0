import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  openDoor,
  type PublicDoor,
  sendRaw,
  sendRequest,
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

const strangePaths = [
  '/api/orders/list/',
  '/api/Orders/list',
  '/API/orders/list',
  '/api/x/../orders/list',
  '/api/./orders/list',
  '/api//orders/list',
  '//api/orders/list',
  '/api/orders%2Flist',
  '/api/orders/%6cist',
  '/api/orders/list;x=1',
  '/api/orders/list%00',
  '/api/orders\\list',
  '/api/orders/list#x',
  '/api/orders/list?page=1#x',
  '/api',
  '/',
  '*',
  'http://127.0.0.1/api/orders/list',
];

test.each(strangePaths)(
  'A-001 %s is no operation with any credential, and nothing reaches an upstream',
  async (target) => {
    for (const headers of [{}, door.asKey, door.asBearer, door.asExpired]) {
      const answer = await sendRequest(door.url, 'GET', target, { headers });
      expect(answer.status).toBe(404);
      expect(answer.json).toEqual({
        success: false,
        error: 'INVALID_ACTION',
        message: 'No such operation',
        request_id: answer.headers['x-request-id'],
      });
      expect(answer.headers['www-authenticate']).toBeUndefined();
    }
    expect(upstream.seen).toEqual([]);
    expect((await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey })).status).toBe(200);
    expect(upstream.seen).toHaveLength(1);
  },
);

test('A-001 push/send is not offered, and is refused by a problem document on request', async () => {
  const answer = await sendRequest(door.url, 'POST', '/api/push/send', { headers: door.asKey });
  expect([answer.status, answer.json.error]).toEqual([404, 'INVALID_ACTION']);
  const problem = await sendRequest(door.url, 'GET', '/api/nothing', {
    headers: { ...door.asBearer, accept: 'application/problem+json' },
  });
  expect(problem.status).toBe(404);
  expect(problem.headers['content-type']).toBe('application/problem+json');
  expect(problem.json).toMatchObject({ code: 'INVALID_ACTION', status: 404 });
});

test('A-002 a wrong method is refused before any credential is looked at, and Allow names the right ones', async () => {
  const cases: [string, string, string][] = [
    ['GET', '/api/order/create', 'POST, OPTIONS'],
    ['HEAD', '/api/order/create', 'POST, OPTIONS'],
    ['DELETE', '/api/orders/list', 'GET, HEAD, OPTIONS'],
    ['POST', '/api/orders/list', 'GET, HEAD, OPTIONS'],
    ['PUT', '/api/customer/update', 'POST, OPTIONS'],
    ['TRACE', '/api/orders/list', 'GET, HEAD, OPTIONS'],
    ['PROPFIND', '/api/orders/list', 'GET, HEAD, OPTIONS'],
  ];
  for (const [method, target, allow] of cases) {
    for (const headers of [{}, door.asBearer]) {
      const answer = await sendRequest(door.url, method, target, { headers });
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, allow]);
      if (method !== 'HEAD') expect(answer.json.error).toBe('METHOD_NOT_ALLOWED');
    }
  }
  expect(upstream.seen).toEqual([]);
});

test('A-002 HEAD gives status and headers of GET and no body', async () => {
  upstream.answer = (_req, res) => {
    res.writeHead(200, {
      'content-type': 'application/json',
      'x-some': 'thing',
      date: 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    res.end('{"success":true}');
  };
  const headers = { ...door.asKey, 'x-request-id': 'same' };
  const get = await sendRequest(door.url, 'GET', '/api/orders/list', { headers });
  const head = await sendRequest(door.url, 'HEAD', '/api/orders/list', { headers });
  expect(head.status).toBe(200);
  expect(head.text).toBe('');
  // The upstream itself frames a body that it does not send in its own way.
  const { 'transfer-encoding': _chunked, ratelimit: _left, ...rest } = get.headers;
  expect(head.headers).toMatchObject(rest);
  expect(upstream.seen.map(({ method }) => method)).toEqual(['GET', 'HEAD']);
});

test('OPTIONS is answered without a credential, with Allow and no CORS headers', async () => {
  const answer = await sendRequest(door.url, 'OPTIONS', '/api/orders/list', {
    headers: { origin: 'https://shop.example' },
  });
  expect([answer.status, answer.headers.allow, answer.text]).toEqual([204, 'GET, HEAD, OPTIONS', '']);
  expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect((await sendRequest(door.url, 'OPTIONS', '/api/nothing')).status).toBe(404);
  expect(upstream.seen).toEqual([]);
});

test('A-003 the request id is the caller’s when it is well-formed, else a new one; on every answer and in error bodies', async () => {
  const made = /^req_[0-9a-z]{10,}$/;
  const idOf = async (headers: Record<string, string>, target = '/api/orders/list') => {
    const answer = await sendRequest(door.url, 'GET', target, { headers });
    const id = String(answer.headers['x-request-id']);
    if (answer.status >= 400) expect(answer.json.request_id).toBe(id);
    return id;
  };
  for (const [target, as] of [
    ['/api/orders/list', door.asKey],
    ['/api/orders/list', {}],
    ['/api/nothing', {}],
    ['/api/orders/list', door.asExpired],
  ] as const) {
    expect(await idOf(as, target)).toMatch(made);
    expect(await idOf({ ...as, 'x-request-id': 'abc-1' }, target)).toBe('abc-1');
    expect(await idOf({ ...as, 'x-request-id': 'a b' }, target)).toMatch(made);
    expect(await idOf({ ...as, 'x-request-id': 'a'.repeat(64) }, target)).toBe('a'.repeat(64));
    expect(await idOf({ ...as, 'x-request-id': 'a'.repeat(65) }, target)).toMatch(made);
  }
  expect(await idOf(door.asKey)).not.toBe(await idOf(door.asKey));
  const last = upstream.seen.at(-1);
  expect(last?.headers['x-request-id']).toMatch(made);
});

test('A-004 versions 1, 1.x and 1.x.y pass, others are refused; every answer says 1.0.0', async () => {
  const cases: [string, number][] = [
    ['1', 200],
    ['1.4', 200],
    ['1.0.0', 200],
    ['', 200],
    ['2', 400],
    ['x', 400],
    ['1.', 400],
    ['1.2.3.4', 400],
    ['10', 400],
  ];
  for (const [version, status] of cases) {
    const answer = await sendRequest(door.url, 'GET', '/api/orders/list', {
      headers: { ...door.asKey, 'x-api-version': version },
    });
    expect([version, answer.status, answer.headers['x-api-version']]).toEqual([version, status, '1.0.0']);
    if (status === 400) {
      expect(answer.json).toMatchObject({
        error: 'VALIDATION_ERROR',
        errors: [{ pointer: 'X-Api-Version', code: 'UNSUPPORTED_VERSION' }],
      });
    }
  }
  const refused = await sendRequest(door.url, 'GET', '/api/orders/list', {
    headers: { ...door.asBearer, 'x-api-version': '2' },
  });
  expect([refused.status, refused.json.error]).toEqual([400, 'invalid_request']);
  for (const target of ['/api/nothing', '/healthz', '/api/oauth/token', '/.well-known/oauth-protected-resource']) {
    expect((await sendRequest(door.url, 'GET', target)).headers['x-api-version']).toBe('1.0.0');
  }
});

test('a wrong version is refused before a missing credential, and a wrong method before both', async () => {
  const version = { 'x-api-version': '2' };
  expect((await sendRequest(door.url, 'GET', '/api/orders/list', { headers: version })).json.error).toBe(
    'VALIDATION_ERROR',
  );
  expect((await sendRequest(door.url, 'DELETE', '/api/orders/list', { headers: version })).status).toBe(405);
  expect((await sendRequest(door.url, 'DELETE', '/api/nothing', { headers: version })).status).toBe(404);
});

test('health needs no credential: the process lives, the store is reachable', async () => {
  const routes = { routes_version: expect.stringMatching(/^[0-9a-f]{16}$/), routes_file: 'ok' };
  const bodies = {
    '/healthz': { status: 'ok' },
    '/readyz': { status: 'ok', store: 'ok', writes: 'ok', shared_state: 'local', audit: 'ok', ...routes },
  };
  for (const [target, body] of Object.entries(bodies)) {
    const answer = await sendRequest(door.url, 'GET', target);
    expect([answer.status, answer.json]).toEqual([200, body]);
    expect((await sendRequest(door.url, 'HEAD', target)).text).toBe('');
    expect((await sendRequest(door.url, 'POST', target)).status).toBe(405);
  }
});

test('a request of HTTP/1.1 without Host is refused in our own words', async () => {
  const answer = await sendRaw(door.port, 'GET /api/orders/list HTTP/1.1\r\nConnection: close\r\n\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toContain('"error":"VALIDATION_ERROR"');
  expect(answer.toLowerCase()).toContain('x-request-id: req_');
  expect(upstream.seen).toEqual([]);
});
