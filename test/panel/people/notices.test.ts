/** Notices: who gets which, each once, also when a worker dies between deciding and sending. With a clock that moves. */
import { sql } from 'kysely';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createNoticeSources } from '#src/app/panel/notices/notice-sources.ts';
import { createMailer, createNotices, type NoticeSources } from '#src/staff/index.ts';
import { signV1 } from '#src/webhooks/index.ts';
import { type MailServer, startMailServer } from '../harness/mail-server.ts';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';

const password = 'seven unlikely words';
const minute = 60_000;
const kinds = ['endpoint_disabled', 'key_ending', 'refusals', 'audit_broken'] as const;

let panel: PanelInProcess;
let mail: MailServer;
const posted: { url: string; headers: Record<string, string>; text: string; body: Record<string, unknown> }[] = [];
let receiverTakes = true;
const found: { [Kind in keyof NoticeSources]: Awaited<ReturnType<NoticeSources[Kind]>>[number][] } = {
  endpoint_disabled: [],
  key_ending: [],
  credential_ending: [],
  leak_reported: [],
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

/** A worker: what it has not written is lost with it. `mailer`: default: of the mail server. */
const worker = (
  failing?: keyof NoticeSources,
  mailer?: { mailer: ReturnType<typeof createMailer> },
  sources?: NoticeSources,
) => {
  const read = async <T>(kind: keyof NoticeSources, list: readonly T[]): Promise<readonly T[]> => {
    if (kind === failing) throw new Error('canceling statement due to statement timeout');
    return list;
  };
  const { db, box, clock, origin } = panel;
  const log = pino({ level: 'silent' });
  return createNotices({
    ...{ db, box, clock, log, origin },
    mailer: createMailer({ smtp_url: mail.url, smtp_from: 'panel@example.com' }, log),
    ...mailer,
    post: async (url, headers, body) => {
      if (!receiverTakes) return false;
      posted.push({ url, headers, text: body, body: JSON.parse(body) as Record<string, unknown> });
      return true;
    },
    sign: signV1,
    sources: sources ?? {
      endpoint_disabled: () => read('endpoint_disabled', found.endpoint_disabled),
      key_ending: () => read('key_ending', found.key_ending),
      credential_ending: () => read('credential_ending', found.credential_ending),
      leak_reported: () => read('leak_reported', found.leak_reported),
      refusals: () => read('refusals', found.refusals),
      audit_broken: () => read('audit_broken', found.audit_broken),
    },
  });
};

const send = (of = worker()): Promise<void> => of.send(new AbortController().signal);

let count = 0;

const makeUser = async (role: string, restaurants: readonly string[] = [], clients: readonly string[] = []) => {
  count += 1;
  const email = `notified${count}@example.com`;
  const made = await panel.users.create('cli:test', { email, role, restaurants, clients });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const browser = panel.visitor();
  await browser.post('/panel/link', { token, password, again: password });
  return { id: made.userId, email, browser };
};

/** As the form of the account page sends it. */
const sendForm = async (browser: Visitor, chosen: readonly string[], more: Record<string, string> = { mail: 'on' }) => {
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
  return { status: answers.status, text: await answers.text() };
};

const choose = async (...given: Parameters<typeof sendForm>): Promise<number> => (await sendForm(...given)).status;

/** The secret that a page shows once. */
const secretIn = (text: string): string => /id="secret-value">([^<]+)</.exec(text)?.[1] ?? '';

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
  found.endpoint_disabled.push({
    key: 'e1',
    tenant: 'rst_1',
    facts: { restaurant: 'Osteria Uno', endpoint: 'whe_1', reason: 'gone', at: '2026-03-01T09:58:07.004Z' },
  });
  found.key_ending.push({ key: 'k2', tenant: 'rst_2', facts: { key: 'Till' } });
  found.refusals.push({ key: 'r1', tenant: undefined, facts: { refused: '900' } });
  found.audit_broken.push({ key: 'a1', tenant: undefined, facts: { event: 'audit.broken 0-7' } });
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([worker().decide(), worker().decide()]);
    await Promise.all([send(), send()]);
  }
  expect(subjects(owner.email)).toEqual(['Un endpoint webhook è stato disabilitato'].map(encoded));
  expect((await mail.mailTo(owner.email)).text).toContain(
    'Ristorante: Osteria Uno\nEndpoint: whe_1\nMotivo: il ricevitore ha risposto 410: non esiste più\nQuando: 2026-03-01 09:58 UTC',
  );
  expect(
    mail.mails.find(({ to, subject }) => to.includes(security.email) && subject.includes('audit'))?.text,
  ).toContain('Event: a chain of the audit was changed (0-7)');
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

