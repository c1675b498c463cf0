/** Active checks of the addresses of an upstream. */
import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createMetrics, type Metrics } from '#src/platform/telemetry/metrics.ts';
import { until } from '../../support/until.ts';
import { openDoor, type PublicDoor, sendRequest, startUpstream, type TestUpstream } from '../harness/public-door.ts';

let a: TestUpstream;
let b: TestUpstream;
let door: PublicDoor;
let metrics: Metrics;

beforeEach(async () => {
  a = await startUpstream();
  b = await startUpstream();
});

afterEach(async () => {
  await door.close();
  await a.close();
  await b.close();
});

const intervalMs = 200;

const open = async (health: Record<string, unknown> = {}): Promise<void> => {
  metrics = createMetrics({ process: false });
  const policy = { addresses: [a.url, b.url], health: { path: '/ready?deep=1', intervalMs, ...health } };
  door = await openDoor(undefined, { table: { upstreams: { ordering: policy } }, metrics });
};

const isCheck = ({ target }: { target: string }): boolean => target === '/ready?deep=1';
const checksOf = ({ seen }: TestUpstream): number => seen.filter(isCheck).length;
const requestsOf = ({ seen }: TestUpstream): number => seen.length - seen.filter(isCheck).length;

/** Answers checks with `status`, and requests with 200. */
const answering = (status: () => number): RequestListener => {
  return (req, res) => {
    req.resume();
    const isAsked = req.url === '/ready?deep=1';
    res.writeHead(isAsked ? status() : 200, { 'content-type': 'application/json' }).end('{"success":true}');
  };
};

const get = () => sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey });

const stateOf = async ({ url }: TestUpstream): Promise<string | undefined> =>
  new RegExp(`^orderpass_upstream_address_state\\{.*address="${url}",state="(\\w+)"\\} 1$`, 'm').exec(
    (await metrics.render()).text,
  )?.[1];

test('A-202 an address that fails its checks gets no requests, and gets them again with the first good check', async () => {
  let status = 503;
  a.answer = answering(() => status);
  b.answer = answering(() => 204);
  await open({ unhealthyAfter: 2 });
  await until(async () => (await stateOf(a)) === 'down');
  expect(checksOf(a)).toBeGreaterThanOrEqual(2);
  for (let i = 0; i < 10; i += 1) expect((await get()).status).toBe(200);
  expect([requestsOf(a), requestsOf(b)]).toEqual([0, 10]);
  status = 302;
  await until(async () => (await stateOf(a)) === 'in_use');
  for (let i = 0; i < 10; i += 1) expect((await get()).status).toBe(200);
  expect([requestsOf(a), requestsOf(b)]).toEqual([5, 15]);
});

test('A-202 one bad check changes nothing, and a check that is not answered in time is a bad one', async () => {
  let bad = 0;
  a.answer = answering(() => {
    bad += 1;
    return bad % 2 === 0 ? 200 : 500;
  });
  b.answer = (req, res) => {
    if (req.url !== '/ready?deep=1') answering(() => 200)(req, res);
  };
  // Long enough for the good checks of a busy machine.
  await open({ timeoutMs: 2_000, unhealthyAfter: 2 });
  await until(async () => (await stateOf(b)) === 'down');
  await until(() => checksOf(a) >= 6);
  expect(await stateOf(a)).toBe('in_use');
  for (let i = 0; i < 4; i += 1) expect((await get()).status).toBe(200);
  expect([requestsOf(a), requestsOf(b)]).toEqual([4, 0]);
});

test('A-202 with every address down by its checks, requests are tried all the same', async () => {
  for (const one of [a, b]) one.answer = answering(() => 500);
  await open({ unhealthyAfter: 1 });
  await until(async () => (await stateOf(a)) === 'down' && (await stateOf(b)) === 'down');
  for (let i = 0; i < 6; i += 1) expect((await get()).status).toBe(200);
  expect([requestsOf(a), requestsOf(b)]).toEqual([3, 3]);
  expect([await stateOf(a), await stateOf(b)]).toEqual(['down', 'down']);
});

test('A-202 a check carries no identity of any caller, and its answer is not read', async () => {
  await open();
  await until(() => checksOf(a) >= 1);
  const { method, headers } = a.seen.find(isCheck) ?? { method: '', headers: {} };
  expect([method, headers.host, headers.connection]).toEqual(['GET', new URL(a.url).host, 'close']);
  expect(Object.keys(headers).filter((name) => /orderpass|authorization|forwarded/.test(name))).toEqual([]);
});
