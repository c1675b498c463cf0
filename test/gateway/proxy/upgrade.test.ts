import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createAssertionVerifier } from '#src/contract/assertion.ts';
import { createCredentials } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import {
  closeServer,
  type Headers,
  listen,
  masterKey,
  metadata,
  openDoor,
  type PublicDoor,
  plainChallenge,
  routeFile,
  sendRaw,
  sendRequest,
  startRawUpstream,
} from '../harness/public-door.ts';

const path = '/api/orders/list';

let server: Server;
let sockets: WebSocketServer;
let url: string;
let door: PublicDoor;
let seen: IncomingMessage[];

beforeEach(async () => {
  seen = [];
  server = createServer((_req, res) =>
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}'),
  );
  sockets = new WebSocketServer({ server, handleProtocols: (names) => [...names][0] ?? false });
  sockets.on('headers', (headers) => headers.push('X-Powered-By: x', 'X-Orderpass-Id: forged', 'X-Kept: yes'));
  sockets.on('connection', (socket, req) => {
    seen.push(req);
    socket.on('error', () => undefined);
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  url = await listen(server);
  door = await openDoor(url, onGetOnly);
});

afterEach(async () => {
  for (const socket of sockets.clients) socket.terminate();
  await door.close();
  await closeServer(server);
});

/** The flag is for GET alone, so the routes of the table that are POST stay without it. */
const onGetOnly = { perRoute: (route: Record<string, unknown>) => ({ ...route, upgrade: route.method === 'GET' }) };

const open = (headers: Headers, target = path, protocols: string[] = [], at: { url: string } = door): WebSocket =>
  new WebSocket(`${at.url.replace('http', 'ws')}${target}`, protocols, { headers });

const opened = (socket: WebSocket): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    let answer: IncomingMessage | undefined;
    socket.once('upgrade', (response) => {
      answer = response;
    });
    socket.once('open', () => (answer === undefined ? reject(new Error('no answer')) : resolve(answer)));
    socket.once('error', reject);
  });

type Refusal = { status: number; headers: IncomingMessage['headers']; json: Record<string, unknown> };

const refusal = (socket: WebSocket): Promise<Refusal> =>
  new Promise((resolve, reject) => {
    socket.once('open', () => reject(new Error('it was opened')));
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, json: JSON.parse(text || 'null') }),
      );
    });
  });

const echo = (socket: WebSocket, data: string | Buffer): Promise<Buffer> =>
  new Promise((resolve) => {
    socket.once('message', (answer) => resolve(answer as Buffer));
    socket.send(data);
  });

const closed = (socket: WebSocket): Promise<void> =>
  new Promise((resolve) =>
    socket.readyState === WebSocket.CLOSED ? resolve() : socket.once('close', () => resolve()),
  );

test('each kind of credential opens a WebSocket; the upstream gets the assertion instead of the credential', async () => {
  const verify = createAssertionVerifier({
    key: createSecretBox(masterKey).derive('assertion/ordering'),
    audience: 'ordering',
    now: () => Date.now(),
  });
  for (const headers of [door.asKey, door.asClient, door.asBearer]) {
    const target = `${path}?a=//b&c=%2F`;
    const socket = open({ ...headers, 'x-orderpass-id': 'forged', cookie: 'a=b', 'x-own': 'kept' }, target, ['chat']);
    const answer = await opened(socket);
    expect(socket.protocol).toBe('chat');
    expect([answer.headers['x-powered-by'], answer.headers['x-orderpass-id'], answer.headers['x-kept']]).toEqual([
      undefined,
      undefined,
      'yes',
    ]);
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    const request = seen.at(-1);
    expect(request?.url).toBe(target);
    for (const name of ['authorization', 'x-api-key', 'x-client-id', 'x-client-secret', 'cookie', 'x-orderpass-id']) {
      expect(request?.headers[name]).toBeUndefined();
    }
    expect(request?.headers['x-own']).toBe('kept');
    expect(request?.headers['x-request-id']).toBe(answer.headers['x-request-id']);
    const assertion = String(request?.headers['x-orderpass-assertion']);
    expect(verify(assertion, { method: 'GET', target })).toMatchObject({ tenants: ['rst_1'] });
    expect((await echo(socket, 'hello')).toString()).toBe('hello');
    const large = Buffer.alloc(3 * 1024 * 1024, 7);
    expect((await echo(socket, large)).equals(large)).toBe(true);
    socket.close(1000);
    await closed(socket);
  }
  await until(() => sockets.clients.size === 0);
});