test('A-469 a notice to an owner who lost the restaurant before it was sent is dropped', async () => {
  const owner = await makeUser('owner', ['rst_lost', 'rst_kept']);
  expect(await choose(owner.browser, ['endpoint_disabled'])).toBe(303);
  for (const tenant of ['rst_lost', 'rst_kept'])
    found.endpoint_disabled.push({ key: `lost ${tenant}`, tenant, facts: { endpoint: tenant } });
  await worker().decide();
  await panel.users.set('cli:test', owner.email, { restaurants: ['rst_kept'] });
  await send();
  const { rows } = await panel.database.pool.query(
    'select key, outcome from panel.notices where user_id = $1 order by key',
    [owner.id],
  );
  expect(rows).toEqual([
    { key: 'lost rst_kept', outcome: 'sent' },
    { key: 'lost rst_lost', outcome: 'dropped' },
  ]);
  expect(mail.mails.filter(({ to }) => to.includes(owner.email)).map(({ text }) => text.includes('rst_kept'))).toEqual([
    true,
  ]);
});

test('A-533 a notice to a contact who lost the client before it was sent is dropped, by mail and to an address', async () => {
  const contact = await makeUser('contact', [], ['opc_lost', 'opc_kept']);
  const url = 'https://contact.example/hook';
  expect(await choose(contact.browser, ['credential_ending'], { mail: 'on', url })).toBe(200);
  for (const client of ['opc_lost', 'opc_kept'])
    found.credential_ending.push({ key: `lost ${client}`, tenant: undefined, client, facts: { client } });
  await worker().decide();
  await panel.users.set('cli:test', contact.email, { clients: ['opc_kept'] });
  await send();
  const { rows } = await panel.database.pool.query(
    'select key, channel, outcome from panel.notices where user_id = $1 order by key, channel',
    [contact.id],
  );
  expect(rows).toEqual(
    ['kept', 'lost'].flatMap((which) =>
      ['hook', 'mail'].map((channel) => ({
        key: `lost opc_${which}`,
        channel,
        outcome: which === 'kept' ? 'sent' : 'dropped',
      })),
    ),
  );
  const mailed = mail.mails.filter(({ to }) => to.includes(contact.email)).map(({ text }) => text);
  const sent = posted.filter((one) => one.url === url).map(({ text }) => text);
  expect([...mailed, ...sent].map((text) => /opc_[a-z]+/.exec(text)?.[0])).toEqual(['opc_kept', 'opc_kept']);
});

test('a notice that was decided for a member of staff is dropped when the role becomes owner or contact of something else', async () => {
  const [owner, contact] = [await makeUser('support'), await makeUser('support')];
  for (const { browser } of [owner, contact]) expect(await choose(browser, ['leak_reported'])).toBe(303);
  found.leak_reported.push(
    { key: 'leak of a client', tenant: undefined, client: 'opc_leaky', facts: { client: 'opc_leaky' } },
    { key: 'leak of a key', tenant: 'rst_leaky', facts: { restaurant: 'rst_leaky' } },
  );
  await worker().decide();
  await panel.users.set('cli:test', owner.email, { role: 'owner', restaurants: ['rst_leaky'] });
  await panel.users.set('cli:test', contact.email, { role: 'contact', clients: ['opc_leaky'] });
  await send();
  const mailsTo = (email: string) => mail.mails.filter(({ to }) => to.includes(email)).map(({ text }) => text);
  expect(mailsTo(owner.email)).toEqual([expect.stringContaining('rst_leaky')]);
  expect(mailsTo(contact.email)).toEqual([expect.stringContaining('opc_leaky')]);
});

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
  const copies = mail.mails.filter(({ to, text }) => to.includes(email) && text.includes('cut off (0-9)'));
  expect(copies).toHaveLength(2);
  expect(new Set(copies.map(({ raw }) => /^Message-ID: (<\S+>)/im.exec(raw)?.[1])).size).toBe(1);
});

