import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMemoryKv, type Kv, KvAway } from '#src/platform/kv/index.ts';
import { createRedisKv } from '#src/platform/kv/redis-kv.ts';
import { hasRedis, startRedis, startRedisCluster, type TestRedis, type TestRedisCluster } from '../support/redis.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });

type Backend = { name: string; skip: boolean; open(): Promise<Kv>; close(): Promise<void> };

let server: TestRedis;
let cluster: TestRedisCluster;

const backends: Backend[] = [
  { name: 'memory', skip: false, open: async () => createMemoryKv(), close: async () => undefined },
  {
    name: 'redis',
    skip: !hasRedis,
    open: async () => {
      server ??= await startRedis();
      // What is asked here is right answers, on a machine that may be busy.
      const kv = createRedisKv({ url: server.url, log, waitMsMax: 2_000 });
      await until(() => kv.health() === 'up');
      return kv;
    },
    close: async () => server?.kill(),
  },
  {
    name: 'A-264 redis cluster',
    skip: !hasRedis,
    open: async () => {
      cluster = await startRedisCluster();
      const kv = createRedisKv({
        url: `redis+cluster://127.0.0.1:${cluster.primaries[1]?.port}`,
        log,
        waitMsMax: 2_000,
      });
      await until(() => kv.health() === 'up');
      return kv;
    },
    close: async () => cluster?.close(),
  },
];

let names = 0;
/** A counter that no other test uses. */
const counterOf = (kv: Kv, quota: number, windowSeconds = 60) => {
  names += 1;
  return kv.windows({ name: `test:${names}`, quota, windowSeconds });
};

describe.each(backends)('$name', ({ skip, open, close }) => {
  let kv: Kv;

  beforeAll(async () => {
    if (!skip) kv = await open();
  });

  afterAll(async () => {
    await kv?.close();
    await close();
  });

  test.skipIf(skip)('adds up units whatever the quota, in a window that opened with the first', async () => {
    const counter = counterOf(kv, 5);
    const first = await counter.add('a', 3);
    expect(first.used).toBe(3);
    expect(first.msLeft).toBeGreaterThan(59_000);
    expect(first.msLeft).toBeLessThanOrEqual(60_000);
    const second = await counter.add('a', 4);
    expect(second.used).toBe(7);
    expect(second.msLeft).toBeLessThanOrEqual(first.msLeft);
  });

  test.skipIf(skip)('takes what fits and nothing of what does not', async () => {
    const counter = counterOf(kv, 5);
    expect(await counter.take('a', 4)).toMatchObject({ taken: true, used: 4 });
    expect(await counter.take('a', 2)).toMatchObject({ taken: false, used: 4 });
    expect(await counter.take('a', 1)).toMatchObject({ taken: true, used: 5 });
    const refused = await counter.take('a', 1);
    expect(refused).toMatchObject({ taken: false, used: 5 });
    expect(refused.msLeft).toBeGreaterThan(0);
  });

  test.skipIf(skip)('a refused take opens no window, and keys do not touch each other', async () => {
    const counter = counterOf(kv, 5);
    expect(await counter.take('a', 6)).toMatchObject({ taken: false, used: 0 });
    expect(await counter.take('a', 5)).toMatchObject({ taken: true, used: 5 });
    expect(await counter.take('b', 5)).toMatchObject({ taken: true, used: 5 });
  });

  test.skipIf(skip)('of many takes at once exactly the quota succeeds', async () => {
    const counter = counterOf(kv, 20);
    const taken = await Promise.all(Array.from({ length: 60 }, () => counter.take('a', 1)));
    expect(taken.filter((answer) => answer.taken)).toHaveLength(20);
  });

  test.skipIf(skip)('releases units within a window, and never below zero', async () => {
    const counter = counterOf(kv, 5);
    await counter.release('a', 3);
    expect(await counter.take('a', 5)).toMatchObject({ taken: true, used: 5 });
    await counter.release('a', 2);
    expect(await counter.take('a', 2)).toMatchObject({ taken: true, used: 5 });
  });

  test.skipIf(skip)('a window ends by itself and the next one is empty', async () => {
    const counter = counterOf(kv, 2, 1);
    /** Both in one window: on a busy machine it may end between them. */
    const isFilled = async (): Promise<boolean> => {
      if (!(await counter.take('a', 2)).taken) return false;
      const { taken, used } = await counter.take('a', 1);
      return !taken && used === 2;
    };
    await until(isFilled);
    await until(isFilled);
  });

  test.skipIf(skip)('a message reaches every listener of its channel, until it stops listening', async () => {
    const heard: string[] = [];
    const stop = kv.subscribe('news', (message) => heard.push(`first ${message}`));
    kv.subscribe('news', (message) => heard.push(`second ${message}`));
    kv.subscribe('other', (message) => heard.push(`other ${message}`));
    await until(() => {
      kv.publish('news', 'probe');
      return heard.length > 0;
    });
    await until(() => heard.length % 2 === 0);
    stop();
    heard.length = 0;
    kv.publish('news', 'last');
    await until(() => heard.includes('second last'));
    expect(heard.filter((text) => text.startsWith('first last') || text.startsWith('other'))).toEqual([]);
  });
});

