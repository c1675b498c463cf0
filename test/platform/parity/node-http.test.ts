/** What the gateway leans on in node:http, beyond its documentation (src/gateway/edge/client-error.ts). */
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';

const changed = (what: string): string => `node:http changed what we lean on: ${what}`;

type Answering = Socket & { _httpMessage?: ServerResponse | null };

test('a connection knows the response that it is to carry, and no response between two requests', async () => {
  const responses: ServerResponse[] = [];
  const errors: { current: unknown }[] = [];
  const server = createServer((_, response) => responses.push(response));
  server.on('clientError', (_, socket) => {
    errors.push({ current: (socket as Answering)._httpMessage });
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  try {
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(() => responses.length === 1);
    const [first] = responses;
    const socket = first?.socket as Answering;
    expect(socket._httpMessage, changed('socket._httpMessage is the current response')).toBe(first);
    await new Promise<void>((resolve) => first?.end('done', resolve));
    await until(() => socket._httpMessage === null);
    expect(socket._httpMessage, changed('socket._httpMessage is null after the response')).toBeNull();
    client.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    await until(() => responses.length === 2);
    client.write('not a chunk\r\n');
    await until(() => errors.length === 1);
    expect(errors[0]?.current, changed('clientError within a body comes with the current response')).toBe(responses[1]);
  } finally {
    client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
