/** Invitations, links by mail, roles and restaurants of accounts, through the running program and a real SMTP server. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { whileLocked } from '../../support/contention.ts';
import { until } from '../../support/until.ts';
import { type MailServer, startMailServer } from '../harness/mail-server.ts';
import { type HarnessUser, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

const smtpPassword = 'p@ss/word of the relay';

let mail: MailServer;
let harness: PanelHarness;
let admin: HarnessUser;
let cookie: string;

beforeAll(async () => {
  mail = await startMailServer({ user: 'relay', password: smtpPassword });
  harness = await startPanelHarness({
    ORDERPASS_SMTP_URL: mail.url,
    ORDERPASS_SMTP_FROM: 'Orderpass <panel@example.com>',
  });
  admin = await harness.user('admin');
  cookie = await harness.cookieOf(admin);
});

afterAll(async () => {
  await harness?.close();
  await mail?.close();
});

type Given = { as?: string; language?: string };

const get = async (path: string, { as = cookie, language = 'en' }: Given = {}) => {
  const answer = await fetch(`${harness.url}/panel${path}`, {
    redirect: 'manual',
    headers: { cookie: as, 'accept-language': language },
  });
  return { status: answer.status, location: answer.headers.get('location') ?? '', text: await answer.text() };
};

const post = async (path: string, fields: [string, string][], { as = cookie, language = 'en' }: Given = {}) => {
  const csrf = as === '' ? '' : (/name="csrf" value="([^"]+)"/.exec((await get('/account', { as })).text)?.[1] ?? '');
  const answer = await fetch(`${harness.url}/panel${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: as, origin: harness.url, 'accept-language': language },
    body: new URLSearchParams([...fields, ['csrf', csrf]]),
  });
  return { status: answer.status, location: answer.headers.get('location') ?? '', text: await answer.text() };
};

const linkIn = (text: string): string => /http:\/\/\S+\/panel\/link\?token=([\w-]{43})(?![\w-])/.exec(text)?.[1] ?? '';

/** A link of a forgotten password is stored after its mail was taken. */
const isLink = async (mailed: string): Promise<boolean> =>
  (await get(`/link?token=${linkIn(mailed)}`, { as: '' })).status === 200;

const setPassword = (token: string, password: string) =>
  post(
    '/link',
    [
      ['token', token],
      ['password', password],
      ['again', password],
    ],
    { as: '' },
  );

const lastEvent = async (action: string): Promise<{ actor: unknown; details: unknown }> => {
  const { events } = (await harness.command('audit', 'search', '--action', action)) as never as {
    events: Record<string, unknown>[];
  };
  const [event = {}] = events;
  return { actor: event['user.name'], details: event['orderpass.details'] };
};

test('an administrator changes role and restaurants of an account, which holds in its open session and is in the audit', async () => {
  const [first = '', second = ''] = harness.restaurants;
  const owner = await harness.user('owner', [first]);
  const as = await harness.cookieOf(owner);
  expect((await get(`/restaurants/${first}/keys`, { as })).status).toBe(200);
  expect((await get(`/restaurants/${second}/keys`, { as })).status).toBe(404);
  expect((await get(`/users/${owner.userId}/access`)).text).toContain(`value="${first}" checked`);
  expect((await get(`/users/${owner.userId}`)).text).toContain(`<a href="/panel/restaurants/${first}">Osteria Uno</a>`);
  const give = `insert into panel.user_restaurants (user_id, restuid) values ($1, 'rst_gone')`;
  await harness.database.pool.query(give, [owner.userId]);
  expect((await get(`/users/${owner.userId}`)).text).toContain('>rst_gone</a>');
  await harness.database.pool.query(`delete from panel.user_restaurants where restuid = 'rst_gone'`);
  const access = `/users/${owner.userId}/access`;
  expect((await post(access, [['role', 'owner']])).text).toContain('Choose at least one restaurant');
  expect(
    (
      await post(access, [
        ['role', 'king'],
        ['restaurant', first],
      ])
    ).text,
  ).toContain('Choose a role.');
  expect(
    (
      await post(access, [
        ['role', 'owner'],
        ['restaurant', 'rst_none'],
        ['confirmed', first],
      ])
    ).status,
  ).toBe(404);
  expect(
    (
      await post(access, [
        ['role', 'owner'],
        ['restaurant', second],
        ['confirmed', first],
      ])
    ).status,
  ).toBe(303);
  expect((await get(`/restaurants/${first}/keys`, { as })).status).toBe(404);
  expect((await get(`/restaurants/${second}/keys`, { as })).status).toBe(200);
  expect(await lastEvent('user.changed')).toMatchObject({
    actor: `panel:${admin.userId}`,
    details: { user_id: owner.userId, role: 'owner', restaurants: [second] },
  });
  expect(
    (
      await post(access, [
        ['role', 'security'],
        ['restaurant', second],
        ['confirmed', 'owner security'],
      ])
    ).status,
  ).toBe(303);
  expect((await get('/security/audit', { as })).status).toBe(200);
  expect(await lastEvent('user.changed')).toMatchObject({ details: { role: 'security', restaurants: [] } });
});