/** The outcome of the mail of each of these happenings to the user. */
const outcomes = async (userId: string, keys: readonly string[]) =>
  (
    await panel.database.pool.query(
      `select outcome from panel.notices where user_id = $1 and key = any($2) and channel = 'mail'`,
      [userId, keys],
    )
  ).rows.map(({ outcome }) => outcome);

test('A-577 no more mails are begun than a slow server gets at once, so none fails because it waited', async () => {
  const { id, email, browser } = await makeUser('admin');
  expect(await choose(browser, ['audit_broken'])).toBe(303);
  const keys = Array.from({ length: 10 }, (_, n) => `slow${n}`);
  found.audit_broken.splice(0, Number.POSITIVE_INFINITY, ...keys.map((key) => ({ key, tenant: undefined, facts: {} })));
  let handed = 0;
  let handedMax = 0;
  const own = createMailer({ smtp_url: mail.url, smtp_from: 'panel@example.com' }, pino({ level: 'silent' }));
  const slow = worker(undefined, {
    mailer: {
      send: async (sent) => {
        handed += 1;
        handedMax = Math.max(handedMax, handed);
        const outcome = await own?.send(sent);
        handed -= 1;
        return outcome ?? 'failed';
      },
    },
  });
  await slow.decide();
  await slow.send(new AbortController().signal);
  // The mailer sends four at a time.
  expect(handedMax).toBeLessThanOrEqual(4);
  expect(subjects(email)).toHaveLength(keys.length);
  expect(await outcomes(id, keys)).toEqual(keys.map(() => 'sent'));
});

test('A-578 without a mail server a notice by mail is dropped without an attempt, and one to an address is posted', async () => {
  const { id, browser } = await makeUser('admin');
  expect(await choose(browser, ['audit_broken'], { mail: 'on', url: 'https://hooks.example/without-mail' })).toBe(200);
  found.audit_broken.splice(0, Number.POSITIVE_INFINITY, { key: 'nomail', tenant: undefined, facts: {} });
  const without = worker(undefined, { mailer: undefined });
  await without.decide();
  await without.send(new AbortController().signal);
  expect(await outcomes(id, ['nomail'])).toEqual(['dropped']);
  expect(posted.filter(({ url }) => url.endsWith('/without-mail'))).toHaveLength(1);
});

test('a webhook address is checked, kept sealed and shown without its path, and a notice that it refuses is sent later', async () => {
  const { id, browser } = await makeUser('admin');
  expect(await choose(browser, ['refusals'], { url: 'http://hooks.example/plain' })).toBe(422);
  expect(await choose(browser, ['refusals'], { url: 'https://hooks.example/T00/secret-part' })).toBe(200);
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
  const sent = own().filter(({ body }) => JSON.stringify(body.data).includes('700'));
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({
    headers: { 'webhook-id': expect.stringMatching(/^[0-9a-f]{32}$/) },
    body: { type: 'refusals', data: { refused: '700' } },
  });
  const account = async () => (await browser.get('/panel/account')).text;
  expect(await account()).not.toContain('None of these is sent');
  expect(await choose(browser, ['refusals'], { remove: 'on' })).toBe(303);
  expect((await browser.get('/panel/account/notices')).text).not.toContain('hooks.example');
  // Notices are chosen, and there is no address and no mail for them.
  expect(await account()).toContain('None of these is sent');
});

test('a source that cannot be read and an address that cannot be opened keep no other notice back', async () => {
  const [reader, broken] = [await makeUser('security'), await makeUser('security')];
  expect(await choose(reader.browser, ['refusals', 'audit_broken', 'leak_reported'])).toBe(303);
  const url = 'https://broken.example/hook';
  expect(await choose(broken.browser, ['audit_broken'], { url })).toBe(200);
  const spoil = "update panel.notice_targets set url = '\\x00' where user_id = $1";
  await panel.database.pool.query(spoil, [broken.id]);
  for (const kind of ['refusals', 'audit_broken', 'leak_reported'] as const)
    found[kind].splice(0, found[kind].length, { key: `kept ${kind}`, tenant: undefined, facts: {} });
  for (const failing of ['refusals', 'audit_broken', 'leak_reported'] as const) {
    await worker(failing).decide();
    await send();
    panel.pass(10 * minute);
  }
  expect(subjects(reader.email)).toHaveLength(3);
  for (let round = 0; round < 10; round += 1) {
    await send();
    panel.pass(300 * minute);
  }
  const { rows } = await panel.database.pool.query('select outcome from panel.notices where user_id = $1', [broken.id]);
  expect(rows).toEqual([{ outcome: 'failed' }]);
});

