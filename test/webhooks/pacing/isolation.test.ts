import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { quick, slow, unknown } from '#src/webhooks/pacing/concurrency-limit.ts';
import { createSlots, type Slot } from '#src/webhooks/pacing/slots.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
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
  vi.useRealTimers();
  await engine.close();
  for (const receiver of receivers.splice(0)) await receiver.close();
});

test('however many endpoints hang, each with a long backlog, an event for another one arrives at once', async () => {
  const hanging = await open(() => undefined);
  for (let index = 0; index < 19; index += 1)
    await engine.addEndpoint(`${hanging.url}/${index}`, { kinds: ['orders'] });
  for (let index = 0; index < 30; index += 1)
    await engine.record({ entity: `ord_${index}`, seq: 1, kind: 'orders', event: 'order.new', object: 'order' });
  // Longer than the test waits, so that no attempt to a hanging receiver ends meanwhile.
  engine.startWorker({ attemptTimeoutMs: 120_000 });
  await until(() => hanging.received.length >= 19);

  const healthy = await open();
  await engine.addEndpoint(healthy.url, { kinds: ['customers'] });
  for (let index = 0; index < 50; index += 1) await engine.record({ entity: `cus_${index}`, seq: 1 });
  await until(() => healthy.received.length === 50);
  // An endpoint that has not answered yet gets one attempt at a time.
  expect(hanging.received).toHaveLength(19);
});

test('after the status a response holds its slot for two seconds at most, however slowly its body arrives', async () => {
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
  });
  const [first] = await engine.deliveries();
  const [attempt] = await engine.attempts(first?.uid ?? '');
  expect(attempt).toMatchObject({ status: 200, failure: null });
  // Ten in a second, and on a busy machine fewer: those of two seconds, not of the 15 s of an attempt.
  expect(attempt?.response).toMatch(/^\.{1,60}$/);
});

test('A-823 a receiver that sends informational answers without an end is cut after 100 of them, and fewer are passed over', async () => {
  const hint = { link: '</hook>; rel=preload' };
  let isClosed = false;
  const endless = await open((response) => {
    const hints = setInterval(() => response.writeEarlyHints(hint), 1);
    response.on('close', () => {
      clearInterval(hints);
      isClosed = true;
    });
  });
  const few = await open((response) => {
    for (let count = 0; count < 100; count += 1) response.writeEarlyHints(hint);
    response.writeHead(204).end();
  });
  await engine.addEndpoint(endless.url, { kinds: ['customers'] });
  await engine.addEndpoint(few.url, { kinds: ['customers'] });
  engine.startWorker();
  await engine.record({ entity: 'cus_1', seq: 1 });
  const attempts = async () =>
    (await Promise.all((await engine.deliveries()).map(({ uid }) => engine.attempts(uid)))).flat();
  await until(async () => (await attempts()).length === 2);
  expect((await attempts()).map(({ status: code, failure }) => [code, failure]).toSorted()).toEqual([
    [null, 'reset'],
    [204, null],
  ]);
  await until(() => isClosed);
});

