/** How callers share the connections of an upstream and the room for requests that wait. */
import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  type Headers,
  openDoor,
  type PublicDoor,
  type Reply,
  sendRaw,
  sendRequest,
  startUpstream,
  unlimited,
} from '../harness/public-door.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Running = { by: string; end(): void };

/** A service that answers nothing until the test ends a request. The callers of its requests are in their queries. */
const openHolding = async (connections: { max: number; waitingMax: number }) => {
  const upstream = await startUpstream();
  closers.push(() => upstream.close());
  const running: Running[] = [];
  let isHolding = true;
  const answer = (res: ServerResponse): void =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
  upstream.answer = (req, res) => {
    const by = new URL(req.url ?? '', upstream.url).searchParams.get('by') ?? '';
    req.resume();
    if (isHolding) running.push({ by, end: () => answer(res) });
    else answer(res);
  };
  const door = await openDoor(undefined, {
    table: { upstreams: { ordering: { addresses: [upstream.url], connections } } },
    routes: { timeouts: { answerMs: 60_000, bodyMs: 60_000 } },
    settings: unlimited,
  });
  closers.push(() => door.close());
  return {
    door,
    running,
    endAll: () => {
      isHolding = false;
      for (const { end } of running.splice(0)) end();
    },
  };
};

type Asked = { reply: Promise<Reply>; status: number | undefined };

const ask = (door: PublicDoor, by: string, headers: Headers): Asked => {
  const asked: Asked = {
    reply: sendRequest(door.url, 'GET', `/api/orders/list?by=${by}`, { headers }),
    status: undefined,
  };
  asked.reply.then(
    ({ status }) => {
      asked.status = status;
    },
    () => undefined,
  );
  return asked;
};

const askOften = (count: number, door: PublicDoor, by: string, headers: Headers): Asked[] =>
  Array.from({ length: count }, () => ask(door, by, headers));

const refused = (asked: readonly Asked[]): number => asked.filter(({ status }) => status === 503).length;

test('A-797 slow requests of one caller leave connections to others, however many it sends', async () => {
  const { door, running, endAll } = await openHolding({ max: 18, waitingMax: 100 });
  const many = askOften(40, door, 'many', door.asKey);
  await until(() => running.length === 16);
  const one = ask(door, 'one', door.asClient);
  await until(() => running.length === 17);
  expect(running.map(({ by }) => by)).toEqual([...Array(16).fill('many'), 'one']);
  running.pop()?.end();
  expect((await one.reply).status).toBe(200);
  // What the other caller had is left to it.
  expect(running).toHaveLength(16);
  endAll();
  await Promise.all(many.map(({ reply }) => reply));
});

test('A-797 a caller that is alone has every connection of a small pool', async () => {
  const { door, running, endAll } = await openHolding({ max: 8, waitingMax: 0 });
  const many = askOften(8, door, 'many', door.asKey);
  await until(() => running.length === 8);
  endAll();
  for (const { reply } of many) expect((await reply).status).toBe(200);
});

test('A-798 with every connection in use and the queue full, a caller with fewer requests gets in and is next', async () => {
  const { door, running, endAll } = await openHolding({ max: 2, waitingMax: 3 });
  const many = askOften(6, door, 'many', door.asKey);
  // So three of them wait.
  await until(() => refused(many) === 1 && running.length === 2);
  const one = ask(door, 'one', door.asClient);
  // The newest of the three made room.
  await until(() => refused(many) === 2);
  running.shift()?.end();
  await until(() => running.length === 2);
  expect(running.map(({ by }) => by)).toEqual(['many', 'one']);
  running.pop()?.end();
  expect((await one.reply).status).toBe(200);
  endAll();
  const left = await Promise.all(many.map(({ reply }) => reply));
  for (const { status, headers } of left.filter(({ status }) => status !== 200)) {
    expect(status).toBe(503);
    expect(headers['retry-after']).toBeDefined();
  }
});

test('A-798 bodies that come slowly make room for a caller with fewer of them', async () => {
  const { door, endAll } = await openHolding({ max: 1, waitingMax: 1 });
  endAll();
  const key = door.asKey['x-api-key'] ?? '';
  const slow = (): Promise<string> =>
    sendRaw(
      door.port,
      `POST /api/order/confirm HTTP/1.1\r\nHost: ${new URL(door.url).host}\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n` +
        'Idempotency-Key: slow\r\nContent-Length: 100\r\n\r\n{',
      (answer) => answer.includes('\r\n\r\n'),
    );
  const first: string[] = [];
  // The end of the gateway ends the last one.
  for (let i = 0; i < 3; i += 1)
    slow().then(
      (answer) => void first.push(answer),
      () => undefined,
    );
  await until(() => first.length === 1);
  expect(first[0]).toContain('503 Service Unavailable');
  expect((await ask(door, 'one', door.asClient).reply).status).toBe(200);
  await until(() => first.length === 2);
  expect(first[1]).toContain('503 Service Unavailable');
});
