/** A Redis that answers, but later than a request waits for it. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRateLimits, type RateLimits } from '#src/gateway/limits/rate-limits.ts';
import type { Kv } from '#src/platform/kv/index.ts';
import { createRedisKv } from '#src/platform/kv/redis-kv.ts';
import { hasRedis, startRedis, type TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });

type SlowPath = {
  url: string;
  /** Questions still reach Redis; its answers wait until `release`. */
  hold(): void;
  release(): void;
  close(): void;
};

const openSlowPath = async (redis: TestRedis): Promise<SlowPath> => {
  const sockets = new Set<Socket>();
  const back = new Set<Socket>();
  let isHeld = false;
  const server = createServer((socket) => {
    const { hostname, port } = new URL(redis.url);
    const onward = connect(Number(port), hostname);
    for (const one of [socket, onward]) {
      sockets.add(one.on('error', () => one.destroy()));
      one.on('close', () => {
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
    back.add(onward);
    if (isHeld) onward.pause();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    hold: () => {
      isHeld = true;
      for (const one of back) one.pause();
    },
    release: () => {
      isHeld = false;
      for (const one of back) one.resume();
    },
    close: () => {
      server.close();
      for (const one of sockets) one.destroy();
    },
  };
};

describe.skipIf(!hasRedis)('two gateways with one Redis, of which one gets its answers late', () => {
  let redis: TestRedis;
  let path: SlowPath;
  let slow: Kv;
  let quick: Kv;
  const opened: RateLimits[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    path = await openSlowPath(redis);
    slow = createRedisKv({ url: path.url, log, waitMsMax: 10 });
    quick = createRedisKv({ url: redis.url, log, waitMsMax: 10_000 });
    await until(() => [slow, quick].every((kv) => kv.health() === 'up'));
  });

  afterAll(async () => {
    for (const limits of opened) limits.close();
    for (const kv of [slow, quick]) await kv.close();
    path.close();
    await redis.kill();
  });

  const open = (kv: Kv, name: string): RateLimits => {
    const limits = createRateLimits({ kv, policies: [{ name, quota: 100, windowSeconds: 600 }] });
    opened.push(limits);
    return limits;
  };

  /** A request, and what is sent for it, while no answer arrives. */
  const chargeWithLateAnswer = async (limits: RateLimits, units: number): Promise<void> => {
    await until(() => slow.health() === 'up');
    path.hold();
    expect((await limits.charge('opc_late', units)).retryAfterSeconds).toBeUndefined();
    await until(() => slow.health() === 'down');
    path.release();
  };

  const countAdmitted = async (limits: RateLimits): Promise<number> => {
    let count = 0;
    for (let i = 0; i < 100; i += 1)
      if ((await limits.charge('opc_late', 1)).retryAfterSeconds === undefined) count += 1;
    return count;
  };

  test.each([
    ['of which each is counted in the process and sent to Redis later', 10, 1],
    ['of which each asks Redis', 2, 10],
  ])('A-830 Redis counts requests once whose counts it answers late: requests %s', async (_kind, requests, units) => {
    const name = `late-${units}`;
    const limits = open(slow, name);
    for (let i = 0; i < requests; i += 1) await chargeWithLateAnswer(limits, units);
    await until(() => slow.health() === 'up');
    // Once all that was owed has been counted, the other gateway knows what is left.
    const other = open(quick, name);
    const admin = quick.windows({ name: `rate:${name}`, quota: 100, windowSeconds: 600 });
    await until(async () => (await admin.add('opc_late', 0)).used === requests * units);
    expect(await countAdmitted(other)).toBe(100 - requests * units);
  });
});