test('refusals are HTTP on the socket, in the dialect of the caller, and reach no upstream', async () => {
  const none = await refusal(open({}));
  expect([none.status, none.json.error, none.headers['www-authenticate'], none.headers.connection]).toEqual([
    401,
    'INVALID_AUTH',
    plainChallenge,
    'close',
  ]);
  const bad = await refusal(open(door.asExpired));
  expect([bad.status, bad.json.error]).toEqual([401, 'invalid_token']);
  const scope = await refusal(open(await door.bearerWith(['read:menu'])));
  expect([scope.status, scope.headers['www-authenticate']]).toEqual([
    403,
    `Bearer realm="orderpass", error="insufficient_scope", error_description="This operation needs the scope read:orders", scope="read:orders", resource_metadata="${metadata}"`,
  ]);
  const problem = await refusal(open({ accept: 'application/problem+json' }));
  expect([problem.status, problem.headers['content-type'], problem.json.code]).toEqual([
    401,
    'application/problem+json',
    'INVALID_AUTH',
  ]);
  const cases: [string, number][] = [
    ['/api/unknown', 404],
    ['/api/orders%2Flist', 404],
    ['/auth/check', 404],
    ['/api/order/create', 405],
  ];
  for (const [target, status] of cases) {
    expect([target, (await refusal(open(door.asKey, target))).status]).toEqual([target, status]);
  }
  expect((await refusal(open({ ...door.asKey, 'x-long': 'x'.repeat(17_000) }))).status).toBe(431);
  expect(seen).toEqual([]);
  const socket = open(door.asKey);
  await opened(socket);
  socket.terminate();
});

