/** What the gateway leans on in node:http, beyond its documentation (src/gateway/edge/node-http). */
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { createConnectionBound } from '#src/gateway/edge/node-http/bound-connections.ts';
import { endUnread } from '#src/gateway/edge/node-http/end-unread.ts';
import { closeWithConnection, currentResponseOf, responseOn } from '#src/gateway/edge/node-http/responses.ts';
import { makeAuthority, writeCertificate } from '../../gateway/harness/make-certificate.ts';
import { until } from '../../support/until.ts';

const changed = (what: string): string => `node:http changed what src/gateway/edge/node-http leans on: ${what}`;

test('a connection knows the response that it is to carry, and no response between two requests', async () => {
  const responses: ServerResponse[] = [];
  const errors: { current: unknown }[] = [];
  const closed: ServerResponse[] = [];
  const server = createServer((_, response) => {
    responses.push(response);
    response.on('close', () => closed.push(response));
  });
  server.on('clientError', (_, socket) => {
    errors.push({ current: currentResponseOf(socket as Socket) });
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  try {
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(() => responses.length === 1);
    const [first] = responses;
    const socket = first?.socket as Socket;
    expect(currentResponseOf(socket), changed('socket._httpMessage is the current response')).toBe(first);
    await new Promise<void>((resolve) => first?.end('done', resolve));
    await until(() => currentResponseOf(socket) === undefined);
    expect(currentResponseOf(socket), changed('socket._httpMessage is empty after the response')).toBeUndefined();
    client.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    await until(() => responses.length === 2);
    client.write('not a chunk\r\n');
    await until(() => errors.length === 1);
    expect(errors[0]?.current, changed('clientError within a body comes with the current response')).toBe(responses[1]);
    await until(() => closed.includes(responses[1] as ServerResponse));
    expect(closed, changed('a response emits close once, answered or cut')).toEqual(responses);
  } finally {
    client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('a response that waits behind another one is closed when its connection ends, also one that an upgrade has taken', async () => {
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    closeWithConnection(request, response);
    open.add(response);
    response.once('close', () => open.delete(response));
  });
  let upgraded: Socket | undefined;
  server.on('upgrade', (_, socket) => {
    upgraded = socket as Socket;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  const send = (text: string): void => {
    const client = connect(port, '127.0.0.1', () => client.write(text));
    clients.push(client.on('error', () => undefined));
  };
  const two = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2);
  try {
    send(two);
    await until(() => open.size === 2);
    clients[0]?.destroy();
    await until(() => open.size === 0);
    send(`${two}GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`);
    await until(() => upgraded !== undefined);
    expect(open.size).toBe(2);
    upgraded?.destroy();
    await until(() => open.size === 0);
  } finally {
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('a response for a socket that has left the server is written to it, and says that the connection ends', async () => {
  const server = createServer();
  server.on('upgrade', (request, socket) => {
    const response = responseOn(socket as Socket, request);
    response.once('finish', () => socket.end());
    response.writeHead(403, { 'content-type': 'text/plain' });
    response.end('refused');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  let ended = false;
  client.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  client.on('end', () => {
    ended = true;
  });
  try {
    client.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    await until(() => ended);
    expect(text, changed('new ServerResponse(request).assignSocket(socket)')).toMatch(/^HTTP\/1\.1 403 [\s\S]*refused/);
    expect(text.toLowerCase(), changed('shouldKeepAlive of a response')).toContain('\r\nconnection: close\r\n');
  } finally {
    client.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** More than the buffers of two sockets hold. */
const large = Buffer.alloc(24 * 1024 * 1024, 'x');

const authority = makeAuthority();
const files = writeCertificate(authority);
afterAll(() => files.remove());

const kinds: [string, (answer: (response: ServerResponse) => void) => Server, (port: number) => Socket][] = [
  ['plain', (answer) => createServer((_, response) => answer(response)), (port) => connect(port, '127.0.0.1')],
  [
    'TLS',
    (answer) => {
      const pem = { cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) };
      return createTlsServer(pem, (_, response) => answer(response));
    },
    (port) => connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: authority.cert }),
  ],
];

test.each(kinds)(
  'a connection whose client reads nothing ends, and one that waits for its answer does not: %s',
  async (_kind, make, open) => {
    const answers: ServerResponse[] = [];
    const finished: boolean[] = [];
    const server = make((response) => {
      answers.push(response);
      response.once('close', () => finished.push(response.writableFinished));
    });
    endUnread(server);
    server.timeout = 100;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const clients: Socket[] = [];
    const ask = (): Socket => {
      const client = open(port);
      clients.push(client.on('error', () => undefined));
      client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      return client;
    };
    const lean = changed('server.timeout, its listener and writeQueueSize');
    try {
      ask().pause();
      await until(() => answers.length === 1);
      // It waits for five times as long as an idle connection may last.
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(finished, lean).toEqual([]);
      answers[0]?.end(large);
      await until(() => finished.length === 1);
      expect(finished, lean).toEqual([false]);
      // A busy machine may stop the reader for a moment.
      server.timeout = 20_000;
      server.keepAliveTimeout = 100;
      let read = 0;
      const reader = ask();
      reader.on('data', (bytes: Buffer) => {
        read += bytes.length;
      });
      await until(() => answers.length === 2);
      answers[1]?.end(large);
      await until(() => finished.length === 2);
      expect(finished[1], lean).toBe(true);
      // The kernel has the end of the answer before the reader has it.
      await until(() => read > large.length);
      await until(() => reader.destroyed);
    } finally {
      for (const client of clients) client.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  },
);

test.each(kinds)(
  'at the bound a connection without a request ends for a new one, and those with a request or another protocol stay: %s',
  async (_kind, make, open) => {
    const answers: ServerResponse[] = [];
    const ended: string[] = [];
    const server = make((response) => void answers.push(response));
    let upgraded: Socket | undefined;
    server.on('upgrade', (_, socket) => {
      upgraded = socket as Socket;
    });
    server.keepAliveTimeout = 240_000;
    const bound = createConnectionBound({ max: 4, onEnd: (reason) => void ended.push(reason) });
    bound.watch(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const clients: { socket: Socket; isClosed: boolean; text: string }[] = [];
    const ask = async (text: string): Promise<(typeof clients)[number]> => {
      const client = { socket: open(port), isClosed: false, text: '' };
      clients.push(client);
      client.socket.on('error', () => undefined);
      client.socket.on('close', () => {
        client.isClosed = true;
      });
      client.socket.on('data', (bytes: Buffer) => {
        client.text += bytes.toString('latin1');
      });
      client.socket.write(text);
      const [before, endedBefore] = [bound.open(), ended.length];
      await until(() => bound.open() > before || ended.length > endedBefore);
      return client;
    };
    const request = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
    const lean = changed('socket._httpMessage, _parent of a socket of TLS and bytesRead');
    try {
      const websocket = await ask('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
      await until(() => upgraded !== undefined);
      const busy = await ask(request);
      await until(() => answers.length === 1);
      const used = await ask(request);
      const silent: typeof clients = [];
      for (let i = 0; i < 7; i += 1) {
        await until(() => answers.length === 2 + i);
        answers.at(-1)?.end(`used ${i}`);
        await until(() => used.text.endsWith(`used ${i}`));
        silent.push(await ask(''));
        used.socket.write(request);
      }
      await until(() => answers.length === 9 && silent.filter(({ isClosed }) => isClosed).length === 6);
      expect(
        [websocket, busy, used, silent.at(-1)].map((client) => client?.isClosed),
        lean,
      ).toEqual([false, false, false, false]);
      const last = await ask(request);
      await until(() => answers.length === 10);
      expect(ended, lean).not.toContain('busy');
      const refused = await ask(request);
      await until(() => refused.isClosed);
      expect([ended.at(-1), answers.length, bound.open()], lean).toEqual(['busy', 10, 4]);
      for (const answer of [answers[0], ...answers.slice(8)]) answer?.end('late');
      await until(() => [busy, used, last].every(({ text }) => text.endsWith('late')));
      expect(websocket.isClosed, lean).toBe(false);
    } finally {
      for (const { socket } of clients) socket.destroy();
      upgraded?.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await until(() => bound.open() === 0);
  },
);
