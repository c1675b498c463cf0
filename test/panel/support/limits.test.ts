/** Limits and addresses of a client and of a key in the panel, over its forms. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  browserBinary,
  expectAccessible,
  type HarnessUser,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('support-limits: skipped in part, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  harness = await startPanelHarness({ ORDERPASS_TRUSTED_PROXY_HOPS: '1' });
});

afterAll(() => harness?.close());

type Answer = { status: number; text: string };

/** The pages as this user gets them, without a browser. */
const visitor = async (user: HarnessUser) => {
  const cookie = await harness.cookieOf(user);
  const headers = { cookie, origin: harness.url };
  const home = await (await fetch(`${harness.url}/panel/account`, { headers })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(home)?.[1] ?? '';
  const ask = async (path: string, fields?: Record<string, string>): Promise<Answer> => {
    const answer = await fetch(`${harness.url}${path}`, {
      redirect: 'manual',
      headers,
      ...(fields && { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return ask;
};

const call = async (headers: Record<string, string>, address: string): Promise<Response> => {
  const answer = await fetch(`${harness.url}/api/whoami`, { headers: { ...headers, 'x-forwarded-for': address } });
  await answer.arrayBuffer();
  return answer;
};

const makeClient = async () => {
  const [restaurant = ''] = harness.restaurants;
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Ada Delivery', '--restaurant', restaurant],
  );
  return { id: client_id, headers: { 'x-client-id': client_id, 'x-client-secret': client_secret } };
};

test('A-228 A-225 support sets limits and addresses of a client, wrong ones are refused beside their field, and the page shows calls from elsewhere', async () => {
  const { id, headers } = await makeClient();
  const ask = await visitor(await harness.user('support'));
  const path = `/panel/clients/${id}/limits`;
  expect((await ask(path)).text).toContain('Limits of Ada Delivery');
  const wrong = await ask(path, { minute: 'ten', day: '0', month: '5000' });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('id="minute-note"');
  expect(wrong.text.match(/Enter a whole number of at least 1/g)).toHaveLength(2);
  expect(wrong.text).toContain('value="5000"');
  expect((await ask(path, { day: '1000', month: '5000' })).status).toBe(303);
  await expect
    .poll(async () => (await call(headers, '192.0.2.1')).headers.get('ratelimit-policy'))
    .toContain('"day";q=1000;w=86400, "month";q=5000;');
  const bits = await ask(`${path}/addresses`, { allow_ip: '192.0.2.0/24\n10.1.2.3/8' });
  expect(bits.status).toBe(422);
  expect(bits.text).toContain('10.1.2.3/8 is not valid');
  const networks = { allow_ip: '192.0.2.0/24, 2001:db8::/32' };
  expect((await ask(`${path}/addresses`, networks)).text).toContain(
    'Refuse calls of Ada Delivery from other addresses?',
  );
  expect((await ask(`${path}/addresses`, { ...networks, confirmed: 'yes' })).status).toBe(303);
  expect((await ask(`${path}/addresses`, { allow_ip: `${networks.allow_ip} 198.51.100.7` })).status).toBe(303);
  await expect.poll(async () => (await call(headers, '203.0.113.5')).status).toBe(403);
  expect((await call(headers, '192.0.2.1')).status).toBe(200);
  await until(async () => (await ask(`/panel/clients/${id}`)).text.includes('203.0.113.5'));
  const shown = (await ask(path)).text;
  expect(shown).toMatch(/calls? from other addresses (was|were) refused, the last one from 203\.0\.113\.5/);
  expect(shown).toMatch(/Units in a day \(UTC\).*?1,000/s);
  expect((await ask(path, { day: '', month: '' })).status).toBe(303);
  await expect
    .poll(async () => (await call(headers, '192.0.2.1')).headers.get('ratelimit-policy'))
    .not.toContain('"day"');
});

test('A-228 the chart of use marks the quota of a day and says how much of it the busiest day used', async () => {
  const { id } = await makeClient();
  const ask = await visitor(await harness.user('support'));
  const path = `/panel/clients/${id}/limits`;
  await harness.database.pool.query(
    `insert into gateway.caller_usage (caller, day, requests, units, limited, elsewhere)
     select $1, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - n * interval '1 day', 100 * n, 100 * n, n, 0
     from generate_series(1, 3) as n`,
    [id],
  );
  const plain = (await ask(path)).text;
  expect(plain).toContain('600 units in 30 days, at most 300 in one day');
  expect(plain).not.toContain('class="mark"');
  await ask(path, { day: '400' });
  const marked = (await ask(path)).text;
  expect(marked).toContain('The quota of a day is 400 units (the dashed line). The busiest day used 75% of it.');
  // The bars are 60 high and reach up to the quota: 300 of 400 units are 45.
  expect(marked).toMatch(/<rect [^>]*height="45"/);
  expect(marked).toMatch(/<line class="mark" [^>]*y1="1"/);
  await ask(path, { day: '100000' });
  const far = (await ask(path)).text;
  expect(far).toContain('The quota of a day is 100,000 units. The busiest day used 0% of it.');
  expect(far).not.toContain('class="mark"');
});

test('A-228 an owner sets the addresses of a key of the restaurant and not its limits; of another restaurant there is nothing', async () => {
  const [restaurant = '', other = ''] = harness.restaurants;
  const { api_key: key = '', key_id: id = '' } = await harness.command('key', 'create', '--restaurant', restaurant);
  const { key_id: foreign = '' } = await harness.command('key', 'create', '--restaurant', other);
  const ask = await visitor(await harness.user('owner'));
  const path = `/panel/restaurants/${restaurant}/keys/${id}/limits`;
  const page = await ask(path);
  expect(page.text).toContain('Support sets the limits of a key');
  expect((await ask(path, { day: '5' })).status).toBe(403);
  expect((await ask(`${path}/addresses`, { allow_ip: '192.0.2.7', confirmed: 'yes' })).status).toBe(303);
  await expect.poll(async () => (await call({ 'x-api-key': key }, '192.0.2.8')).status).toBe(403);
  expect((await call({ 'x-api-key': key }, '192.0.2.7')).status).toBe(200);
  for (const at of [
    `/panel/restaurants/${restaurant}/keys/${foreign}`,
    `/panel/restaurants/${other}/keys/${foreign}`,
  ]) {
    expect((await ask(`${at}/limits`)).status).toBe(404);
    expect((await ask(`${at}/limits/addresses`, { allow_ip: '192.0.2.7' })).status).toBe(404);
  }
  const support = await visitor(await harness.user('support'));
  expect((await support(path, { day: '77' })).status).toBe(303);
  expect(await harness.command('key', 'limits', id)).toMatchObject({ day: 77 });
});

test.skipIf(browserBinary === undefined)('A-228 the page is accessible, as wide as a phone, and Italian', async () => {
  const { id, headers } = await makeClient();
  await harness.command('client', 'limits', id, '--day', '1000');
  for (let i = 0; i < 5; i += 1) await call(headers, '192.0.2.1');
  const { page, problems } = await harness.signIn(await harness.user('support'));
  await page.goto(`${harness.url}/panel/clients/${id}/limits`);
  await expectAccessible(page);
  await takeScreenshots(page, 'support-limits');
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'Italiano' }).click();
  await page.locator('html[lang="it"]').waitFor();
  await page.goto(`${harness.url}/panel/clients/${id}/limits`);
  await page.getByRole('heading', { level: 1, name: 'Limiti di Ada Delivery' }).waitFor();
  expect(await page.locator('main').innerText()).not.toMatch(/\b(the|is|are|not|Save|Units|Empty|Day)\b/);
  await page.setViewportSize({ width: 360, height: 900 });
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(overflow).toBe(0);
  await page.getByLabel('Unità in un mese (UTC)').fill('9');
  await page.getByRole('button', { name: 'Salva i limiti' }).click();
  await page.getByText('Salvato.').waitFor();
  expect(await harness.command('client', 'limits', id)).toMatchObject({ day: 1_000, month: 9 });
  expect(problems).toEqual([]);
});

test.skipIf(browserBinary === undefined)(
  'a day of use, which is one of UTC, has the same date in every zone',
  async () => {
    const { id } = await makeClient();
    const { page, problems } = await harness.signIn(await harness.user('support'), { timezoneId: 'America/New_York' });
    await page.goto(`${harness.url}/panel/clients/${id}/limits`);
    const newest = page.locator('main details tbody time').first();
    const day = new Date((await newest.getAttribute('datetime')) ?? '');
    const dateOf = (language: string): string =>
      new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' }).format(day);
    const shown = [dateOf('en-US'), dateOf('en-GB')];
    await until(async () => shown.includes((await newest.textContent()) ?? ''));
    expect(shown).toContain(await page.locator('main .axis-x time').last().textContent());
    // The last bar is the newest day.
    await page.locator('main [data-chart]').first().focus();
    expect(shown.map((one) => `${one}: 0`)).toContain(
      await page.locator('main [data-chart-value]').first().textContent(),
    );
    expect(problems).toEqual([]);
  },
);
