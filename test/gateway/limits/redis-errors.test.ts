/** Connections to Redis that fail more than once. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { openRedis } from '#src/platform/kv/redis-connection.ts';
import { makeAuthority } from '../harness/make-certificate.ts';

test('an error of a connection to Redis after its first one, such as an alert after a refused certificate, ends nothing', async () => {
  const server = createServer(makeAuthority('Unknown').issue(), (socket) => socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const redis = openRedis({ url: `rediss://127.0.0.1:${(server.address() as AddressInfo).port}` }, {});
  onTestFinished(() => redis.disconnect());
  const streams = new Set<typeof redis.stream>();
  for (let count = 0; count < 3; count += 1) {
    const [error] = await once(redis, 'error').catch((thrown: unknown) => [thrown]);
    expect(String(error)).toContain('certificate');
    streams.add(redis.stream);
    redis.stream.emit('error', new Error('alert'));
  }
  expect(streams.size).toBe(3);
});
