import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { gatewaySettings } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { openDoor, type PublicDoor, sendRequest } from '../harness/public-door.ts';

type Place = {
  url: string;
  connections: number;
  /** First lines of what arrived. */
  seen: string[];
  onRequest: (socket: Socket, text: string) => void;
  die(): Promise<void>;
  comeBack(): Promise<void>;
};

/** A server that can die and come back at the same address. */
const openPlace = async (name: string): Promise<Place> => {
  const sockets = new Set<Socket>();
  let port = 0;
  const start = (): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer((socket) => {
        place.connections += 1;
        sockets.add(socket);
        socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
        socket.on('data', (chunk) => {
          const text = chunk.toString('latin1');
          place.seen.push(text.split('\r\n')[0] ?? '');
          place.onRequest(socket, text);
        });
      });
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        port = (server.address() as { port: number }).port;
        resolve(server);
      });
    });
  let server: Server | undefined = await start();
  const place: Place = {
    url: `http://127.0.0.1:${port}`,
    connections: 0,
    seen: [],
    onRequest: (socket) => void socket.write(answerOf(name)),
    die: async () => {
      const dying = server;
      server = undefined;
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => (dying === undefined ? resolve(undefined) : dying.close(resolve)));
    },
    comeBack: async () => {
      server = await start();
    },
  };
  return place;
};

const answerOf = (name: string): string => {
  const body = JSON.stringify({ success: true, name });
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

let a: Place;
let b: Place;
let door: PublicDoor;

const open = (upstream: string, settings: Record<string, unknown> = {}, routes: Record<string, unknown> = {}) =>
  openDoor(upstream, { settings: { upstream_failures_max: 3, upstream_pause_ms_max: 600, ...settings }, routes });

beforeEach(async () => {
  a = await openPlace('a');
  b = await openPlace('b');
  door = await open(`${a.url}|${b.url}`);
});

afterEach(async () => {
  await door.close();
  await a.die();
  await b.die();
});

const get = () => sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey });
const post = (body: string) =>
  sendRequest(door.url, 'POST', '/api/order/create', {
    headers: { ...door.asClient, 'content-type': 'application/json' },
    body,
  });

test('several addresses take turns, and the least busy one is next', async () => {
  const names: string[] = [];
  for (let i = 0; i < 10; i += 1) names.push((await get()).json.name);
  expect(names.filter((name) => name === 'a').length).toBe(5);
  const held: Socket[] = [];
  a.onRequest = (socket) => void held.push(socket);
  const waiting: Promise<unknown>[] = [];
  while (held.length === 0) {
    const asked = get();
    waiting.push(asked);
    await Promise.race([asked, until(() => held.length > 0)]);
  }
  for (let i = 0; i < 6; i += 1) expect((await get()).json.name).toBe('b');
  held[0]?.write(answerOf('a'));
  await Promise.all(waiting);
});

test('a dead address costs no caller anything: what was never sent goes elsewhere, for every method and with its body', async () => {
  await a.die();
  const bodies: string[] = [];
  b.onRequest = (socket, text) => {
    bodies.push(text.split('\r\n\r\n')[1] ?? '');
    socket.write(answerOf('b'));
  };
  for (let i = 0; i < 8; i += 1) {
    const answer = await post(`{"i":${i}}`);
    expect([answer.status, answer.json.name]).toEqual([200, 'b']);
  }
  expect(b.seen.filter((line) => line.startsWith('POST')).length).toBe(8);
  expect(bodies.join('')).toContain('{"i":7}');
});

test('an address that refuses is out after failures in a row, is tried after its pause, and is back when it answers', async () => {
  await a.die();
  for (let i = 0; i < 12; i += 1) expect((await get()).json.name).toBe('b');
  await a.comeBack();
  await until(async () => {
    const answer = await get();
    expect(answer.status).toBe(200);
    return answer.json.name === 'a';
  });
  const names = new Set<string>();
  for (let i = 0; i < 4; i += 1) names.add((await get()).json.name);
  expect([...names].sort()).toEqual(['a', 'b']);
});

