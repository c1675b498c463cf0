import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPlaces, quick, slow, unknown } from '#src/webhooks/places.ts';
import { until } from '../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { type Engine, startEngine } from './engine.ts';

let engine: Engine;
const receivers: WebhookReceiver[] = [];

const open = async (...behaviour: Parameters<typeof startReceiver>): Promise<WebhookReceiver> => {
  const receiver = await startReceiver(...behaviour);
  receivers.push(receiver);
  return receiver;
};

beforeEach(async () => {
  engine = await startEngine();
});

afterEach(async () => {
  await engine.close();
  for (const receiver of receivers.splice(0)) await receiver.close();
});

test('however many endpoints hang, each with a long backlog, an event for another one arrives at once', async () => {
  const hanging = await open(() => undefined);
  for (let index = 0; index < 19; index += 1)
    await engine.addEndpoint(`${hanging.url}/${index}`, { kinds: ['orders'] });
  for (let index = 0; index < 30; index += 1)
    await engine.record({ entity: `ord_${index}`, seq: 1, kind: 'orders', event: 'order.new', object: 'order' });
  engine.startWorker();
  await until(() => hanging.received.length >= 19);

  const healthy = await open();
  await engine.addEndpoint(healthy.url, { kinds: ['customers'] });
  const recorded = Date.now();
  for (let index = 0; index < 50; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
  await until(() => healthy.received.length === 50);
  // Long before any attempt at the hanging ones ends by its timeout of 15 s.
  expect(Date.now() - recorded).toBeLessThan(5_000);
  // An endpoint that has not answered yet is asked one thing at a time.
  expect(hanging.received).toHaveLength(19);
});

test('an answer whose status has come holds its place for two seconds at most, however slowly its body drips', async () => {
  const dripping = await open((response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('.'), 100);
    response.on('close', () => clearInterval(drip));
  });
  await engine.addEndpoint(dripping.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await engine.record({ entity: 'cus_1', seq: 2 });
  await until(async () => {
    const rows = await engine.deliveries();
    return rows.length === 2 && rows.every(({ state }) => state === 'succeeded');
  }, 10_000);
  const [first] = await engine.deliveries();
  const [attempt] = await engine.attempts(first?.uid ?? '');
  expect(attempt).toMatchObject({ status: 200, failure: null });
  expect(attempt?.response).toMatch(/^\.+$/);
});

test('what is kept of an answer that is no text has at most 16 KiB as text too', async () => {
  const binary = await open((response) => void response.writeHead(500).end(Buffer.alloc(100_000, 0xff)));
  const zeros = await open((response) => void response.writeHead(500).end(Buffer.alloc(100_000)));
  await engine.addEndpoint(binary.url);
  await engine.addEndpoint(zeros.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await engine.deliveries()).filter((row) => row.attempts_count === 1).length === 2);
  for (const { uid } of await engine.deliveries()) {
    const [attempt] = await engine.attempts(uid);
    const bytes = Buffer.byteLength(attempt?.response ?? '');
    expect(bytes).toBeLessThanOrEqual(16 * 1024);
    expect(bytes).toBeGreaterThan(16 * 1024 - 4);
  }
});

test('a Retry-After that is absurdly far away delays by a day, and the attempt is written like any other', async () => {
  const far = await open(status(503, { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }));
  const long = await open(status(429, { 'retry-after': '9'.repeat(40) }));
  await engine.addEndpoint(far.url);
  await engine.addEndpoint(long.url);
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await until(async () => (await engine.deliveries()).filter((row) => row.attempts_count === 1).length === 2);
  for (const { next_attempt_at: next } of await engine.deliveries()) {
    const hours = ((next?.getTime() ?? 0) - engine.clock.now().getTime()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThanOrEqual(24);
  }
});

test('unknown endpoints share half of the places; quick ones get more with each answer; who lets its sender wait leaves its place to others', () => {
  const places = createPlaces({ placesMax: 8, waitingMax: 3, perEndpointMax: 4, slowMs: 1_000 });
  const leftOf = (endpointUid: string, endpointClass: typeof quick | typeof unknown | typeof slow = unknown): number =>
    places.leftOf({ endpointUid, endpointClass, recoveredMs: 0 });
  const empty = { free: 8, freeForUnknown: 4, freeForSlow: 3, full: [] };
  expect(places.room(0)).toEqual(empty);
  const taken = ['a', 'b', 'c', 'd'].map((uid) => {
    expect(leftOf(uid)).toBe(1);
    return places.take(uid, 0);
  });
  expect(places.room(0)).toEqual({ free: 4, freeForUnknown: 0, freeForSlow: 3, full: ['a', 'b', 'c', 'd'] });

  taken[0]?.giveBack({ tookMs: 20, failed: false });
  expect(places.room(0)).toEqual({ free: 5, freeForUnknown: 1, freeForSlow: 3, full: ['b', 'c', 'd'] });
  expect(leftOf('a', quick)).toBe(2);
  const own = [places.take('a', 10), places.take('a', 10)];
  // Its places are not among those of the unknown.
  expect(places.room(10)).toMatchObject({ free: 3, freeForUnknown: 1 });
  own[0]?.giveBack({ tookMs: 20, failed: false });
  expect(leftOf('a', quick)).toBe(3);
  // A failure takes half, a time-out all but one.
  own[1]?.giveBack({ tookMs: 20, failed: true });
  expect(leftOf('a', quick)).toBe(2);

  // b, c and d hang: their places are free again, and they wait elsewhere.
  expect(places.room(1_000)).toEqual({ free: 8, freeForUnknown: 4, freeForSlow: 0, full: ['b', 'c', 'd'] });
  // No more may wait than there are waiting places.
  expect(leftOf('e')).toBe(1);
  const last = places.take('e', 1_000);
  expect(places.room(5_000)).toMatchObject({ free: 7, freeForUnknown: 3, freeForSlow: 0 });
  for (const place of [taken[1], taken[2], taken[3], last])
    place?.giveBack({ tookMs: Number.POSITIVE_INFINITY, failed: true });
  expect(places.room(5_000)).toEqual(empty);
  expect(leftOf('b', slow)).toBe(1);
});
