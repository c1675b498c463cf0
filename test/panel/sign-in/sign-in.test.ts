/** Signing in, sessions and their end, over HTTP with a clock that moves. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findUser } from '#src/staff/accounts/user-store.ts';
import { until } from '../../support/until.ts';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';

const minute = 60_000;
const hour = 60 * minute;
const password = 'seven unlikely words';

let panel: PanelInProcess;

beforeAll(async () => {
  panel = await startPanel();
});

afterAll(() => panel?.close());

let count = 0;

const boundTo: Readonly<Record<string, object>> = {
  owner: { restaurants: ['rst_1'] },
  contact: { clients: ['opc_1'] },
};

/** A user whose password is set; `browser` is signed in with it. */
const makeUser = async (role = 'support'): Promise<{ id: string; email: string; browser: Visitor }> => {
  count += 1;
  const email = `user${count}@example.com`;
  const made = await panel.users.create('cli:test', { email, role, ...boundTo[role] });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const browser = panel.visitor();
  const answer = await browser.post('/panel/link', { token, password, again: password });
  expect(answer).toMatchObject({ status: 303, location: '/panel' });
  return { id: made.userId, email, browser };
};

const signIn = (visitor: Visitor, email: string, given = password) =>
  visitor.post('/panel/sign-in', { email, password: given }, '');

const isSignedIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get('/panel/account')).status === 200;

const lastEvent = () => panel.events.at(-1);

test('a one-time link works once, within a day, and a newer one ends it', async () => {
  const { email } = await makeUser();
  const tokenOf = async () =>
    new URL((await panel.users.makeLink('cli:test', email)).link).searchParams.get('token') ?? '';
  const use = (token: string) => panel.visitor().post('/panel/link', { token, password, again: password }, '');
  const first = await tokenOf();
  const second = await tokenOf();
  expect((await use(first)).status).toBe(410);
  const both = await Promise.all([use(second), use(second)]);
  expect(both.map(({ status }) => status).sort()).toEqual([303, 410]);
  const third = await tokenOf();
  panel.pass(24 * hour);
  expect((await panel.visitor().get(`/panel/link?token=${third}`)).status).toBe(410);
  expect((await use(await tokenOf())).status).toBe(303);
});

test('an unused link ends when the user changes the password and when the role changes, and outlives a change of restaurants', async () => {
  const { email, browser } = await makeUser('owner');
  const tokenOf = async () =>
    new URL((await panel.users.makeLink('cli:test', email)).link).searchParams.get('token') ?? '';
  const statusOf = async (token: string) => (await panel.visitor().get(`/panel/link?token=${token}`)).status;
  const first = await tokenOf();
  const next = 'eight more words';
  await browser.post('/panel/account/password', { current: password, password: next, again: next });
  expect(await statusOf(first)).toBe(410);
  const second = await tokenOf();
  await panel.users.set('cli:test', email, { restaurants: ['rst_2'] });
  expect(await statusOf(second)).toBe(200);
  await panel.users.set('cli:test', email, { role: 'admin' });
  expect(await statusOf(second)).toBe(410);
  const answer = await panel.visitor().post('/panel/link', { token: second, password, again: password }, '');
  expect(answer.status).toBe(410);
});

test('passwords that are short, easy or typed twice differently are refused, and the link still works', async () => {
  const made = await panel.users.create('cli:test', { email: 'weak.words@example.com', role: 'support' });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const set = (next: string, again = next) => panel.visitor().post('/panel/link', { token, password: next, again }, '');
  for (const [next, again] of [
    ['short one'],
    ['aaaaaaaaaaaaaaaa'],
    ['abcdefghijklmnop'],
    ['password1234'],
    ['weak.words12'],
    ['x'.repeat(257)],
    ['seven unlikely words', 'seven likely words'],
  ] as const)
    expect((await set(next, again)).status, next).toBe(422);
  expect((await set(password)).status).toBe(303);
});

test('a wrong password, an account that is not there and one that is disabled are answered alike', async () => {
  const { email } = await makeUser();
  const disabled = await makeUser();
  await panel.users.disable('cli:test', disabled.email);
  const answers = [
    await signIn(panel.visitor('192.0.2.50'), email, 'something else again'),
    await signIn(panel.visitor('192.0.2.50'), 'unknown@example.com'),
    await signIn(panel.visitor('192.0.2.50'), disabled.email),
  ].map(({ status, text }) => ({ status, text: text.replace(/value="[^"]*@[^"]*"/, '') }));
  expect(answers[0]?.status).toBe(422);
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[2]).toEqual(answers[0]);
});

