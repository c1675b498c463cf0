import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  openDoor,
  type PublicDoor,
  sendRaw,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

const initial = { answer: undefined as TestUpstream['answer'] | undefined };

beforeEach(() => {
  initial.answer ??= upstream.answer;
  upstream.answer = initial.answer;
  upstream.seen.length = 0;
});

const open = (method: string, path: string, headers: Record<string, string>, { port } = door) =>
  request({ host: '127.0.0.1', port, method, path, headers, agent: false });

const answerOf = async (outgoing: ReturnType<typeof open>): Promise<IncomingMessage> => {
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return answer;
};

test('an answer is passed on piece by piece while the upstream still writes', async () => {
  let more = (_text: string): void => undefined;
  let finish = (): void => undefined;
  upstream.answer = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/plain' });
    more = (text) => void res.write(text);
    finish = () => void res.end();
    more('first');
  };
  const outgoing = open('GET', '/api/orders/list', door.asKey).end();
  const answer = await answerOf(outgoing);
  let text = '';
  answer.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await until(() => text === 'first');
  more(' second');
  await until(() => text === 'first second');
  finish();
  await once(answer, 'end');
});

test('A-775 an event stream ends with the credential that opened it, and its request at the service too', async () => {
  const own = await openDoor(upstream.url);
  let ended = 0;
  let events = (): void => undefined;
  const streams: ServerResponse[] = [];
  upstream.answer = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    res.write(': open\n\n');
    res.once('close', () => {
      ended += 1;
    });
    streams.push(res);
    events = () => {
      for (const stream of streams) stream.write('data: 1\n\n');
    };
  };
  const staying = await answerOf(open('GET', '/api/orders/list', own.asClient, own).end());
  const leaving = await answerOf(open('GET', '/api/orders/list', own.asKey, own).end());
  let text = '';
  staying.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const cut = once(leaving.resume(), 'error');
  await until(() => text !== '');
  await own.revokeKey();
  await cut;
  await until(() => ended === 1);
  events();
  await until(() => text.includes('data: 1'));
  staying.destroy();
  await until(() => ended === 2);
  await own.close();
});

test('a request body reaches the upstream while the client still sends, and the answer may come before its end', async () => {
  let got = '';
  upstream.answer = (req, res) => {
    req.on('data', (chunk: Buffer) => {
      got += chunk.toString();
      if (got === '[1,') res.writeHead(200, { 'content-type': 'text/plain' }).write('early');
    });
    req.on('end', () => res.end(' late'));
  };
  const outgoing = open('POST', '/api/order/create', { ...door.asClient, 'content-type': 'application/json' });
  outgoing.write('[1,');
  const answer = await answerOf(outgoing);
  let text = '';
  answer.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await until(() => text === 'early');
  outgoing.end('2]');
  await once(answer, 'end');
  expect([got, text]).toEqual(['[1,2]', 'early late']);
});

test('a large upload and a large download arrive byte for byte', async () => {
  const body = randomBytes(30 * 1024 * 1024);
  const digest = createHash('sha256').update(body).digest('hex');
  upstream.answer = (req, res) => {
    const hash = createHash('sha256');
    req.on('data', (chunk: Buffer) => hash.update(chunk));
    req.on('end', () => res.writeHead(200, { 'x-digest': hash.digest('hex') }).end(body));
  };
  for (const headers of [{ 'content-length': String(body.length) }, { 'transfer-encoding': 'chunked' }]) {
    const answer = await sendRequest(door.url, 'POST', '/api/menu/import', {
      headers: { ...door.asClient, 'content-type': 'application/json', ...headers },
      body,
    });
    expect(answer.headers['x-digest']).toBe(digest);
    expect(createHash('sha256').update(answer.body).digest('hex')).toBe(digest);
  }
});