test('A-756 the access of an owner of more restaurants than one form may add is saved', async () => {
  const [first = ''] = harness.restaurants;
  const { rows } = await harness.database.pool.query<{ uid: string }>(
    `insert into ordering.restaurants select (jsonb_populate_record(r, jsonb_build_object('uid', 'rst_many' || n))).*
     from ordering.restaurants r, generate_series(1, 220) n where r.uid = $1 returning uid`,
    [first],
  );
  const [added, held] = [rows.slice(0, 101), rows.slice(101)].map((some) => some.map(({ uid }) => uid));
  const owner = await harness.user('owner', held);
  const path = `/users/${owner.userId}/access`;
  const fieldsOf = (text: string): [string, string][] =>
    [...text.matchAll(/<input type="checkbox" name="(restaurant)" value="([^"]*)" checked/g)].map(
      ([, name = '', value = '']): [string, string] => [name, value],
    );
  const shown = fieldsOf((await get(path)).text);
  expect(shown).toHaveLength(119);
  expect((await post(path, [['role', 'owner'], ...shown])).status).toBe(303);
  expect((await post('/support/restaurant-choice', [['search', 'Osteria'], ...shown])).status).toBe(200);
  const fewer = await post(path, [['role', 'owner'], ...shown.slice(1)]);
  expect([fewer.status, fewer.text.includes('data-confirm')]).toEqual([200, true]);
  const more = (some: readonly string[] = []) =>
    post(path, [['role', 'owner'], ...shown, ...some.map((uid): [string, string] => ['restaurant', uid])]);
  expect((await more(added)).status).toBe(400);
  expect((await more(added?.slice(1))).status).toBe(303);
});

test('A-468 the role of a contact is offered for an account that is one, and for no other', async () => {
  const isOffered = (text: string): boolean => /<option value="contact"/.test(text);
  const fields: [string, string][] = [
    ['email', 'mario@example.com'],
    ['role', 'contact'],
  ];
  const invited = await post('/users/new', fields);
  expect(invited.status).toBe(422);
  expect(invited.text).toContain('Choose a role.');
  expect(invited.text).toContain('mario@example.com');
  expect(isOffered(invited.text)).toBe(false);
  const support = await harness.user('support');
  expect(isOffered((await get(`/users/${support.userId}/access`)).text)).toBe(false);
  expect((await post(`/users/${support.userId}/access`, [['role', 'contact']])).status).toBe(422);
  const { client_id: client = '' } = await harness.command(
    ...['client', 'create', '--name', 'Ada Delivery', '--restaurant', harness.restaurants[0] ?? ''],
  );
  const contact = await harness.user('contact', [client]);
  const access = `/users/${contact.userId}/access`;
  expect((await get(access)).text).toContain('<option value="contact" selected>');
  expect((await post(access, [['role', 'contact']])).status).toBe(303);
  const removed = await post(`/clients/${client}/contacts/${contact.userId}/remove`, []);
  expect(removed.status).toBe(303);
  // Without a client it can be none, and no other role is chosen by itself.
  expect((await get(access)).text).toContain('<option value="">');
  expect(isOffered((await get(access)).text)).toBe(false);
});

