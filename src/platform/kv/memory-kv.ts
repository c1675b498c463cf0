/** The implementation for one process; redis-kv.ts is the one for several. */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Count, Kv, WindowCounter, WindowOptions } from './kv.ts';

export const createMemoryKv = (): Kv => {
  const listeners = new Map<string, Set<(message: string) => void>>();
  return {
    health: () => 'local',
    windows: createCounter,
    publish: (channel, message) => {
      // Delivered later, as over a network: the publisher finishes its own work before a listener runs.
      queueMicrotask(() => {
        for (const listener of listeners.get(channel) ?? []) listener(message);
      });
    },
    subscribe: (channel, listener) => {
      const all = listeners.get(channel) ?? new Set();
      listeners.set(channel, all.add(listener));
      return () => void all.delete(listener);
    },
    close: () => Promise.resolve(),
  };
};

const createCounter = ({ name, quota, windowSeconds }: WindowOptions): WindowCounter => {
  const limiter = new RateLimiterMemory({ keyPrefix: name, points: quota, duration: windowSeconds });
  // The library reads and writes in two asynchronous steps; the queue makes them one.
  let last: Promise<unknown> = Promise.resolve();
  const inLine = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  const read = async (key: string): Promise<Count | undefined> => {
    const found = await limiter.get(key);
    if (found === null || found.msBeforeNext <= 0) return undefined;
    return { used: found.consumedPoints, msLeft: found.msBeforeNext };
  };
  const add = async (key: string, units: number): Promise<Count> => {
    const { consumedPoints, msBeforeNext } = await limiter.penalty(key, units);
    return { used: consumedPoints, msLeft: msBeforeNext };
  };
  return {
    add: (key, units) => inLine(() => add(key, units)),
    take: (key, units) =>
      inLine(async () => {
        const held = (await read(key)) ?? { used: 0, msLeft: windowSeconds * 1000 };
        if (held.used + units > quota) return { ...held, taken: false };
        return { ...(await add(key, units)), taken: true };
      }),
    release: (key, units) =>
      inLine(async () => {
        if ((await read(key)) !== undefined) await limiter.reward(key, units);
      }),
  };
};
