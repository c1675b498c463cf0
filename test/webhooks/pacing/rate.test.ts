import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { updateEndpoint } from '#src/webhooks/endpoints/endpoints.ts';
import { holdMs } from '#src/webhooks/pacing/breaker.ts';
import { allowedNow, nextAllowed, pacedAfter, rateOf } from '#src/webhooks/pacing/rate.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine, tenant } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;
let uid: string;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  ({ endpointUid: uid } = await engine.addEndpoint(receiver.url));
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

const recordSome = async (from: number, count: number): Promise<void> => {
  for (let index = from; index < from + count; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
};

/** Until when the breaker holds the endpoint. */
const gate = async (): Promise<Date | null> => {
  const { rows } = await sql<{ gate: Date | null }>`
    select gate from webhooks.ready where endpoint_uid = ${uid}`.execute(engine.db);
  return rows[0]?.gate ?? null;
};

test('several workers together send nothing sooner than the rate of an owner allows', async () => {
  await sql`update webhooks.endpoints set max_per_second = 20 where uid = ${uid}`.execute(engine.db);
  await recordSome(0, 60);
  const started = Date.now();
  for (let worker = 0; worker < 3; worker += 1) engine.startWorker();
  await until(() => receiver.received.length === 60);
  const times = receiver.received.map(({ at }) => at - started).sort((left, right) => left - right);
  // 60 at 20 a second take more than two seconds, and the machine may make it longer, never shorter.
  expect(times.at(-1)).toBeGreaterThan(2_000);
  // A busy machine delays claims and arrivals, so none is earlier than where each is claimed as soon as it may be.
  const soonest = sentBy(20, 10_000);
  for (const [index, time] of times.entries())
    expect(time, `the ${index + 1}th`).toBeGreaterThanOrEqual((soonest[index] ?? Infinity) - roundingMs);
});

/** The clock of the receiver and that of the claims round to milliseconds. */
const roundingMs = 5;

/** When deliveries are claimed, in ms from the first one, where each is claimed as soon as the rate allows it. */
const sentBy = (maxPerSecond: number, untilMs: number): number[] => {
  const rate = rateOf(maxPerSecond);
  const sent: number[] = [];
  let paced: Date | null = null;
  for (let nowMs = 0; nowMs < untilMs; nowMs += 1) {
    const now = new Date(nowMs);
    const count = allowedNow(rate, paced, now);
    if (count === 0) {
      if (paced !== null) expect(nextAllowed(rate, paced).getTime()).toBeGreaterThan(nowMs);
      continue;
    }
    paced = pacedAfter(rate, paced, now, count);
    for (let index = 0; index < count; index += 1) sent.push(nowMs);
  }
  return sent;
};

test('a burst and the evenly spaced deliveries after it never exceed the rate in one second', () => {
  for (const maxPerSecond of [1, 2, 9, 10, 37, 100, 1000]) {
    const sent = sentBy(maxPerSecond, 5_000);
    for (const time of sent)
      expect(sent.filter((other) => other >= time && other < time + 1_000).length).toBeLessThanOrEqual(maxPerSecond);
    // And the rate is used, but for the price of the burst.
    expect(sent.length).toBeGreaterThanOrEqual(Math.floor(maxPerSecond * 5 * 0.85));
  }
});

test('after 20 failures in a row the others wait for the result of one attempt, five minutes longer at most', async () => {
  receiver.behave(status(500));
  engine.startWorker();
  await recordSome(0, 20);
  await until(async () => (await engine.deliveries()).filter((row) => row.attempts_count >= 1).length === 20);
  await until(async () => (await gate()) !== null);

  // Held: a delivery that becomes due is not sent, while another endpoint gets its own.
  const other = await startReceiver();
  await engine.addEndpoint(other.url);
  const before = receiver.received.length;
  await recordSome(500, 10);
  await until(() => other.received.length === 10);
  expect(receiver.received.filter(({ body }) => body.includes('cus_50'))).toHaveLength(0);

  // Half open: one attempt fails, and the others are held for longer.
  engine.advance(6_000);
  await until(() => receiver.received.length > before);
  await until(async () => ((await gate())?.getTime() ?? 0) > engine.clock.now().getTime() + 7_000);
  expect(receiver.received.length).toBe(before + 1);

  // Held for the longest allowed time: all waiting deliveries go, although the breaker is open.
  engine.advance(5 * 60_000 + 1_000);
  await until(async () => (await engine.deliveries()).every(({ attempts_count: count }) => count >= 1));

  // After one success the endpoint gets deliveries again, one at a time at first.
  receiver.behave(status(204));
  engine.advance(70_000);
  await until(async () => (await gate()) === null);
  engine.advance(2 * 3_600_000);
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'succeeded'));
  const { rows } = await sql<{ failures: number; recovered: Date | null }>`
    select failures_count as failures, recovered from webhooks.endpoint_health
    join webhooks.ready using (endpoint_uid) where endpoint_uid = ${uid}`.execute(engine.db);
  expect(rows[0]?.failures).toBe(0);
  expect(rows[0]?.recovered).not.toBeNull();
  await other.close();
});

test('A-647 an endpoint that is enabled again gets its next event at once, although the breaker held it', async () => {
  receiver.behave(status(500));
  engine.startWorker();
  await recordSome(0, 20);
  await until(async () => (await gate()) !== null);
  const enable = (enabled: boolean) =>
    inTransaction(engine.db, (tx) =>
      updateEndpoint(tx, { tenant, client: undefined }, uid, { enabled }, engine.clock.now()),
    );
  await enable(false);
  await until(async () => (await engine.deliveries()).every(({ state }) => state === 'cancelled'));
  // As after some more failures.
  const heldUntil = new Date(engine.clock.now().getTime() + 60_000);
  await sql`update webhooks.ready set gate = ${heldUntil}, due_at = ${heldUntil}`.execute(engine.db);
  await enable(true);
  expect(await gate()).toBeNull();
  receiver.behave(status(204));
  await engine.record({ entity: 'cus_new', seq: 1 });
  await until(() => receiver.received.some(({ body }) => body.includes('cus_new')), 20_000);
  await until(async () => (await engine.deliveries()).at(-1)?.state === 'succeeded');
});

test('the breaker holds longer with each failure, a minute at most', () => {
  expect(holdMs(19)).toBe(0);
  expect([20, 21, 22, 23, 24, 1_000].map(holdMs)).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});
