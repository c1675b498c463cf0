/** A worker holds deliveries to an endpoint that answers in time ahead, in its memory, and leases them before. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import type { Behaviour, WebhookReceiver } from '../../support/webhook-receiver.ts';
import { startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
let receiver: WebhookReceiver;
let uid: string;

const eventsCount = 400;
/** So long that the deliveries held ahead, 128 or more, last for some seconds. */
const answerMs = 300;
/** Attempts at once to an endpoint whose answers take as long. */
const atOnce = 8;

/** Answers after a while with the status of the time of arrival. */
const answers =
  (statusOf: () => number): Behaviour =>
  (response) => {
    const code = statusOf();
    void setTimeout(answerMs).then(() => response.writeHead(code).end());
  };

beforeEach(async () => {
  api = await startWebhookApi();
  receiver = await api.receiver(answers(() => 204));
  ({ uid } = await api.endpoint(receiver.url));
});

afterEach(() => api.close());

const recordAll = async (): Promise<void> => {
  await Promise.all(Array.from({ length: eventsCount }, (_, index) => api.record({ entity: `cus_${index}`, seq: 1 })));
};

const statesOf = async (): Promise<Record<string, number>> => {
  const { rows } = await api.pool.query(
    'select state, count(*)::integer as count from webhooks.deliveries group by state',
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
};

const isFinished = async (): Promise<boolean> => {
  const { pending = 0, waiting = 0, ...others } = await statesOf();
  return pending + waiting === 0 && Object.values(others).reduce((sum, count) => sum + count, 0) === eventsCount;
};

/** Those that are in flight, and those of two seconds more: the look that finds the change comes within one on a free machine. */
const soonMax = atOnce * (1 + Math.ceil(2_000 / answerMs));

test('A-720 an endpoint is removed while a worker holds deliveries to it ahead: none of them is sent two seconds later', async () => {
  await recordAll();
  api.startWorker();
  await until(() => receiver.received.length >= 100);
  expect((await api.post('/webhook/remove', { uid })).status).toBe(200);
  const before = receiver.received.length;
  await until(isFinished);
  expect(receiver.received.length - before).toBeLessThanOrEqual(soonMax);
  const { succeeded = 0, cancelled = 0 } = await statesOf();
  expect(succeeded).toBe(receiver.received.length);
  expect(succeeded + cancelled).toBe(eventsCount);
});

test('A-721 an endpoint gets another address meanwhile: what is held ahead goes there, each event once', async () => {
  const other = await api.receiver();
  await recordAll();
  api.startWorker();
  await until(() => receiver.received.length >= 100);
  expect((await api.post('/webhook/update', { uid, url: other.url })).status).toBe(200);
  const before = receiver.received.length;
  await until(isFinished);
  expect(receiver.received.length - before).toBeLessThanOrEqual(soonMax);
  expect(await statesOf()).toEqual({ succeeded: eventsCount });
  const events = [...receiver.received, ...other.received].map(({ headers }) => headers['webhook-id']);
  expect(new Set(events).size).toBe(eventsCount);
  expect(events).toHaveLength(eventsCount);
});

test('A-722 a receiver answers 410 while deliveries to it are held ahead: only attempts in flight follow', async () => {
  let goneCount = 0;
  receiver.behave(
    answers(() => {
      if (receiver.received.length <= 100) return 204;
      goneCount += 1;
      return 410;
    }),
  );
  await recordAll();
  api.startWorker();
  await until(() => receiver.received.length >= 60);
  // The answer cannot be written yet.
  const client = await api.pool.connect();
  try {
    await client.query('begin');
    await client.query('select from webhooks.endpoints for update');
    await until(() => goneCount > 0);
    // Time for more attempts. A slow machine makes fewer, and what is expected holds for any number of them.
    await setTimeout(4 * answerMs);
    expect(goneCount).toBeLessThanOrEqual(atOnce);
    await client.query('commit');
  } finally {
    client.release(true);
  }
  await until(isFinished);
  expect(goneCount).toBeLessThanOrEqual(atOnce);
  expect(await statesOf()).toEqual({ succeeded: 100, cancelled: eventsCount - 100 });
});
