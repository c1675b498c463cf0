import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createBatchedStarts } from '#src/webhooks/pacing/batched-starts.ts';
import { createSend } from '#src/webhooks/send/send.ts';
import { createTimeLimits } from '#src/webhooks/send/time-limits.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type Engine, startEngine } from '../harness/engine.ts';

let engine: Engine;
let receiver: WebhookReceiver;

beforeEach(async () => {
  engine = await startEngine();
  receiver = await startReceiver();
  await engine.addEndpoint(receiver.url);
});

afterEach(async () => {
  await engine.close();
  await receiver.close();
});

const countOf = async (state: string): Promise<number> =>
  (await engine.deliveries()).filter((delivery) => delivery.state === state).length;

/** Time for several claims. A slow machine makes fewer, and what is expected holds for any number of them. */
const timeForClaimsMs = 1_500;

/** Runs while no result can be written. The deliveries themselves stay free, so they are dispatched and leased as usual. */
const whileUnwritten = (during: () => Promise<void>): Promise<void> =>
  whileLocked('lock table webhooks.attempts in exclusive mode', during);

const whileLocked = async (lock: string, during: () => Promise<void>): Promise<void> => {
  const client = await engine.pool.connect();
  try {
    await client.query('begin');
    await client.query(lock);
    await during();
    await client.query('commit');
  } finally {
    client.release(true);
  }
};

test('a slot is released when the receiver has answered, while few results are unwritten; then attempts keep theirs', async () => {
  engine.startWorker({ settings: { concurrency_max: 1 } });
  await engine.record({ entity: 'cus_0', seq: 1 });
  await until(async () => (await countOf('succeeded')) === 1);
  await whileUnwritten(async () => {
    for (let index = 1; index <= 40; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
    // Two results may be unwritten without a slot, and one attempt keeps the slot.
    await until(() => receiver.received.length >= 1 + 2 + 1);
    await until(async () => (await engine.deliveries()).length === 41);
    await setTimeout(timeForClaimsMs);
    expect(await countOf('succeeded')).toBe(1);
    // What keeps its slot for long moves to one of four slow slots, and an endpoint has 32 attempts in flight at most.
    expect(receiver.received.length).toBeLessThan(36);
  });
  await until(async () => (await countOf('succeeded')) === 41);
  expect(receiver.received.length).toBe(41);
});

test('a result that changes the endpoint is written before its next attempt: none follows a 410', async () => {
  let answer = (): void => undefined;
  receiver.behave((response) => {
    receiver.behave(status(204));
    answer = () => void response.writeHead(410).end();
  });
  // One batch makes all five deliveries, so four of them wait for the one slot when the first is answered.
  for (let index = 1; index <= 5; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
  engine.startWorker({ settings: { concurrency_max: 1 } });
  await until(() => receiver.received.length === 1);
  await whileLocked('select from webhooks.endpoints for update', async () => {
    answer();
    await setTimeout(timeForClaimsMs);
    expect(receiver.received.length).toBe(1);
  });
  await until(async () => (await countOf('cancelled')) === 5);
  expect(receiver.received.length).toBe(1);
  // Otherwise it would have been sent; after the endpoint is enabled again it gets only later events.
  await sql`update webhooks.endpoints set enabled = true, disabled_reason = null, cancel_through = null`.execute(
    engine.db,
  );
  await engine.record({ entity: 'cus_6', seq: 1 });
  await until(() => receiver.received.length === 2);
  expect(receiver.received[1]?.body).toContain('cus_6');
});

test('hundreds of attempts start in batches that leave the event loop free in between, and all of them start', async () => {
  const starts = createBatchedStarts(8);
  let begun = 0;
  const all = Array.from({ length: 300 }, async () => {
    await starts.waitForStart();
    begun += 1;
  });
  const between: number[] = [];
  while (begun < 300) {
    const before = begun;
    await new Promise((resolve) => setImmediate(resolve));
    between.push(begun - before);
  }
  await Promise.all(all);
  expect(Math.max(...between)).toBeLessThanOrEqual(16);
  // Without anything to wait for the start is immediate.
  await new Promise((resolve) => setImmediate(resolve));
  expect(starts.waitForStart()).toBeUndefined();
});

test('an attempt that is cut before its connection begins ends at once, also at a receiver that never answers', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const rules = { allowPrivate: true, allowedOrigins: [] };
  // Longer than `until` waits.
  const { send, close } = createSend({ rules, resolve: async () => [], timeoutMs: 600_000 });
  const ended: (string | null)[] = [];
  const cuts = Array.from({ length: 10 }, () => new AbortController());
  for (const [turns, cut] of cuts.entries()) {
    void send(`https://127.0.0.1:${port}/`, {}, '{}', cut.signal).then(({ failure }) => ended.push(failure));
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    cut.abort();
  }
  await until(() => ended.length === cuts.length);
  expect(new Set(ended)).toEqual(new Set(['timeout']));
  await close();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
});

test('each time limit ends after its time, whatever began before or after it, and at once with its signal', async () => {
  const begin = createTimeLimits(60);
  const cut = new AbortController();
  const ended: string[] = [];
  const open = (name: string, signal = new AbortController().signal) => {
    const limit = begin(signal);
    limit.onOver = () => ended.push(name);
    return limit;
  };
  open('first');
  const closed = open('closed');
  const ofSignal = open('signal', cut.signal);
  closed.close();
  cut.abort();
  expect(ended).toEqual(['signal']);
  expect(begin(cut.signal).isOver).toBe(true);
  await until(() => ended.includes('first'));
  const startedMs = performance.now();
  open('late');
  await until(() => ended.includes('late'));
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(59);
  expect(ended).toEqual(['signal', 'first', 'late']);
  expect([closed.isOver, ofSignal.isOver]).toEqual([false, true]);
});