describe.skipIf(!hasRedis)('Redis that fails', () => {
  const waitMsMax = 300;

  let redis: TestRedis;
  let kv: Kv;

  beforeAll(async () => {
    redis = await startRedis();
    kv = createRedisKv({ url: redis.url, log, waitMsMax });
    await until(() => kv.health() === 'up');
  });

  afterAll(async () => {
    await kv.close();
    await redis.kill();
  });

  /** Milliseconds until the counter refused. */
  const timeOfRefusal = async (): Promise<number> => {
    const startedAt = performance.now();
    await expect(counterOf(kv, 5).add('a', 1)).rejects.toThrow(KvAway);
    return performance.now() - startedAt;
  };

  test('a killed Redis is refused at once, is seen as down, and is used again by itself when it is back', async () => {
    const counter = counterOf(kv, 100);
    const heard: string[] = [];
    kv.subscribe('back', (message) => heard.push(message));
    expect((await counter.add('a', 7)).used).toBe(7);
    await redis.kill();
    await until(() => kv.health() === 'down');
    // The shortest of three, since a busy machine may make any of them late.
    const times = [await timeOfRefusal(), await timeOfRefusal(), await timeOfRefusal()];
    expect(Math.min(...times)).toBeLessThan(waitMsMax);
    await redis.start();
    await until(() => kv.health() === 'up');
    expect((await counter.add('a', 1)).used).toBe(1);
    await until(() => {
      kv.publish('back', 'again');
      return heard.length > 0;
    });
  });

  test('a Redis that stands still costs one short wait, then nothing, and is used again when it goes on', async () => {
    await until(() => kv.health() === 'up');
    redis.freeze();
    const first = await timeOfRefusal();
    expect(first).toBeGreaterThan(waitMsMax - 20);
    expect(kv.health()).toBe('down');
    const later: number[] = [];
    for (let i = 0; i < 20; i += 1) later.push(await timeOfRefusal());
    // Most of them: a busy machine may make any of them late.
    expect(later.toSorted((a, b) => a - b)[10]).toBeLessThan(waitMsMax / 2);
    redis.resume();
    await until(() => kv.health() === 'up');
    expect((await counterOf(kv, 5).take('a', 5)).taken).toBe(true);
  });

  test('a Redis without memory is away until it has some again, and the log says once why', async () => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(JSON.parse(line).msg);
    const full = createRedisKv({ url: redis.url, log: pino({}, { write }), waitMsMax: 2_000 });
    const admin = new Redis(redis.url);
    const probes = async (): Promise<number> =>
      Number(/cmdstat_eval:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
    try {
      await until(() => full.health() === 'up');
      await admin.config('SET', 'maxmemory', '1');
      await expect(counterOf(full, 5).add('a', 1)).rejects.toThrow(KvAway);
      const before = await probes();
      await until(async () => (await probes()) > before + 1);
      expect(full.health()).toBe('down');
      await admin.config('SET', 'maxmemory', '0');
      await until(() => lines.length > 1);
      expect(full.health()).toBe('up');
      expect(lines).toEqual([expect.stringContaining('REDIS_URL): OOM'), expect.stringContaining('reachable again')]);
    } finally {
      await full.close();
      admin.disconnect();
    }
  });

  test('A-652 a Redis that closes the connection and refuses the next one is away, and the log names the refusal and no password', async () => {
    const lines: string[] = [];
    let all = '';
    const write = (line: string): void => {
      all += line;
      const { level, msg } = JSON.parse(line);
      if (level > debug) lines.push(msg);
    };
    const debug = pino.levels.values.debug ?? 0;
    const admin = new Redis(redis.url);
    await admin.call('ACL', 'SETUSER', 'turned', 'on', '>pass-before', '~*', '&*', '+@all');
    const { host } = new URL(redis.url);
    const turned = createRedisKv({
      url: `redis://turned:pass-before@${host}`,
      log: pino({ level: 'debug' }, { write }),
      waitMsMax: 2_000,
    });
    try {
      await until(() => turned.health() === 'up');
      await admin.call('ACL', 'SETUSER', 'turned', 'resetpass', '>pass-after');
      await admin.call('CLIENT', 'KILL', 'USER', 'turned');
      await until(() => lines.some((line) => line.includes('WRONGPASS')));
      await admin.call('ACL', 'SETUSER', 'turned', 'resetpass', '>pass-before');
      await until(() => lines.at(-1)?.includes('reachable again') === true);
      expect(lines.filter((line) => line.includes('WRONGPASS'))).toHaveLength(1);
      expect(lines.filter((line) => line.includes('does not answer'))).toEqual([]);
      expect(all).toContain('"reason":"WRONGPASS');
      expect(all).not.toContain('pass-before');
    } finally {
      await turned.close();
      admin.disconnect();
    }
  });

  test('one that is closed while it listens anew after a break ends quietly', async () => {
    // Between them: drops subscriptions on demand.
    const sockets = new Set<Socket>();
    let isDeaf = false;
    let lost = 0;
    const line = createServer((near) => {
      const far = connect(Number(new URL(redis.url).port), '127.0.0.1');
      for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
      near.on('close', () => far.destroy());
      far.on('close', () => near.destroy()).pipe(near);
      near.on('data', (chunk) => {
        if (isDeaf && /\r\nsubscribe\r\n/i.test(chunk.toString())) lost += 1;
        else far.write(chunk);
      });
    });
    await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
    const { port } = line.address() as AddressInfo;
    const broken = createRedisKv({ url: `redis://127.0.0.1:${port}`, log });
    try {
      const heard: string[] = [];
      broken.subscribe('quiet', (message) => heard.push(message));
      await until(() => {
        broken.publish('quiet', 'there');
        return heard.length > 0;
      });
      isDeaf = true;
      for (const socket of sockets) socket.destroy();
      await until(() => lost > 0);
    } finally {
      // An unhandled rejection would fail the run.
      await broken.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => line.close(resolve));
    }
  });

  test('nothing has to run at the start', async () => {
    const early = createRedisKv({ url: 'redis://127.0.0.1:1', log });
    expect(early.health()).toBe('down');
    await expect(early.windows({ name: 'x', quota: 1, windowSeconds: 1 }).add('a', 1)).rejects.toThrow(KvAway);
    await early.close();
  });
});
