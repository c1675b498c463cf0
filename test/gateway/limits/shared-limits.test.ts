import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFailureBudget } from '#src/gateway/limits/failure-budget.ts';
import { createRateLimits, type RateLimits } from '#src/gateway/limits/rate-limits.ts';
import type { RateStanding } from '#src/gateway/limits/rate-standing.ts';
import { createThrottle } from '#src/gateway/limits/throttle.ts';
import { createMemoryKv, type Kv } from '#src/platform/kv/index.ts';
import { createRedisKv } from '#src/platform/kv/redis-kv.ts';
import { hasRedis, startRedis, type TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });

const remainingOf = ({ limits }: RateStanding): number[] => limits.map(({ remaining }) => remaining);

describe.skipIf(!hasRedis)('limits of two gateways over one Redis', () => {
  let redis: TestRedis;
  const kvs: Kv[] = [];
  const opened: RateLimits[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    for (let i = 0; i < 2; i += 1) kvs.push(createRedisKv({ url: redis.url, log, waitMsMax: 10_000 }));
    await until(() => kvs.every((kv) => kv.health() === 'up'));
  });

  afterAll(async () => {
    for (const limits of opened) limits.close();
    for (const kv of kvs) await kv.close();
    await redis.kill();
  });

  const openPair = (name: string, quota: number, windowSeconds = 60): RateLimits[] =>
    kvs.map((kv) => {
      const limits = createRateLimits({ kv, policies: [{ name, quota, windowSeconds }] });
      opened.push(limits);
      return limits;
    });

  const admitted = async (limits: RateLimits | undefined, callerId: string): Promise<boolean> =>
    (await limits?.charge(callerId, 1))?.retryAfterSeconds === undefined;

  const countAdmitted = async (pair: readonly RateLimits[], calls: number): Promise<number> => {
    const all = await Promise.all(Array.from({ length: calls }, (_, i) => admitted(pair[i % 2], 'opc_storm')));
    return all.filter(Boolean).length;
  };

  test('A-122 calls in turn get exactly the quota', async () => {
    const pair = openPair('turns', 100);
    let count = 0;
    for (let i = 0; i < 200; i += 1) if (await admitted(pair[i % 2], 'opc_turns')) count += 1;
    expect(count).toBe(100);
  });

  test('A-122 a storm on both gets at least the quota, and at most a twentieth per gateway more', async () => {
    for (let round = 0; round < 5; round += 1) {
      const count = await countAdmitted(openPair(`storm${round}`, 200), 1_000);
      expect(count).toBeGreaterThanOrEqual(200);
      expect(count).toBeLessThanOrEqual(200 + 2 * (200 / 20));
    }
  });

  test('far from its limit a caller does not wait for the shared counter, near it the shared counter decides', async () => {
    const [limits] = openPair('near', 1_000);
    expect(limits?.charge('opc_near', 20)).not.toBeInstanceOf(Promise);
    await limits?.charge('opc_near', 740);
    expect(limits?.charge('opc_near', 1)).toBeInstanceOf(Promise);
  });

  test('A-673 messages of another form on the channels of the limits change nothing', async () => {
    const pair = openPair('strangers', 10);
    for (const limits of pair) expect(await admitted(limits, 'opc_strangers')).toBe(true);
    const texts = ['x', 'null', '{}', '[]', '["strangers"]'];
    for (const members of [
      ['length', 1, 1],
      [0, 'x', 1],
      [0, null, 1],
      [-1, 10, 1],
      [0.5, 10, 1],
      [0, 10, -1],
    ])
      texts.push(JSON.stringify(['strangers', 'opc_strangers', ...members]));
    let heard = 0;
    const ends = kvs.map((kv) =>
      kv.subscribe('rate-near', () => {
        heard += 1;
      }),
    );
    const admin = new Redis(redis.url);
    for (const name of ['rate-near', 'failures'])
      for (const text of texts) await admin.publish(`orderpass:${name}`, text);
    await until(() => heard >= kvs.length * texts.length);
    for (const end of ends) end();
    admin.disconnect();
    let count = 2;
    for (let i = 0; i < 20; i += 1) if (await admitted(pair[i % 2], 'opc_strangers')) count += 1;
    expect(count).toBe(10);
  });

  test('units that one policy refuses are released in the others, and refused calls use no units', async () => {
    const [kv] = kvs;
    if (kv === undefined) throw new Error('no kv');
    const policies = [
      { name: 'wide', quota: 100, windowSeconds: 60 },
      { name: 'narrow', quota: 20, windowSeconds: 60 },
    ];
    const limits = createRateLimits({ kv, policies });
    opened.push(limits);
    expect(remainingOf(await limits.charge('opc_back', 20))).toEqual([80, 0]);
    const other = createRateLimits({ kv: kvs[1] ?? kv, policies });
    opened.push(other);
    for (let i = 0; i < 3; i += 1) {
      const refused = await other.charge('opc_back', 20);
      expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(remainingOf(refused)).toEqual([80, 0]);
    }
  });

  test('A-740 of many requests at once, at one gateway or two, those that another limit refuses use no units of their caller', async () => {
    const [kv, otherKv] = kvs;
    if (kv === undefined || otherKv === undefined) throw new Error('no kv');
    const wide = { name: 'wide-at-once', quota: 600, windowSeconds: 60 };
    const narrow = { name: 'narrow-at-once', quota: 100, windowSeconds: 60 };
    const tenant = (id: string) => [{ id, policies: [{ name: 'tenant-at-once', quota: 400, windowSeconds: 60 }] }];
    const one = createRateLimits({ kv, policies: [wide, narrow] });
    const tenants = createRateLimits({ kv, policies: [{ ...wide, name: 'wide-tenants' }] });
    const other = createRateLimits({ kv: otherKv, policies: [wide] });
    opened.push(one, tenants, other);
    const all = await Promise.all(Array.from({ length: 700 }, () => one.charge('opc_at_once', 1)));
    expect(all.filter(({ retryAfterSeconds }) => retryAfterSeconds === undefined)).toHaveLength(100);
    expect(remainingOf(one.look('opc_at_once', 1))).toEqual([500, 0]);

    const both = kvs.map((shared) =>
      createRateLimits({ kv: shared, policies: [wide, narrow].map((one) => ({ ...one, name: `${one.name}-of-two` })) }),
    );
    opened.push(...both);
    const ofTwo = await Promise.all(Array.from({ length: 700 }, (_, i) => both[i % 2]?.charge('opc_at_once', 1)));
    expect(ofTwo.filter((standing) => standing?.retryAfterSeconds === undefined)).toHaveLength(100);
    for (const limits of both) expect(remainingOf(limits.look('opc_at_once', 1))[0]).toBeGreaterThanOrEqual(500);
    const wideAlone = createRateLimits({ kv, policies: [{ ...wide, name: 'wide-at-once-of-two' }] });
    opened.push(wideAlone);
    expect((await wideAlone.charge('opc_at_once', 500)).retryAfterSeconds).toBeUndefined();
    expect((await wideAlone.charge('opc_at_once', 1)).retryAfterSeconds).toBeGreaterThan(0);

    expect((await other.charge('opc_other', 400, undefined, tenant('used-up'))).retryAfterSeconds).toBeUndefined();
    expect((await tenants.charge('opc_at_once', 500)).retryAfterSeconds).toBeUndefined();
    await Promise.all(
      Array.from({ length: 120 }, () => tenants.charge('opc_at_once', 1, undefined, tenant('used-up'))),
    );
    const standing = await tenants.charge('opc_at_once', 1, undefined, tenant('unused'));
    expect([standing.retryAfterSeconds, ...remainingOf(standing)]).toEqual([undefined, 99, 399]);
  });

  test('without its Redis each gateway counts by itself at once, no caller is locked out, and the pair shares again when Redis is back', async () => {
    const pair = openPair('outage', 100, 60);
    for (let i = 0; i < 20; i += 1) await admitted(pair[i % 2], 'opc_outage');
    await redis.kill();
    await until(() => kvs.every((kv) => kv.health() === 'down'));
    for (const limits of pair) {
      const standing = limits.charge('opc_outage', 1);
      expect(standing).not.toBeInstanceOf(Promise);
      let count = 1;
      while (await admitted(limits, 'opc_outage')) count += 1;
      // What it knew of both before, and its own since.
      expect(count).toBeGreaterThanOrEqual(80);
      expect(count).toBeLessThanOrEqual(90);
    }
    await redis.start();
    await until(() => kvs.every((kv) => kv.health() === 'up'));
    // No budget opens again within its window, and other callers have one between them.
    for (const limits of pair) expect(await admitted(limits, 'opc_outage')).toBe(false);
    let count = 0;
    for (let i = 0; i < 200; i += 1) if (await admitted(pair[i % 2], 'opc_after')) count += 1;
    expect(count).toBe(100);
  });

  test('units charged during an outage are sent when Redis is back', async () => {
    const pair = openPair('owed', 100);
    await redis.kill();
    await until(() => kvs.every((kv) => kv.health() === 'down'));
    for (let i = 0; i < 60; i += 1) await admitted(pair[0], 'opc_owed');
    await redis.start();
    await until(() => kvs.every((kv) => kv.health() === 'up'));
    const counter = kvs[1]?.windows({ name: 'rate:owed', quota: 100, windowSeconds: 60 });
    await until(async () => (await counter?.take('opc_owed', 1_000))?.used === 60);
    let count = 0;
    while (await admitted(pair[1], 'opc_owed')) count += 1;
    expect(count).toBeGreaterThanOrEqual(40);
    expect(count).toBeLessThanOrEqual(45);
  });

  test('failed authentications at either gateway count together, and both stop the pair', async () => {
    const budgets = kvs.map((kv) => createFailureBudget({ kv, failuresMax: 10 }));
    const source = '192.0.2.1';
    for (let i = 0; i < 10; i += 1) expect(await budgets[i % 2]?.countFailure('opc_f', source)).toBeUndefined();
    await until(() => budgets.every((budget) => budget.blockedSeconds('opc_f', source) !== undefined));
    expect(await budgets[0]?.countFailure('opc_f', source)).toBeGreaterThan(0);
    for (const budget of budgets) {
      expect(budget.blockedSeconds('opc_f', '192.0.2.2')).toBeUndefined();
      expect(budget.blockedSeconds('opc_g', source)).toBeUndefined();
      budget.close();
    }
  });

  test('a throttle holds over both gateways, and alone without Redis', async () => {
    const throttles = kvs.map((kv) => createThrottle({ kv, name: 'test', callsMax: 6, windowSeconds: 60 }));
    for (let i = 0; i < 6; i += 1) expect(await throttles[i % 2]?.('opc_t')).toBeUndefined();
    for (const throttle of throttles) expect(await throttle('opc_t')).toBeGreaterThan(0);
    await redis.kill();
    await until(() => kvs.every((kv) => kv.health() === 'down'));
    for (let i = 0; i < 6; i += 1) expect(await throttles[0]?.('opc_t')).toBeUndefined();
    expect(await throttles[0]?.('opc_t')).toBeGreaterThan(0);
    await redis.start();
    await until(() => kvs.every((kv) => kv.health() === 'up'));
  });
});

test('a throttle of one process lets so many calls through and tells how long to wait', async () => {
  const throttle = createThrottle({ kv: createMemoryKv(), name: 'test', callsMax: 600, windowSeconds: 60 });
  for (let i = 0; i < 600; i += 1) expect(await throttle('opc_1')).toBeUndefined();
  expect(await throttle('opc_1')).toBeGreaterThan(0);
  expect(await throttle('opc_2')).toBeUndefined();
});
