/** Opens connections to Redis: one server, the primary that Sentinels name, or the nodes of a cluster, with or without TLS. */
import { readFileSync } from 'node:fs';
import { type RedisOptions as AllOptions, Cluster, Redis } from 'ioredis';
import { readClusterAddress, readSentinelAddress, speaksTls } from './redis-address.ts';

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

/**
 * The library listens to the first error of a connection only, also of those that a cluster opens by itself. A refused certificate
 * may be followed by an alert of the server, and an error to which nothing listens would end the process. The library assigns each
 * new connection to `stream`, behind Sentinels only after one of them has answered.
 */
const streams = new WeakMap<Redis, Redis['stream']>();
Object.defineProperty(Redis.prototype, 'stream', {
  get(this: Redis) {
    return streams.get(this);
  },
  set(this: Redis, stream: Redis['stream']) {
    stream.on('error', () => undefined);
    streams.set(this, stream);
  },
});

const retryAfterMs = (attempt: number): number => Math.min(attempt * 50, 500);

const connectMsMax = 2_000;

const common: RedisOptions = {
  connectTimeout: connectMsMax,
  keepAlive: 5_000,
  retryStrategy: retryAfterMs,
  // A primary that became a replica refuses writes and keeps its connections: the next one finds the new primary.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
};

const commonOf = ({ url, caFile }: RedisAddress): RedisOptions => ({
  ...common,
  ...(speaksTls(url) && { tls: caFile === undefined ? {} : { ca: readFileSync(caFile) } }),
});

/** Throws when the file of authorities cannot be read. */
export const openRedis = (named: RedisAddress, more: RedisOptions): Redis => {
  const { url, sentinelPassword } = named;
  const options: RedisOptions = { ...commonOf(named), ...more };
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

/** Undefined: the address is not that of a cluster. Throws when the file of authorities cannot be read. */
export const openCluster = (named: RedisAddress): Cluster | undefined => {
  const address = readClusterAddress(named.url);
  if (address === undefined) return undefined;
  const { nodes, ...credentials } = address;
  const cluster = new Cluster(nodes, {
    redisOptions: { ...commonOf(named), ...credentials },
    clusterRetryStrategy: retryAfterMs,
    slotsRefreshTimeout: connectMsMax,
    // A node whose connection broke may have counted already.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: 5,
    // Its question may go to a node that is silent, and it waits for the answer without a bound.
    enableReadyCheck: false,
    // Certificates have the name that the address has; each connection looks it up.
    dnsLookup: (name, found) => found(null, name),
  });
  // The library would wait for the first command, which then has no time for the connection; and it would go on to listen
  // to replicas that it never reached, without a pause, while all nodes are gone.
  cluster.on('+node', (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => undefined);
  });
  return cluster;
};
