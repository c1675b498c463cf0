/** Notices: who gets which, each once, also when a worker dies between deciding and sending. With a clock that moves. */
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMailer, createNotices, type NoticeSources } from '#src/staff/index.ts';
import { type MailServer, startMailServer } from '../harness/mail-server.ts';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';

const password = 'seven unlikely words';
const minute = 60_000;
const kinds = ['endpoint_disabled', 'key_ending', 'refusals', 'audit_broken'] as const;

let panel: PanelInProcess;
let mail: MailServer;
const posted: { url: string; id: string; body: Record<string, unknown> }[] = [];
let receiverTakes = true;
const found: { [Kind in keyof NoticeSources]: Awaited<ReturnType<NoticeSources[Kind]>>[number][] } = {
  endpoint_disabled: [],
  key_ending: [],
  refusals: [],
  audit_broken: [],
};

beforeAll(async () => {
  panel = await startPanel();
  mail = await startMailServer({ user: 'relay', password });
});

afterAll(async () => {
  await panel?.close();
  await mail?.close();
});

/** A worker: what it has not written is lost with it. */
const worker = () => {
  const { db, box, clock, origin } = panel;
  const log = pino({ level: 'silent' });
  return createNotices({
    ...{ db, box, clock, log, origin },
    mailer: createMailer({ smtp_url: mail.url, smtp_from: 'panel@example.com' }, log),
    post: async (url, headers, body) => {
      if (!receiverTakes) return false;
      posted.push({ url, id: headers['webhook-id'] ?? '', body: JSON.parse(body) as Record<string, unknown> });
      return true;
    },
    sources: {
      endpoint_disabled: async () => found.endpoint_disabled,
      key_ending: async () => found.key_ending,
      refusals: async () => found.refusals,
      audit_broken: async () => found.audit_broken,
    },
  });
};

const send = (of = worker()): Promise<void> => of.send(new AbortController().signal);

let count = 0;

const makeUser = async (role: string, restaurants: readonly string[] = []) => {
  count += 1;
  const email = `notified${count}@example.com`;
  const made = await panel.users.create('cli:test', { email, role, restaurants });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const browser = panel.visitor();
  await browser.post('/panel/link', { token, password, again: password });
  return { id: made.userId, email, browser };
};

/** As the form of the account page sends it. */
const choose = async (browser: Visitor, chosen: readonly string[], more: Record<string, string> = { mail: 'on' }) => {
  const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.get('/panel/account')).text)?.[1] ?? '';
  const answers = await fetch(`${panel.origin}/panel/account/notices`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      origin: panel.origin,
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    },
    body: new URLSearchParams([
      ...chosen.map((kind): [string, string] => ['kind', kind]),
      ...Object.entries(more),
      ['csrf', csrf],
    ]),
  });
  return answers.status;
};

const subjects = (email: string): string[] =>
  mail.mails.filter(({ to }) => to.includes(email)).map(({ subject }) => subject);

test('users choose among the notices of their role, and get those of their restaurants only, each once, in their language', async () => {
  const owner = await makeUser('owner', ['rst_1']);
  const security = await makeUser('security');
  const silent = await makeUser('admin');
  expect((await owner.browser.get('/panel/account/notices')).text).not.toContain('audit_broken');
  expect((await security.browser.get('/panel/account/notices')).text).not.toContain('key_ending');
  for (const { browser } of [owner, security]) expect(await choose(browser, kinds)).toBe(303);
  expect(panel.events.at(-1)).toMatchObject({
    action: 'user.notices_changed',
    details: { kinds: ['refusals', 'audit_broken'], mail: true, receiver: null },
  });
  await owner.browser.post('/panel/language', { language: 'it' });
  found.endpoint_disabled.push({ key: 'e1', tenant: 'rst_1', facts: { restaurant: 'Osteria Uno', endpoint: 'whe_1' } });
  found.key_ending.push({ key: 'k2', tenant: 'rst_2', facts: { key: 'Till' } });
  found.refusals.push({ key: 'r1', tenant: undefined, facts: { refused: '900' } });
  found.audit_broken.push({ key: 'a1', tenant: undefined, facts: { event: 'audit.broken 0-7' } });
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([worker().decide(), worker().decide()]);
    await Promise.all([send(), send()]);
  }
  expect(subjects(owner.email)).toEqual(['Un endpoint webhook è stato disattivato'].map(encoded));
  expect((await mail.mailTo(owner.email)).text).toContain('Ristorante: Osteria Uno\nEndpoint: whe_1');
  expect(subjects(security.email).sort()).toEqual(['The audit was changed', 'Unusually many requests are refused']);
  expect(subjects(silent.email)).toEqual([]);
  expect(await choose(security.browser, ['refusals'])).toBe(303);
  found.audit_broken.push({ key: 'a2', tenant: undefined, facts: {} });
  await worker().decide();
  await send();
  expect(subjects(security.email)).toHaveLength(2);
});

