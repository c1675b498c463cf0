/** The announced end of a route: what its answers say, and what the table and its document do (RFC 9745, RFC 8594). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { buildOpenApi } from '#src/app/reference/document/openapi.ts';
import { readRouteTable, routeTableProblems } from '#src/gateway/config.ts';
import { runCommand } from '../../support/program.ts';
import {
  closeServer,
  type Headers,
  listen,
  openDoor,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const link = 'https://api.example/docs/versions#end';
const app = 'https://app.example';
const route = (id: string, members: Record<string, unknown>) => ({
  ...{ id, path: `/${id}`, scopes: ['read:menu'], upstream: 'ordering', method: ['GET', 'POST'] },
  ...members,
});
const routes = [
  route('ending', { deprecation: { since: '2026-11-11', sunset: '2027-11-11', link }, cors: { origins: [app] } }),
  route('ageing', { deprecation: { since: '2026-11-11' } }),
  route('fresh', {}),
  route('socket', { method: 'GET', upgrade: true, deprecation: { since: '2026-11-11' } }),
];

const deprecated = '@1794355200';
const announced = {
  deprecation: deprecated,
  sunset: 'Thu, 11 Nov 2027 00:00:00 GMT',
  link: `<${link}>; rel="deprecation", <${link}>; rel="sunset"`,
};

let upstream: TestUpstream;
let door: PublicDoor;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-deprecation-'));
  upstream = await startUpstream();
  door = await openDoor(upstream.url, { moreRoutes: routes, settings: { auth_check: 'on' } });
});

afterAll(async () => {
  await door?.close();
  await upstream?.close();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (path: string, headers: Headers = door.asKey, method = 'GET') =>
  sendRequest(door.url, method, path, { headers: { ...headers, 'content-type': 'application/json' } });

test('A-512 every answer of a deprecated route has the dates and the link: passed on, refused by the gateway or by the service, to every kind of caller', async () => {
  const noScope = await door.clientWith(['read:orders']);
  const answers = [
    [200, await ask('/ending')],
    [200, await ask('/ending', door.asKey, 'HEAD')],
    [401, await ask('/ending', {})],
    [401, await ask('/ending', door.asExpired)],
    [403, await ask('/ending', noScope)],
    [400, await ask('/ending', { ...door.asKey, 'x-api-version': '9' })],
    [
      415,
      await sendRequest(door.url, 'POST', '/ending', {
        headers: { ...door.asClient, 'content-type': 'text/csv' },
        body: 'a',
      }),
    ],
  ] as const;
  for (const [status, reply] of answers)
    expect({ status: reply.status, ...reply.headers }).toMatchObject({ status, ...announced });
  upstream.answer = (_req, res) => void res.writeHead(404, { link: '<https://a.example>; rel="help"' }).end('no');
  for (const caller of [door.asKey, door.asBearer])
    expect((await ask('/ending', caller)).headers).toMatchObject({
      ...announced,
      link: `<https://a.example>; rel="help", ${announced.link}`,
    });
  // A refusal that a proxy passes on, and an answer that it may copy.
  const check = { 'x-original-method': 'GET', 'x-original-uri': '/ending' };
  for (const [status, caller] of [
    [200, door.asKey],
    [401, {}],
  ] as const) {
    const reply = await ask('/auth/check', { ...caller, ...check });
    expect({ status: reply.status, ...reply.headers }).toMatchObject({ status, ...announced });
  }
});

test('A-512 a Link of the service stays beside that of the route, and its own dates are dropped only where the route has some', async () => {
  const own = { deprecation: '@1', sunset: 'Thu, 01 Jan 1970 00:00:01 GMT', link: '<https://a.example>; rel="next"' };
  upstream.answer = (_req, res) => void res.writeHead(200, { ...own, 'content-length': '0' }).end();
  expect((await ask('/ending')).headers).toMatchObject({ ...announced, link: `${own.link}, ${announced.link}` });
  const { headers } = await ask('/ageing');
  expect([headers.deprecation, headers.sunset, headers.link]).toEqual([deprecated, undefined, own.link]);
  expect((await ask('/fresh')).headers).toMatchObject(own);
  // No route was met, so none ends.
  for (const reply of [await ask('/ending', door.asKey, 'DELETE'), await ask('/endings')])
    expect([reply.headers.deprecation, reply.headers.link]).toEqual([undefined, undefined]);
  const exposed = (await ask('/ending', { ...door.asKey, origin: app })).headers['access-control-expose-headers'];
  expect(String(exposed).split(', ')).toEqual(expect.arrayContaining(['deprecation', 'sunset']));
});

test('A-512 the handshake of a WebSocket has them too', async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ server });
  const behind = await openDoor(await listen(server), { moreRoutes: routes });
  try {
    const socket = new WebSocket(`${behind.url.replace('http', 'ws')}/socket`, { headers: behind.asKey });
    const headers = await new Promise<Record<string, unknown>>((resolve, reject) => {
      socket.once('upgrade', (answer) => resolve(answer.headers)).once('error', reject);
    });
    socket.terminate();
    expect(headers).toMatchObject({ deprecation: deprecated });
  } finally {
    for (const socket of sockets.clients) socket.terminate();
    await behind.close();
    await closeServer(server);
  }
});

const scopes = [{ name: 'read:menu', description: 'Read menus' }];
const written = (members: Record<string, unknown>): string => {
  const file = join(folder, 'routes.json');
  writeFileSync(file, JSON.stringify({ scopes, routes: [route('ending', { path: '/api/ending', ...members })] }));
  return file;
};

test('A-512 dates and links that say nothing are refused with their path', () => {
  const wrong = [
    [{ deprecation: {} }, 'deprecation.since'],
    [{ deprecation: { since: '11.11.2026' } }, 'deprecation.since'],
    [{ deprecation: { since: '2026-02-30' } }, 'deprecation.since'],
    [{ deprecation: { since: '2026-11-11', sunset: '2026-11-10' } }, 'deprecation.sunset'],
    [{ deprecation: { since: '2026-11-11', link: 'http://a.example' } }, 'deprecation.link'],
    [{ deprecation: { since: '2026-11-11', link: 'https://a.example/>; rel="x"' } }, 'deprecation.link'],
    [{ deprecation: { since: '2026-11-11' }, responseHeaders: { remove: ['sunset'] } }, 'responseHeaders'],
  ] as const;
  for (const [members, path] of wrong) {
    const problems = routeTableProblems(written(members), ['ordering']);
    expect([members, problems.map((problem) => problem.split(': ')[0])]).toEqual([members, [`routes.0.${path}`]]);
  }
  const sameDay = { deprecation: { since: '2026-11-11', sunset: '2026-11-11' } };
  expect(routeTableProblems(written(sameDay), ['ordering'])).toEqual([]);
});

test('A-512 explain shows the end of a route, and both documents of operations mark it', async () => {
  const deprecation = { since: '2026-11-11', sunset: '2027-11-11', link };
  const file = written({ deprecation });
  const env = { ORDERPASS_ROUTES_FILE: file, ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9' };
  const explained = await runCommand(['routes', 'explain', 'GET', '/api/ending', '--json'], env);
  expect(JSON.parse(explained.stdout)).toMatchObject({ deprecation });
  const exported = JSON.parse((await runCommand(['routes', 'export', 'openapi'], env)).stdout);
  expect(exported.paths['/api/ending']).toMatchObject({ get: { deprecated: true }, post: { deprecated: true } });
  const document = buildOpenApi({
    ...{ origin: 'https://api.example', table: readRouteTable(file), operations: [], selfOperations: [] },
    ...{ events: [], ownEvents: [], signatureHeader: 'X-Orderpass-Signature', now: new Date() },
  }) as { paths: Record<string, Record<string, { deprecated?: boolean; description: string }>> };
  const described = document.paths['/api/ending']?.get;
  expect(described?.deprecated).toBe(true);
  expect(described?.description).toContain(`Deprecated from 2026-11-11 (UTC). It may no longer answer from 2027-11-11`);
});
