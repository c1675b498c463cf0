/**
 * Redis as the shared state. A Redis that sends nothing for `waitMsMax` counts as away. One request waits that long;
 * afterwards every question is refused at once (KvAway), until a probe, several times a second, gets an answer
 * (redis-gate.ts). A busy Redis may take up to 20 times as long. Lost connections are reopened; an open but silent connection
 * is closed.
 *
 * Every command and script has one key, so that each may be in another slot of a cluster. A cluster with a node that is away
 * counts as away as a whole until the slots of the node have another: processes count in one way for all callers.
 */
import { Cluster, type Redis } from 'ioredis';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Logger } from '../log.ts';
import type { Count, Kv, Late, Leases, WindowCounter, WindowOptions } from './kv.ts';
import { openCluster, openRedis, type RedisAddress } from './redis-connection.ts';
import { createRedisGate, type RedisGate } from './redis-gate.ts';

type RedisKvDeps = RedisAddress & {
  log: Logger;
  /** How long a question may wait while Redis sends nothing. */
  waitMsMax?: number;
};

const waitMsDefault = 10;
const listenAgainMs = 1_000;
const namePrefix = 'orderpass';

export const createRedisKv = ({ log, waitMsMax = waitMsDefault, ...address }: RedisKvDeps): Kv => {
  // No command is sent twice, and none waits until a lost server is back: a count after its request has gone would be wrong.
  const client =
    openCluster(address) ??
    openRedis(address, {
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    });
  const gate = createRedisGate(client, log, waitMsMax);
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

const createCounter = (
  client: Redis | Cluster,
  gate: RedisGate,
  { name, quota, windowSeconds }: WindowOptions,
): WindowCounter => {
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
  const ask = <T>(
    key: string,
    question: () => Promise<RateLimiterRes>,
    read: (res: RateLimiterRes) => T,
    late?: Late<T>,
  ): Promise<T> => gate.ask(loose.getKey(key), async () => read(await question()), late);
  return {
    add: (key, units, late) => ask(key, () => loose.penalty(key, units), countOf, late),
    take: (key, units, late) => {
      const readTaken = (res: RateLimiterRes): Count & { taken: boolean } => {
        const { used, msLeft } = countOf(res);
        return used > quota ? { used: used - units, msLeft, taken: false } : { used, msLeft, taken: true };
      };
      return ask(key, () => strict.penalty(key, units), readTaken, late);
    },
    release: (key, units, late) =>
      ask(
        key,
        () => loose.reward(key, units),
        () => undefined,
        late,
      ),
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
const createLeases = (
  client: Redis | Cluster,
  gate: RedisGate,
  { name, leaseMs }: { name: string; leaseMs: number },
): Leases => {
  const ask = <T>(key: string, question: (named: string) => Promise<T>): Promise<T> => {
    const named = `${namePrefix}:${name}:${key}`;
    return gate.ask(named, () => question(named));
  };
  return {
    take: async (key, holder, max) =>
      (await ask(key, (named) => client.eval(takeSlot, 1, named, holder, max, leaseMs))) === 1,
    renew: async (key, holders) => {
      await ask(key, (named) => client.eval(renewSlots, 1, named, leaseMs, ...holders));
    },
    release: async (key, holder) => {
      await ask(key, (named) => client.zrem(named, holder));
    },
  };
};

type Messages = Pick<Kv, 'publish' | 'subscribe'> & { close(): void };

/**
 * In the older protocol a subscribed connection can do nothing else, so it is a separate one. The client of a cluster opens it
 * by itself, to any node, since each node passes messages on to all others.
 */
const createMessages = (address: RedisAddress, client: Redis | Cluster): Messages => {
  const listeners = new Map<string, Set<(message: string) => void>>();
  const listening =
    client instanceof Cluster
      ? client
      : openRedis(address, {
          lazyConnect: true,
          maxRetriesPerRequest: null,
          // The library would ignore a failed resubscription when the connection is lost again or closed.
          autoResubscribe: false,
        }).on('error', () => undefined);
  const listen = async (names: readonly string[]): Promise<void> => {
    if (names.length > 0) await listening.subscribe(...names).catch(() => undefined);
  };
  listening.on('ready', () => void listen([...listeners.keys()]));
  listening.on('message', (channel: string, message: string) => {
    for (const listener of listeners.get(channel) ?? []) listener(message);
  });
  const stopListening =
    client instanceof Cluster ? listenAgain(client, () => listen([...listeners.keys()])) : undefined;
  return {
    publish: (channel, message) => {
      if (client.status === 'ready') client.publish(`${namePrefix}:${channel}`, message).catch(() => undefined);
    },
    subscribe: (channel, listener) => {
      const name = `${namePrefix}:${channel}`;
      const all = listeners.get(name) ?? new Set();
      if (all.size === 0) void listen([name]);
      listeners.set(name, all.add(listener));
      return () => void all.delete(listener);
    },
    close: () => {
      stopListening?.();
      listening.disconnect();
    },
  };
};

/** The library loses a subscription that is under way when its node leaves the cluster. Repeating one changes nothing. */
const listenAgain = (cluster: Cluster, listen: () => Promise<void>): (() => void) => {
  let isUnderWay = false;
  const timer = setInterval(async () => {
    if (isUnderWay || cluster.status !== 'ready') return;
    isUnderWay = true;
    await listen();
    isUnderWay = false;
  }, listenAgainMs).unref();
  return () => clearInterval(timer);
};
