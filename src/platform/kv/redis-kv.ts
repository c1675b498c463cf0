/**
 * Redis as the shared state. A Redis that sends nothing for `waitMsMax` counts as away. One request waits that long;
 * afterwards every question is refused at once (KvAway), until a probe, several times a second, gets an answer. A busy Redis
 * may take up to `busyFactor` times as long. Lost connections are reopened; an open but silent connection is closed.
 */
import type { Redis } from 'ioredis';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Logger } from '../log.ts';
import { type Count, type Kv, KvAway, type Leases, type WindowCounter, type WindowOptions } from './kv.ts';
import { openRedis, type RedisAddress } from './redis-connection.ts';

type RedisKvDeps = RedisAddress & {
  log: Logger;
  /** How long a question may wait while Redis sends nothing. */
  waitMsMax?: number;
};

const waitMsDefault = 10;
const busyFactor = 20;
const probeMs = 200;
/** A probe may take longer than an answer, to distinguish an overloaded machine from a dead one. */
const probesMax = 8;
const namePrefix = 'orderpass';

export const createRedisKv = ({ log, waitMsMax = waitMsDefault, ...address }: RedisKvDeps): Kv => {
  // No command waits for a connection, and none is sent twice: a count after its request has gone would be wrong.
  const client = openRedis(address, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  const gate = createGate(client, log, waitMsMax);
  const messages = createMessages(address, client);
  return {
    health: () => (gate.isOpen() ? 'up' : 'down'),
    windows: (options) => createCounter(client, gate, options),
    leases: (options) => createLeases(client, gate, options),
    publish: (channel, message) => messages.publish(channel, message),
    subscribe: messages.subscribe,
    close: async () => {
      gate.close();
      messages.close();
      client.disconnect();
    },
  };
};

/** One line, as Redis or the system words it; neither repeats a password. */
const reasonOf = (error: Error): string => {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const said = first instanceof Error && first.message !== '' ? first.message : error.name;
  return said.split('\n', 1)[0] ?? said;
};

type Gate = { isOpen(): boolean; ask<T>(question: () => Promise<T>): Promise<T>; close(): void };

/** Lets questions through while Redis answers in time. */
const createGate = (client: Redis, log: Logger, waitMsMax: number): Gate => {
  let silent = false;
  let reported: 'up' | 'down' = 'up';
  let missed = 0;
  let answers = 0;
  let reason = 'it does not answer';
  const isOpen = (): boolean => client.status === 'ready' && !silent;
  const report = (): void => {
    const now = isOpen() ? 'up' : 'down';
    if (now === reported) return;
    reported = now;
    if (now === 'down')
      log.warn(`Redis is not reachable (REDIS_URL): ${reason}; limits are counted by each process alone`);
    else log.warn('Redis is reachable again; limits are shared');
  };
  client.on('ready', report).on('close', report);
  client.on('error', (error) => {
    log.debug({ err: error }, 'Redis connection');
    reason = reasonOf(error);
    report();
  });
  const probe = async (): Promise<void> => {
    if (!silent || client.status !== 'ready') return;
    try {
      await inTime(client.ping(), probeMs, () => 0);
      silent = false;
      missed = 0;
      report();
    } catch {
      missed += 1;
      // The other end is gone without closing (power, a dropped network), or is stopped.
      if (missed % probesMax === 0) client.disconnect(true);
    }
  };
  const timer = setInterval(() => void probe(), probeMs);
  return {
    isOpen,
    ask: async (question) => {
      if (!isOpen()) throw new KvAway();
      try {
        const asked = question();
        asked.then(
          () => {
            answers += 1;
          },
          () => undefined,
        );
        return await inTime(asked, waitMsMax, () => answers);
      } catch (error) {
        if (error instanceof Late) silent = true;
        report();
        throw new KvAway(error);
      }
    },
    close: () => clearInterval(timer),
  };
};

class Late extends Error {}

/** Waits `msMax`, and again as long as `progress` moves, which shows answers to earlier questions. */
const inTime = <T>(work: Promise<T>, msMax: number, progress: () => number): Promise<T> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let seen = progress();
    let timer: NodeJS.Timeout;
    let settled = false;
    const check = (): void => {
      if (settled) return;
      if (progress() === seen || performance.now() - startedAt > msMax * busyFactor) return reject(new Late());
      seen = progress();
      wait();
    };
    const wait = (): void => {
      // A busy process may have the answer in its socket already; it is read before the question counts as late.
      timer = setTimeout(() => setImmediate(() => setImmediate(check)), msMax);
    };
    wait();
    const settle = <V>(next: (value: V) => void) => {
      return (value: V): void => {
        settled = true;
        clearTimeout(timer);
        next(value);
      };
    };
    work.then(settle(resolve), settle(reject));
  });

