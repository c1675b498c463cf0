/** What src/gateway/upstream/addresses/undici leans on in undici, beyond its documentation. */
import { createServer } from 'node:net';
import { buildConnector, Client } from 'undici';
import { expect, test } from 'vitest';
import { listen } from '../../gateway/harness/public-door.ts';

const changed = (what: string): string => `undici changed what src/gateway/upstream/addresses/undici leans on: ${what}`;

test('a client takes the bytes of an answer only by calling read of the socket that it was given', async () => {
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab'));
  });
  const connector = buildConnector({});
  let seen = '';
  const client = new Client(await listen(server), {
    connect: (asked, callback) =>
      connector(asked, (...connected) => {
        const [, socket] = connected;
        if (socket !== null) {
          const read = socket.read.bind(socket);
          socket.read = (size?: number): Buffer | null => {
            const chunk: Buffer | null = read(size);
            seen += chunk?.toString('latin1') ?? '';
            return chunk === null ? null : Buffer.from(chunk.toString('latin1').replace('ab', 'AB'), 'latin1');
          };
        }
        callback(...connected);
      }),
  });
  try {
    const { body } = await client.request({ path: '/', method: 'GET' });
    expect(await body.text(), changed('bytes are read by socket.read')).toBe('AB');
    expect(seen, changed('all bytes are read by socket.read')).toContain('Content-Length: 2\r\n\r\nab');
  } finally {
    await client.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});