test('an upstream is held back while the client takes nothing, and goes on afterwards', async () => {
  const piece = Buffer.alloc(256 * 1024, 'x');
  const pieces = 400;
  let written = 0;
  upstream.answer = (_req, res) => {
    const more = (): void => {
      while (written < pieces) {
        written += 1;
        if (!res.write(piece)) return void res.once('drain', more);
      }
      res.end();
    };
    more();
  };
  const outgoing = open('GET', '/api/orders/list', door.asKey).end();
  const answer = await answerOf(outgoing);
  answer.pause();
  let before = -1;
  await until(async () => {
    const still = before === written;
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return still && before === written;
  });
  expect(written).toBeLessThan(pieces / 2);
  let bytes = 0;
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  answer.resume();
  await once(answer, 'end');
  expect(bytes).toBe(piece.length * pieces);
});

test('A-703 a client that reads a large answer slowly for longer than the bound on silent clients gets the whole of it', async () => {
  const boundMs = 4_000;
  // The kernel reports room by the 1.8 MB, which this client reads within the bound.
  const bytesPerMs = 800;
  const own = await openDoor(upstream.url, { inactiveMs: boundMs });
  onTestFinished(() => own.close());
  // More than it reads within the time below and the buffers of the sockets hold.
  const length = 24 * 1024 * 1024;
  let broken = false;
  upstream.answer = (_req, res) => {
    res.on('close', () => {
      broken = !res.writableFinished;
    });
    res.writeHead(200, { 'content-type': 'text/plain', 'content-length': length }).end(Buffer.alloc(length, 'x'));
  };
  const outgoing = open('GET', '/api/orders/list', own.asKey, own).end();
  const answer = (await answerOf(outgoing)).pause();
  let bytes = 0;
  const startedAt = performance.now();
  // A connection without progress ends after two bounds at the latest.
  for (let passedMs = 0; passedMs < 3 * boundMs; passedMs = performance.now() - startedAt) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const due = Math.max(1, Math.floor(passedMs * bytesPerMs) - bytes);
    bytes += (answer.read(due) ?? answer.read() ?? []).length;
    expect([passedMs, broken]).toEqual([passedMs, false]);
  }
  for await (const chunk of answer) bytes += chunk.length;
  expect(bytes).toBe(length);
});

test('a client is held back while the upstream reads nothing', async () => {
  let read = (): void => undefined;
  upstream.answer = (req, res) => {
    req.pause();
    req.on('end', () => res.end('{}'));
    read = () => void req.resume();
  };
  const size = 31 * 1024 * 1024;
  const outgoing = open('POST', '/api/menu/import', {
    ...door.asClient,
    'content-type': 'application/json',
    'content-length': String(size),
  });
  outgoing.write(Buffer.alloc(size, 'x'));
  await until(() => upstream.seen.length === 1);
  const socket = outgoing.socket;
  let before = -1;
  await until(async () => {
    const now = socket?.bytesWritten ?? 0;
    const still = now === before && outgoing.writableLength > 0;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return still;
  });
  outgoing.end();
  read();
  expect((await answerOf(outgoing)).statusCode).toBe(200);
});

test('a client that goes away takes its upstream request with it', async () => {
  let gone = 0;
  upstream.answer = (_req, res) => {
    res.on('close', () => {
      gone += 1;
    });
    res.write('first');
  };
  const waiting = open('GET', '/api/orders/list', door.asKey)
    .on('error', () => undefined)
    .end();
  await once(waiting, 'response');
  waiting.destroy();
  await until(() => gone === 1);

  upstream.answer = (req) => {
    req.on('close', () => {
      gone += 1;
    });
  };
  const sending = open('POST', '/api/order/create', { ...door.asClient, 'content-type': 'application/json' });
  sending.on('error', () => undefined).write('[');
  await until(() => upstream.seen.length === 2);
  sending.destroy();
  await until(() => gone === 2);
});

test('204, 304 and an empty 200 arrive as they are', async () => {
  for (const status of [200, 204, 304]) {
    upstream.answer = (_req, res) => {
      res.writeHead(status, { etag: '"7"' }).end();
    };
    const answer = await sendRequest(door.url, 'GET', '/api/orders/list', { headers: door.asKey });
    expect([answer.status, answer.text, answer.headers.etag]).toEqual([status, '', '"7"']);
  }
});

