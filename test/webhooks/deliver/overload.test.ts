/** More deliveries are due than a worker can send, for as long as each test lasts. */
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { quick, slow } from '#src/webhooks/pacing/concurrency-limit.ts';
import { until } from '../../support/until.ts';
import { type Behaviour, startReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { addTried, fill, recordFor } from '../harness/backlog.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

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

const answerLate: Behaviour = async (response) => {
  await setTimeout(40);
  response.writeHead(204).end();
};

/** Endpoints that answered in time until now, each with deliveries that have been due for a minute. */
const addBehind = async (url: string, count: number, each: number): Promise<string[]> => {
  const uids = await addTried(engine, { url, count, endpointClass: quick });
  for (const uid of uids) await fill(engine, uid, each, -60_000);
  return uids;
};

const isAnyWaiting = async (): Promise<boolean> =>
  (await sql`select from outbox.waiting limit 1`.execute(engine.db)).rows.length > 0;

test('A-687 an endpoint gets its turn while others that are a minute behind get new events', async () => {
  const busy = await open(answerLate);
  const behind = await addBehind(busy.url, 30, 40);
  const other = await open();
  const [uid = ''] = await addTried(engine, { url: other.url, count: 1, endpointClass: quick });
  engine.startWorker({ settings: { concurrency_max: 1 } });
  let number = 0;
  let sentBefore: number | undefined;
  await until(async () => {
    if (sentBefore === undefined && busy.received.length > 30) {
      sentBefore = busy.received.length;
      await fill(engine, uid, 1);
    }
    // A third of them at a time: while an event is dispatched, its endpoints are locked, and a claim would serve the others.
    number += 1;
    if (!(await isAnyWaiting()))
      await recordFor(
        engine,
        behind.filter((_, index) => index % 3 === number % 3),
        number,
      );
    return other.received.length === 1;
  });
  // Each of the others has had its turn once; a few more, since a locked endpoint is passed over.
  expect(busy.received.length - (sentBefore ?? 0)).toBeLessThan(50);
});

test('A-688 endpoints that are slow get their turn while attempts to others take long and use every slot that they may', async () => {
  const hanging = await open(() => undefined);
  await addBehind(hanging.url, 100, 1);
  const other = await open();
  const uids = await addTried(engine, { url: other.url, count: 10, endpointClass: slow });
  // Longer than the test waits, so that no attempt to a receiver that hangs ends meanwhile.
  engine.startWorker({ settings: { concurrency_max: 4 }, attemptTimeoutMs: 120_000 });
  // The usual slots, and those slow slots that are not kept for slow endpoints.
  await until(() => hanging.received.length === 4 + 14);
  await recordFor(engine, uids, 1);
  await until(() => other.received.length === uids.length);
  expect(hanging.received.length).toBe(4 + 14);
});

test('A-689 a delivery that has to be claimed gets its turn while new events for other endpoints use every slot', async () => {
  const busy = await open(answerLate);
  const uids = await addTried(engine, { url: busy.url, count: 6_000, endpointClass: quick });
  const other = await open();
  const [uid = ''] = await addTried(engine, { url: other.url, count: 1, endpointClass: quick });
  await fill(engine, uid, 1);
  const dueAt = (at: Date): Promise<unknown> =>
    sql`update webhooks.ready set due_at = ${at} where endpoint_uid = ${uid}`.execute(engine.db);
  const lookMs = 600_000;
  await dueAt(new Date(engine.clock.now().getTime() + lookMs));
  engine.startWorker({ settings: { concurrency_max: 16 } });
  // Each endpoint has nothing else to do, so its event takes the fast path as soon as there is a slot.
  await recordFor(engine, uids, 1);
  await until(() => busy.received.length > 100);
  await dueAt(new Date(engine.clock.now().getTime() - lookMs));
  const sentBefore = busy.received.length;
  await until(() => other.received.length === 1);
  expect(busy.received.length - sentBefore).toBeLessThan(100);
});