test('a session ends after half an hour without use, and after twelve hours of any use', async () => {
  const { email } = await makeUser();
  const [idle, busy] = [panel.visitor(), panel.visitor()];
  await signIn(idle, email);
  panel.pass(29 * minute);
  expect(await isSignedIn(idle)).toBe(true);
  panel.pass(29 * minute);
  expect(await isSignedIn(idle)).toBe(true);
  panel.pass(30 * minute);
  expect(await isSignedIn(idle)).toBe(false);
  await signIn(busy, email);
  for (let passed = 0; passed < 11 * hour + 40 * minute; passed += 20 * minute) {
    expect(await isSignedIn(busy), `after ${passed / minute} minutes`).toBe(true);
    panel.pass(20 * minute);
  }
  expect(await isSignedIn(busy)).toBe(true);
  panel.pass(20 * minute);
  expect(await isSignedIn(busy)).toBe(false);
});

test('what a page fetches by itself does not keep a session alive', async () => {
  const { email } = await makeUser();
  const visitor = panel.visitor();
  await signIn(visitor, email);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const look = async (): Promise<number> =>
    (
      await fetch(`${panel.origin}/panel/account`, {
        headers: { cookie, 'x-panel-background': '1' },
        redirect: 'manual',
      })
    ).status;
  panel.pass(20 * minute);
  expect(await look()).toBe(200);
  panel.pass(10 * minute);
  expect(await look()).toBe(303);
});

/** Sends a POST without the last byte of its body; the result sends that byte. */
const holdPost = async ({ id, browser }: { id: string; browser: Visitor }, path: string) => {
  const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.get('/panel/account')).text)?.[1] ?? '';
  const body = new URLSearchParams({ csrf, end: 'x' }).toString();
  const seenAt = async (): Promise<number | undefined> =>
    (await sql<{ seen_at: Date }>`select seen_at from panel.sessions where user_id = ${id}`.execute(panel.db)).rows
      .at(0)
      ?.seen_at.getTime();
  // A look-up of the session that comes a minute after the last one is written, which tells that the checks have run.
  panel.pass(2 * minute);
  const sent = request(`${panel.origin}${path}`, {
    method: 'POST',
    headers: {
      ...{ origin: panel.origin, 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length },
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    },
  });
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', async (answer) => resolve({ status: answer.statusCode ?? 0, text: await text(answer) }));
  });
  sent.write(body.slice(0, -1));
  await until(async () => (await seenAt()) === panel.clock.now().getTime());
  return () => {
    sent.end(body.slice(-1));
    return answered;
  };
};

test('a form whose last byte comes after the end of its session or role changes nothing', async () => {
  const linkPath = `/panel/users/${(await makeUser()).id}/link`;
  const made = () => panel.events.filter(({ action }) => action === 'user.link_made').length;
  const [kept, disabled, lowered] = [await makeUser('admin'), await makeUser('admin'), await makeUser('admin')];
  const endKept = await holdPost(kept, linkPath);
  const endDisabled = await holdPost(disabled, linkPath);
  await panel.users.disable('cli:test', disabled.email);
  const endLowered = await holdPost(lowered, linkPath);
  await panel.users.set('cli:test', lowered.email, { role: 'support' });
  const before = made();
  expect([(await endDisabled()).status, (await endLowered()).status]).toEqual([303, 403]);
  expect(made()).toBe(before);
  const answer = await endKept();
  expect([answer.status, made()]).toEqual([200, before + 1]);
  expect(answer.text).toContain('/panel/link?token=');
});

test('users see their sessions and end them; ending, signing out and disabling work at once', async () => {
  const { email, browser } = await makeUser();
  const other = panel.visitor();
  await signIn(other, email);
  const page = (await browser.get('/panel/account')).text;
  expect(page.match(/Chrome, Linux/g)).toHaveLength(2);
  const session = /\?session=([\w-]+)/.exec(page)?.[1] ?? '';
  const stranger = await makeUser();
  await stranger.browser.post('/panel/account/sessions/end', { session });
  expect(await isSignedIn(other)).toBe(true);
  await browser.post('/panel/account/sessions/end', { session });
  expect(await isSignedIn(other)).toBe(false);
  expect(lastEvent()).toMatchObject({ action: 'user.session_ended', details: { session_id: session } });
  await signIn(other, email);
  const kept = new Map(other.cookies);
  await other.post('/panel/sign-out', {});
  for (const [name, value] of kept) other.cookies.set(name, value);
  expect(await isSignedIn(other)).toBe(false);
  await signIn(other, email);
  await browser.post('/panel/account/sessions/end-others', {});
  expect(await isSignedIn(other)).toBe(false);
  expect(await isSignedIn(browser)).toBe(true);
  await panel.users.disable('cli:test', email);
  expect(await isSignedIn(browser)).toBe(false);
});

