/** Cores behind one address, where a balancer chooses one for each connection, as a Service of Kubernetes does. */
import type { RequestListener } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createInternalServer, type Listener, listen } from '#src/app/listeners/listeners.ts';
import { until } from '../../support/until.ts';
import { openDoor, type PublicDoor, sendRequest } from '../harness/public-door.ts';

type Core = { listener: Listener; requests: string[]; connections: Set<Socket> };

const ageMs = 100;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Answers each request when it has its body, as the core does; a query `early` before that. */
const startCore = async (): Promise<Core> => {
  const core: Omit<Core, 'listener'> = { requests: [], connections: new Set() };
  const handle: RequestListener = async (request, response) => {
    core.requests.push(request.url ?? '');
    core.connections.add(request.socket);
    const answer = (): unknown => response.setHeader('content-type', 'application/json').end('{}');
    if (request.url?.includes('early')) answer();
    else request.resume().once('end', answer);
  };
  const listener = await listen(createInternalServer(handle, undefined, ageMs), '127.0.0.1', 0);
  closers.push(() => listener.close(0));
  return { ...core, listener };
};

/** Each new connection goes to the next core. */
const startBalancer = async (cores: readonly Core[]): Promise<string> => {
  let chosen = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    const behind = connect(cores[chosen % cores.length]?.listener.port ?? 0, '127.0.0.1');
    chosen += 1;
    for (const one of [socket, behind]) {
      sockets.add(one);
      one.on('error', () => undefined);
    }
    socket.pipe(behind).pipe(socket);
    socket.once('close', () => behind.destroy());
    behind.once('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    for (const one of sockets) one.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
};

const openGateway = async (upstream: string): Promise<PublicDoor> => {
  const door = await openDoor(upstream);
  closers.push(() => door.close());
  return door;
};

test('A-617 a core that is added behind one address gets requests, though the connections of the gateway stay in use', async () => {
  const cores = [await startCore()];
  const door = await openGateway(await startBalancer(cores));
  const ask = () => sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey });
  expect((await ask()).status).toBe(200);
  const added = await startCore();
  cores.push(added);
  await until(async () => {
    expect((await ask()).status).toBe(200);
    return added.requests.length > 0;
  });
});

test('A-617 the end of old connections costs no request: writes without a key are carried out once', async () => {
  const core = await startCore();
  const door = await openGateway(await startBalancer([core]));
  const headers = { ...door.asKey, 'content-type': 'application/json' };
  const body = JSON.stringify({ note: 'x'.repeat(200_000) });
  const sent: string[] = [];
  const sendSome = async (of: number): Promise<void> => {
    while (core.connections.size < 40) {
      const query = `n=${of}-${sent.length}`;
      sent.push(query);
      const answer = await sendRequest(door.url, 'POST', `/api/customer/create?${query}`, { headers, body });
      expect([query, answer.status]).toEqual([query, 200]);
      await setImmediate();
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, of) => sendSome(of)));
  const carriedOut = core.requests.map((url) => url.slice(url.indexOf('?') + 1));
  expect(carriedOut.toSorted()).toEqual(sent.toSorted());
});

test('A-617 a connection does not end while the body of a request still arrives', async () => {
  const { listener } = await startCore();
  const client = connect(listener.port, '127.0.0.1');
  closers.push(() => client.destroy());
  let text = '';
  client.on('data', (bytes) => {
    text += bytes.toString();
  });
  const answers = (): string[] => text.match(/^connection: .*$/gim) ?? [];
  const send = async (bytes: string): Promise<string | undefined> => {
    const before = answers().length;
    client.write(bytes);
    await until(() => answers().length > before);
    return answers().at(-1);
  };
  expect(await send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')).toBe('Connection: keep-alive');
  await setTimeout(2 * ageMs);
  const answer = await send('POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nab');
  expect(answer).toBe('Connection: keep-alive');
  client.write('cd');
  expect(await send('GET / HTTP/1.1\r\nhost: a\r\n\r\n')).toBe('Connection: close');
});