test('a user gets at most thirty notices of a kind in an hour, of every restaurant some, and the others later', async () => {
  const { email, browser } = await makeUser('admin');
  expect(await choose(browser, ['endpoint_disabled', 'key_ending'])).toBe(303);
  const got = () => mail.mails.filter(({ to }) => to.includes(email));
  const ofTenant = (tenant: string) => got().filter(({ text }) => text.includes(`Restaurant: ${tenant}\n`)).length;
  await worker().decide();
  await send();
  panel.pass(2 * 60 * minute);
  const known = got().length;
  for (let number = 0; number < 40; number += 1)
    found.endpoint_disabled.push({
      key: `flood ${number}`,
      tenant: 'rst_flood',
      facts: { restaurant: 'flood', endpoint: `whe_${number}` },
    });
  found.endpoint_disabled.push({
    key: 'quiet',
    tenant: 'rst_quiet',
    facts: { restaurant: 'quiet', endpoint: 'whe_q' },
  });
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([worker().decide(), worker().decide()]);
    await send();
  }
  expect([got().length - known, ofTenant('flood'), ofTenant('quiet')]).toEqual([30, 29, 1]);
  // Another kind has a bound of its own.
  found.key_ending.push({ key: 'k9', tenant: 'rst_9', facts: { restaurant: 'other', key: 'Till' } });
  await worker().decide();
  await send();
  expect(ofTenant('other')).toBe(1);
  panel.pass(61 * minute);
  await worker().decide();
  await send();
  expect([ofTenant('flood'), ofTenant('quiet')]).toEqual([40, 1]);
});

test('A-713 a notice to an address is signed as Standard Webhooks with a secret that is sealed and shown once, and both secrets sign for a day after a rotation, in which no other one is made', async () => {
  const { id, email, browser } = await makeUser('admin');
  const shown = await sendForm(browser, ['refusals'], { url: 'https://signed.example/hook' });
  const first = secretIn(shown.text);
  expect(Buffer.from(first.replace('whsec_', ''), 'base64')).toHaveLength(32);
  expect(shown.text).toContain('href="/docs/webhooks#verify"');
  const again = await browser.get('/panel/account/notices');
  expect(again.text).toContain('signed as Standard Webhooks');
  expect(again.text).not.toContain(first);
  expect(JSON.stringify(panel.events)).not.toContain(first);
  const readRow = async () =>
    (await panel.database.pool.query('select * from panel.notice_targets where user_id = $1', [id])).rows[0];
  expect((await readRow()).secret.toString('latin1')).not.toContain(first.slice(6));

  let count = 0;
  const nextPost = async () => {
    count += 1;
    const next = { key: `signed ${count}`, tenant: undefined, facts: { refused: String(count) } };
    found.refusals.splice(0, found.refusals.length, next);
    await worker().decide();
    await send();
    const sent = posted.filter(({ url }) => url === 'https://signed.example/hook');
    expect(sent).toHaveLength(count);
    const { headers = {}, text = '' } = sent.at(-1) ?? {};
    expect(headers['webhook-timestamp']).toBe(String(Math.floor(panel.clock.now().getTime() / 1000)));
    return { text, signatures: headers['webhook-signature']?.split(' ') ?? [], headers };
  };
  /** As a receiver does, at the time of the sender. */
  const verifies = (secret: string, { headers, text }: Awaited<ReturnType<typeof nextPost>>): boolean => {
    vi.useFakeTimers({ now: panel.clock.now(), toFake: ['Date'] });
    try {
      return new Webhook(secret).verify(text, headers) !== undefined;
    } catch {
      return false;
    } finally {
      vi.useRealTimers();
    }
  };
  const one = await nextPost();
  expect(verifies(first, one)).toBe(true);
  expect(verifies(first, { ...one, text: one.text.replace('refusals', 'refusal') })).toBe(false);

  // Saved again without an address: the stored one keeps its secret.
  expect(await choose(browser, ['refusals'])).toBe(303);
  expect(verifies(first, await nextPost())).toBe(true);

  const second = secretIn((await browser.post('/panel/account/notices/secret', {})).text);
  expect(second).not.toBe(first);
  expect(panel.events.at(-1)).toMatchObject({ action: 'user.notice_secret_rotated', actor: `panel:${id}` });
  const both = await nextPost();
  expect(both.signatures).toHaveLength(2);
  expect([verifies(first, both), verifies(second, both)]).toEqual([true, true]);

  // The receiver may have the first secret until the time that the page names.
  panel.pass(10 * minute);
  const shownWhile = (await browser.get('/panel/account/notices')).text;
  expect(shownWhile).toContain('still signs, beside it, until');
  expect(shownWhile).not.toContain('/panel/account/notices/secret');
  const kept = await readRow();
  const repeated = await browser.post('/panel/account/notices/secret', {});
  expect([repeated.status, repeated.location]).toEqual([303, '/panel/account/notices']);
  expect((await browser.get('/panel/account/notices')).text).toContain(
    'role="alert">The secret before the present one',
  );
  expect(await readRow()).toEqual(kept);
  const still = await nextPost();
  expect([verifies(first, still), verifies(second, still)]).toEqual([true, true]);
  panel.pass(24 * 60 * minute - 10 * minute);
  const after = await nextPost();
  expect([verifies(first, after), verifies(second, after)]).toEqual([false, true]);
  // The session has ended meanwhile.
  await browser.post('/panel/sign-in', { email, password });
  const third = secretIn((await browser.post('/panel/account/notices/secret', {})).text);

  // The address, entered again, ends both secrets at once.
  const fourth = secretIn((await sendForm(browser, ['refusals'], { url: 'https://signed.example/hook' })).text);
  const alone = await nextPost();
  expect(alone.signatures).toHaveLength(1);
  expect([second, third, fourth].map((secret) => verifies(secret, alone))).toEqual([false, false, true]);
  expect((await browser.get('/panel/account/notices')).text).toContain('/panel/account/notices/secret');

  // An address from before notices were signed.
  await panel.database.pool.query('update panel.notice_targets set secret = null where user_id = $1', [id]);
  const unsigned = await nextPost();
  expect(unsigned.signatures).toEqual([]);
  expect((await browser.get('/panel/account/notices')).text).toContain('This address has no secret yet');
  await choose(browser, ['refusals'], { remove: 'on' });
  expect(await readRow()).toMatchObject({ url: null, secret: null, previous_secret: null });
  expect((await browser.post('/panel/account/notices/secret', {})).status).toBe(303);
});