test('administrators end the sessions of others, disable them and make links for them, never for themselves', async () => {
  const admin = await makeUser('admin');
  const user = await makeUser();
  const path = `/panel/users/${user.id}`;
  const session = /\?session=([\w-]+)/.exec((await admin.browser.get(path)).text)?.[1] ?? '';
  expect((await admin.browser.post(`${path}/end-session`, { session })).status).toBe(303);
  expect(await isSignedIn(user.browser)).toBe(false);
  expect(lastEvent()).toMatchObject({ action: 'user.session_ended', actor: `panel:${admin.id}` });
  await signIn(user.browser, user.email);
  await admin.browser.post(`${path}/disable`, {});
  expect(await isSignedIn(user.browser)).toBe(false);
  expect((await signIn(user.browser, user.email)).status).toBe(422);
  await admin.browser.post(`${path}/enable`, {});
  expect((await signIn(user.browser, user.email)).status).toBe(303);
  expect((await admin.browser.post(`/panel/users/${admin.id}/disable`, {})).status).toBe(409);
  expect((await admin.browser.post(`/panel/users/${admin.id}/link`, {})).status).toBe(409);
  const page = await admin.browser.post(`${path}/link`, {});
  const link = /\/panel\/link\?token=[\w-]{43}/.exec(page.text)?.[0] ?? '';
  expect((await panel.visitor().get(link)).status).toBe(200);
  expect(await isSignedIn(admin.browser)).toBe(true);
});

test('a new password ends every other session, and needs the current one', async () => {
  const { email, browser } = await makeUser();
  const other = panel.visitor();
  await signIn(other, email);
  const change = (current: string) =>
    browser.post('/panel/account/password', { current, password: 'eight more words', again: 'eight more words' });
  expect((await change('not the one')).text).toContain('The current password is wrong');
  expect(await isSignedIn(other)).toBe(true);
  expect((await change(password)).status).toBe(303);
  expect(await isSignedIn(other)).toBe(false);
  expect(await isSignedIn(browser)).toBe(true);
  expect((await signIn(other, email)).status).toBe(422);
  expect((await signIn(other, email, 'eight more words')).status).toBe(303);
  expect(panel.events.filter(({ action }) => action === 'user.password_set')).not.toHaveLength(0);
});

test('every sign-in, failed or not, and every change of an account is in the audit with the user and the address', async () => {
  const { id, email, browser } = await makeUser();
  await signIn(panel.visitor('198.51.100.7'), email, 'not the password');
  expect(lastEvent()).toMatchObject({
    ...{ action: 'user.sign_in_failed', outcome: 'failure', actor: `panel:${id}` },
    ...{ address: '198.51.100.7', reason: 'wrong password' },
  });
  await signIn(panel.visitor('198.51.100.7'), email);
  expect(lastEvent()).toMatchObject({ action: 'user.signed_in', outcome: 'success', actor: `panel:${id}` });
  const change = { current: 'not the password', password: 'eight more words', again: 'eight more words' };
  await browser.post('/panel/account/password', change);
  expect(lastEvent()).toMatchObject({
    ...{ action: 'user.check_failed', outcome: 'failure', actor: `panel:${id}`, reason: 'wrong password' },
  });
  await browser.post('/panel/sign-out', {});
  expect(lastEvent()).toMatchObject({ action: 'user.signed_out', actor: `panel:${id}` });
  await panel.users.set('cli:test', email, { role: 'security' });
  expect(lastEvent()).toMatchObject({ action: 'user.changed', actor: 'cli:test', details: { role: 'security' } });
  const recorded = JSON.stringify(panel.events);
  expect(recorded).not.toContain(password);
});