test('on a route without the flag, and for another protocol, the wish to upgrade is ignored: an ordinary request', async () => {
  await door.close();
  door = await openDoor(url);
  const answer = await refusal(open(door.asKey));
  expect([answer.status, answer.json]).toEqual([200, { success: true }]);
  expect((await refusal(open({}))).status).toBe(401);
  expect(seen).toEqual([]);
  await door.close();
  door = await openDoor(url, onGetOnly);
  const offer = await sendRequest(door.url, 'GET', path, {
    headers: { ...door.asKey, connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' },
  });
  expect([offer.status, offer.json.success]).toEqual([200, true]);
});

test('A-648 a handshake behind a request that waits for its answer ends their connection, and nothing else', async () => {
  const key = `X-Api-Key: ${door.asKey['x-api-key']}\r\n`;
  const handshake = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${key}\r\n`;
  const both = `GET ${path} HTTP/1.1\r\nHost: x\r\n${key}\r\n${handshake}`;
  expect(await sendRaw(door.port, both).catch(() => '')).toBe('');
  expect(seen).toEqual([]);
  await opened(open(door.asKey));
});

test('an upgrade with a body is refused, since its end could be understood in two ways', async () => {
  const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n`;
  const answer = await sendRaw(door.port, `${head}Content-Length: 5\r\n\r\nhello`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(seen).toEqual([]);
  const plain = await sendRaw(door.port, `${head}\r\n`, (text) => text.includes('\r\n\r\n'));
  expect(plain).toMatch(/^HTTP\/1\.1 101 /);
});

test('the failure of an upstream that refuses, falls silent or is down is answered in the dialect of the caller', async () => {
  await door.close();
  let onUpgrade: (socket: import('node:stream').Duplex) => void = () => undefined;
  const refusing = createServer((_req, res) => res.end());
  refusing.on('upgrade', (_req, socket) => {
    socket.on('error', () => undefined).on('end', () => socket.end());
    socket.resume();
    onUpgrade(socket);
  });
  const place = await listen(refusing);
  door = await openDoor(place, { routes: { timeouts: { answerMs: 2_000 } }, ...onGetOnly });
  const say =
    (status: string, body: string, headers = '') =>
    (socket: import('node:stream').Duplex) =>
      void socket.end(
        `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`,
      );
  onUpgrade = say('403 Forbidden', 'not you', 'WWW-Authenticate: Basic\r\nX-Powered-By: x\r\nSet-Cookie: a=b\r\n');
  const bearer = await refusal(open(door.asBearer));
  expect([bearer.status, bearer.json.error, bearer.json.error_description]).toEqual([
    403,
    'insufficient_scope',
    'not you',
  ]);
  expect([bearer.headers['x-powered-by'], bearer.headers['set-cookie']]).toEqual([undefined, undefined]);
  expect(bearer.headers['www-authenticate']).toMatch(/^Bearer /);
  const key = await refusal(open(door.asKey));
  expect([key.status, key.json.error, key.json.message]).toEqual([403, 'UNAUTHORIZED', 'not you']);
  onUpgrade = say('200 OK', 'fine');
  expect((await refusal(open(door.asKey))).status).toBe(502);
  onUpgrade = (socket) => socket.destroy();
  expect((await refusal(open(door.asKey))).status).toBe(502);
  onUpgrade = () => undefined;
  expect((await refusal(open(door.asKey))).status).toBe(504);
  await closeServer(refusing);
  const down = await refusal(open(door.asKey));
  expect([down.status, down.json.error]).toEqual([502, 'UPSTREAM_UNREACHABLE']);
});

const handshakeOf = (caller: Headers): string => {
  const fields = Object.entries(caller).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${fields.join('')}\r\n`;
};

test('A-701 a refusal of a handshake that breaks in its body is answered, however it breaks', async () => {
  await door.close();
  const end = (socket: Socket): void => void socket.end();
  const reset = (socket: Socket): void => void socket.resetAndDestroy();
  // Until the time of the route is over.
  const wait = (): void => undefined;
  let next = end;
  const upstream = await startRawUpstream((socket) => {
    socket.write(
      'HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"success"',
      // The gateway gets time to read the head.
      () => setTimeout(() => next(socket), 200),
    );
  });
  onTestFinished(() => upstream.close());
  door = await openDoor(upstream.url, { routes: { timeouts: { answerMs: 1_000 } }, ...onGetOnly });
  for (next of [end, reset, wait]) {
    const key = await sendRaw(door.port, handshakeOf(door.asKey));
    expect([next.name, key.slice(9, 12)]).toEqual([next.name, '502']);
    expect(key).toContain('"error":"UPSTREAM_UNREACHABLE"');
    // A reset may discard the head too, so what a Bearer caller gets depends on how busy the machine is.
    if (next === reset) continue;
    const bearer = await sendRaw(door.port, handshakeOf(door.asBearer));
    expect([next.name, bearer.slice(9, 12)]).toEqual([next.name, '403']);
    expect(bearer).toContain('"error":"insufficient_scope"');
  }
});

test('A-702 a client that leaves while the refusal of its handshake arrives is in the audit once', async () => {
  await door.close();
  let id = '';
  let left = false;
  const upstream = await startRawUpstream((socket, text) => {
    id = /^x-request-id: (\S+)/im.exec(text)?.[1] ?? '';
    socket.once('close', () => {
      left = true;
    });
    socket.write('HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{');
  });
  onTestFinished(() => upstream.close());
  door = await openDoor(upstream.url, onGetOnly);
  const client = connect(door.port, '127.0.0.1').on('error', () => undefined);
  client.write(handshakeOf(door.asBearer));
  await until(() => id !== '');
  client.destroy();
  await until(() => left);
  const actions = async (): Promise<string[]> => {
    const { rows } = await door.database.pool.query<{ action: string }>(
      'select action from gateway.audit_events where $1 = any (request_ids)',
      [id],
    );
    return rows.map(({ action }) => action);
  };
  await until(async () => (await actions()).includes('request.allowed'));
  expect(await actions()).toEqual(['request.allowed']);
});

test('a dead address is passed over', async () => {
  await door.close();
  const dead = createServer();
  const place = await listen(dead);
  await closeServer(dead);
  door = await openDoor(`${place}|${url}`, onGetOnly);
  for (let i = 0; i < 4; i += 1) {
    const socket = open(door.asKey);
    await opened(socket);
    socket.terminate();
  }
});

test('a WebSocket ends when it is idle for too long, and not before', async () => {
  await door.close();
  door = await openDoor(url, { settings: { upgrade_idle_ms: 3_000 }, ...onGetOnly });
  const socket = open(door.asKey);
  await opened(socket);
  const startedMs = performance.now();
  let turns = 0;
  await until(async () => {
    await echo(socket, 'still here');
    turns += 1;
    return performance.now() - startedMs > 6_500;
  });
  expect(turns).toBeGreaterThan(5);
  await closed(socket);
  await until(() => sockets.clients.size === 0);
});

test('a WebSocket ends with the credential that opened it', async () => {
  const staying = open(door.asClient);
  const leaving = open(door.asKey);
  await Promise.all([opened(staying), opened(leaving)]);
  await door.revokeKey();
  await closed(leaving);
  expect((await echo(staying, 'yes')).toString()).toBe('yes');
  expect((await refusal(open(door.asKey))).status).toBe(401);
  staying.terminate();
});

test('A-771 a WebSocket ends when its client loses a restaurant, the API access of one or a scope that the service was sent', async () => {
  const credentials = createCredentials({ db: door.database.db, box: createSecretBox(masterKey), clock: systemClock });
  for (const tenant of ['rst_2', 'rst_3', 'rst_4']) await credentials.createTenant(tenant);
  const id = door.asClient['x-client-id'] ?? '';
  await credentials.grantTenant(id, 'rst_2');
  await credentials.grantTenant(id, 'rst_3');
  const other = open(door.asKey);
  await opened(other);
  const losses = [
    () => credentials.withdrawTenant(id, 'rst_2'),
    () => credentials.setTenantApiEnabled('rst_3', false),
    () => credentials.removeTenant('rst_3'),
    () => credentials.setClientScopes(id, ['read:orders']),
  ];
  for (const lose of losses) {
    const leaving = [open(door.asClient), open(door.asBearer)];
    await Promise.all(leaving.map(opened));
    await lose();
    await Promise.all(leaving.map(closed));
  }
  const staying = [open(door.asClient), open(door.asBearer)];
  await Promise.all(staying.map(opened));
  await credentials.grantTenant(id, 'rst_4');
  // All are checked at the same moments, and the gateway learns of the grant first.
  await door.revokeKey();
  await closed(other);
  for (const socket of staying) {
    expect((await echo(socket, 'still here')).toString()).toBe('still here');
    socket.terminate();
  }
});

test('more than the allowed number are refused with 503, and one that ends makes room', async () => {
  await door.close();
  door = await openDoor(url, { settings: { upgrades_max: 1 }, ...onGetOnly });
  const first = open(door.asKey);
  await opened(first);
  const second = await refusal(open(door.asKey));
  expect([second.status, second.json.error, second.headers['retry-after']]).toEqual([503, 'OVERLOADED', '1']);
  first.terminate();
  await until(() =>
    opened(open(door.asKey)).then(
      () => true,
      () => false,
    ),
  );
});

test('A-739 when one caller holds every WebSocket, another gets the slot of its newest, until both hold as many', async () => {
  await door.close();
  door = await openDoor(url, { settings: { upgrades_max: 4 }, ...onGetOnly });
  const held: WebSocket[] = [];
  for (let i = 0; i < 4; i += 1) {
    const socket = open(door.asKey);
    await opened(socket);
    held.push(socket);
  }
  expect((await refusal(open(door.asKey))).status).toBe(503);
  const [first, second] = [open(door.asClient), open(door.asBearer)];
  await opened(first);
  await closed(held[3] as WebSocket);
  await opened(second);
  await closed(held[2] as WebSocket);
  for (const credential of [door.asKey, door.asClient, door.asBearer])
    expect((await refusal(open(credential))).status).toBe(503);
  await until(() => sockets.clients.size === 4);
  for (const socket of [...held.slice(0, 2), first, second])
    expect((await echo(socket, 'still here')).toString()).toBe('still here');
  // What was ended for another caller is not counted twice when it is gone.
  first.terminate();
  await until(() =>
    opened(open(door.asKey)).then(
      () => true,
      () => false,
    ),
  );
  expect((await refusal(open(door.asKey))).status).toBe(503);
});

test('when one side goes away, the other is let go, and closing the gateway ends every WebSocket', async () => {
  const left = open(door.asKey);
  await opened(left);
  left.terminate();
  await until(() => sockets.clients.size === 0);
  const kept = open(door.asKey);
  await opened(kept);
  for (const socket of sockets.clients) socket.terminate();
  await closed(kept);
  const last = open(door.asKey);
  await opened(last);
  const ended = closed(last);
  await door.close();
  await ended;
  await until(() => sockets.clients.size === 0);
  door = await openDoor(url, onGetOnly);
});

test('a client that leaves during the handshake leaves nothing behind', async () => {
  await door.close();
  let waiting = 0;
  let gone = 0;
  const silent = createServer();
  silent.on('upgrade', (_req, socket) => {
    waiting += 1;
    socket
      .on('error', () => undefined)
      .on('end', () => {
        gone += 1;
        socket.end();
      });
    socket.resume();
  });
  door = await openDoor(await listen(silent), onGetOnly);
  const { port } = new URL(door.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n\r\n`,
  );
  await until(() => waiting === 1);
  socket.destroy();
  await until(() => gone === 1);
  await closeServer(silent);
});

