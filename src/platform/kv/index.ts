/** Shared state that may be lost: Redis where one is named, else this process's own memory. */
import type { Logger } from '../log.ts';
import type { Kv } from './kv.ts';
import { createMemoryKv } from './memory-kv.ts';
import { createRedisKv } from './redis-kv.ts';

export { type Count, type Kv, KvAway, type KvHealth, type WindowCounter } from './kv.ts';
export { createMemoryKv, createRedisKv };

type KvDeps = { url: string | undefined; waitMsMax: number; log: Logger };

export const createKv = ({ url, waitMsMax, log }: KvDeps): Kv =>
  url === undefined ? createMemoryKv() : createRedisKv({ url, waitMsMax, log });