test('no administrator changes the own role, and of two who take the role from each other one stays administrator', async () => {
  expect((await post(`/users/${admin.userId}/access`, [['role', 'support']])).status).toBe(409);
  const { db, pool } = harness.database;
  const takes: readonly [string, [string, string][]][] = [
    [
      'access',
      [
        ['role', 'support'],
        ['confirmed', 'admin support'],
      ],
    ],
    ['disable', []],
  ];
  for (const [change, fields] of takes) {
    const others = [await harness.user('admin'), await harness.user('admin')] as const;
    // Only these two are left, so each of the changes would be allowed on its own.
    await pool.query(`update panel.users set disabled_at = now() where role = 'admin' and not id = any($1)`, [
      others.map(({ userId }) => userId),
    ]);
    const cookies = [await harness.cookieOf(others[0]), await harness.cookieOf(others[1])];
    // One who was only invited cannot sign in, so that none of the two may go because of that account.
    const invited = `invited-${change}@example.com`;
    await harness.command('user', 'create', '--email', invited, '--role', 'admin');
    // Both requests are let in as administrators before one of them changes anything.
    const answers = await whileLocked(db, sql`select id from panel.users where role = 'admin' for update`, 2, () =>
      Promise.all([
        post(`/users/${others[1].userId}/${change}`, fields, { as: cookies[0] ?? '' }),
        post(`/users/${others[0].userId}/${change}`, fields, { as: cookies[1] ?? '' }),
      ]),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
    const { rows } = await pool.query(
      `select id from panel.users where role = 'admin' and disabled_at is null and password is not null`,
    );
    expect([change, rows.length]).toEqual([change, 1]);
  }
  await harness.database.pool.query(`update panel.users set disabled_at = null where id = $1`, [admin.userId]);
});

test('an invitation is mailed in the language of the panel, its link sets the password once, and no page shows it', async () => {
  const fields: [string, string][] = [
    ['email', 'Nuova@Example.com'],
    ['role', 'support'],
    ['mail', 'on'],
  ];
  for (const email of ['no address', 'a,b@example.com', '<a@example.com>']) {
    const refused = await post('/users/new', [
      ['email', email],
      ['role', 'support'],
    ]);
    expect([refused.status, refused.text.includes('id="email-note"')], email).toEqual([422, true]);
  }
  const invited = await post('/users/new', fields, { language: 'it' });
  expect(invited.status).toBe(303);
  const received = await mail.mailTo('nuova@example.com');
  expect(received).toMatchObject({ from: 'panel@example.com', subject: 'Il tuo account Orderpass' });
  expect(received.text).toContain('È stato creato per te un account Orderpass');
  expect(received.raw).toMatch(/^Content-Type: text\/plain; charset=utf-8/im);
  const token = linkIn(received.text);
  expect((await get(invited.location.replace('/panel', ''))).text).not.toContain(token);
  expect((await setPassword(token, 'correct horse battery')).status).toBe(303);
  expect((await setPassword(token, 'correct horse battery')).status).toBe(410);
  expect((await post('/users/new', fields)).text).toContain('There is an account with this email already.');
  expect(await lastEvent('user.created')).toMatchObject({
    actor: `panel:${admin.userId}`,
    details: { role: 'support' },
  });
});

test('an invitation of a contact of an API client is mailed too, and shown when the mail server refuses it or the form asks for no mail', async () => {
  const [restaurant = ''] = harness.restaurants;
  const { client_id: client = '' } = await harness.command(
    ...['client', 'create', '--name', 'Ada Delivery', '--restaurant', restaurant],
  );
  const contacts = `/clients/${client}/contacts`;
  const invite = (email: string, ...more: [string, string][]) =>
    post(contacts, [['email', email], ...more], { language: 'it' });
  const invited = await invite('Ada@Example.com', ['mail', 'on']);
  expect([invited.status, invited.location]).toEqual([303, `/panel${contacts}`]);
  const received = await mail.mailTo('ada@example.com');
  expect(received.subject).toBe('Il tuo accesso a Orderpass');
  expect(received.text).toContain('per gestire un client API della tua azienda');
  const list = (await get(contacts)).text;
  expect(list).not.toContain(linkIn(received.text));
  expect(list).toContain('Mail a new link');
  expect((await setPassword(linkIn(received.text), 'correct horse battery')).status).toBe(303);
  mail.refuse('away@example.com');
  const refused = await invite('away@example.com', ['mail', 'on']);
  expect(refused.text).toContain(
    'Il server di posta ha rifiutato il messaggio per away@example.com o non ha risposto in tempo',
  );
  expect(linkIn(refused.text)).not.toBe('');
  const before = mail.mails.length;
  expect(linkIn((await invite('shown@example.com')).text)).not.toBe('');
  expect(mail.mails).toHaveLength(before);
});

test('a link is shown instead when the mail server refuses it or does not answer, and the log holds neither link nor password', async () => {
  mail.refuse('gone@example.com');
  const refused = await post('/users/new', [
    ['email', 'gone@example.com'],
    ['role', 'support'],
    ['mail', 'on'],
  ]);
  expect(refused.status).toBe(200);
  expect(refused.text).toContain('The mail server refused the mail to gone@example.com or gave no answer in time');
  const token = linkIn(refused.text);
  mail.hold(true);
  const { user_id: userId = '' } = await harness.command(
    'user',
    'create',
    '--email',
    'slow@example.com',
    '--role',
    'support',
  );
  const late = await post(`/users/${userId}/link`, [['mail', 'on']]);
  mail.hold(false);
  expect(late.text).toContain('The mail server refused the mail to slow@example.com or gave no answer in time');
  const log = harness.program.errors();
  expect(log).toContain('a mail was not sent');
  for (const secret of [token, linkIn(late.text), smtpPassword, encodeURIComponent(smtpPassword), 'gone@example.com'])
    expect(log).not.toContain(secret);
  expect((await setPassword(token, 'correct horse battery')).status).toBe(303);
});

test('an administrator sends a password link to an account, in the language that its user chose', async () => {
  const user = await harness.user('security');
  await harness.database.pool.query(`update panel.users set language = 'it' where id = $1`, [user.userId]);
  expect((await post(`/users/${user.userId}/link`, [['mail', 'on']])).status).toBe(303);
  const received = await mail.mailTo(user.email);
  expect(received.subject).toBe('Imposta una nuova password di Orderpass');
  expect((await setPassword(linkIn(received.text), 'another long password')).status).toBe(303);
});

test('a user who chose it gets a notice by mail and at an address when a key ends soon and when requests are refused in a burst', async () => {
  const received: { headers: IncomingHttpHeaders; body: string }[] = [];
  const receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      response.end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/notices`;
  const saved = await post('/account/notices', [
    ...['key_ending', 'refusals', 'audit_broken', 'endpoint_disabled'].map((kind): [string, string] => ['kind', kind]),
    ['mail', 'on'],
    ['url', url],
  ]);
  expect(saved.status).toBe(200);
  const secret = /id="secret-value">([^<]+)</.exec(saved.text)?.[1] ?? '';
  const expires = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
  const restaurant = harness.restaurants[0] ?? '';
  const key: [string, string][] = [
    ['name', 'Till'],
    ['expires', expires],
  ];
  expect((await post(`/restaurants/${restaurant}/keys`, key)).status).toBe(200);
  const call = () =>
    fetch(`${harness.url}/api/orders/list?restuid=${restaurant}`, { headers: { 'x-api-key': 'wrong' } });
  for (let i = 0; i < 6; i += 1) await Promise.all(Array.from({ length: 20 }, call));
  await until(() => mail.mails.filter(({ to }) => to.includes(admin.email)).length >= 2, 100_000);
  const subjects = mail.mails.filter(({ to }) => to.includes(admin.email)).map(({ subject }) => subject);
  expect(subjects.sort()).toEqual(['An API key ends within 7 days', 'Unusually many requests are refused']);
  await until(() => received.length >= 2);
  expect(received.map(({ body }) => body).join()).toContain('Osteria Uno');
  for (const { headers, body } of received) new Webhook(secret).verify(body, headers as Record<string, string>);
});

test('A-499 contacts of a client and owners get a notice of a reported leak and of a certificate that ends, of theirs only', async () => {
  const [restaurant = '', elsewhere = ''] = harness.restaurants;
  const create = (name: string) => harness.command('client', 'create', '--name', name, '--restaurant', restaurant);
  const [leaky, calm] = [await create('Leaky'), await create('Calm')];
  const { key_id: keyId = '', api_key: keyValue = '' } = await harness.command(
    ...['key', 'create', '--restaurant', restaurant, '--name', 'Leaked till'],
  );
  const all = ['credential_ending', 'leak_reported'];
  const chosen = async (role: 'contact' | 'owner', of: string) => {
    const user = await harness.user(role, [of]);
    const as = await harness.cookieOf(user);
    const kinds = [...all.map((kind): [string, string] => ['kind', kind]), ['mail', 'on'] as [string, string]];
    expect((await post('/account/notices', kinds, { as })).status).toBe(303);
    return () => mail.mails.filter(({ to }) => to.includes(user.email));
  };
  const holder = await chosen('contact', leaky.client_id ?? '');
  const other = await chosen('contact', calm.client_id ?? '');
  const owner = await chosen('owner', restaurant);
  const stranger = await chosen('owner', elsewhere);
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-certificates-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const register = async (clientId: string, days: number): Promise<void> => {
    const file = join(folder, `${clientId}-${days}.crt`);
    const until = new Date(Date.now() + days * 86_400_000);
    writeFileSync(file, makeAuthority().issue({ use: 'client', until }).cert);
    await harness.command('client', 'add-certificate', '--client-id', clientId, '--file', file);
  };
  await register(leaky.client_id ?? '', 3);
  // A rotation that is under way: the next certificate is registered.
  await register(calm.client_id ?? '', 100);
  await register(calm.client_id ?? '', 3);
  for (const token of [leaky.client_secret ?? '', keyValue]) {
    const body = new URLSearchParams({ token });
    expect((await fetch(`${harness.url}/api/oauth/report-leak`, { method: 'POST', body })).status).toBe(202);
  }
  await until(() => holder().length === 2 && owner().length === 1, 100_000);
  const subjects = holder().map(({ subject }) => subject);
  expect(subjects.sort()).toEqual([
    'A credential was reported as leaked and ended',
    'A secret or certificate of an API client ends within 7 days',
  ]);
  for (const { text } of holder()) expect(text).toContain(`API client: Leaky (${leaky.client_id})`);
  expect(owner()[0]?.text).toContain(`Restaurant: Osteria Uno\nCredential: ${keyId}`);
  expect([...other(), ...stranger()]).toEqual([]);
  expect(JSON.stringify(mail.mails)).not.toContain(keyValue);
});

test('who forgot the password gets a link by mail, the answer is the same for every email, and requests are limited', async () => {
  const user = await harness.user('support');
  const disabled = await harness.user('support');
  await harness.command('user', 'disable', '--email', disabled.email);
  const ask = (email: string) => post('/sign-in/forgot', [['email', email]], { as: '' });
  expect((await get('/sign-in', { as: '' })).text).toContain('/panel/sign-in/forgot');
  const withoutIds = (text: string): string => text.replaceAll(/req_\w+/g, '');
  const answers = [];
  for (const email of [user.email, 'unknown@example.com', disabled.email, '']) answers.push(await ask(email));
  expect(new Set(answers.map(({ status, text }) => `${status} ${withoutIds(text)}`)).size).toBe(1);
  const { text } = await mail.mailTo(user.email);
  await until(() => isLink(text));
  expect(await lastEvent('user.link_made')).toMatchObject({
    details: { user_id: user.userId, by: 'forgotten password' },
  });
  for (let i = 0; i < 5; i += 1) {
    expect((await ask(user.email)).status).toBe(200);
    const { text: newest } = await mail.mailTo(user.email, Math.min(i + 2, 3));
    await until(() => isLink(newest));
  }
  expect(mail.mails.filter(({ to }) => to.includes(user.email))).toHaveLength(3);
  expect((await setPassword(linkIn(text), 'a password of mine')).status).toBe(410);
  const last = await mail.mailTo(user.email, 3);
  await until(() => isLink(last.text));
  expect((await setPassword(linkIn(last.text), 'a password of mine')).status).toBe(303);
  expect((await ask('one@example.com')).status).toBe(200);
  const limited = await ask('two@example.com');
  expect(limited.status).toBe(422);
  expect(limited.text).toContain('Too many attempts.');
  expect(mail.mails.filter(({ to }) => to.includes(disabled.email) || to.includes('unknown@example.com'))).toEqual([]);
});

test('a link that a stranger asks for ends no handed invitation that mail cannot replace, and tells an invited user of the invitation', async () => {
  await harness.database.pool.query('delete from panel.attempts');
  const ask = (email: string) => post('/sign-in/forgot', [['email', email]], { as: '' });
  const invite = async (email: string) =>
    linkIn(
      (
        await post('/users/new', [
          ['email', email],
          ['role', 'support'],
        ])
      ).text,
    );
  const failures = () => harness.program.errors().split('a mail was not sent').length;
  mail.refuse('no.mailbox@example.com');
  const handed = await invite('no.mailbox@example.com');
  const before = failures();
  await ask('no.mailbox@example.com');
  await until(() => failures() > before);
  expect((await setPassword(handed, 'correct horse battery')).status).toBe(303);
  await invite('with.mailbox@example.com');
  await ask('with.mailbox@example.com');
  const { subject, text } = await mail.mailTo('with.mailbox@example.com');
  expect(subject).toBe('Your Orderpass account');
  expect(text).not.toContain('your password stays as it is');
  await until(() => isLink(text));
  expect((await setPassword(linkIn(text), 'correct horse battery')).status).toBe(303);
});

test('an administrator who mails a new link to an invited contact sends the text for contacts', async () => {
  const { client_id: client = '' } = await harness.command(
    ...['client', 'create', '--name', 'Ada Delivery', '--restaurant', harness.restaurants[0] ?? ''],
  );
  const email = 'invited.contact@example.com';
  const made = await harness.command('user', 'create', '--email', email, '--role', 'contact', '--client', client);
  expect((await post(`/users/${made.user_id}/link`, [['mail', 'on']])).status).toBe(303);
  expect((await mail.mailTo(email)).subject).toBe('Your access to Orderpass');
});