test('the program serves upgrades and ends them when it is stopped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-upgrade-'));
  const file = join(folder, 'routes.json');
  const table = routeFile();
  writeFileSync(file, JSON.stringify({ ...table, routes: table.routes.map(onGetOnly.perRoute) }));
  const program = await startProgram({
    DATABASE_URL: door.database.url,
    ORDERPASS_MASTER_KEY: door.masterKey,
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ROUTES_FILE: file,
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:1|${url}`,
  });
  try {
    const socket = open(door.asKey, path, [], program);
    await opened(socket);
    expect((await echo(socket, 'hello')).toString()).toBe('hello');
    expect((await refusal(open({}, path, [], program))).status).toBe(401);
    const stuck = open(door.asKey, path, [], program);
    await opened(stuck);
    stuck.pause();
    const [first] = sockets.clients;
    for (const client of sockets.clients) if (client !== first) client.send(Buffer.alloc(8 * 1024 * 1024));
    const ended = closed(socket);
    expect(await program.stop()).toBe(0);
    await ended;
    stuck.terminate();
  } finally {
    await program.kill();
    rmSync(folder, { recursive: true });
  }
});

test('A-566 a WebSocket reaches paths that the settings turn off, as other requests do, and none that they turn on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-upgrade-'));
  const file = join(folder, 'routes.json');
  const table = routeFile();
  const rest = { id: 'rest', method: 'GET', path: '/*', scopes: [], upstream: 'ordering', upgrade: true };
  writeFileSync(file, JSON.stringify({ ...table, routes: [...table.routes, rest] }));
  const env = {
    DATABASE_URL: door.database.url,
    ORDERPASS_MASTER_KEY: door.masterKey,
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_ROUTES_FILE: file,
    ORDERPASS_UPSTREAMS: `ordering=${url}`,
  };
  const turnedOff = await startProgram({ ...env, ORDERPASS_PANEL: 'off' });
  try {
    for (const target of ['/panel', '/panel/ws', '/auth/check/ws', '/mcp', '/elsewhere']) {
      const socket = open(door.asKey, target, [], turnedOff);
      await opened(socket);
      socket.terminate();
    }
    const healthz = await refusal(open(door.asKey, '/healthz', [], turnedOff));
    expect(healthz.status).toBe(200);
  } finally {
    await turnedOff.stop();
  }
  seen = [];
  const turnedOn = await startProgram({
    ...env,
    ORDERPASS_PANEL: 'on',
    ORDERPASS_AUTH_CHECK: 'on',
    ORDERPASS_MCP: 'on',
  });
  try {
    for (const target of ['/panel/ws', '/auth/check/api/orders/list', '/mcp']) {
      const answer = await sendRequest(turnedOn.url, 'GET', target, {
        headers: {
          ...door.asKey,
          ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
          'sec-websocket-key': Buffer.alloc(16).toString('base64'),
        },
      });
      expect(answer.status, target).not.toBe(101);
    }
    expect(seen).toEqual([]);
  } finally {
    await turnedOn.stop();
    rmSync(folder, { recursive: true });
  }
});

const clientIdOf = ({ asClient }: PublicDoor): string => asClient['x-client-id'] ?? '';

test('A-224 a WebSocket ends when its address leaves the list of its credential, and one from a listed address stays', async () => {
  const behind = await openDoor(url, { ...onGetOnly, settings: { trusted_proxy_hops: 1 } });
  const openFrom = async (address: string): Promise<WebSocket> => {
    const socket = open({ ...behind.asClient, 'x-forwarded-for': address }, path, [], behind);
    await opened(socket);
    return socket;
  };
  const [stays, ends] = [await openFrom('198.51.100.7'), await openFrom('203.0.113.9')];
  const { db } = behind.database;
  const credentials = createCredentials({ db, box: createSecretBox(masterKey), clock: systemClock });
  await credentials.setAllowIp('client', clientIdOf(behind), ['198.51.100.7']);
  await closed(ends);
  expect((await echo(stays, 'still here')).toString()).toBe('still here');
  stays.terminate();
  await behind.close();
});

test('wrong secrets of others do not end the open WebSockets of a client, and looking at its credential is no attempt', async () => {
  const strict = await openDoor(url, { ...onGetOnly, settings: { rate_failures_max: 3 } });
  const ofClient = open(strict.asClient, path, [], strict);
  const ofKey = open(strict.asKey, path, [], strict);
  await Promise.all([opened(ofClient), opened(ofKey)]);
  const call = async (secret: string) =>
    (await sendRequest(strict.url, 'GET', path, { headers: { ...strict.asClient, 'x-client-secret': secret } })).status;
  await until(async () => (await call('wrong')) === 429);
  // When the key's socket has ended, both were looked at after the client was blocked.
  await strict.revokeKey();
  await closed(ofKey);
  expect((await echo(ofClient, 'still here')).toString()).toBe('still here');
  ofClient.terminate();
  await strict.close();
});

test('A-245 a handshake at a path of the gateway itself is an ordinary request there, and never reaches a service', async () => {
  const below = { id: 'below', path: '/*', access: 'public', upstream: 'ordering', upgrade: true };
  const wide = await openDoor(url, { moreRoutes: [below], settings: { auth_check: 'on' } });
  for (const own of ['/healthz', '/api/oauth/token', '/.well-known/x', '/docs/x', '/auth/check', '/panel/x']) {
    const before = seen.length;
    await refusal(open({}, own, [], wide));
    expect([own, seen.length]).toEqual([own, before]);
  }
  const socket = open({}, '/live', [], wide);
  await opened(socket);
  socket.terminate();
  await wide.close();
});

test('A-677 a handshake in absolute form means its path, and its host must be that of Host', async () => {
  const below = { id: 'below', path: '/*', access: 'public', upstream: 'ordering', upgrade: true };
  const wide = await openDoor(url, { moreRoutes: [below] });
  const { host } = new URL(wide.url);
  const handshake = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  const statusOf = async (target: string): Promise<string | undefined> => {
    const head = [`GET ${target} HTTP/1.1`, `Host: ${host}`, ...handshake, key, '', ''].join('\r\n');
    const answer = await sendRaw(wide.port, head, (text) => text.includes('\r\n\r\n'));
    return answer.split(' ', 2)[1];
  };
  const before = seen.length;
  expect(await statusOf(`http://${host}/live?a=1`)).toBe('101');
  expect(seen.slice(before).map((request) => request.url)).toEqual(['/live?a=1']);
  expect(await statusOf('http://other.example/live')).toBe('404');
  expect(await statusOf(`http://${host}/panel/x`)).not.toBe('101');
  expect(seen).toHaveLength(before + 1);
  await wide.close();
});

test('the path of a handshake arrives as it was sent, with colons and slashes', async () => {
  const below = { id: 'below', path: '/ws/*', access: 'public', upstream: 'ordering', upgrade: true };
  const wide = await openDoor(url, { moreRoutes: [below] });
  for (const target of ['/ws/http:/x', '/ws/a:b/https:/c?to=http:/d', '/ws/wss:/x/%41']) {
    const socket = open({}, target, [], wide);
    await opened(socket);
    expect(seen.at(-1)?.url).toBe(target);
    socket.terminate();
  }
  await wide.close();
});