/** A subject with other letters than those of ASCII arrives as an encoded word (RFC 2047). */
const encoded = (text: string): unknown => (/^[ -~]*$/.test(text) ? text : expect.stringMatching(/^=\?UTF-8\?/i));

test('a notice that was decided is sent once by the next worker, when the first one died before it sent or while it sent', async () => {
  const { email, browser } = await makeUser('admin');
  expect(await choose(browser, ['audit_broken'])).toBe(303);
  found.audit_broken.push({ key: 'a3', tenant: undefined, facts: { event: 'audit.rolled_back 0-9' } });
  await worker().decide();
  const before = subjects(email).length;
  // The second worker decides again, and two send at the same time.
  await worker().decide();
  await Promise.all([send(), send()]);
  const after = subjects(email).length;
  expect(before).toBe(0);
  expect(after).toBeGreaterThan(0);
  await worker().decide();
  await send();
  expect(subjects(email)).toHaveLength(after);
  // Taken by a worker that died: others leave it alone until the lease ends, and then the copy has the same Message-ID.
  await panel.database.pool.query(
    `update panel.notices set done_at = null, outcome = null, due_at = $1 where key = 'a3' and channel = 'mail'`,
    [new Date(panel.clock.now().getTime() + 2 * minute)],
  );
  await send();
  expect(subjects(email)).toHaveLength(after);
  panel.pass(2 * minute);
  await send();
  const copies = mail.mails.filter(({ to, text }) => to.includes(email) && text.includes('audit.rolled_back 0-9'));
  expect(copies).toHaveLength(2);
  expect(new Set(copies.map(({ raw }) => /^Message-ID: (<\S+>)/im.exec(raw)?.[1])).size).toBe(1);
});

test('a webhook address is checked, kept sealed and shown without its path, and a notice that it refuses is sent later', async () => {
  const { id, browser } = await makeUser('admin');
  expect(await choose(browser, ['refusals'], { url: 'http://hooks.example/plain' })).toBe(422);
  expect(await choose(browser, ['refusals'], { url: 'https://hooks.example/T00/secret-part' })).toBe(303);
  expect(JSON.stringify(panel.events.at(-1))).not.toContain('secret-part');
  const shown = (await browser.get('/panel/account/notices')).text;
  expect(shown).toContain('An address at https://hooks.example is stored.');
  expect(shown).not.toContain('secret-part');
  const { rows } = await panel.database.pool.query('select url from panel.notice_targets where user_id = $1', [id]);
  expect(rows[0].url.toString('latin1')).not.toContain('secret-part');
  found.refusals.push({ key: 'r2', tenant: undefined, facts: { refused: '700', usual: '12' } });
  receiverTakes = false;
  await worker().decide();
  await send();
  receiverTakes = true;
  await send();
  const own = () => posted.filter(({ url }) => url.endsWith('secret-part'));
  expect(own()).toEqual([]);
  panel.pass(3 * minute);
  await send();
  const sent = own().filter(({ body }) => JSON.stringify(body).includes('700'));
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    body: { type: 'refusals', data: { refused: '700' } },
  });
  expect(await choose(browser, ['refusals'], { remove: 'on' })).toBe(303);
  expect((await browser.get('/panel/account/notices')).text).not.toContain('hooks.example');
});
