import { afterEach, beforeEach, expect, test } from 'vitest';
import { attemptsMax, nextDelayMs, parseRetryAfter, retryDelaysSeconds } from '#src/webhooks/pacing/retry-schedule.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type DeliveryRow, type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver(status(500));
  await engine.addEndpoint(receiver.url);
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

/** The delivery after so many attempts. */
const after = async (attempts: number): Promise<DeliveryRow> => {
  let row: DeliveryRow | undefined;
  await until(async () => {
    [row] = await engine.deliveries();
    return row?.attempts_count === attempts;
  });
  if (row === undefined) throw new Error('no delivery');
  return row;
};

test('A-133 a receiver that fails for ever gets 15 attempts at the published delays, then the delivery is exhausted and the next event goes', async () => {
  engine.startWorker();
  const begun = engine.clock.now().getTime();
  await engine.record({ entity: 'cus_1', seq: 1 });
  await engine.record({ entity: 'cus_1', seq: 2 });
  for (let attempt = 1; attempt < attemptsMax; attempt += 1) {
    const { next_attempt_at: next } = await after(attempt);
    const delayMs = (next?.getTime() ?? 0) - engine.clock.now().getTime();
    const planned = (retryDelaysSeconds[attempt - 1] ?? 0) * 1000;
    // The clock runs on while the attempt is written and read.
    expect(delayMs).toBeGreaterThan(planned - 2_000);
    expect(delayMs).toBeLessThanOrEqual(planned * 1.1);
    engine.advance(delayMs + 10);
  }
  expect((await after(attemptsMax)).state).toBe('exhausted');
  expect(engine.clock.now().getTime() - begun).toBeGreaterThanOrEqual(75 * 3_600_000);
  await until(() => receiver.received.length === attemptsMax + 1);
  const first = receiver.received.slice(0, attemptsMax);
  expect(new Set(first.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(first.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(attemptsMax);
  expect(first.map(({ headers }) => Number(headers['x-orderpass-attempt']))).toEqual(
    first.map((_, index) => index + 1),
  );
  expect((JSON.parse(receiver.received.at(-1)?.body ?? '{}') as { seq: number }).seq).toBe(2);
});

test('A-134 Retry-After of 429 and 503 makes the next attempt later, by a day at most, and never earlier than the table', async () => {
  const now = new Date('2026-03-01T12:00:00Z');
  receiver.behave(status(429, { 'retry-after': '3600' }));
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  const { next_attempt_at: next } = await after(1);
  expect((next?.getTime() ?? 0) - engine.clock.now().getTime()).toBeGreaterThan(3_590_000);

  const inTenDays = new Date(now.getTime() + 10 * 24 * 3_600_000).toUTCString();
  expect(nextDelayMs(1, parseRetryAfter(inTenDays, now), 0)).toBe(24 * 3_600_000);
  expect(nextDelayMs(4, parseRetryAfter('1', now), 0)).toBe(600_000);
  expect(nextDelayMs(1, parseRetryAfter('soon', now), 0)).toBe(5_000);
  expect(nextDelayMs(1, parseRetryAfter('Sun, 01 Mar 2026 11:00:00 GMT', now), 0)).toBe(5_000);
});

test('the whole schedule takes 75 h 42 min 35 s, and jitter adds at most a tenth', () => {
  expect(retryDelaysSeconds.reduce((sum, delay) => sum + delay, 0)).toBe(75 * 3600 + 42 * 60 + 35);
  expect(attemptsMax).toBe(15);
  expect(nextDelayMs(1, undefined, 0.999)).toBeLessThanOrEqual(5_500);
  expect(nextDelayMs(15, undefined, 0)).toBeUndefined();
});