test('the stored text of a binary response has at most 16 KiB', async () => {
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

const never = new AbortController().signal;

test('unknown endpoints share half of the slots, quick ones get more with each answer, and slow attempts leave their slots', () => {
  const slots = createSlots({ slotsMax: 8, slowSlotsMax: 4, perEndpointMax: 8, slowMs: 1_000, shortMs: 50 });
  const remainingFor = (
    endpointUid: string,
    endpointClass: typeof quick | typeof unknown | typeof slow = unknown,
  ): number => slots.remainingFor({ endpointUid, endpointClass, recoveredMs: 0, isPaced: false });
  const take = (uid: string): Slot => {
    const slot = slots.take(uid, false);
    void slot.waitForSlot(never);
    return slot;
  };
  /** The attempt was answered and its result is written. */
  const end = (slot: Slot | undefined, tookMs: number, failed: boolean): void => {
    slot?.answered();
    slot?.release({ tookMs, failed });
  };
  const startMs = performance.now();
  const empty = { free: 8, freeForUnknown: 4, reserve: 1, freeForSlow: 4, full: [] };
  expect(slots.room(startMs)).toEqual(empty);
  const taken = ['a', 'b', 'c', 'd'].map((uid) => {
    expect(remainingFor(uid)).toBe(1);
    return take(uid);
  });
  expect(slots.room(startMs)).toEqual({
    free: 4,
    freeForUnknown: 0,
    reserve: 1,
    freeForSlow: 4,
    full: ['a', 'b', 'c', 'd'],
  });

  end(taken[0], 20, false);
  expect(slots.room(startMs)).toEqual({
    free: 5,
    freeForUnknown: 1,
    reserve: 1,
    freeForSlow: 4,
    full: ['b', 'c', 'd'],
  });
  expect(remainingFor('a', quick)).toBe(2);
  const own = [take('a'), take('a')];
  // Its slots do not count as those of unknown endpoints.
  expect(slots.room(startMs)).toMatchObject({ free: 3, freeForUnknown: 1 });
  end(own[0], 20, false);
  expect(remainingFor('a', quick)).toBe(3);
  // A failure halves the limit, a timeout sets it to one.
  end(own[1], 20, true);
  expect(remainingFor('a', quick)).toBe(2);

  // b, c and d hang: their usual slots are free again, and they have slow slots.
  expect(slots.room(startMs + 1_500)).toEqual({
    free: 8,
    freeForUnknown: 4,
    reserve: 1,
    freeForSlow: 1,
    full: ['b', 'c', 'd'],
  });
  // The last slow slot is kept for endpoints that are known as slow.
  expect(remainingFor('e')).toBe(1);
  const last = take('e');
  expect(slots.room(startMs + 5_000)).toMatchObject({ free: 7, freeForUnknown: 3, freeForSlow: 1 });
  for (const slot of [taken[1], taken[2], taken[3], last]) end(slot, Number.POSITIVE_INFINITY, true);
  expect(slots.room(startMs + 5_000)).toEqual(empty);
  expect(remainingFor('b', slow)).toBe(1);
});

test('a quick endpoint holds its next deliveries ahead, within its limit of attempts, and takes no slots of others', async () => {
  const slots = createSlots({ slotsMax: 8, slowSlotsMax: 8, perEndpointMax: 2, slowMs: 1_000, shortMs: 50 });
  const remainingFor = (isPaced: boolean): number =>
    slots.remainingFor({ endpointUid: 'a', endpointClass: quick, recoveredMs: 0, isPaced });
  expect(remainingFor(false)).toBe(1);
  const first = slots.take('a', false);
  await first.waitForSlot(never);
  first.answered();
  first.release({ tookMs: 5, failed: false });
  // It may have two attempts at once now, and sixteen times as many deliveries ahead, unless it has a rate.
  expect([remainingFor(true), remainingFor(false)]).toEqual([2, 32]);

  const begun: number[] = [];
  const held = Array.from({ length: 32 }, (_, index) => {
    const slot = slots.take('a', false);
    void slot.waitForSlot(never).then(() => begun.push(index));
    return slot;
  });
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  expect(slots.room(performance.now())).toMatchObject({ free: 6, full: ['a'] });
  for (const [index, slot] of held.entries()) {
    slot.answered();
    slot.release({ tookMs: 5, failed: false });
    await Promise.resolve();
    expect(begun.length).toBe(Math.min(32, index + 3));
  }
  expect(slots.room(performance.now())).toMatchObject({ free: 8, full: [] });
});

test('only an endpoint that answers promptly has more than eight attempts at once; after a longer answer it has eight', () => {
  const slots = createSlots({ slotsMax: 64, slowSlotsMax: 8, perEndpointMax: 32, slowMs: 1_000, shortMs: 50 });
  /** How many attempts at once it gets after an answer that took so long. */
  const allowedAfter = (endpointUid: string, tookMs: number): number => {
    const slot = slots.take(endpointUid, false);
    void slot.waitForSlot(never);
    slot.answered();
    slot.release({ tookMs, failed: false });
    return slots.remainingFor({ endpointUid, endpointClass: quick, recoveredMs: 0, isPaced: true });
  };
  expect([20, 20, 20, 20, 20, 20].map((tookMs) => allowedAfter('a', tookMs))).toEqual([2, 4, 8, 16, 32, 32]);
  expect(allowedAfter('a', 300)).toBe(8);
  expect([300, 300, 300, 300, 300].map((tookMs) => allowedAfter('b', tookMs))).toEqual([2, 4, 8, 8, 8]);
});

/** Slots for 16 attempts, two of them the reserve, and endpoints that may have eight attempts at once, or later `perEndpointMax`. */
const startProven = async (perEndpointMax: number) => {
  const slots = createSlots({ slotsMax: 16, slowSlotsMax: 8, perEndpointMax, slowMs: 60_000, shortMs: 60_000 });
  const begun: { uid: string; slot: Slot }[] = [];
  let endedCount = 0;
  const take = (endpointUid: string): void => {
    const slot = slots.tryTake({ endpointUid, endpointClass: quick, recoveredMs: 0 });
    if ('isFull' in slot) throw new Error(`${endpointUid} has no slot`);
    void slot.waitForSlot(never).then(() => begun.push({ uid: endpointUid, slot }));
  };
  /** The oldest attempt is answered, and its result is written. */
  const end = async (): Promise<void> => {
    const { slot } = begun[endedCount] ?? {};
    endedCount += 1;
    slot?.answered();
    slot?.release({ tookMs: 5, failed: false });
    await Promise.resolve();
  };
  for (const uid of ['a', 'a', 'a', 'b', 'b', 'b']) {
    take(uid);
    await Promise.resolve();
    await end();
  }
  return { slots, take, end, begun, inFlight: () => begun.length - endedCount };
};

test('A-725 deliveries that are held ahead start in turn with attempts of other endpoints and with those of the next claim', async () => {
  const { slots, take, end, begun, inFlight } = await startProven(8);
  for (const [uid, count] of [
    ['a', 32],
    ['b', 26],
    ['c', 1],
  ] as const)
    for (let index = 0; index < count; index += 1) take(uid);
  await Promise.resolve();
  expect(inFlight()).toBe(14);
  // Two of b were taken before that of c, and each has its turn with one of a.
  for (let count = 0; count < 6; count += 1) await end();
  expect(begun.at(-1)?.uid).toBe('c');
  for (let count = 0; count < 20; count += 1) {
    await end();
    expect(inFlight()).toBe(14);
  }
  expect(slots.room(performance.now()).free).toBe(2);
  // A claim left due deliveries: an eighth of all slots is kept for the next one, beside the reserve.
  slots.claimed(true);
  for (let count = 0; count < 8; count += 1) await end();
  expect(slots.room(performance.now()).free).toBe(4);
  slots.claimed(false);
  await Promise.resolve();
  for (let left = 59 - 34; left > 0; left -= 1) {
    expect(inFlight()).toBe(Math.min(left, 14));
    await end();
  }
  expect(slots.room(performance.now())).toMatchObject({ free: 16, full: [] });
});

test('A-725 an endpoint whose limit rises starts what is held ahead for it only as far as slots are free', async () => {
  const { slots, take, end, inFlight } = await startProven(64);
  for (let count = 0; count < 40; count += 1) take('a');
  await Promise.resolve();
  expect(inFlight()).toBe(8);
  await end();
  await end();
  expect(inFlight()).toBeLessThanOrEqual(14);
  for (let left = 38; left > 0; left -= 1) {
    await end();
    expect(inFlight()).toBeLessThanOrEqual(14);
  }
  expect(slots.room(performance.now())).toMatchObject({ free: 16, full: [] });
});

test('A-820 deliveries that are held ahead for a host that stops answering leave slots to others when they start', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const slots = createSlots({ slotsMax: 16, slowSlotsMax: 64, perEndpointMax: 8, slowMs: 3_600_000, shortMs: 50 });
  const take = (endpointUid: string, url: string): Slot => {
    const slot = slots.tryTake({
      endpointUid,
      endpointClass: quick,
      recoveredMs: 0,
      target: { tenant: endpointUid, url },
    });
    if ('isFull' in slot) throw new Error(`${endpointUid} has no slot`);
    return slot;
  };
  const shared = 'https://orders.example/hook';
  const uids = Array.from({ length: 8 }, (_, index) => `end_${index}`);
  for (const uid of uids)
    for (let count = 0; count < 8; count += 1) {
      const slot = take(uid, shared);
      await slot.waitForSlot(never);
      slot.answered();
      slot.release({ tookMs: 5, failed: false });
    }
  for (const uid of uids) for (let count = 0; count < 9; count += 1) void take(uid, shared).waitForSlot(never);
  // None is answered from here on. Attempts that take long move to slow slots, and the next ones start.
  for (let rounds = 0; rounds < 100; rounds += 1) {
    vi.advanceTimersByTime(100);
    slots.room(performance.now());
    await Promise.resolve();
  }

  for (let count = 0; count < 20; count += 1) {
    vi.advanceTimersByTime(100);
    expect(await take(`other_${count}`, `https://other-${count}.example/`).waitForSlot(never)).toBe(true);
  }
});