test('the store keeps digests and sealed secrets only', async () => {
  const { browser } = await makeUser();
  const secrets = [...browser.cookies.values()].filter((value) => value.length >= 43);
  expect(secrets.length).toBeGreaterThanOrEqual(2);
  const { rows } = await panel.database.pool.query<{ table_name: string }>(
    `select table_name from information_schema.tables where table_schema = 'panel'`,
  );
  expect(rows.length).toBeGreaterThan(5);
  const { rows: hashes } = await panel.database.pool.query(
    'select password from panel.users where password is not null',
  );
  for (const { password: hash } of hashes)
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w-]{22}\$[\w-]{43}$/);
  expect(hashes.length).toBeGreaterThan(0);
  for (const { table_name } of rows) {
    const { rows: all } = await panel.database.pool.query(`select t::text as row from panel.${table_name} t`);
    for (const secret of [...secrets, password])
      expect(JSON.stringify(all).includes(secret), `${table_name} holds a secret`).toBe(false);
  }
});

test('htmx sends the token as a header, gets the target of a redirect, and leaves the message for the next page', async () => {
  const { browser } = await makeUser();
  const token = /name="csrf" value="([^"]+)"/.exec((await browser.get('/panel/account')).text)?.[1] ?? '';
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const ask = (path: string, headers: Record<string, string>, method = 'GET') =>
    fetch(`${panel.origin}${path}`, {
      method,
      headers: { cookie, origin: panel.origin, 'hx-request': 'true', ...headers },
      redirect: 'manual',
    });
  const path = '/panel/account/sessions/end-others';
  expect((await ask(path, {}, 'POST')).status).toBe(403);
  const answer = await ask(path, { 'x-csrf-token': token }, 'POST');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('hx-redirect')).toBe('/panel/account');
  const said = '0 browsers are signed out';
  expect(await (await ask('/panel/account', {})).text()).not.toContain(said);
  expect((await browser.get('/panel/account')).text).toContain(said);
  expect((await browser.get('/panel/account')).text).not.toContain(said);
  const gone = await fetch(`${panel.origin}/panel/account`, { headers: { 'hx-request': 'true' }, redirect: 'manual' });
  expect(gone.headers.get('hx-redirect')).toBe('/panel/sign-in');
});

test('signing in leads to the page asked for, and never to another site', async () => {
  const { email } = await makeUser();
  const asked = await panel.visitor().get('/panel/account?x=1');
  expect(asked.location).toBe('/panel/sign-in?next=%2Fpanel%2Faccount%3Fx%3D1');
  for (const [next, to] of [
    ['/panel/account?x=1', '/panel/account?x=1'],
    ['/panel/security/charts?by=client&days=1&value=*', '/panel/security/charts?by=client&days=1&value=*'],
    ["/panel/restaurants/Ada's(bar)!*", "/panel/restaurants/Ada's(bar)!*"],
    ['https://elsewhere.example', '/panel'],
    ['//elsewhere.example', '/panel'],
    ['/panel//elsewhere.example', '/panel'],
    ['/panel\\elsewhere', '/panel'],
    ['/elsewhere', '/panel'],
  ])
    expect((await panel.visitor().post('/panel/sign-in', { email, password, next: next ?? '' }, '')).location).toBe(to);
});

test('a sign-out on a page of an earlier session ends the session of now, because its cookie is removed in any case', async () => {
  const { email, browser } = await makeUser();
  const oldToken = /name="csrf" value="([^"]+)"/.exec((await browser.get('/panel/account')).text)?.[1] ?? '';
  expect(oldToken).not.toBe('');
  await signIn(browser, email);
  const kept = new Map(browser.cookies);
  const answer = await browser.post('/panel/sign-out', {}, oldToken);
  expect(answer).toMatchObject({ status: 303, location: '/panel/sign-in' });
  for (const [name, value] of kept) browser.cookies.set(name, value);
  expect(await isSignedIn(browser)).toBe(false);
});

test('A-693 a link for a forgotten password whose mail is on its way when the password, the role or the last client goes does not work', async () => {
  const { contacts } = panel;
  const fresh = 'eight more words';
  const changes: [string, (user: Awaited<ReturnType<typeof makeUser>>) => Promise<unknown>][] = [
    [
      'support',
      ({ browser }) => browser.post('/panel/account/password', { current: password, password: fresh, again: fresh }),
    ],
    ['support', ({ email }) => panel.users.set('cli:test', email, { role: 'admin' })],
    ['contact', ({ id }) => contacts.remove('cli:test', 'opc_1', id)],
    ['support', async () => undefined],
  ];
  const answers: number[] = [];
  for (const [role, change] of changes) {
    const user = await makeUser(role);
    const row = await findUser(panel.db, user.id);
    if (row === undefined) throw new Error('the user was not found');
    let mailed = '';
    await panel.users.makeForgottenLink(row, '192.0.2.1', async ({ link }) => {
      mailed = link;
      await change(user);
      return 'sent';
    });
    answers.push((await panel.visitor().get(mailed.slice(panel.origin.length))).status);
  }
  expect(answers).toEqual([410, 410, 410, 200]);
});

