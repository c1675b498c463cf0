/** Searching the audit in a real browser. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { altered } from '../../support/altered.ts';
import { until } from '../../support/until.ts';
import { checkPage } from '../harness/check-page.ts';
import {
  browserBinary,
  expectAccessible,
  type HarnessUser,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
} from '../harness/panel-harness.ts';

let harness: PanelHarness;
let user: HarnessUser;
let restuid: string;
let client: Record<string, string>;

const inBrowser = test.skipIf(browserBinary === undefined);
const searchUrl = (query = ''): string => `${harness.url}/panel/security/audit${query}`;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  restuid = harness.restaurants[0] ?? '';
  user = await harness.user('security');
  client = await harness.command('client', 'create', '--name', 'Till', '--restaurant', restuid);
});

afterAll(() => harness?.close());

const call = (path: string, secret = client.client_secret ?? '') =>
  fetch(`${harness.url}${path}`, { headers: { 'x-client-id': client.client_id ?? '', 'x-client-secret': secret } });

const events = async (where: string): Promise<Record<string, string>[]> =>
  (
    await harness.database.pool.query(
      `select * from gateway.audit_events where ${where} order by at desc, chain desc, seq desc`,
    )
  ).rows;

inBrowser(
  'a request and its refusal are found by each filter, with the keyboard alone, and the address bar holds the search',
  async () => {
    const refused = await call('/api/orders/list', altered(String(client.client_secret)));
    const requestId = refused.headers.get('x-request-id') ?? '';
    expect((await call('/api/orders/list')).status).toBe(200);
    await until(
      async () => (await events(`action = 'request.allowed' and client_id = '${client.client_id}'`)).length > 0,
    );
    const { page, problems } = await harness.signIn(user);
    for (const name of ['Security', 'Audit']) {
      await page.getByRole('link', { name, exact: true }).first().focus();
      await page.keyboard.press('Enter');
    }
    await page.waitForURL(searchUrl());
    await checkPage(page, 'security-audit');
    // Four fields, and the rest on demand.
    expect(await page.locator('form[role=search] > .fields > label').count()).toBe(4);
    await page.getByText('More filters').focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Request id').focus();
    await page.keyboard.type(requestId);
    await page.keyboard.press('Enter');
    await page.waitForURL(searchUrl(`?requestId=${requestId}`));
    const rows = page.locator('tbody tr:not(.day)');
    expect(await rows.count()).toBe(1);
    expect(await rows.innerText()).toMatch(/request\.denied\s+Refused/);
    await rows.getByRole('link').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/security\/events\/\d+-\d+$/);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Event request.denied');
    await checkPage(page, 'security-event');
    // From the event to all others of the same route.
    await page.getByRole('link', { name: 'orders.list' }).click();
    await page.waitForURL(searchUrl('?route=orders.list'));
    expect(await rows.count()).toBe(2);
    const [event] = await events(`action = 'request.allowed' and client_id = '${client.client_id}'`);
    for (const query of [
      `client=${client.client_id}&decision=allow&route=orders.list`,
      `action=request.allowed&address=${event?.address}`,
      `fingerprint=${event?.fingerprint}&restaurant=${restuid}&decision=allow`,
      `credential=${client.client_secret?.slice(0, 16)}&action=request.allowed&since=${new Date(Date.now() - 3_600_000).toISOString()}`,
    ]) {
      await page.goto(searchUrl(`?${query}`));
      expect(await rows.count(), query).toBe(1);
      expect(await rows.innerText(), query).toContain('request.allowed');
    }
    await page.goto(searchUrl(`?client=${client.client_id}&until=2020-01-01T00:00Z`));
    expect(await page.locator('main').innerText()).toContain('No event matches');
    expect(problems).toEqual([]);
  },
);

inBrowser('older events come by cursor, none twice, and times are chosen in the zone of the viewer', async () => {
  for (let i = 0; i < 60; i += 1) await call('/api/orders/list', 'wrong');
  const { page, problems } = await harness.signIn(user, { timezoneId: 'Asia/Tokyo' });
  await page.goto(searchUrl('?action=request.denied'));
  const placesOf = () => page.locator('tbody a').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
  const first = await placesOf();
  expect(first.length).toBe(50);
  await page.getByRole('link', { name: 'Older' }).click();
  await page.waitForURL(/before=/);
  const second = await placesOf();
  expect(second.length).toBeGreaterThanOrEqual(11);
  expect(new Set([...first, ...second]).size).toBe(first.length + second.length);
  await page.getByRole('link', { name: 'Newest' }).click();
  await page.waitForURL((url) => !url.searchParams.has('before'));
  expect((await placesOf())[0]).toBe(first[0]);
  await page.getByLabel('From').fill('2026-05-01T09:30');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.waitForURL(searchUrl('?action=request.denied&since=2026-05-01T00%3A30%3A00.000Z'));
  expect(await page.getByLabel('From').inputValue()).toBe('2026-05-01T09:30');
  expect(problems).toEqual([]);
});

inBrowser('an open search says that there are newer events, without looking at the audit by itself', async () => {
  const { page, problems } = await harness.signIn(user);
  await page.goto(searchUrl(`?client=${client.client_id}`));
  const readings = async () => (await events(`action = 'audit.read'`)).length;
  const before = await readings();
  const firstRow = page.locator('tbody tr:not(.day)').first();
  const boxBefore = await firstRow.boundingBox();
  const wrong = await call('/api/orders/list', 'wrong again');
  const news = page.getByRole('link', { name: 'There are newer events' });
  await news.waitFor();
  expect(await readings()).toBe(before);
  // A click that begins on a row also ends on it.
  expect(await firstRow.boundingBox()).toEqual(boxBefore);
  await expectAccessible(page);
  await Promise.all([page.waitForEvent('load'), news.click()]);
  await page.locator('tbody tr:not(.day)').first().getByRole('link').click();
  await page.waitForURL(/security\/events/);
  expect(await page.locator('main').innerText()).toContain(wrong.headers.get('x-request-id'));
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'Italiano' }).click();
  await page.getByRole('link', { name: 'Registro', exact: true }).first().click();
  await page.getByRole('heading', { name: 'Registro' }).waitFor();
  expect(await page.locator('main').innerText()).toContain('Dal più recente');
  // The account keeps the language.
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('link', { name: 'Audit', exact: true }).first().waitFor();
  expect(problems).toEqual([]);
});

inBrowser(
  'every reading is audited with the person, and a credential in a filter goes neither to the server nor into the audit',
  async () => {
    const { page, problems } = await harness.signIn(user);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(searchUrl('?client=opc_x'));
    const [search] = await events(`action = 'audit.read' and actor = 'panel:${user.userId}'`);
    expect(JSON.parse(search?.details ?? '')).toMatchObject({ read: 'search', filter: { client: 'opc_x' } });
    expect(search?.address).toMatch(/127\.0\.0\.1/);
    await page.goto(`${harness.url}/panel/security/events/0-1`);
    const [event] = await events(`action = 'audit.read' and actor = 'panel:${user.userId}'`);
    expect(JSON.parse(event?.details ?? '')).toEqual({ read: 'event', event: '0-1' });
    await page.goto(searchUrl());
    await page.getByText('More filters').click();
    await page.getByLabel('Credential id').fill(client.client_secret ?? '');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain('“Leaked credential”');
    expect(asked.join()).not.toContain(client.client_secret);
    // Without the script the server refuses it, and writes it nowhere.
    const answer = await page.request.get(searchUrl(`?credential=${client.client_secret}`));
    expect(answer.status()).toBe(422);
    expect(await events(`details like '%${client.client_secret}%'`)).toEqual([]);
    const absent = await page.goto(`${harness.url}/panel/security/events/99-1`);
    expect(absent?.status()).toBe(404);
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'the timeline of a client tells in sentences what happened, by days of the reader or of UTC, with seconds',
  async () => {
    await harness.command('client', 'rotate-secret', '--client-id', client.client_id ?? '', '--overlap-hours', '1');
    const { page, problems } = await harness.signIn(user, { timezoneId: 'Pacific/Kiritimati', locale: 'en-GB' });
    await page.goto(searchUrl(`?client=${client.client_id}`));
    const timeline = `${harness.url}/panel/security/timeline?client=${client.client_id}`;
    await page.getByRole('link', { name: 'History of Till' }).click();
    await page.waitForURL(timeline);
    await page.getByRole('heading', { name: 'What happened to Till' }).waitFor();
    const lines = page.locator('.timeline li:not(.day)');
    await lines.filter({ hasText: /at the command line rotated the secret of Till\./ }).waitFor();
    await lines.filter({ hasText: /at the command line gave a secret of Till an end date\./ }).waitFor();
    await lines
      .filter({ hasText: /Till was refused .*requests? to orders\.list: / })
      .first()
      .waitFor();
    await checkPage(page, 'security-timeline');
    const first = lines.first().locator('time');
    const at = new Date((await first.getAttribute('datetime')) ?? '');
    const shown = (timeZone: string) => ({
      clock: new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone }).format(at),
      day: new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone }).format(at).replace(',', ''),
    });
    const isShown = async ({ clock, day }: { clock: string; day: string }) =>
      (await first.innerText()) === clock &&
      (await page.locator('.timeline .day').first().innerText()).replace(',', '') === day;
    await until(() => isShown(shown('Pacific/Kiritimati')));
    await page.getByRole('button', { name: 'UTC' }).click();
    await until(() => isShown(shown('UTC')));
    // The choice holds for other pages of this browser, and for the fields in which times are typed.
    await page.goto(searchUrl('?since=2026-05-01T00%3A30Z'));
    expect(await page.getByLabel('From').inputValue()).toBe('2026-05-01T00:30');
    // On paper the events stay and what cannot be used goes.
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('main form[role=search]').isVisible()).toBe(false);
    expect(await page.locator('table').isVisible()).toBe(true);
    await page.emulateMedia({ media: null });
    await page.getByRole('button', { name: 'My time zone' }).click();
    expect(await page.getByLabel('From').inputValue()).toBe('2026-05-01T14:30');
    // Without an id the page asks for one.
    await page.goto(`${harness.url}/panel/security/timeline`);
    await page.getByLabel('Restaurant', { exact: true }).fill('Osteria Uno');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened to Osteria Uno' }).waitFor();
    expect(await page.locator('.timeline').innerText()).toMatch(
      /at the command line created the client Till\.[\s\S]*at the command line created Osteria Uno\./,
    );
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'a time in UTC keeps its hour in the field, also on the day on which the clocks of the reader change',
  async () => {
    const { page, problems } = await harness.signIn(user, { timezoneId: 'Europe/Rome' });
    await page.goto(searchUrl('?since=2026-03-29T01%3A30Z'));
    expect(await page.getByLabel('From').inputValue()).toBe('2026-03-29T03:30');
    await page.getByRole('button', { name: 'UTC' }).click();
    expect(await page.getByLabel('From').inputValue()).toBe('2026-03-29T01:30');
    // Without a zone it is UTC for the search, and so for the field.
    await page.goto(searchUrl('?since=2026-05-01T10:00'));
    expect(await page.getByLabel('From').inputValue()).toBe('2026-05-01T10:00');
    await page.getByRole('button', { name: 'My time zone' }).click();
    expect(await page.getByLabel('From').inputValue()).toBe('2026-05-01T12:00');
    expect(problems).toEqual([]);
  },
);

inBrowser('a search is kept under a name by its user alone, at most twenty, and never with a credential', async () => {
  const { page, problems } = await harness.signIn(user);
  await page.goto(searchUrl('?action=request.denied'));
  await page.getByText('Saved searches').click();
  await page.getByLabel('Name of this search').fill('Refusals');
  await page.keyboard.press('Enter');
  await page.getByText('The search is saved.').waitFor();
  await page.goto(searchUrl());
  await checkPage(page, 'security-saved-search');
  await page.getByRole('link', { name: 'Refusals' }).click();
  await page.waitForURL(searchUrl('?action=request.denied'));
  const csrf = (await page.locator('input[name=csrf]').first().getAttribute('value')) ?? '';
  const save = async (name: string, query: string): Promise<string> => {
    const form = { csrf, name, query };
    return (await page.request.post(searchUrl('/saved'), { form, headers: { origin: harness.url } })).text();
  };
  const secret = client.client_secret ?? '';
  expect(await save('Leak', `credential=${secret}`)).toContain('it sends only a hash');
  expect(await save('x'.repeat(61), 'client=opc_x')).toContain('cannot be saved');
  expect(await save('All', '')).toContain('cannot be saved');
  for (let i = 2; i <= 20; i += 1) expect(await save(`Search ${i}`, 'client=opc_x')).toContain('The search is saved.');
  expect(await save('One more', 'client=opc_x')).toContain('You have 20 saved searches');
  expect(await save('Refusals', 'client=opc_y')).toContain('The search is saved.');
  const { rows } = await harness.database.pool.query('select user_id, name, query from panel.saved_searches');
  expect(rows.length).toBe(20);
  expect(rows).toContainEqual({ user_id: user.userId, name: 'Refusals', query: 'client=opc_y' });
  expect(JSON.stringify(rows)).not.toContain(secret);
  const other = await harness.signIn(await harness.user('security'));
  await other.page.goto(searchUrl());
  expect(await other.page.getByText('Saved searches').count()).toBe(0);
  await page.goto(searchUrl());
  await page.getByRole('button', { name: 'Remove the saved search Refusals' }).click();
  await page.getByText('The saved search is removed.').waitFor();
  const noted = await events(`action like 'user.search_%' and actor = 'panel:${user.userId}'`);
  expect(noted.length).toBe(22);
  expect(problems).toEqual([]);
});

inBrowser('F-24 an event that no signature covers is marked in the list, on its page and in the timeline', async () => {
  const { page, problems } = await harness.signIn(user);
  await harness.database.pool.query(
    `insert into gateway.audit_events
     select (jsonb_populate_record(e, jsonb_build_object('seq', e.seq + 1000, 'at', now(), 'actor', 'mallory', 'details', '{}'))).*
     from gateway.audit_events e where client_id = $1 and action = 'client.created' limit 1`,
    [client.client_id],
  );
  await page.goto(searchUrl(`?client=${client.client_id}&action=client.created`));
  expect(await page.getByText('Not signed').count()).toBe(1);
  await page.locator('tr', { hasText: 'mallory' }).getByRole('link').first().click();
  await page.getByText('No signature covers this event').waitFor();
  await checkPage(page, 'security-event-unsigned');
  await page.goto(`${harness.url}/panel/security/timeline?client=${client.client_id}`);
  expect(await page.locator('li', { hasText: 'mallory' }).getByText('Not signed').count()).toBe(1);
  expect(problems).toEqual([]);
});

test.skipIf(browserBinary === undefined)(
  'A-555 the printed audit has what was searched, its table with columns, and nothing that is cut',
  async () => {
    await call('/api/orders/list', 'wrong');
    const { page, problems } = await harness.signIn(user);
    // A4 without its margins.
    await page.setViewportSize({ width: 718, height: 1_000 });
    await page.goto(searchUrl(`?client=${client.client_id}&address=127.0.0.1&since=2020-05-01T10:00Z`));
    const printed = page.locator('main .printed');
    expect(await printed.isVisible()).toBe(false);
    await page.emulateMedia({ media: 'print' });
    expect(await printed.innerText()).toMatch(
      new RegExp(`Client\\s+${client.client_id}[\\s\\S]*Address\\s+127\\.0\\.0\\.1[\\s\\S]*From\\s+.*2020`),
    );
    expect(await page.locator('main form').first().isVisible()).toBe(false);
    expect(await page.locator('main thead').first().isVisible()).toBe(true);
    const cut = await page.evaluate(`[...document.querySelectorAll('main, main *:not(.visually-hidden)')]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 0)
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 ||
      (getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1))
    .map((one) => one.outerHTML.slice(0, 200))`);
    expect(cut).toEqual([]);
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-556 the times of policies, signals and certificates have seconds and a switch to UTC',
  async () => {
    const admin = await harness.user('admin');
    const cookie = await harness.cookieOf(admin);
    const { page } = await harness.signIn(admin);
    await harness.database.pool.query(
      `insert into gateway.signal_streams (stream_id, client_id, issuer, delivery, status, created, next_try, pushed_at, failed_at)
     values ('str_one', $1, 'http://localhost', 'poll', 'paused', now(), now(), now(), now())`,
      [client.client_id],
    );
    // Nothing is sent to a receiver that fetches its events.
    const resume = await fetch(`${harness.url}/panel/security/signals/str_one/resume`, { headers: { cookie } });
    expect(resume.status).toBe(200);
    expect(await resume.text()).not.toContain('are sent to its receiver now');
    for (const path of ['security/policy', 'security/signals', `clients/${client.client_id}/certificates`]) {
      const text = await (await fetch(`${harness.url}/panel/${path}`, { headers: { cookie } })).text();
      expect(text, path).toContain('data-times="utc"');
      expect(text, path).not.toContain('data-style="moment"');
      await page.goto(`${harness.url}/panel/${path}`);
      const line = `getComputedStyle(document.querySelector('.times [aria-pressed=true]')).textDecorationLine`;
      expect(await page.evaluate(line), path).toBe('underline');
    }
  },
);