/**
 * The script of the library adds before it compares, so a refused call would use units up. This script adds only units that
 * fit (ARGV: units, seconds, limit), and takes nothing off a window that is over. Same result: total, milliseconds left.
 */
const addWhatFits = `
local held = tonumber(redis.call('get', KEYS[1]) or '0')
local units = tonumber(ARGV[1])
local left = redis.call('pttl', KEYS[1])
if units < 0 and left < 0 then return {0, 0} end
if held + units > tonumber(ARGV[3]) then
  if left < 0 then left = 1000 * tonumber(ARGV[2]) end
  return {held + units, left}
end
local total = redis.call('incrby', KEYS[1], ARGV[1])
if left < 0 then
  redis.call('expire', KEYS[1], ARGV[2])
  left = 1000 * tonumber(ARGV[2])
end
return {total, left}`;

const createCounter = (client: Redis, gate: Gate, { name, quota, windowSeconds }: WindowOptions): WindowCounter => {
  const limiterOf = (points: number): RateLimiterRedis =>
    new RateLimiterRedis({
      storeClient: client,
      keyPrefix: `${namePrefix}:${name}`,
      points,
      duration: windowSeconds,
      customIncrTtlLuaScript: addWhatFits,
    });
  const strict = limiterOf(quota);
  const loose = limiterOf(Number.MAX_SAFE_INTEGER);
  return {
    add: async (key, units) => countOf(await gate.ask(() => loose.penalty(key, units))),
    take: async (key, units) => {
      const { used, msLeft } = countOf(await gate.ask(() => strict.penalty(key, units)));
      return used > quota ? { used: used - units, msLeft, taken: false } : { used, msLeft, taken: true };
    },
    release: async (key, units) => {
      await gate.ask(() => loose.reward(key, units));
    },
  };
};

const countOf = ({ consumedPoints, msBeforeNext }: RateLimiterRes): Count => ({
  used: consumedPoints,
  msLeft: msBeforeNext,
});

const readClock = `
local time = redis.call('time')
local now = 1000 * time[1] + math.floor(time[2] / 1000)`;

/** ARGV: holder, most slots, milliseconds of a lease. */
const takeSlot = `${readClock}
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('zadd', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[3])
return 1`;

/** ARGV: milliseconds of a lease, holders. */
const renewSlots = `${readClock}
for i = 2, #ARGV do redis.call('zadd', KEYS[1], now + tonumber(ARGV[1]), ARGV[i]) end
redis.call('pexpire', KEYS[1], ARGV[1])
return 1`;

/** A sorted set for each key: a holder scores the time at which its slot expires, by the clock of Redis. */
const createLeases = (client: Redis, gate: Gate, { name, leaseMs }: { name: string; leaseMs: number }): Leases => {
  const keyOf = (key: string): string => `${namePrefix}:${name}:${key}`;
  return {
    take: async (key, holder, max) =>
      (await gate.ask(() => client.eval(takeSlot, 1, keyOf(key), holder, max, leaseMs))) === 1,
    renew: async (key, holders) => {
      await gate.ask(() => client.eval(renewSlots, 1, keyOf(key), leaseMs, ...holders));
    },
    release: async (key, holder) => {
      await gate.ask(() => client.zrem(keyOf(key), holder));
    },
  };
};

type Messages = Pick<Kv, 'publish' | 'subscribe'> & { close(): void };

/** In the older protocol a subscribed connection can do nothing else, so it is a separate one. */
const createMessages = (address: RedisAddress, client: Redis): Messages => {
  const listeners = new Map<string, Set<(message: string) => void>>();
  const listening = openRedis(address, {
    lazyConnect: true,
    maxRetriesPerRequest: null,
    // The library would ignore a failed resubscription when the connection is lost again or closed.
    autoResubscribe: false,
  });
  const listen = (names: readonly string[]): void => {
    if (names.length > 0) listening.subscribe(...names).catch(() => undefined);
  };
  listening.on('error', () => undefined);
  listening.on('ready', () => listen([...listeners.keys()]));
  listening.on('message', (channel: string, message: string) => {
    for (const listener of listeners.get(channel) ?? []) listener(message);
  });
  return {
    publish: (channel, message) => {
      if (client.status === 'ready') client.publish(`${namePrefix}:${channel}`, message).catch(() => undefined);
    },
    subscribe: (channel, listener) => {
      const name = `${namePrefix}:${channel}`;
      const all = listeners.get(name) ?? new Set();
      if (all.size === 0) listen([name]);
      listeners.set(name, all.add(listener));
      return () => void all.delete(listener);
    },
    close: () => listening.disconnect(),
  };
};