test('the query reaches the upstream exactly as it was sent', async () => {
  const query = "?q=%C3%A9+%2F&list=a,b&empty=&'=*(~)!&x=%zz&%61=1&&a[]=1";
  await sendRequest(door.url, 'GET', `/api/orders/list${query}`, { headers: door.asKey });
  expect(upstream.seen.map(({ target }) => target)).toEqual([`/api/orders/list${query}`]);
});

test('compressed answers pass through untouched', async () => {
  const bytes = randomBytes(2000);
  upstream.answer = (_req, res) =>
    void res.writeHead(200, { 'content-encoding': 'br', vary: 'accept-encoding' }).end(bytes);
  const answer = await sendRequest(door.url, 'GET', '/api/orders/list', {
    headers: { ...door.asKey, 'accept-encoding': 'br' },
  });
  expect([answer.headers['content-encoding'], answer.headers.vary]).toEqual(['br', 'accept-encoding']);
  expect(answer.body.equals(bytes)).toBe(true);
  expect(upstream.seen[0]?.headers['accept-encoding']).toBe('br');
});

test('a body is invited with 100 Continue only when it is wanted', async () => {
  const expectant = { 'content-type': 'application/json', expect: '100-continue', 'content-length': '2' };
  const refused = open('POST', '/api/order/create', { ...expectant, 'x-api-key': 'opk_wrong' });
  let invited = 0;
  refused.on('continue', () => {
    invited += 1;
  });
  refused.flushHeaders();
  expect((await answerOf(refused)).statusCode).toBe(401);
  expect(invited).toBe(0);
  refused.destroy();

  upstream.answer = (req, res) => {
    req.on('data', () => undefined).on('end', () => res.end('{}'));
  };
  const wanted = open('POST', '/api/order/create', { ...expectant, ...door.asClient });
  wanted.on('continue', () => {
    invited += 1;
    wanted.end('{}');
  });
  wanted.flushHeaders();
  expect((await answerOf(wanted)).statusCode).toBe(200);
  expect(invited).toBe(1);
  expect(upstream.seen.at(-1)?.headers.expect).toBeUndefined();
});

test('requests on one connection are answered one after the other, each with its own id', async () => {
  const one = (id: string) =>
    `GET /api/orders/list HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\n\r\n`;
  const answer = await sendRaw(
    door.port,
    one('a1') + one('b2') + one('c3'),
    (text) => text.split('{"success":true}').length === 4,
  );
  expect(answer.match(/^HTTP\/1\.1 200 /gm)).toHaveLength(3);
  expect([...answer.matchAll(/x-request-id: (\w+)/g)].map((match) => match[1])).toEqual(['a1', 'b2', 'c3']);
});

test('A-672 the connection of a client that reads nothing of an answer of the gateway ends, with its request, and that of one that waits stays', async () => {
  const lines: { path: string; complete: boolean }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  // More than the buffers of two sockets hold.
  const large = { type: 'text/plain', body: Buffer.alloc(24 * 1024 * 1024, 'x') };
  const hasty = await openDoor(upstream.url, { log, inactiveMs: 200, pages: () => new Map([['/docs/large', large]]) });
  try {
    const client = connect(hasty.port, '127.0.0.1');
    client.on('error', () => undefined).pause();
    client.write('GET /docs/large HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => lines.some(({ path }) => path === '/docs/large'));
    expect(lines.filter(({ path }) => path === '/docs/large')).toMatchObject([{ complete: false }]);
    client.destroy();
    // A client that waits for a slow service stays.
    upstream.answer = (_req, res) => void setTimeout(() => res.end('late'), 1_000);
    expect((await sendRequest(hasty.url, 'GET', '/api/orders/list', { headers: hasty.asKey })).text).toBe('late');
  } finally {
    await hasty.close();
  }
});
