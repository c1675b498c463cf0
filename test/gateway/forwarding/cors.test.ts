/** Scripts of other origins: preflights, readable refusals, and what stays closed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { routeTableProblems } from '#src/gateway/config.ts';
import { browserBinary, launchBrowser } from '../../support/browser.ts';
import {
  closeServer,
  type Headers,
  listen,
  openDoor,
  type PublicDoor,
  routeFile,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const route = (id: string, members: Record<string, unknown> = {}): Record<string, unknown> => ({
  id,
  method: 'POST',
  path: `/app/${id}`,
  scopes: ['write:menu'],
  kinds: ['api_client', 'bearer'],
  class: 'R',
  upstream: 'ordering',
  ...members,
});

const app = 'https://app.example';
const gatewayFields =
  'allow, deprecation, dpop-nonce, idempotency-expires, idempotent-replayed, ratelimit, ratelimit-policy, retry-after, sunset, www-authenticate, x-api-version, x-request-id';

let upstream: TestUpstream;
/** Policies of routes. */
let door: PublicDoor;
/** A policy of a host. */
let hosts: PublicDoor;
/** The origin of the scripts in the browser. */
let site: Server;
let siteOrigin: string;

beforeAll(async () => {
  upstream = await startUpstream();
  site = createServer((_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>app'));
  siteOrigin = await listen(site);
  const listed = { origins: [app, siteOrigin], headers: ['authorization', 'content-type'], maxAgeSeconds: 60 };
  door = await openDoor(upstream.url, {
    moreRoutes: [
      route('listed', { cors: listed }),
      route('listed.read', { method: 'GET', path: '/app/listed', cors: { ...listed, exposeHeaders: ['etag'] } }),
      route('cookies', { cors: { origins: [app], credentials: true, methods: ['GET'] } }),
      route('all', { cors: { origins: ['*'] } }),
      route('none'),
      route('half', { cors: { origins: [app] } }),
      route('every', {
        method: '*',
        path: '/every/*',
        cors: { origins: [app] },
        access: 'public',
        scopes: undefined,
        kinds: undefined,
      }),
    ],
  });
  hosts = await openDoor(upstream.url, {
    table: { cors: { 'shop.example': { origins: [app] }, '*': { origins: ['https://other.example'] } } },
    moreRoutes: [route('closed', { cors: false }), route('open')],
  });
});

afterAll(async () => {
  await door?.close();
  await hosts?.close();
  await closeServer(site);
  await upstream?.close();
});

beforeEach(() => {
  upstream.seen.length = 0;
  upstream.answer = (req, res) => {
    req.resume();
    res.writeHead(200, {
      'content-type': 'application/json',
      etag: '"7"',
      vary: 'accept',
      'access-control-allow-origin': '*',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'x-internal',
    });
    res.end('{"success":true}');
  };
});

const send = (method: string, target: string, headers: Headers, to: PublicDoor = door) =>
  sendRequest(to.url, method, target, { headers });

const preflight = (target: string, origin: string, method = 'POST', headers: Headers = {}, to: PublicDoor = door) =>
  send('OPTIONS', target, { origin, 'access-control-request-method': method, ...headers }, to);

const corsOf = (headers: NodeJS.Dict<string | string[]>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));

test('A-167 a preflight of a listed origin is answered without a credential and reaches no service', async () => {
  const reply = await preflight('/app/listed', app, 'POST', {
    'access-control-request-headers': 'authorization,content-type',
  });
  expect([reply.status, reply.text]).toEqual([204, '']);
  expect(corsOf(reply.headers)).toEqual({
    'access-control-allow-origin': app,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'authorization, content-type',
    'access-control-max-age': '60',
  });
  expect(reply.headers.vary).toBe('origin, access-control-request-method, access-control-request-headers');
  expect(reply.headers.ratelimit).toBeUndefined();
  expect(upstream.seen).toEqual([]);
});

test('A-167 an origin that differs in anything gets no permission, neither in a preflight nor in an answer', async () => {
  const others = [
    'https://app.example.evil.test',
    'https://evil-app.example',
    'https://sub.app.example',
    'https://app.example:444',
    'http://app.example',
    'https://APP.example',
    'https://app.example/',
    'null',
    `${app}, https://evil.test`,
    '*',
  ];
  for (const origin of others) {
    const asked = await preflight('/app/listed', origin);
    expect([origin, asked.status, corsOf(asked.headers)]).toEqual([origin, 204, {}]);
    const refused = await send('POST', '/app/listed', { origin });
    expect([origin, refused.status, corsOf(refused.headers)]).toEqual([origin, 401, {}]);
    expect(refused.headers.vary).toBe('origin');
  }
});

test('A-167 credentials and methods are as listed, and * is for every origin', async () => {
  const cookies = await preflight('/app/cookies', app, 'GET');
  expect(corsOf(cookies.headers)).toMatchObject({
    'access-control-allow-origin': app,
    'access-control-allow-credentials': 'true',
  });
  expect(corsOf((await preflight('/app/cookies', app, 'POST')).headers)).toEqual({});
  const all = await preflight('/app/all', 'null');
  expect(corsOf(all.headers)).toMatchObject({ 'access-control-allow-origin': '*' });
  expect(corsOf(all.headers)['access-control-allow-credentials']).toBeUndefined();
  const answer = await send('POST', '/app/all', door.asClient);
  expect([answer.status, answer.headers['access-control-allow-origin'], answer.headers.vary]).toEqual([
    200,
    '*',
    'accept',
  ]);
});

test('A-167 on a route for every method a preflight is answered here, and another OPTIONS goes to the service', async () => {
  const asked = await preflight('/every/x', app, 'PROPFIND');
  expect([asked.status, asked.headers['access-control-allow-methods'], upstream.seen]).toEqual([
    204,
    expect.stringMatching(/^(PROPFIND)?$/),
    [],
  ]);
  const put = await preflight('/every/x', app, 'PUT');
  expect([put.status, put.headers['access-control-allow-methods'], upstream.seen]).toEqual([204, 'PUT', []]);
  const plain = await send('OPTIONS', '/every/x', { origin: app });
  expect([plain.status, plain.headers['access-control-allow-origin'], upstream.seen[0]?.method]).toEqual([
    200,
    app,
    'OPTIONS',
  ]);
});

test('A-167 without a policy nothing of the protocol is sent, and OPTIONS without an origin is answered as before', async () => {
  const asked = await preflight('/app/none', app);
  expect([asked.status, asked.headers.allow, corsOf(asked.headers)]).toEqual([204, 'POST, OPTIONS', {}]);
  const plain = await send('OPTIONS', '/app/listed', {});
  expect([plain.status, plain.headers.allow]).toEqual([204, 'GET, HEAD, POST, OPTIONS']);
  // Then the service may have a policy of its own.
  const answer = await send('POST', '/app/none', { ...door.asClient, origin: app });
  expect(answer.headers['access-control-allow-origin']).toBe('*');
});

test("A-168 answers and refusals are readable by a listed origin, and the service's own policy is dropped", async () => {
  const expected = { 'access-control-allow-origin': app, 'access-control-expose-headers': `${gatewayFields}, etag` };
  for (const method of ['GET', 'HEAD']) {
    const answer = await send(method, '/app/listed', { ...door.asClient, origin: app });
    expect([answer.status, corsOf(answer.headers), answer.headers.vary]).toEqual([200, expected, 'accept, origin']);
  }
  const refusals: [status: number, headers: Headers, upstreamStatus?: number][] = [
    [401, {}],
    [401, door.asExpired],
    [403, door.asKey],
    [400, { ...door.asClient, 'x-api-version': '9' }],
    [403, door.asBearer, 403],
    [404, door.asClient, 404],
    [502, door.asClient, 502],
  ];
  for (const [status, headers, upstreamStatus] of refusals) {
    if (upstreamStatus !== undefined)
      upstream.answer = (_req, res) =>
        void res.writeHead(upstreamStatus, { 'access-control-allow-origin': 'https://evil.test' }).end();
    const reply = await send('GET', '/app/listed', { ...headers, origin: app });
    expect([status, reply.status, corsOf(reply.headers)]).toEqual([status, status, expected]);
    expect(reply.headers.vary).toBe('origin');
  }
  const wrongMethod = await send('DELETE', '/app/half', { origin: app });
  expect([wrongMethod.status, wrongMethod.headers['access-control-allow-origin']]).toEqual([405, app]);
});

test('A-168 a policy of a host is for its routes without one of their own, and for paths that do not exist', async () => {
  const origin = 'https://other.example';
  for (const [host, allowed] of [
    ['shop.example', app],
    ['SHOP.example:8080', app],
    ['api.example', origin],
  ] as const) {
    for (const target of ['/app/open', '/app/unknown'])
      for (const from of [app, origin]) {
        const asked = await preflight(target, from, 'POST', { host }, hosts);
        expect([host, target, from, asked.headers['access-control-allow-origin']]).toEqual([
          host,
          target,
          from,
          from === allowed ? from : undefined,
        ]);
      }
    const unknown = await send('GET', '/app/unknown', { host, origin: allowed }, hosts);
    expect([unknown.status, unknown.headers['access-control-allow-origin']]).toEqual([404, allowed]);
  }
  expect(corsOf((await preflight('/app/closed', app, 'POST', { host: 'shop.example' }, hosts)).headers)).toEqual({});
});

test('A-166 a policy that could not work, or would open more than it says, is a named error of the table', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-routes-'));
  const file = join(folder, 'routes.json');
  const problemsOf = (cors: unknown, members: Record<string, unknown> = {}): string => {
    writeFileSync(file, JSON.stringify({ ...routeFile(), routes: [route('one', { cors, ...members })] }));
    return routeTableProblems(file, ['ordering']).join('; ');
  };
  try {
    const wrongOrigins = [
      'app.example',
      'https://app.example/',
      'https://*.example',
      'https://App.example',
      'null',
      '',
    ];
    for (const origin of [...wrongOrigins, 'https://app.example:443'])
      expect([origin, problemsOf({ origins: [origin] })]).toEqual([origin, expect.stringContaining('routes.0.cors')]);
    expect(problemsOf({ origins: ['*'], credentials: true })).toContain('routes.0.cors.credentials: not with *');
    expect(problemsOf({ origins: ['*', app] })).toContain('routes.0.cors.origins');
    expect(problemsOf({ origins: [] })).toContain('routes.0.cors');
    expect(problemsOf({ origins: [app], headers: ['*'] })).toContain('routes.0.cors');
    expect(problemsOf({ origins: [app], maxAgeSeconds: 86_401 })).toContain('routes.0.cors');
    const ruled = { responseHeaders: { set: { 'access-control-allow-origin': '*' } } };
    expect(problemsOf({ origins: [app] }, ruled)).toContain('routes.0.responseHeaders');
    expect(problemsOf(false, ruled)).toBe('');
    expect(problemsOf({ origins: [app, 'capacitor://localhost', 'http://[::1]:3000'] })).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

type Seen = { status: number; text: string; challenge: string | null; id: string | null } | string;

test.skipIf(browserBinary === undefined)(
  'A-168 a browser lets a script of a listed origin call and read refusals, and no other script',
  { timeout: 120_000 },
  async () => {
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(siteOrigin);
      const call = (target: string, headers: Headers, method = 'POST'): Promise<Seen> =>
        page.evaluate(
          async ([url, sent, verb]) => {
            try {
              const options = { method: verb, headers: { 'content-type': 'application/json', ...sent } };
              const answer = await fetch(url, verb === 'GET' ? options : { ...options, body: '{}' });
              return {
                status: answer.status,
                text: await answer.text(),
                challenge: answer.headers.get('www-authenticate'),
                id: answer.headers.get('x-request-id'),
              };
            } catch (error) {
              return String(error);
            }
          },
          [`${door.url}${target}`, headers, method] as const,
        );
      expect(await call('/app/listed', door.asBearer)).toMatchObject({ status: 200, text: '{"success":true}' });
      const refused = await call('/app/listed', door.asExpired);
      expect(refused).toMatchObject({ status: 401, challenge: expect.stringContaining('error="invalid_token"') });
      expect(refused).toMatchObject({ text: expect.stringContaining('invalid_token'), id: expect.any(String) });
      expect(await call('/app/listed', {}, 'DELETE')).toMatchObject({ status: 405 });
      for (const target of ['/app/none', '/app/half', '/app/cookies'])
        expect(await call(target, door.asBearer)).toContain('Failed to fetch');
    } finally {
      await browser.close();
    }
  },
);
