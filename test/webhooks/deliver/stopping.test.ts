import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';
import { spawnWorker } from '../harness/spawn-worker.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeAll(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  await engine.addEndpoint(receiver.url);
});

afterAll(async () => {
  await engine?.close();
  await receiver?.close();
});

test('a worker process that is stopped while receivers hang ends before their attempts time out', async () => {
  // The first answer leaves an idle connection; the other answers never come.
  receiver.behave((response, { body }) => {
    if (body.includes('cus_quick')) response.writeHead(204).end();
  });
  const child = spawnWorker('deliver', engine.url, engine.masterKey.toString('base64'));
  await engine.record({ entity: 'cus_quick', seq: 1 });
  await until(() => receiver.received.length === 1);
  for (let index = 0; index < 5; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
  await until(() => receiver.received.length > 1);
  const asked = Date.now();
  expect(await child.stop()).toBe(0);
  // Attempts in flight get 2 s of the 15 s that they may take.
  expect(Date.now() - asked).toBeLessThan(15_000);

  // No attempt was counted and nothing is leased: the next worker sends at once.
  const before = receiver.received.length;
  receiver.behave(status(204));
  const stop = engine.startWorker();
  // Some of the events may have no delivery yet.
  await until(async () => (await engine.deliveries()).filter(({ state }) => state === 'succeeded').length === 6);
  expect((await engine.deliveries()).map(({ attempts_count: count }) => count)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(receiver.received.length - before).toBe(5);
  await stop();
});

test('a worker that is stopped waits for the answer to what it has sent, and nothing is sent twice', async () => {
  const sentBefore = receiver.received.length;
  const answers: (() => void)[] = [];
  receiver.behave((response) => void answers.push(() => response.writeHead(204).end()));
  const stop = engine.startWorker();
  await engine.record({ entity: 'cus_answered', seq: 1 });
  await until(() => answers.length === 1);
  const stopped = stop();
  for (const answer of answers) answer();
  await stopped;
  const states = (await engine.deliveries()).map(({ state, attempts_count: count }) => [state, count]);
  expect(states.filter(([state, count]) => state !== 'succeeded' || count !== 1)).toEqual([]);
  expect(receiver.received.length - sentBefore).toBe(1);
});
