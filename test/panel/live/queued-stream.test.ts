/** Streams of one connection: the second is sent only when the first has ended (RFC 9112 section 9.3.2). */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEventStreams } from '#src/panel/live/event-streams.ts';
import { until } from '../../support/until.ts';

const asked: Record<string, number> = { a: 0, b: 0 };
const errors: Error[] = [];
const streams = createEventStreams({ beatMs: 10, watch: () => () => undefined });
const server = createServer((req, res) => {
  const name = req.url === '/a' ? 'a' : 'b';
  // Beside the listener of the stream itself, so that an error is seen and does not end the test.
  res.on('error', (error) => errors.push(error));
  streams.open(req, res, {
    userId: name,
    topics: [],
    isLive: () => {
      asked[name] = (asked[name] ?? 0) + 1;
      return Promise.resolve(name === 'a');
    },
  });
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));

afterAll(() => {
  streams.close();
  server.closeAllConnections();
  server.close();
});

test('a stream whose session ends while it waits behind another on its connection ends once, without an error', async () => {
  const { port } = server.address() as { port: number };
  const socket = connect(port, '127.0.0.1', () =>
    socket.write('GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n'),
  );
  await until(() => (asked.b ?? 0) > 0);
  const before = asked.a ?? 0;
  await until(() => (asked.a ?? 0) > before + 5);
  expect([asked.b, errors]).toEqual([1, []]);
  socket.destroy();
});
