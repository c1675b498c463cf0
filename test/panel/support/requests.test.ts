/** The requests of a client and of a key in the panel. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { checkPage } from '../harness/check-page.ts';
import { browserBinary, openAccountMenu, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('support-requests: skipped in part, no Chromium is installed\n');

let harness: PanelHarness;
let client: { id: string; headers: Record<string, string> };
let key: { id: string; headers: Record<string, string> };

beforeAll(async () => {
  harness = await startPanelHarness();
  const [restaurant = ''] = harness.restaurants;
  const made = await harness.command('client', 'create', '--name', 'Ada Delivery', '--restaurant', restaurant);
  client = {
    id: made.client_id ?? '',
    headers: { 'x-client-id': made.client_id ?? '', 'x-client-secret': made.client_secret ?? '' },
  };
  const { api_key = '', key_id = '' } = await harness.command(
    'key',
    'create',
    '--restaurant',
    restaurant,
    '--name',
    'Till',
  );
  key = { id: key_id, headers: { 'x-api-key': api_key } };
});

afterAll(() => harness?.close());

const post = async (headers: Record<string, string>, path: string, body: object): Promise<string> => {
  const answer = await fetch(`${harness.url}/api/${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': 'till-<4711>' },
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
  return answer.headers.get('x-request-id') ?? '';
};

const asker = async (role: 'owner' | 'support' | 'security') => {
  const cookie = await harness.cookieOf(await harness.user(role));
  return async (path: string) => {
    const answer = await fetch(`${harness.url}/panel${path}`, { redirect: 'manual', headers: { cookie } });
    // Names of operations may break at dots.
    const text = (await answer.text()).replaceAll('<wbr>', '');
    return { status: answer.status, text, location: answer.headers.get('location') };
  };
};

test('A-298 the page of a client leads to its requests: list, filters, pages and counts', async () => {
  const refused = await post(client.headers, 'customer/create', { email: 'no email' });
  const written = await post(client.headers, 'customer/create', { email: 'ada@example.com' });
  await fetch(`${harness.url}/api/orders/list`, { headers: client.headers });
  const ask = await asker('support');
  const path = `/clients/${client.id}/requests`;
  expect((await ask(`/clients/${client.id}`)).text).toContain(`href="/panel${path}"`);
  await until(async () => (await ask(path)).text.includes(written));
  const { text } = await ask(path);
  expect(text.indexOf(written)).toBeLessThan(text.indexOf(refused));
  expect(text).toContain('VALIDATION_ERROR');
  expect(text).toContain('till-&lt;4711&gt;');
  expect(text).toContain('>Osteria Uno</td>');
  const only = async (query: string): Promise<boolean[]> => {
    const answer = await ask(`${path}?${query}`);
    expect(answer.status, query).toBe(200);
    return [answer.text.includes(written), answer.text.includes(refused)];
  };
  expect(await only('status=4xx')).toEqual([false, true]);
  expect(await only('code=VALIDATION_ERROR')).toEqual([false, true]);
  expect(await only('route=customer.create&status=2xx')).toEqual([true, false]);
  expect(await only('until=2020-01-01T00:00')).toEqual([false, false]);
  expect(await only('since=2020-01-01T00:00')).toEqual([true, true]);
  expect((await ask(`${path}?status=2xx`)).text).toContain('<option value="2xx" selected>');
  for (const query of ['status=400', 'since=soon', 'since=2026-13-45T10:00', `route=${'x'.repeat(129)}`, 'after=abc'])
    expect([query, (await ask(`${path}?${query}`)).status]).toEqual([query, 400]);
  await until(async () => (await ask(`${path}/hours`)).text.includes('orders.list'));
  const hours = (await ask(`${path}/hours?route=customer.create`)).text;
  expect(hours).toContain('customer.create');
  expect(hours).not.toContain('orders.list');
});

test('the requests of a client are filtered by the name of a restaurant, and a name that several have leads to a choice', async () => {
  const [first = '', second = ''] = harness.restaurants;
  const ask = await asker('support');
  const path = `/clients/${client.id}/requests`;
  expect((await ask(path)).text).toContain(`<option value="${first}" label="Osteria Uno">`);
  const named = await ask(`${path}?status=2xx&restuid=osteria+uno&after=`);
  expect([named.status, named.location]).toEqual([303, `/panel${path}?status=2xx&restuid=${first}`]);
  expect((await ask(`${path}?restuid=${first}`)).status).toBe(200);
  for (const name of ['Osteria Zero', 'Osteria Zeta']) await harness.command('restaurant', 'create', '--name', name);
  const unclear = await ask(`${path}?status=2xx&restuid=osteria+z`);
  expect(unclear.status).toBe(422);
  expect(unclear.text).toContain('Several restaurants match “osteria z”');
  expect(unclear.text).toMatch(/href="[^"]*\?status=2xx&amp;restuid=rst_\w+">Osteria Zero</);
  expect((await ask(`${path}?restuid=no+such+name`)).text).toContain(
    'No restaurant has the name or id “no such name”.',
  );
  expect((await ask(`${path}?restuid=${second}`)).text).toContain('No request matches.');
});

test('A-298 an owner sees the requests of keys of the own restaurant only; security sees none', async () => {
  const written = await post(key.headers, 'customer/create', { email: 'bea@example.com' });
  const [restaurant = '', other = ''] = harness.restaurants;
  const foreign = await harness.command('key', 'create', '--restaurant', other);
  const ask = await asker('owner');
  const path = `/restaurants/${restaurant}/keys/${key.id}/requests`;
  expect((await ask(`/restaurants/${restaurant}/keys`)).text).toContain(`href="/panel${path}"`);
  await until(async () => (await ask(path)).text.includes(written));
  await until(async () => (await ask(`${path}/hours`)).text.includes('customer.create'));
  const foreignAsked = await post(key.headers, `customer/create?restuid=${other}`, { email: 'bea@example.com' });
  await until(async () => (await ask(path)).text.includes(foreignAsked));
  expect((await ask(path)).text).toContain('>Osteria Uno</td>');
  expect((await ask(path)).text).not.toContain('Trattoria Due');
  for (const [at, status] of [
    [`/restaurants/${restaurant}/keys/${foreign.key_id}/requests`, 404],
    [`/restaurants/${other}/keys/${foreign.key_id}/requests`, 404],
    [`/restaurants/${restaurant}/keys/${foreign.key_id}/requests/hours`, 404],
    [`/clients/${client.id}/requests`, 403],
  ] as const)
    expect([at, (await ask(at)).status]).toEqual([at, status]);
  const security = await asker('security');
  expect((await security(`/clients/${client.id}/requests`)).status).toBe(403);
});

test('an endpoint that a client made names it, with a link for support alone', async () => {
  const [restaurant = ''] = harness.restaurants;
  const answer = await fetch(`${harness.url}/api/webhook/create`, {
    method: 'POST',
    headers: { ...client.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'http://127.0.0.1:8099/hook', kinds: ['customers'] }),
  });
  expect(answer.status, await answer.clone().text()).toBe(200);
  const { endpoint } = (await answer.json()) as { endpoint: { uid: string } };
  const path = `/restaurants/${restaurant}/webhooks/${endpoint.uid}`;
  const asSupport = (await (await asker('support'))(path)).text;
  expect(asSupport).toContain(`<a href="/panel/clients/${client.id}">Ada Delivery</a> <code>${client.id}</code>`);
  const asOwner = (await (await asker('owner'))(path)).text;
  expect(asOwner).toContain(`Ada Delivery <code>${client.id}</code>`);
  expect(asOwner).not.toContain(`/panel/clients/${client.id}`);
});

test.skipIf(browserBinary === undefined)('A-298 the pages are accessible, fit a phone, and are Italian', async () => {
  for (let i = 0; i < 3; i += 1) await post(client.headers, 'menu/import', { pos_uid: 'till-1' });
  const { page, problems } = await harness.signIn(await harness.user('support'));
  const url = `${harness.url}/panel/clients/${client.id}/requests`;
  await page.goto(url);
  await checkPage(page, 'client-requests');
  await page.getByLabel('Error code').fill('MISSING_PARAMETER');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL(/code=MISSING_PARAMETER/);
  await page.goto(`${url}/hours`);
  await checkPage(page, 'client-request-hours');
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'Italiano' }).click();
  await page.locator('html[lang="it"]').waitFor();
  for (const path of [url, `${url}/hours`]) {
    await page.goto(path);
    await page.getByRole('heading', { level: 1, name: /Richieste di Ada Delivery/ }).waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(/\b(the|is|are|not|Requests|Refused|Filter|Hour)\b/);
    await page.setViewportSize({ width: 360, height: 900 });
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    expect(overflow).toBe(0);
  }
  expect(problems).toEqual([]);
});
