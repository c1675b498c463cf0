/** Connections to Redis that fail more than once. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { openRedis } from '#src/platform/kv/redis-connection.ts';
import { makeAuthority } from '../harness/make-certificate.ts';

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

/** A server whose certificate is of an authority that the gateway does not know. */
const openStranger = (): Promise<number> =>
  listen(createServer(makeAuthority('Unknown').issue(), (socket) => socket.on('error', () => undefined)));

/** A Sentinel that names this port of the primary. `caFile`: the authority of its certificate. */
const openSentinel = async (primary: number): Promise<{ port: number; caFile: string }> => {
  const authority = makeAuthority('Known');
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-redis-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, authority.cert);
  const answers: Record<string, string> = {
    'get-master-addr-by-name': `*2\r\n$9\r\n127.0.0.1\r\n$${String(primary).length}\r\n${primary}\r\n`,
    sentinels: '*0\r\n',
    info: '$9\r\nloading:0\r\n',
  };
  const answer = (socket: Socket, text: string): void => {
    for (const [, name = '', argument = ''] of text.matchAll(/\*\d+\r\n\$\d+\r\n(\S+)\r\n(?:\$\d+\r\n(\S+)\r\n)?/g))
      socket.write(answers[argument.toLowerCase()] ?? answers[name.toLowerCase()] ?? '+OK\r\n');
  };
  const server = createServer(authority.issue({ names: ['127.0.0.1'] }), (socket) =>
    socket.on('error', () => undefined).on('data', (data: Buffer) => answer(socket, data.toString())),
  );
  return { port: await listen(server), caFile };
};

const ways: [string, () => Promise<Parameters<typeof openRedis>[0]>][] = [
  ['one server', async () => ({ url: `rediss://127.0.0.1:${await openStranger()}` })],
  [
    'Sentinels',
    async () => {
      const { port, caFile } = await openSentinel(await openStranger());
      return { url: `rediss+sentinel://127.0.0.1:${port}/primary`, caFile };
    },
  ],
];

test.each(ways)(
  'an error of a connection to Redis after its first one, such as an alert after a refused certificate, ends nothing: %s',
  async (_way, addressOf) => {
    const redis = openRedis(await addressOf(), {});
    onTestFinished(() => redis.disconnect());
    const streams = new Set<typeof redis.stream>();
    while (streams.size < 3) {
      const [error] = await once(redis, 'error').catch((thrown: unknown) => [thrown]);
      // Before it asks the only Sentinel again, the library reports that it has asked all of them.
      if (String(error).includes('All sentinels')) continue;
      expect(String(error)).toContain('certificate');
      streams.add(redis.stream);
      redis.stream.emit('error', new Error('alert'));
    }
  },
);
