/** The Koa application of the panel with pages made for the test: routes, the order of the checks, failing responses. */
import { createServer, request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { EventStreams } from '#src/panel/live/event-streams.ts';
import type { Topic } from '#src/panel/live/topic.ts';
import { file, page as pageAnswer, redirect } from '#src/panel/page/answer.ts';
import { html } from '#src/panel/page/html.ts';
import type { Page } from '#src/panel/page/page.ts';
import type { Ports } from '#src/panel/ports/ports.ts';
import type { LiveSession } from '#src/panel/ports/staff.ts';
import { loadAssets } from '#src/panel/server/assets.ts';
import { createFlashes } from '#src/panel/server/flashes.ts';
import { createPanelApp } from '#src/panel/server/panel-app.ts';
import { createSecurityHeaders } from '#src/panel/server/security-headers.ts';
import { until } from '../../support/until.ts';

const csrfToken = 't'.repeat(43);

const sessionOf = (role: 'owner' | 'support'): LiveSession => ({
  session: { id: role, createdAt: new Date(), seenAt: new Date(), address: '', agent: '', method: 'password' },
  user: {
    ...{ id: role, email: `${role}@example.com`, role, language: 'en', restaurants: role === 'owner' ? ['own'] : [] },
    ...{ clients: [], hasPassword: true, hasTotp: false, hasPasskey: false },
  },
  hasMessage: false,
  csrfToken,
  needsFactor: false,
});

const form = 'application/x-www-form-urlencoded';
const logged: string[] = [];
const handled: string[] = [];
let generatorsEnded = 0;
/** The session as it is while a download goes on. */
let later: LiveSession | undefined;
/** Lets the download `/paged` go on. */
const waiting: (() => void)[] = [];

beforeEach(() => {
  logged.length = 0;
  handled.length = 0;
  generatorsEnded = 0;
});

const shows = (path: string, more: Partial<Page> = {}): Page => ({
  method: 'GET',
  path,
  roles: ['owner', 'support'],
  handle: ({ params }) => {
    handled.push(`${path} ${JSON.stringify(params)}`);
    return pageAnswer({ title: path, body: html`shown` });
  },
  ...more,
});

const downloads = (path: string, body: () => AsyncGenerator<string>): Page =>
  shows(path, { handle: () => file('list.csv', 'text/csv', body()) });

const pages: readonly Page[] = [
  shows(''),
  shows('/keys/:key'),
  shows('/keys/new'),
  shows('/keys/:key/old'),
  shows('/keys/:key', { method: 'POST' }),
  shows('/restaurants/:restaurant/close', { method: 'POST', roles: ['owner'] }),
  shows('/restaurants/:restaurant/note', { method: 'POST', roles: ['support'] }),
  shows('/events', { handle: () => ({ kind: 'events' }) }),
  shows('/held', {
    handle: async ({ user }) => {
      handled.push(user.id);
      await new Promise<void>((resolve) => waiting.push(resolve));
      return pageAnswer({ title: 'held', body: html`shown` });
    },
  }),
  shows('/held', {
    method: 'POST',
    handle: async ({ user }) => {
      handled.push(user.id);
      await new Promise<void>((resolve) => waiting.push(resolve));
      return redirect('/panel');
    },
  }),
  downloads('/download', async function* () {
    yield 'a,b\n';
    yield 'c,d\n';
  }),
  downloads('/paged', async function* () {
    try {
      yield 'a,b\n';
      await new Promise<void>((resolve) => waiting.push(resolve));
      yield 'c,d\n';
    } finally {
      generatorsEnded += 1;
    }
  }),
  downloads('/fails-first', async function* () {
    if (handled.length >= 0) throw new Error('the store went away');
    yield '';
  }),
  downloads('/fails-later', async function* () {
    yield 'a,b\n';
    throw new Error('the store went away');
  }),
  downloads('/finds-nothing', async function* () {
    try {
      for (;;) {
        yield '';
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      generatorsEnded += 1;
    }
  }),
  downloads('/endless', async function* () {
    try {
      for (;;) {
        yield 'x'.repeat(100_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      generatorsEnded += 1;
    }
  }),
];

const server = createServer((request, response) => handle(request, response));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;

/** What a change left for the next page of each session. */
let message: string | undefined;

const staff = {
  sessions: {
    find: async (token: string | undefined) =>
      token === 'later'
        ? later
        : token === 'owner' || token === 'support'
          ? { ...sessionOf(token), hasMessage: message !== undefined }
          : undefined,
    takeMessage: async () => {
      const taken = message;
      message = undefined;
      return taken;
    },
  },
} as unknown as Ports['staff'];

const topic: Topic = { name: 'all', roles: ['support'], mark: async () => '' };

const failingStream: EventStreams['open'] = (_request, response) => {
  response.writeHead(200).write(': here');
  throw new Error('the stream cannot begin');
};

const createApp = (appPages: readonly Page[]) =>
  createPanelApp({
    ...{ pages: appPages, publicPages: [], assets: loadAssets(), flashes: createFlashes(staff), origin },
    watch: { topic: () => topic, markOf: async () => undefined, watch: () => () => undefined, services: [] },
    streams: { open: failingStream, close: () => undefined },
    // There is no restaurant, so pages have no breadcrumb.
    ports: { staff, restaurant: { find: () => Promise.resolve(undefined) } } as unknown as Ports,
    clock: { now: () => new Date() },
    log: pino(new Writable({ write: (line, _encoding, done) => done(void logged.push(String(line))) })),
    isPassing: () => false,
    readSource: () => ({ address: '192.0.2.1', network: '192.0.2.1' }),
    headers: createSecurityHeaders(origin, 31_536_000),
  });

const handle = createApp(pages);

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const ask = (path: string, init: RequestInit = {}, role = 'support') =>
  fetch(`${origin}/panel${path}`, {
    redirect: 'manual',
    ...init,
    headers: { cookie: `__Host-orderpass=${role}`, ...(init.headers as Record<string, string>) },
  });

test('a path finds the page with the most literal segments, and none when it has more segments', async () => {
  for (const [path, found] of [
    ['', ' {}'],
    ['/keys/new', '/keys/new {}'],
    ['/keys/a%20b', '/keys/:key {"key":"a b"}'],
    ['/keys/a%2Fb', '/keys/:key {"key":"a/b"}'],
    ['/keys/new/old', '/keys/:key/old {"key":"new"}'],
  ] as const) {
    handled.length = 0;
    expect((await ask(path)).status, path).toBe(200);
    expect(handled, path).toEqual([found]);
  }
  handled.length = 0;
  for (const path of ['/keys', '/keys//old', '/keys/a/b', '/keys/%zz', '/keys/a%00', '/KEYS/new', '/x', '//keys/new'])
    expect((await ask(path)).status, path).toBe(404);
  expect((await ask('/keys/a', { method: 'PUT', headers: { origin } })).status).toBe(404);
  expect(handled).toEqual([]);
  expect(() => createApp([shows('/a/:b'), shows('/a/:c')])).toThrow('two pages');
});

/** `fetch` would send no fragment. */
const target = (path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { cookie: '__Host-orderpass=support' };
    send({ port, path, headers }, (answer) => resolve(answer.resume().statusCode ?? 0))
      .on('error', reject)
      .end();
  });

test('a target with a fragment is no page', async () => {
  expect(await target('/panel/keys/new')).toBe(200);
  expect(await target('/panel/keys/new#x')).toBe(404);
});

test('HEAD answers with the head of GET', async () => {
  for (const path of ['', '/x', '/download']) {
    const [get, head] = [await ask(path), await ask(path, { method: 'HEAD' })];
    expect(head.status, path).toBe(get.status);
    for (const name of ['content-type', 'content-disposition', 'content-security-policy', 'vary'])
      expect(head.headers.get(name), `${path} ${name}`).toBe(get.headers.get(name));
    expect(head.headers.has('content-length'), path).toBe(get.headers.has('content-length'));
    expect(await head.text()).toBe('');
  }
});

test('a message is for the next page that is shown, and HEAD shows none', async () => {
  message = JSON.stringify({ tone: 'good', text: 'Saved once.' });
  expect((await ask('', { method: 'HEAD' })).status).toBe(200);
  expect(await (await ask('')).text()).toContain('Saved once.');
  expect(await (await ask('')).text()).not.toContain('Saved once.');
});

test('each check refuses before all checks after it, and the handler runs after the last', async () => {
  const close = '/restaurants/own/close';
  const large = `pad=${'x'.repeat(70_000)}`;
  const table: readonly [
    step: string,
    path: string,
    role: string,
    from: string,
    body: string,
    status: number,
    text: string,
  ][] = [
    ['origin', '/restaurants/%zz/close', 'none', 'https://e.example', large, 403, 'not sent from'],
    ['session', '/restaurants/%zz/close', 'none', origin, large, 303, ''],
    ['path', '/restaurants/%zz/close', 'support', origin, large, 404, 'This page does not exist'],
    ['role', '/restaurants/other/close', 'support', origin, large, 403, 'Your role does not allow this'],
    ['role', '/restaurants/other/note', 'owner', origin, large, 403, 'Your role does not allow this'],
    ['restaurant', '/restaurants/other/close', 'owner', origin, large, 404, 'This page does not exist'],
    ['body', close, 'owner', origin, large, 413, '65536 bytes'],
    ['token', close, 'owner', origin, `csrf=${'u'.repeat(43)}`, 403, 'Please try again'],
    ['handler', close, 'owner', origin, `csrf=${csrfToken}`, 200, 'shown'],
  ];
  for (const [step, path, role, from, body, status, text] of table) {
    expect(handled, step).toEqual([]);
    const headers = { origin: from, 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await ask(path, { method: 'POST', headers, body }, role);
    expect(answer.status, step).toBe(status);
    expect(await answer.text(), step).toContain(text);
  }
  expect(handled).toEqual(['/restaurants/:restaurant/close {"restaurant":"own"}']);
  expect(logged).toEqual([]);
});

test('a response that fails after its head breaks the connection and is logged once', async () => {
  for (const [path, reason] of [
    ['/fails-first', 'the store went away'],
    ['/fails-later', 'the store went away'],
    ['/events?topic=all~', 'the stream cannot begin'],
  ] as const) {
    logged.length = 0;
    await expect(ask(path).then((answer) => answer.text())).rejects.toThrow();
    await until(() => logged.length > 0);
    expect(logged, path).toHaveLength(1);
    expect(logged[0], path).toMatch(new RegExp(`${reason}.*could not be answered`));
  }
});

test('a client that leaves a download ends its reading, and nothing is logged', async () => {
  for (const leave of ['destroy', 'resetAndDestroy'] as const) {
    const before = generatorsEnded;
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET /panel/endless HTTP/1.1\r\nHost: x\r\nCookie: __Host-orderpass=support\r\n\r\n');
    });
    // The server waits for the client, which reads no more.
    socket.once('data', () => socket.pause()[leave]());
    await until(() => generatorsEnded > before);
  }
  await ask('');
  expect(logged).toEqual([]);
});

const changes: [meanwhile: string, session: LiveSession | undefined, isWhole: boolean][] = [
  ['nothing changes', sessionOf('support'), true],
  ['the session ends', undefined, false],
  ['the user gets another role', sessionOf('owner'), false],
  ['the session needs a second factor', { ...sessionOf('support'), needsFactor: true }, false],
];

test.each(changes)(
  'A-718 a download while %s: goes on, or breaks off before its next part',
  async (_meanwhile, session, isWhole) => {
    later = sessionOf('support');
    const reader = (await ask('/paged', {}, 'later')).body?.getReader();
    const read = async (): Promise<string> => Buffer.from((await reader?.read())?.value ?? []).toString();
    expect(await read()).toBe('a,b\n');
    await until(() => waiting.length > 0);
    later = session;
    waiting.pop()?.();
    if (isWhole) expect([await read(), await read()]).toEqual(['c,d\n', '']);
    else await expect(read()).rejects.toThrow();
    await until(() => generatorsEnded === 1);
    expect(logged).toEqual([]);
  },
);

test('A-813 a download that finds nothing for long breaks off when its session ends, and ends when its client leaves', async () => {
  later = sessionOf('support');
  const answer = await ask('/finds-nothing', {}, 'later');
  later = undefined;
  await expect(answer.text()).rejects.toThrow();
  await until(() => generatorsEnded === 1);
  const leaving = new AbortController();
  await ask('/finds-nothing', { signal: leaving.signal });
  leaving.abort();
  await until(() => generatorsEnded === 2);
  expect(logged).toEqual([]);
});

test('A-814 four downloads of a user run at a time, and those of another user beside them', async () => {
  waiting.length = 0;
  const running = [];
  for (let i = 0; i < 4; i += 1) running.push(await ask('/paged'));
  const refused = await ask('/paged');
  expect(refused.status).toBe(429);
  expect(await refused.text()).toContain('Too many of your downloads');
  const other = await ask('/paged', {}, 'owner');
  expect(other.status).toBe(200);
  await until(() => waiting.length === 5);
  for (const goOn of waiting.splice(0)) goOn();
  for (const answer of [...running, other]) expect(await answer.text()).toBe('a,b\nc,d\n');
  // What HEAD asks for has no body to wait for.
  for (let i = 0; i < 8; i += 1) expect((await ask('/paged', { method: 'HEAD' })).status).toBe(200);
  const again = ask('/paged');
  await until(() => waiting.length === 1);
  waiting.pop()?.();
  expect((await again).status).toBe(200);
});

test('A-815 pages of one user that read the store leave turns to pages of another user, and a download keeps none', async () => {
  waiting.length = 0;
  const downloading = [await ask('/paged'), await ask('/paged')];
  await until(() => waiting.length === 2);
  const endDownloads = waiting.splice(0);
  const asked = Array.from({ length: 24 }, () => ask('/held'));
  await until(() => waiting.length >= 3);
  const other = ask('/held', {}, 'owner');
  await until(() => handled.includes('owner'));
  expect(handled.filter((by) => by === 'support')).toHaveLength(3);
  const goOn = setInterval(() => waiting.shift()?.(), 1);
  expect((await Promise.all([...asked, other])).map(({ status }) => status)).toEqual(Array(25).fill(200));
  clearInterval(goOn);
  for (const end of endDownloads) end();
  for (const answer of downloading) expect(await answer.text()).toBe('a,b\nc,d\n');
});

test('A-815 pages beyond those that may wait are 503 with Retry-After, and those whose clients leave make room', async () => {
  waiting.length = 0;
  const leaving = new AbortController();
  const left = Array.from({ length: 40 }, () => ask('/held', { signal: leaving.signal }).catch(() => undefined));
  await until(() => waiting.length >= 3);
  const asked: Promise<Response>[] = [];
  const refused = new Promise<Response>((resolve) => {
    for (let i = 0; i < 60; i += 1) {
      const one = ask('/held');
      asked.push(one);
      void one.then((answer) => answer.status === 503 && resolve(answer));
    }
  });
  expect((await refused).headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  leaving.abort();
  await Promise.all(left);
  const goOn = setInterval(() => waiting.shift()?.(), 1);
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect((await ask('/held')).status).toBe(200);
  clearInterval(goOn);
});

test('A-816 changes of one user that wait leave those of another user, and every page, their turns', async () => {
  waiting.length = 0;
  const change = (role: string): Promise<Response> =>
    ask('/held', { method: 'POST', headers: { origin, 'content-type': form }, body: `csrf=${csrfToken}` }, role);
  const asked = Array.from({ length: 24 }, () => change('support'));
  await until(() => waiting.length >= 10);
  const other = change('owner');
  await until(() => handled.includes('owner'));
  expect((await ask('/keys/new')).status).toBe(200);
  expect(handled.filter((by) => by === 'support')).toHaveLength(10);
  const goOn = setInterval(() => waiting.shift()?.(), 1);
  expect((await Promise.all([...asked, other])).map(({ status }) => status)).toEqual(Array(25).fill(303));
  clearInterval(goOn);
});
