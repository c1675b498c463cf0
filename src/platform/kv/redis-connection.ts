/** Opens connections to Redis: one server, or the primary that Sentinels name, with or without TLS. */
import { readFileSync } from 'node:fs';
import { type RedisOptions as AllOptions, Redis } from 'ioredis';
import { readSentinelAddress, speaksTls } from './redis-address.ts';

/** The constructor takes no undefined mapping, which its own type has. */
type RedisOptions = Omit<AllOptions, 'replyMapping'>;

export type RedisAddress = {
  /** Form: `redis-address.ts`. */
  url: string;
  /** PEM file of the authorities that sign the certificates of Redis. Undefined: those of Node. */
  caFile?: string | undefined;
  /** Undefined: Sentinels ask for none. */
  sentinelPassword?: string | undefined;
};

const retryAfterMs = (attempt: number): number => Math.min(attempt * 50, 500);

const common: RedisOptions = {
  connectTimeout: 2_000,
  keepAlive: 5_000,
  retryStrategy: retryAfterMs,
  // A primary that became a replica refuses writes and keeps its connections: the next one finds the new primary.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
};

/** Throws when the file of authorities cannot be read. */
export const openRedis = ({ url, caFile, sentinelPassword }: RedisAddress, more: RedisOptions): Redis => {
  const options: RedisOptions = { ...common, ...more };
  if (speaksTls(url)) options.tls = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  const address = readSentinelAddress(url);
  if (address === undefined) return new Redis(url, options);
  Object.assign(options, address);
  if (sentinelPassword !== undefined) options.sentinelPassword = sentinelPassword;
  if (options.tls !== undefined) {
    options.enableTLSForSentinelMode = true;
    options.sentinelTLS = { ...options.tls };
  }
  options.sentinelRetryStrategy = retryAfterMs;
  return new Redis(options);
};
