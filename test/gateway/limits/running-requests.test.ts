/** Slots of running requests that several gateways share (interface 20.3). */
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createRunningRequests, type RunningRequests } from '#src/gateway/limits/running-requests.ts';
import { createMemoryKv, type Kv, KvAway } from '#src/platform/kv/index.ts';
import { createRedisKv } from '#src/platform/kv/redis-kv.ts';
import { hasRedis, startRedis, type TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });

const admit = async (running: RunningRequests | undefined, callerId: string, max: number) => {
  const slot = running?.take(callerId, max);
  return slot !== undefined && (await slot.admitted) ? slot : undefined;
};

const admitSoon = async (running: RunningRequests, callerId: string, max: number) => {
  for (;;) {
    const slot = await admit(running, callerId, max);
    if (slot !== undefined) return slot;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

test('A-216 without Redis a gateway counts its own requests, and a slot that was released twice is free once', async () => {
  const running = createRunningRequests({ kv: createMemoryKv() });
  const first = await admit(running, 'opc_1', 2);
  const second = await admit(running, 'opc_1', 2);
  expect([first?.running, second?.running]).toEqual([1, 2]);
  expect(await admit(running, 'opc_1', 2)).toBeUndefined();
  expect(await admit(running, 'opc_2', 1)).toBeDefined();
  first?.release();
  first?.release();
  expect(await admit(running, 'opc_1', 2)).toBeDefined();
  expect(await admit(running, 'opc_1', 2)).toBeUndefined();
  running.close();
});

test('A-217 a slot that the shared state refused is released there, since a renewal may have taken it meanwhile', async () => {
  const released: string[] = [];
  const kv: Kv = {
    ...createMemoryKv(),
    health: () => 'up',
    leases: () => ({
      take: () => Promise.resolve(false),
      renew: () => Promise.resolve(),
      release: (_caller, holder) => {
        released.push(holder);
        return Promise.resolve();
      },
    }),
  };
  const running = createRunningRequests({ kv });
  expect(await admit(running, 'opc_1', 2)).toBeUndefined();
  expect(released).toHaveLength(1);
  running.close();
});

test('A-217 a slot whose release met a silent shared state is released there when it answers again', async () => {
  let isSilent = true;
  const released: string[] = [];
  const kv: Kv = {
    ...createMemoryKv(),
    health: () => 'up',
    leases: () => ({
      take: () => Promise.resolve(true),
      renew: () => Promise.resolve(),
      release: async (caller) => {
        if (isSilent) throw new KvAway();
        released.push(caller);
      },
    }),
  };
  const running = createRunningRequests({ kv });
  (await admit(running, 'opc_1', 1))?.release();
  isSilent = false;
  await until(() => released.length > 0);
  expect(released).toEqual(['opc_1']);
  running.close();
});

describe.skipIf(!hasRedis)('running requests of two gateways over one Redis', () => {
  // A process that stands still for so long loses its slots.
  const leaseMs = 3_000;
  let redis: TestRedis;
  const kvs: Kv[] = [];
  let opened: RunningRequests[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    for (let i = 0; i < 2; i += 1) kvs.push(createRedisKv({ url: redis.url, log, waitMsMax: 10_000 }));
    await until(() => kvs.every((kv) => kv.health() === 'up'));
  });

  afterEach(() => {
    for (const running of opened) running.close();
    opened = [];
  });

  afterAll(async () => {
    for (const kv of kvs) await kv.close();
    await redis.kill();
  });

  const openPair = (): RunningRequests[] => {
    opened = kvs.map((kv) => createRunningRequests({ kv, leaseMs }));
    return opened;
  };

  test('A-217 both together admit no more than the bound, and a slot that one frees the other can take', async () => {
    const pair = openPair();
    const slots = await Promise.all(Array.from({ length: 20 }, (_, i) => admit(pair[i % 2], 'opc_both', 3)));
    const held = slots.filter((slot) => slot !== undefined);
    expect(held).toHaveLength(3);
    held[0]?.release();
    for (const running of pair.toReversed()) {
      // The slot of the other one is on its way to Redis, over another connection.
      const next = await admitSoon(running, 'opc_both', 3);
      expect(await admit(running, 'opc_both', 3)).toBeUndefined();
      next.release();
    }
  });

  test('A-217 a slot is held as long as its request runs, and expires when its gateway is killed', async () => {
    const [first, second] = openPair();
    const stream = await admit(first, 'opc_stream', 1);
    expect(stream).toBeDefined();
    const startedAt = performance.now();
    // Longer than several leases.
    await until(() => performance.now() - startedAt > 2 * leaseMs);
    expect(await admit(second, 'opc_stream', 1)).toBeUndefined();
    // A killed gateway renews nothing and releases nothing.
    first?.close();
    let next: unknown;
    await until(async () => {
      next = await admit(second, 'opc_stream', 1);
      return next !== undefined;
    });
    expect(next).toBeDefined();
  });

  test('A-217 without its Redis each gateway counts alone, and what runs meanwhile is counted when it is back', async () => {
    const [first, second] = openPair();
    await redis.kill();
    await until(() => kvs.every((kv) => kv.health() === 'down'));
    expect(await admit(first, 'opc_away', 1)).toBeDefined();
    expect(await admit(first, 'opc_away', 1)).toBeUndefined();
    await redis.start();
    await until(() => kvs.every((kv) => kv.health() === 'up'));
    await until(async () => {
      const slot = await admit(second, 'opc_away', 1);
      slot?.release();
      return slot === undefined;
    });
  });
});
