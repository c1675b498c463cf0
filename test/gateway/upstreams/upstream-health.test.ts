/** Addresses that fail, by the results of requests: left out, probed, tried all the same, and used again. */
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { gatewaySettings } from '#src/gateway/index.ts';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import { until } from '../../support/until.ts';
import { openDoor, type PublicDoor, sendRequest } from '../harness/public-door.ts';
import { answerOf, isOfCaller, type RestartableServer, startRestartableServer } from './restartable-server.ts';

let a: RestartableServer;
let b: RestartableServer;
let door: PublicDoor;
let metrics: Metrics;

const open = (upstream: string, settings: Record<string, unknown> = {}, routes: Record<string, unknown> = {}) => {
  metrics = createMetrics({ process: false });
  return openDoor(upstream, { settings: { upstream_failures_max: 3, ...settings }, routes, metrics });
};

beforeEach(async () => {
  a = await startRestartableServer('a');
  b = await startRestartableServer('b');
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

const stateOf = async ({ url }: RestartableServer): Promise<string | undefined> => {
  const { text } = await metrics.render();
  const line = text
    .split('\n')
    .find((one) => one.startsWith('orderpass_upstream_address_state{') && one.includes(`"${url}"`));
  return /state="([a-z_]+)"\} 1$/.exec(line ?? '')?.[1];
};

const out = async (): Promise<number> =>
  Number(/^orderpass_upstream_addresses_out (\d+)$/m.exec((await metrics.render()).text)?.[1]);

test('A-198 several addresses take turns, and the least busy one is next', async () => {
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

test('A-200 a dead address costs no caller anything: what was never sent goes elsewhere, for every method and with its body', async () => {
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

test('A-200 an address that is back is used without any request that tries it, whatever the method of the requests', async () => {
  await a.die();
  for (let i = 0; i < 8; i += 1) expect((await post('{}')).json.name).toBe('b');
  await until(async () => (await stateOf(a)) === 'paused');
  // Longer than two probes, which fail and change nothing.
  for (const endMs = performance.now() + 1_700; performance.now() < endMs; )
    expect([await stateOf(a), (await post('{}')).json.name]).toEqual(['paused', 'b']);
  await a.comeBack();
  // The gateway probes it by itself: no request of a caller goes there before.
  await until(async () => (await stateOf(a)) === 'in_use');
  expect(a.seen.filter(isOfCaller)).toEqual([]);
  const names = [];
  for (let i = 0; i < 4; i += 1) names.push((await post('{}')).json.name);
  expect(names.filter((name) => name === 'a').length).toBe(2);
});

test('A-200 at most half of the addresses are left out for failed requests', async () => {
  await door.close();
  const c = await startRestartableServer('c');
  door = await open([a, b, c].map(({ url }) => url).join('|'));
  await a.die();
  await b.die();
  for (let i = 0; i < 24; i += 1) expect((await post('{}')).json.name).toBe('c');
  expect([await stateOf(a), await stateOf(b)].sort()).toEqual(['failing', 'paused']);
  expect([await stateOf(c), await out()]).toEqual(['in_use', 2]);
  await c.die();
});

test('A-200 an address that hangs is left out, and no more callers wait for it until it answers a probe', async () => {
  await door.close();
  door = await open(`${a.url}|${b.url}`, {}, { timeouts: { answerMs: 2_000 } });
  a.onRequest = () => undefined;
  const statuses: number[] = [];
  for (let i = 0; i < 14; i += 1) statuses.push((await post('{}')).status);
  // A request that was sent is not repeated, so the requests at the silent address fail.
  expect(statuses.filter((status) => status === 504).length).toBe(3);
  expect(statuses.slice(-8)).toEqual(Array(8).fill(200));
  // It accepts connections, which is not enough after requests without an answer.
  await until(() => a.seen.some((line) => line.startsWith('HEAD / ')));
  expect(await stateOf(a)).toBe('paused');
  expect(a.seen.filter(isOfCaller).length).toBe(3);
  a.onRequest = (socket) => void socket.write(answerOf('a'));
  await until(async () => (await stateOf(a)) === 'in_use');
  const names = [];
  for (let i = 0; i < 4; i += 1) names.push((await post('{}')).json.name);
  expect(names).toContain('a');
});

test('A-201 while every address fails, each request is tried all the same and refused with 503 when it reached none', async () => {
  await a.die();
  await b.die();
  const answers = [];
  for (let i = 0; i < 6; i += 1) answers.push(await post('{}'));
  expect(answers[0]?.status).toBe(502);
  const last = answers.at(-1);
  expect([last?.status, last?.json.error, last?.headers['retry-after']]).toEqual([503, 'OVERLOADED', '1']);
  expect(await out()).toBe(2);
  // The first request after the return is answered: nothing waits for a probe.
  await a.comeBack();
  const answer = await post('{}');
  expect([answer.status, answer.json.name]).toEqual([200, 'a']);
});

test('A-201 the only address of an upstream is never left out, and its failures end with its first answer', async () => {
  await door.close();
  door = await open(a.url);
  await a.die();
  const statuses = [];
  for (let i = 0; i < 5; i += 1) statuses.push((await get()).status);
  expect(statuses).toEqual([502, 502, 503, 503, 503]);
  expect(await stateOf(a)).toBe('failing');
  await a.comeBack();
  expect((await get()).status).toBe(200);
  expect([await stateOf(a), await out()]).toEqual(['in_use', 0]);
});

test('A-201 a request that was sent and got no answer is never 503, also while every address fails', async () => {
  await door.close();
  door = await open(a.url);
  a.onRequest = (socket) => socket.destroy();
  const statuses = [];
  for (let i = 0; i < 6; i += 1) statuses.push((await post('{}')).status);
  expect(statuses).toEqual(Array(6).fill(502));
  expect(a.seen.filter((line) => line.startsWith('POST')).length).toBe(6);
});

test('A-201 a request that was sent and whose repeat reaches no address is never 503', async () => {
  await door.close();
  door = await open(a.url);
  await a.die();
  for (let i = 0; i < 2; i += 1) expect((await get()).status).toBe(502);
  await a.comeBack();
  a.onRequest = () => void a.die();
  const keyed = () =>
    sendRequest(door.url, 'POST', '/api/order/create', {
      headers: { ...door.asClient, 'content-type': 'application/json', 'idempotency-key': 'sent-once' },
      body: '{}',
    });
  expect((await keyed()).status).toBe(502);
  expect(a.seen.filter(isOfCaller).length).toBe(1);
  // Nothing of this one was sent.
  expect((await keyed()).status).toBe(503);
});

test('A-200 answers of whatever status, and clients that go away, take no address out', async () => {
  await door.close();
  door = await open(a.url);
  a.onRequest = (socket) =>
    void socket.write('HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno');
  for (let i = 0; i < 8; i += 1) expect((await get()).status).toBe(500);
  a.onRequest = () => undefined;
  const before = a.seen.length;
  for (let i = 0; i < 5; i += 1) {
    const leaving = new AbortController();
    const gone = fetch(`${door.url}/api/orders/list`, { headers: door.asKey, signal: leaving.signal });
    const refused = expect(gone).rejects.toThrow();
    await until(() => a.seen.length > before + i);
    leaving.abort();
    await refused;
  }
  expect(await stateOf(a)).toBe('in_use');
  a.onRequest = (socket) => void socket.write(answerOf('a'));
  expect((await get()).status).toBe(200);
});

test('A-198 several addresses in the settings are written with | between them, each an origin, none twice', () => {
  const read = (upstreams: unknown): unknown => gatewaySettings.safeParse({ upstreams }).data?.upstreams;
  expect(read('ordering=http://a:1|http://b:2,other=https://c')).toEqual({
    ordering: 'http://a:1|http://b:2',
    other: 'https://c',
  });
  for (const wrong of ['ordering=http://a:1|', 'ordering=http://a:1|http://a:1', 'ordering=http://a:1|http://b:2/x']) {
    expect(read(wrong)).toBeUndefined();
  }
});