test('A-691 of more ending keys than one look reads, the owner of the last one is sent a notice too', async () => {
  const { db, clock } = panel;
  const owner = await makeUser('owner', ['rst_last']);
  expect(await choose(owner.browser, ['key_ending'])).toBe(303);
  const now = clock.now();
  const ends = new Date(now.getTime() + 3 * 24 * 60 * minute);
  for (const tenant of ['rst_many', 'rst_last'])
    await sql`insert into gateway.tenants (id, created) values (${tenant}, ${now})`.execute(db);
  await sql`
    insert into gateway.api_keys (tenant, key_id, name, digest, created, expires)
    select case n when 501 then 'rst_last' else 'rst_many' end, 'opk_m' || lpad(n::text, 3, '0'), 'Till', n::text::bytea, ${now}, ${ends}
    from generate_series(1, 501) n`.execute(db);
  const notices = worker(undefined, undefined, createNoticeSources({ background: db }));
  for (let look = 0; look < 2; look += 1) await notices.decide();
  await send(notices);
  expect(subjects(owner.email)).toEqual(['An API key ends within 7 days']);
});

test('of more reported leaks than one look reads, the owner of the earliest one is sent a notice too', async () => {
  const { db, clock } = panel;
  const owner = await makeUser('owner', ['rst_leaked']);
  expect(await choose(owner.browser, ['leak_reported'])).toBe(303);
  const at = new Date(clock.now().getTime() - 10 * minute);
  await sql`
    insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, credential_id, tenants, scopes, details, hash)
    select 900, n, ${at}::timestamptz + n * interval '1 second', 'leak.reported', 'success', 1, '{}', 'opk_l' || n,
      array[case n when 1 then 'rst_leaked' else 'rst_many' end], '{}', '{"ended":true}', '\\x00'
    from generate_series(1, 501) n`.execute(db);
  const notices = worker(undefined, undefined, createNoticeSources({ background: db }));
  for (let look = 0; look < 2; look += 1) await notices.decide();
  await send(notices);
  expect(subjects(owner.email)).toHaveLength(1);
});
