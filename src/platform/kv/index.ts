/** Shared state that may be lost: Redis where one is named, else this process's own memory. */
import type { Logger } from '../log.ts';
import type { Kv } from './kv.ts';
import { createMemoryKv } from './memory-kv.ts';
import type { RedisAddress } from './redis-connection.ts';

export { type Count, type Kv, KvAway, type KvHealth, type Leases, type WindowCounter } from './kv.ts';
export { createProcessKv } from './process-kv.ts';
export { createSharedCounts, type KvAnswer, type KvAsk } from './shared-counts.ts';
export { createMemoryKv };

type KvDeps = Omit<RedisAddress, 'url'> & { url: string | undefined; waitMsMax: number; log: Logger };

export const createKv = async ({ url, ...deps }: KvDeps): Promise<Kv> => {
  if (url === undefined) return createMemoryKv();
  // Loaded only where it is used.
  const { createRedisKv } = await import('./redis-kv.ts');
  return createRedisKv({ url, ...deps });
};