test('A-692 a client has at most 50 contacts, however they are added, and each one beyond is listed', async () => {
  const { contacts, users, db } = panel;
  /** Contacts as a release that did not count them stored them. */
  const insert = (emails: readonly string[]) =>
    sql`
      with made as (
        insert into panel.users (id, email, role, created_at)
        select 'usr_' || email, email, 'contact', now() from unnest(${emails}::text[]) as given (email) returning id)
      insert into panel.user_clients (user_id, client_id) select id, 'opc_full' from made`.execute(db);
  await insert(Array.from({ length: 49 }, (_none, n) => `a${n}@full.example`));
  const add = ['b1@full.example', 'b2@full.example', 'b3@full.example', 'b4@full.example'].map((email) =>
    contacts.invite('cli:test', 'opc_full', email).then(
      () => 'added',
      (error: Error) => error.message,
    ),
  );
  const full = 'The client opc_full has 50 contacts, and a client has at most 50';
  expect((await Promise.all(add)).sort()).toEqual([full, full, full, 'added']);
  const given = { email: 'c@full.example', role: 'contact' };
  await expect(users.create('cli:test', { ...given, clients: ['opc_full'] })).rejects.toThrow(full);
  await users.create('cli:test', { ...given, clients: ['opc_1'] });
  await expect(users.set('cli:test', given.email, { clients: ['opc_1', 'opc_full'] })).rejects.toThrow(full);
  await insert(['z@full.example']);
  expect((await contacts.list('opc_full')).map(({ email }) => email)).toHaveLength(51);
  await users.set('cli:test', 'z@full.example', { clients: ['opc_full', 'opc_1'] });
});

/** The answer to the button of the language, and the page that it leads to. */
const switchLanguage = async (visitor: Visitor, shown: string): Promise<{ location: string; text: string }> => {
  const next = unescaped(/action="\/panel\/language"[\s\S]*?name="next" value="([^"]*)"/.exec(shown)?.[1] ?? '');
  const { location } = await visitor.post('/panel/language', { language: 'it', next });
  return { location: location ?? '', text: (await visitor.get(location ?? '')).text };
};

const unescaped = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&#39;', "'");

test('A-681 the choice of the language leads back to the same one-time link, sign-in, or filtered list', async () => {
  const made = await panel.users.create('cli:test', { email: 'italian@example.com', role: 'support' });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const invited = panel.visitor();
  const link = `/panel/link?token=${token}`;
  const shown = await switchLanguage(invited, (await invited.get(link)).text);
  expect(shown.location).toBe(link);
  expect(shown.text).toContain('lang="it"');
  expect(shown.text).toContain('name="again"');
  // A password that is refused is answered by a page of a POST.
  const weak = await invited.post('/panel/link', { token, password: 'short', again: 'short' }, '');
  expect((await switchLanguage(invited, weak.text)).location).toBe(link);

  const stranger = panel.visitor();
  const asked = '/panel/sign-in?next=%2Fpanel%2Faccount%3Fx%3D1';
  expect(await switchLanguage(stranger, (await stranger.get(asked)).text)).toMatchObject({
    location: asked,
    text: expect.stringContaining('name="next" value="/panel/account?x=1"'),
  });
  const refused = await stranger.post('/panel/sign-in', { email: 'a@b.it', password, next: '/panel/account?x=1' }, '');
  expect((await switchLanguage(stranger, refused.text)).location).toBe(asked);

  const { browser } = await makeUser();
  expect((await switchLanguage(browser, (await browser.get('/panel/account?x=1')).text)).location).toBe(
    '/panel/account?x=1',
  );
  const own = await browser.post('/panel/account/password', { current: 'wrong', password: 'short', again: 'short' });
  expect(own.status).toBe(422);
  expect((await switchLanguage(browser, own.text)).location).toBe('/panel/account');
  for (const next of ['//elsewhere.example', 'https://elsewhere.example', '/panel/sign-in//elsewhere.example'])
    expect((await browser.post('/panel/language', { language: 'en', next })).location, next).toBe('/panel');
});
