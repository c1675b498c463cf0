import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { openDoor, type PublicDoor, type RawUpstream, sendRequest, startRawUpstream } from '../harness/public-door.ts';

let upstream: RawUpstream;
let door: PublicDoor;

/** Requests that the upstream has and has not answered, by their query. */
let open: { query: string; socket: Socket; answer: () => void }[];

const start = async (settings: Record<string, unknown>): Promise<void> => {
  open = [];
  upstream = await startRawUpstream((socket, text) => {
    const query = /^\w+ [^ ?]*\?(\S+) /.exec(text)?.[1];
    if (query === undefined) return;
    const one = {
      query,
      socket,
      answer: (): void => {
        open.splice(open.indexOf(one), 1);
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${query.length}\r\n\r\n${query}`);
      },
    };
    open.push(one);
  });
  door = await openDoor(upstream.url, { routes: { timeouts: { answerMs: 20_000 } }, settings });
};

afterEach(async () => {
  await door.close();
  await upstream.close();
});

const get = (query: string) => sendRequest(door.url, 'GET', `/api/orders/list?${query}`, { headers: door.asKey });

/** Its body is invited when the gateway is about to send it on. */
const announce = (query: string) => {
  const { hostname, port } = new URL(door.url);
  const headers = { ...door.asKey, 'content-type': 'application/json', 'content-length': 2, expect: '100-continue' };
  const outgoing = request({
    hostname,
    port,
    method: 'POST',
    path: `/api/customer/create?${query}`,
    headers,
    agent: false,
  });
  outgoing.flushHeaders();
  return outgoing;
};

test('a connection has one request at a time, and each caller gets the answer to its own', async () => {
  await start({ upstream_connections_max: 2, upstream_waiting_max: 50 });
  const queries = Array.from({ length: 20 }, (_, n) => `n=${n}`);
  const answers = Promise.all(queries.map(get));
  for (const _ of queries) {
    await until(() => open.length > 0);
    expect(new Set(open.map(({ socket }) => socket)).size).toBe(open.length);
    open[0]?.answer();
  }
  expect((await answers).map(({ text }) => text)).toEqual(queries);
  expect(upstream.connections()).toBe(2);
});

test('the connection that became free last is next, so that the others of a burst may end', async () => {
  await start({});
  const burst = Promise.all(['a', 'b', 'c', 'd'].map(get));
  await until(() => open.length === 4);
  for (const { answer } of [...open]) answer();
  await burst;
  const used = new Set<Socket>();
  for (let n = 0; n < 6; n += 1) {
    const answer = get(`n=${n}`);
    await until(() => open.length === 1);
    used.add(open[0]?.socket as Socket);
    open[0]?.answer();
    expect((await answer).text).toBe(`n=${n}`);
  }
  expect([used.size, upstream.connections()]).toEqual([1, 4]);
});

test('a request whose client goes away while it waits for a connection is never sent, costs no connection and delays no other request', async () => {
  await start({ upstream_connections_max: 1, upstream_waiting_max: 1 });
  const first = get('first');
  await until(() => open.length === 1);
  const gone = announce('gone').on('error', () => undefined);
  await once(gone, 'continue');
  gone.destroy();
  // There is room for one only, so it is inside when the other has left.
  const next = await (async () => {
    for (;;) {
      const asked = announce('next');
      const invited = await Promise.race([
        once(asked, 'continue').then(() => true),
        once(asked, 'response').then(() => false),
      ]);
      if (invited) return asked;
      asked.destroy();
    }
  })();
  const answered = once(next, 'response');
  next.end('{}');
  open[0]?.answer();
  expect((await first).text).toBe('first');
  await until(() => open.length === 1);
  expect(open[0]?.query).toBe('next');
  expect(upstream.connections()).toBe(1);
  open[0]?.answer();
  const [response] = await answered;
  expect(response.statusCode).toBe(200);
  expect(
    (await Promise.all([get('last'), until(() => open[0]?.query === 'last').then(() => open[0]?.answer())]))[0].text,
  ).toBe('last');
});

test('a connection whose answer was broken off is replaced for the next waiting request', async () => {
  await start({ upstream_connections_max: 1, upstream_waiting_max: 5 });
  const { hostname, port } = new URL(door.url);
  const leaving = request({ hostname, port, path: '/api/orders/list?leaving', headers: door.asKey, agent: false });
  leaving.on('error', () => undefined).end();
  await until(() => open.length === 1);
  open.pop()?.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
  await once(leaving, 'response');
  const waiting = announce('waiting');
  await once(waiting, 'continue');
  leaving.destroy();
  const answered = once(waiting, 'response');
  waiting.end('{}');
  await until(() => open.length === 1);
  expect([open[0]?.query, upstream.connections()]).toEqual(['waiting', 2]);
  open[0]?.answer();
  expect((await answered)[0].statusCode).toBe(200);
});
