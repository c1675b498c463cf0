import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPlaces } from '#src/webhooks/places.ts';
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

test('endpoints that are slow or unknown share half of the places, one each; quick ones get more with each answer', () => {
  const places = createPlaces({ placesMax: 8, perEndpointMax: 4, slowMs: 1_000 });
  expect(places.room()).toEqual({ free: 8, freeForOthers: 4, endpoints: {} });
  for (const uid of ['a', 'b', 'c', 'd']) places.take(uid);
  expect(places.room()).toMatchObject({ free: 4, freeForOthers: 0 });
  expect(places.room().endpoints.a).toEqual({ taken: 1, left: 0, isQuick: false });

  places.giveBack('a', 20);
  expect(places.room()).toMatchObject({ free: 5, freeForOthers: 1 });
  expect(places.room().endpoints.a).toEqual({ taken: 0, left: 2, isQuick: true });
  places.take('a');
  places.take('a');
  // Its places are not among those of the others.
  expect(places.room()).toMatchObject({ free: 3, freeForOthers: 1 });
  places.giveBack('a', 20);
  expect(places.room().endpoints.a).toEqual({ taken: 1, left: 3, isQuick: true });

  // One slow answer: back to one place, and what it still holds counts among the others' half.
  places.take('a');
  places.giveBack('a', 5_000);
  expect(places.room().endpoints.a).toEqual({ taken: 1, left: 0, isQuick: false });
  expect(places.room()).toMatchObject({ free: 4, freeForOthers: 0 });
  for (const uid of ['a', 'b', 'c', 'd']) places.giveBack(uid, undefined);
  expect(places.room()).toEqual({ free: 8, freeForOthers: 4, endpoints: {} });
});