test('with every address out a request is refused at once with Retry-After, without a connection, until one is back', async () => {
  await a.die();
  await b.die();
  const answers = [];
  for (let i = 0; i < 6; i += 1) answers.push(await get());
  expect(answers[0]?.status).toBe(502);
  const last = answers.at(-1);
  expect([last?.status, last?.json.error]).toEqual([503, 'OVERLOADED']);
  expect(Number(last?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  await Promise.all([a.comeBack(), b.comeBack()]);
  await until(async () => (await get()).status === 200);
});

test('after the pause exactly one request tries; when it fails the pause begins again, longer', async () => {
  await door.close();
  door = await open(a.url, { upstream_pause_ms_max: 60_000 });
  a.onRequest = (socket) => socket.destroy();
  // GET is sent twice each, so the third failure is in the second request.
  expect((await get()).status).toBe(502);
  expect((await get()).status).toBe(502);
  const before = a.seen.length;
  const refused = await get();
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(a.seen.length).toBe(before);
  const held: Socket[] = [];
  a.onRequest = (socket) => void held.push(socket);
  const trial = (async () => {
    for (;;) {
      const answer = await get();
      if (answer.status !== 503) return answer;
    }
  })();
  await until(() => held.length === 1);
  const others = await Promise.all([post('{}'), post('{}'), get(), get()]);
  expect(others.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
  expect(held.length).toBe(1);
  held[0]?.destroy();
  expect((await trial).status).toBe(502);
  // The second pause is one second.
  const startedMs = performance.now();
  a.onRequest = (socket) => void socket.write(answerOf('a'));
  await until(async () => (await get()).status === 200);
  expect(performance.now() - startedMs).toBeGreaterThan(700);
});

test('an address that hangs is out too, and callers are spared its silence', async () => {
  await door.close();
  door = await open(`${a.url}|${b.url}`, {}, { timeouts: { answerMs: 200 } });
  a.onRequest = () => undefined;
  const statuses: number[] = [];
  for (let i = 0; i < 14; i += 1) statuses.push((await post('{}')).status);
  // A request that was sent is not repeated, so the requests at the silent address fail.
  expect(statuses.filter((status) => status === 504).length).toBe(3);
  expect(statuses.slice(-8)).toEqual(Array(8).fill(200));
  expect(a.seen.length).toBe(3);
});

test('after bytes were sent GET is repeated once, on another address, and POST never', async () => {
  let lost = 0;
  a.onRequest = (socket) => {
    lost += 1;
    socket.destroy();
  };
  const names: string[] = [];
  for (let i = 0; i < 4; i += 1) names.push((await get()).json.name);
  expect(names).toEqual(['b', 'b', 'b', 'b']);
  expect(lost).toBeGreaterThanOrEqual(1);
  await door.close();
  lost = 0;
  door = await open(a.url);
  expect((await post('{}')).status).toBe(502);
  expect(lost).toBe(1);
});

test('answers of whatever status, and clients that go away, take no address out', async () => {
  await door.close();
  door = await open(a.url);
  a.onRequest = (socket) =>
    void socket.write('HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno');
  for (let i = 0; i < 8; i += 1) expect((await get()).status).toBe(500);
  a.onRequest = () => undefined;
  const before = a.seen.length;
  for (let i = 0; i < 5; i += 1) {
    const gone = fetch(`${door.url}/api/orders/list`, { headers: door.asKey, signal: AbortSignal.timeout(100) });
    await expect(gone).rejects.toThrow();
  }
  await until(() => a.seen.length >= before + 5);
  a.onRequest = (socket) => void socket.write(answerOf('a'));
  expect((await get()).status).toBe(200);
});

test('several addresses are written with | between them, each an origin, none twice', () => {
  const read = (upstreams: unknown): unknown => gatewaySettings.safeParse({ upstreams }).data?.upstreams;
  expect(read('ordering=http://a:1|http://b:2,other=https://c')).toEqual({
    ordering: 'http://a:1|http://b:2',
    other: 'https://c',
  });
  for (const wrong of ['ordering=http://a:1|', 'ordering=http://a:1|http://a:1', 'ordering=http://a:1|http://b:2/x']) {
    expect(read(wrong)).toBeUndefined();
  }
});
