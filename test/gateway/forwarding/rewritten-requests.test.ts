/** Paths and header fields that a route changes on the way to its service and back. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createAssertionVerifier } from '#src/contract/assertion.ts';
import { routeTableProblems } from '#src/gateway/config.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import {
  closeServer,
  type Headers,
  listen,
  masterKey,
  openDoor,
  origin,
  type PublicDoor,
  routeFile,
  sendRequest,
} from '../harness/public-door.ts';

const route = (id: string, path: string, members: Record<string, unknown>): Record<string, unknown> => ({
  id,
  method: 'GET',
  path,
  scopes: ['read:menu'],
  kinds: ['api_key', 'api_client', 'bearer'],
  class: 'R',
  upstream: 'ordering',
  ...members,
});

const requestHeaders = {
  set: { 'x-tenant': 'acme', 'x-real-ip': '192.0.2.1' },
  remove: ['user-agent', 'x-debug'],
};
const responseHeaders = {
  set: { 'content-security-policy': "default-src 'none'", 'cache-control': 'private, max-age=60', 'x-lang': 'en' },
  remove: ['set-cookie', 'x-internal'],
};

let server: Server;
let sockets: WebSocketServer;
let url: string;
let door: PublicDoor;
let seen: IncomingMessage[];
let location: string;
let status: number;

beforeAll(async () => {
  server = createServer((req, res) => {
    seen.push(req);
    const fields = { 'x-internal': 'yes', 'x-lang': 'it', 'set-cookie': ['a=1; Path=/v2', 'b=2'], etag: '"1"' };
    res.writeHead(status, { ...fields, location }).end('{}');
  });
  sockets = new WebSocketServer({ server });
  sockets.on('headers', (headers) => headers.push('X-Internal: yes', 'X-Lang: it'));
  sockets.on('connection', (_socket, req) => seen.push(req));
  url = await listen(server);
  door = await openDoor(url, {
    moreRoutes: [
      route('strip', '/shop/v1/items', { stripPrefix: '/shop/v1' }),
      route('root', '/shop/v1', { stripPrefix: '/shop/v1' }),
      route('add', '/goods', { addPrefix: '/internal' }),
      route('both', '/old/things', { stripPrefix: '/old', addPrefix: '/v2/new' }),
      route('rules', '/ruled', { requestHeaders, responseHeaders }),
      route('live', '/shop/live', { stripPrefix: '/shop', upgrade: true, requestHeaders, responseHeaders }),
    ],
  });
});

afterAll(async () => {
  for (const socket of sockets.clients) socket.terminate();
  await door?.close();
  await closeServer(server);
});

beforeEach(() => {
  seen = [];
  location = '/';
  status = 200;
});

const get = (target: string, headers: Headers = {}, method = 'GET') =>
  sendRequest(door.url, method, target, { headers: { ...door.asKey, ...headers } });

const last = (): IncomingMessage => {
  const request = seen.at(-1);
  if (request === undefined) throw new Error('the service saw no request');
  return request;
};

test('A-164 the upstream gets the path without the prefix, with another one, and X-Forwarded-Prefix', async () => {
  const cases = [
    ['/shop/v1/items', '/items', '/shop/v1'],
    ['/shop/v1/items?a=%2F&b=//', '/items?a=%2F&b=//', '/shop/v1'],
    ['/shop/v1', '/', '/shop/v1'],
    ['/shop/v1?q=1', '/?q=1', '/shop/v1'],
    ['/goods', '/internal/goods', undefined],
    ['/old/things?x', '/v2/new/things?x', '/old'],
  ] as const;
  for (const [target, forwarded, prefix] of cases) {
    expect((await get(target, { 'x-forwarded-prefix': '/forged' })).status).toBe(200);
    expect([target, last().url, last().headers['x-forwarded-prefix']]).toEqual([target, forwarded, prefix]);
  }
});

test('A-164 the assertion is for the target that the upstream sees', async () => {
  const verify = createAssertionVerifier({
    key: createSecretBox(masterKey).derive('assertion/ordering'),
    audience: 'ordering',
    now: Date.now,
  });
  await get('/old/things?x=1');
  const assertion = String(last().headers['x-orderpass-assertion']);
  expect(verify(assertion, { method: 'GET', target: '/v2/new/things?x=1' })).toMatchObject({ kind: 'api_key' });
  expect(verify(assertion, { method: 'GET', target: '/old/things?x=1' })).toBeUndefined();
});

test('A-164 a Location of the upstream leads to the public path', async () => {
  status = 302;
  const locations: Record<string, [sent: string, received: string][]> = {
    '/shop/v1/items': [
      ['/items/7', '/shop/v1/items/7'],
      ['/', '/shop/v1/'],
      ['/shop/v1/items/7', '/shop/v1/items/7'],
      ['/shop/v10', '/shop/v1/shop/v10'],
      [`${url}/items/7?a=1#b`, `${origin}/shop/v1/items/7?a=1#b`],
      ['https://elsewhere.example/items', 'https://elsewhere.example/items'],
      ['//elsewhere.example/items', '//elsewhere.example/items'],
      ['next', 'next'],
      ['?page=2', '?page=2'],
    ],
    '/old/things': [
      ['/v2/new/things/7', '/old/things/7'],
      ['/v2/new?a', '/old?a'],
      ['/v2/newer', '/v2/newer'],
      [`${url}/v2/new/x`, `${origin}/old/x`],
    ],
    '/goods': [
      ['/internal/goods/1', '/goods/1'],
      ['/internal', '/'],
      ['/other', '/other'],
    ],
    '/ruled': [['/items', '/items']],
  };
  for (const [target, cases] of Object.entries(locations)) {
    for (const [sent, received] of cases) {
      location = sent;
      expect([target, sent, (await get(target)).headers.location]).toEqual([target, sent, received]);
    }
  }
});

test('A-536 a Location that begins with two slashes without its prefix stays a path of the public address', async () => {
  status = 302;
  const received = async (sent: string) => {
    location = sent;
    return (await get('/goods')).headers.location;
  };
  for (const path of ['//evil.example/x', '/\\evil.example', '/\t/evil.example', '//', '//evil.example?a#b'])
    expect([path, await received(`/internal${path}`)]).toEqual([path, origin + path]);
  // The service itself sends its callers elsewhere.
  for (const path of ['//evil.example/x', '/\\evil.example', '/\t/evil.example'])
    expect([path, await received(path)]).toEqual([path, path]);
});

test('A-164 the paths of cookies are left as the upstream sends them', async () => {
  expect((await get('/old/things')).headers['set-cookie']).toEqual(['a=1; Path=/v2', 'b=2']);
});

test('A-165 a route sets and removes fields of requests, whatever the caller sends under these names', async () => {
  const sent = {
    'user-agent': 'curl',
    'X-Debug': '1',
    x_debug: '1',
    'X-Tenant': 'forged',
    x_tenant: 'forged',
    'x-other': 'stays',
  };
  expect((await get('/ruled', sent)).status).toBe(200);
  const { headers, rawHeaders } = last();
  expect([headers['x-tenant'], headers['x-real-ip'], headers['x-other']]).toEqual(['acme', '192.0.2.1', 'stays']);
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(names.filter((name) => /user.agent|debug|x_tenant/.test(name))).toEqual([]);
  expect(names.filter((name) => name === 'x-tenant')).toHaveLength(1);
});

test('A-165 a route sets and removes fields of answers, also of HEAD, and of refusals those that are not about the body', async () => {
  for (const method of ['GET', 'HEAD']) {
    const { headers } = await get('/ruled', {}, method);
    expect(headers['content-security-policy']).toBe("default-src 'none'");
    expect([headers['cache-control'], headers['x-lang']]).toEqual(['private, max-age=60', 'en']);
    expect([headers['set-cookie'], headers['x-internal'], headers.etag]).toEqual([undefined, undefined, '"1"']);
  }
  status = 404;
  const { headers } = await get('/ruled');
  expect([headers['cache-control'], headers['x-lang'], headers['x-internal']]).toEqual(['no-store', 'en', undefined]);
});

test('A-165 a WebSocket has the same path and the same fields', async () => {
  const socket = new WebSocket(`${door.url.replace('http', 'ws')}/shop/live?room=1`, {
    headers: { ...door.asKey, 'x-tenant': 'forged', 'x-debug': '1' },
  });
  const opened = once(socket, 'open');
  const [answer] = (await once(socket, 'upgrade')) as [IncomingMessage];
  await opened;
  expect([last().url, last().headers['x-forwarded-prefix']]).toEqual(['/live?room=1', '/shop']);
  expect([last().headers['x-tenant'], last().headers['x-debug']]).toEqual(['acme', undefined]);
  expect([answer.headers['x-lang'], answer.headers['x-internal']]).toEqual(['en', undefined]);
  socket.terminate();
});

const withFile = (work: (load: (members: Record<string, unknown>) => string[]) => void): void => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-routes-'));
  const file = join(folder, 'routes.json');
  try {
    work((members) => {
      const table = routeFile();
      writeFileSync(file, JSON.stringify({ ...table, routes: [route('one', '/a/b', members)] }));
      return [...routeTableProblems(file, ['ordering'])];
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test('A-166 a rule on a field that frames, authenticates or identifies is a named error of the table', () => {
  withFile((problemsOf) => {
    const requestFields = [
      ...[
        'host',
        'content-length',
        'transfer-encoding',
        'connection',
        'upgrade',
        'te',
        'trailer',
        'proxy-authorization',
      ],
      ...[
        'authorization',
        'cookie',
        'dpop',
        'x-api-key',
        'x-client-id',
        'x-client-secret',
        'expect',
        'content-encoding',
      ],
      ...[
        'x-orderpass-assertion',
        'x-orderpass-id',
        'x-request-id',
        'x-forwarded-for',
        'x-forwarded-prefix',
        'traceparent',
      ],
      ...['X-Tenant', 'x tenant', 'x_tenant', 'x-a\r\nx-b', ''],
    ];
    for (const name of requestFields) {
      const problems = problemsOf({ requestHeaders: { set: { [name]: 'v' }, remove: [name] } });
      expect([name, problems.some((one) => one.startsWith(`routes.0.requestHeaders.set.${name}: `))]).toEqual([
        name,
        true,
      ]);
      expect([name, problems.some((one) => one.startsWith('routes.0.requestHeaders.remove.0: '))]).toEqual([
        name,
        true,
      ]);
    }
    const answerFields = [
      ...['content-length', 'connection', 'transfer-encoding', 'www-authenticate', 'x-request-id', 'ratelimit'],
      ...['strict-transport-security', 'x-orderpass-dialect', 'retry-after', 'dpop-nonce', 'content-encoding'],
    ];
    for (const name of answerFields)
      expect([name, problemsOf({ responseHeaders: { remove: [name] } }).length]).toEqual([name, 1]);
    for (const text of ['a\r\nx-b: c', 'a\nb', 'a\0', ' a', 'a ', '', 'é', '{caller}\t', 'x'.repeat(4_097)])
      expect([text, problemsOf({ requestHeaders: { set: { 'x-a': text } } })]).toEqual([
        text,
        [expect.stringContaining('routes.0.requestHeaders.set.x-a: ')],
      ]);
    expect(problemsOf({ responseHeaders: { set: { 'x-a': '1' }, remove: ['x-a'] } })).toEqual([
      'routes.0.responseHeaders.remove.0: the same field is set',
    ]);
  });
});

test('A-166 a prefix that is no part of the path, a wrong type and a wrong time are named errors of the table', () => {
  withFile((problemsOf) => {
    for (const stripPrefix of ['/b', '/a/b/c', '/a/', 'a', '/', '', '/..', '/a/.', '/A', '/%61', '/{x}', '/a?b', '//a'])
      expect([stripPrefix, problemsOf({ stripPrefix })[0]]).toEqual([
        stripPrefix,
        expect.stringContaining('routes.0.stripPrefix: '),
      ]);
    for (const addPrefix of ['/', 'x', '/x/', '/../x', '//x', '/x y', '/x#'])
      expect([addPrefix, problemsOf({ addPrefix }).length]).toEqual([addPrefix, 1]);
    for (const body of ['xml', [], ['*/*'], ['text'], ['Text/csv'], ['text/csv; charset=utf-8'], ['*'], true])
      expect([body, problemsOf({ body })]).toEqual([body, [expect.stringContaining('routes.0.body')]]);
    for (const timeouts of [{ bodyMs: 0 }, { answerMs: 3_600_001 }, { answerMs: '1 s' }, { connectMs: 5 }])
      expect([timeouts, problemsOf({ timeouts })]).toEqual([timeouts, [expect.stringContaining('routes.0.timeouts')]]);
    expect(problemsOf({ stripPrefix: '/a/b', addPrefix: '/v2', body: ['text/*'], timeouts: { bodyMs: 10 } })).toEqual(
      [],
    );
  });
});
