/** The stream that tells a page of changes: who may have it, how many, what it says, when it ends. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';

const password = 'seven unlikely words';

let panel: PanelInProcess;

beforeAll(async () => {
  panel = await startPanel({}, 100);
});

afterAll(() => panel?.close());

let count = 0;

const makeUser = async (role: string): Promise<{ id: string; email: string; browser: Visitor }> => {
  count += 1;
  const email = `user${count}@example.com`;
  const made = await panel.users.create('cli:test', { email, role, restaurants: role === 'owner' ? ['rst_1'] : [] });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const browser = panel.visitor(`192.0.2.${count}`);
  await browser.post('/panel/link', { token, password, again: password }, '');
  return { id: made.userId, email, browser };
};

const open = async ({ cookies }: Visitor, query: string) => {
  const ended = new AbortController();
  const answer = await fetch(`${panel.origin}/panel/events?${query}`, {
    headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    redirect: 'manual',
    signal: ended.signal,
  });
  let text = '';
  let isOver = false;
  const reading = (async () => {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
  })().then(
    () => {
      isOver = true;
    },
    () => undefined,
  );
  const close = async (): Promise<void> => {
    ended.abort();
    await reading;
  };
  return { status: answer.status, headers: answer.headers, text: () => text, isOver: () => isOver, close };
};

const streamOf = async ({ browser }: { browser: Visitor }): Promise<string> => {
  const url = /sse-connect="([^"]+)"/.exec((await browser.get('/panel/users')).text)?.[1] ?? '';
  return url.replaceAll('&amp;', '&').slice('/panel/events?'.length);
};

test('a page gets one event when its data has changed, also when the change came before the stream began', async () => {
  const admin = await makeUser('admin');
  const query = await streamOf(admin);
  const stream = await open(admin.browser, query);
  expect(stream.status).toBe(200);
  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  await until(() => stream.text().includes(': still here'));
  expect(stream.text()).not.toContain('event:');
  await makeUser('support');
  await until(() => stream.text().includes('event: users\ndata: changed\n\n'));
  await stream.close();
  const late = await open(admin.browser, query);
  await until(() => late.text().includes('event: users'));
  await late.close();
});

test('a page gets no event for data that it shows already, though another viewer of the topic has not been notified yet', async () => {
  const [admin, other] = [await makeUser('admin'), await makeUser('admin')];
  const create = (email: string) => panel.users.create('cli:test', { email, role: 'support', restaurants: [] });
  const stream = await open(admin.browser, await streamOf(admin));
  const eventsSeen = () => stream.text().split('event: users').length - 1;
  const before = eventsSeen();
  await create('first@example.com');
  await until(() => eventsSeen() > before);
  // There is no further poll so soon.
  await create('second@example.com');
  const later = await open(other.browser, await streamOf(other));
  await until(() => eventsSeen() > before + 1);
  const beats = () => later.text().split(': still here').length;
  const heard = beats();
  await until(() => beats() > heard + 1);
  expect(later.text()).not.toContain('event:');
  // And then of each change.
  await create('third@example.com');
  await until(() => later.text().includes('event: users'));
  await Promise.all([stream.close(), later.close()]);
});

test('changes of an account are sent to its user only, whatever the address says', async () => {
  const [user, other] = [await makeUser('support'), await makeUser('support')];
  const url = /sse-connect="([^"]+)"/.exec((await user.browser.get('/panel/account')).text)?.[1] ?? '';
  const query = url.replaceAll('&amp;', '&').slice('/panel/events?'.length);
  expect(query).toMatch(/^topic=own-account%7E[\w-]{12}$/);
  const own = await open(user.browser, query);
  const others = await open(other.browser, `${query.replace(/%7E.*/, '~')}&viewer=${user.id}&user=${user.id}`);
  await until(() => own.text().includes(': still here') && others.text().includes(': still here'));
  const again = panel.visitor('192.0.2.200');
  await again.post('/panel/sign-in', { email: user.email, password }, '');
  await until(() => own.text().includes('event: own-account\ndata: changed\n\n'));
  const beats = () => others.text().split(': still here').length;
  const heard = beats();
  await until(() => beats() > heard + 1);
  expect(others.text()).not.toContain('event:');
  await panel.visitor('192.0.2.201').post('/panel/sign-in', { email: other.email, password }, '');
  await until(() => others.text().includes('event: own-account'));
  await others.close();
  // There is an event for each use, and for a session that expires.
  const eventsSeen = () => own.text().split('event: own-account').length;
  for (const minutes of [20, 20]) {
    const before = eventsSeen();
    panel.pass(minutes * 60_000);
    if (before === 2) await user.browser.get('/panel');
    await until(() => eventsSeen() > before);
  }
  expect((await user.browser.get('/panel/account')).text.match(/data-label="Since"/g)?.length).toBe(1);
  await own.close();
});

test('topics that are not the viewer’s answer as topics that do not exist', async () => {
  const [admin, support] = [await makeUser('admin'), await makeUser('support')];
  const ask = (visitor: Visitor, query: string) => visitor.get(`/panel/events?${query}`);
  const hide = (text: string) => text.replaceAll(/req_\w+/g, '').replaceAll(/value="[^"]*"|\{[^}]*\}/g, '');
  const [foreign, absent] = [await ask(support.browser, 'topic=users~'), await ask(support.browser, 'topic=none~')];
  expect(foreign.status).toBe(404);
  expect(hide(foreign.text)).toBe(hide(absent.text));
  expect((await ask(admin.browser, '')).status).toBe(404);
  expect((await ask(admin.browser, 'topic=users~&'.repeat(9))).status).toBe(404);
  expect((await panel.visitor().get('/panel/events?topic=users~')).status).toBe(303);
});

test('a client that leaves before its stream has begun does not count for the limit of the user and leaves nothing running', async () => {
  const { browser } = await makeUser('admin');
  const { hostname, port } = new URL(panel.origin);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  for (let i = 0; i < 40; i += 1) {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `GET /panel/events?topic=users~ HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${cookie}\r\n\r\n`,
          () => socket.resetAndDestroy(),
        );
      });
      socket.on('close', () => resolve()).on('error', reject);
    });
  }
  const streams = await Promise.all(Array.from({ length: 20 }, () => open(browser, 'topic=users~')));
  expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  await Promise.all(streams.map(({ close }) => close()));
});

test('a stream ends with the session, and does not keep it alive', async () => {
  const admin = await makeUser('admin');
  const stream = await open(admin.browser, 'topic=users~');
  await until(() => stream.text().includes(': still here'));
  panel.pass(31 * 60_000);
  await until(() => stream.isOver());
  expect(stream.text()).toContain('event: signed-out');
});

test('a stream ends when the role begins to require a second factor that its session lacks', async () => {
  const [admin, support] = [await makeUser('admin'), await makeUser('support')];
  const url = /sse-connect="([^"]+)"/.exec((await support.browser.get('/panel/account')).text)?.[1] ?? '';
  const stream = await open(support.browser, url.replaceAll('&amp;', '&').slice('/panel/events?'.length));
  await until(() => stream.text().includes(': still here'));
  const required = { role: 'support', confirmed: 'yes' };
  expect((await admin.browser.post('/panel/users/second-factor', required)).status).toBe(303);
  await until(() => stream.isOver());
  expect((await admin.browser.post('/panel/users/second-factor', {})).status).toBe(303);
});

test('A-463 a stream that the browser opens again and again does not keep the session alive', async () => {
  const admin = await makeUser('admin');
  for (const minutes of [20, 9]) {
    panel.pass(minutes * 60_000);
    const stream = await open(admin.browser, 'topic=users~');
    expect(stream.status).toBe(200);
    await stream.close();
  }
  panel.pass(2 * 60_000);
  expect((await open(admin.browser, 'topic=users~')).status).toBe(303);
  expect(await admin.browser.get('/panel/users')).toMatchObject({ status: 303 });
});

test('a user has twenty streams at most, and one that closes makes room', async () => {
  const admin = await makeUser('admin');
  const streams = await Promise.all(Array.from({ length: 20 }, () => open(admin.browser, 'topic=users~')));
  expect(streams.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect((await open(admin.browser, 'topic=users~')).status).toBe(429);
  const other = await makeUser('admin');
  const elsewhere = await open(other.browser, 'topic=users~');
  expect(elsewhere.status).toBe(200);
  await streams[0]?.close();
  let again = await open(admin.browser, 'topic=users~');
  await until(async () => {
    if (again.status !== 200) again = await open(admin.browser, 'topic=users~');
    return again.status === 200;
  });
  for (const stream of [...streams, elsewhere, again]) await stream.close();
});
