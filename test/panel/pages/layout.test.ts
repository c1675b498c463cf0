/**
 * How each page is laid out, from a phone to a wide screen, in both languages and with long values. Skipped where no
 * Chromium is installed.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPages, allPublicPages } from '#src/panel/pages.ts';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { until } from '../../support/until.ts';
import { browserBinary, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';
import { openTill } from '../harness/till.ts';

if (browserBinary === undefined) process.stderr.write('layout: skipped, no Chromium is installed\n');

const widths = [320, 390, 768, 1024, 1280, 1920];
const long = (text: string, length: number): string => text.repeat(Math.ceil(length / text.length)).slice(0, length);
const url = `http://127.0.0.1:59999/${long('receiver-of-the-webhooks-of-a-restaurant/', 240)}`;
const probe = readFileSync(join(import.meta.dirname, '../harness/layout-probe.js'), 'utf8');

let harness: PanelHarness;
let page: Page;
/** Client, endpoint and delivery of the contact. */
let own: Record<string, string>;
const ids: Record<string, string> = {};

/** As a browser without pages would, with the session of the open one. */
const post = async (path: string, form: Record<string, string>): Promise<string> => {
  const csrf = await page.locator('input[name=csrf]').first().inputValue();
  const headers = { origin: harness.url };
  return (await page.request.post(`${harness.url}/panel${path}`, { form: { csrf, ...form }, headers })).text();
};

const call = (key: string, path: string, body: unknown): Promise<Response> =>
  fetch(`${harness.url}/api/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  const create = (...args: string[]) => harness.command(...args);
  const { restuid = '' } = await create('restaurant', 'create', '--name', long('Osteria-della-Buona-Forchetta', 120));
  const client = await create('client', 'create', '--name', long('DeliveryIntegration', 100), '--restaurant', restuid);
  const certificate = `${'c'.repeat(42)}A`;
  const about = ['--client-id', client.client_id ?? ''];
  await create('client', 'add-certificate', ...about, '--thumbprint', certificate);
  const key = await create('key', 'create', '--restaurant', restuid, '--name', long('CassaAlBancoDelBar', 100));
  const user = await create(
    ...['user', 'create', '--email', `${long('a.long.name', 60)}@${long('subdomain.', 120)}example.com`],
    ...['--role', 'owner', '--restaurant', restuid],
  );
  ({ page } = await harness.signIn(await harness.user('admin')));
  const description = long('AccountingOfTheWholeRestaurant', 190);
  const made = await post(`/restaurants/${restuid}/webhooks`, { url, kinds: 'customers', description });
  expect(made).toMatch(/whe_\w+/);
  await post(`/restaurants/${restuid}/webhooks`, { url: `${url}2`, kinds: 'customers' });
  await post(`/restaurants/${restuid}/notifications`, { kind: 'customers', on: '1' });
  expect(await (await page.request.get(`${harness.url}/panel/restaurants/${restuid}/notifications`)).text()).toMatch(
    /checked="true"/,
  );
  const { client_id = '', client_secret = '' } = client;
  const headers = { 'x-client-id': client_id, 'x-client-secret': client_secret };
  const ownEndpoint = await fetch(`${harness.url}/api/webhook/create`, {
    ...{ method: 'POST', headers: { ...headers, 'content-type': 'application/json' } },
    body: JSON.stringify({ url: `${url}3`, kinds: ['customers'], description }),
  });
  own = { certificate, endpoint: ((await ownEndpoint.json()) as { endpoint: { uid: string } }).endpoint.uid };
  expect((await call(key.api_key ?? '', 'customer/create', { email: 'guest@example.com' })).status).toBe(200);
  await post(`/restaurants/${restuid}/notifications`, { kind: 'orders', on: '1' });
  const names = { client: long('CassaDelRistorante', 100), product: long('Pizza-con-tutto-', 100) };
  const till = await openTill(harness, restuid, names);
  await till.reprice(7);
  const menu = await (await page.request.get(`${harness.url}/panel/restaurants/${restuid}/menu`)).text();
  const imports = await (await page.request.get(`${harness.url}/panel/restaurants/${restuid}/menu/imports`)).text();
  const order = await till.order({
    client: { first_name: long('Massimiliano', 100), last_name: long('Dell-Acqua', 100), email: 'guest@example.com' },
    notes: long('SenzaGlutine', 900),
    external_id: long('scontrino', 100),
  });
  const customers = await (await page.request.get(`${harness.url}/panel/restaurants/${restuid}/customers`)).text();
  for (const path of ['orders/list', 'none']) await fetch(`${harness.url}/api/${path}?restuid=${restuid}`, { headers });
  await fetch(`${harness.url}/api/orders/list?restuid=rst_none`, { headers });
  const deliveries = `${harness.url}/panel/restaurants/${restuid}/deliveries`;
  await until(async () => {
    const text = await (await page.request.get(deliveries)).text();
    ids.delivery = /deliveries\/([a-z]+_\w+)"/.exec(text)?.[1] ?? '';
    return ids.delivery !== '';
  });
  await harness.database.pool.query(
    `insert into gateway.signal_streams (stream_id, client_id, issuer, delivery, endpoint_url, status, status_reason,
       created, next_try, pushed_at, last_error, failed_at)
     values ('str_one', $1, 'http://localhost', 'push', $2, 'paused', $3, now(), now(), now(), '503', now())`,
    [client_id, `https://receiver.example/${long('signals/', 200)}`, long('TheReceiverIsMoved', 180)],
  );
  const { cert: pem } = makeAuthority().issue({ name: long('TillOfTheRestaurant', 60), use: 'client' });
  await post(`/clients/${client_id}/certificates`, { pem, confirmed: 'yes' });
  const certificates = await (await page.request.get(`${harness.url}/panel/clients/${client_id}/certificates`)).text();
  const shown = await (await page.request.get(`${harness.url}/panel/clients/${client_id}`)).text();
  const audit = await (await page.request.get(`${harness.url}/panel/security/audit`)).text();
  Object.assign(ids, {
    ...{
      restaurant: restuid,
      order: order.uid,
      customer: /cus_\w+/.exec(customers)?.[0],
      category: /menu\/categories\/([^/"]+)"/.exec(menu)?.[1],
      import: imports.match(/imp_\w+/g)?.at(-1),
      client: client_id,
      key: key.key_id,
      user: user.user_id,
      link: user.link,
      stream: 'str_one',
      certificate: /certificates\/([\w-]+)\/remove/.exec(certificates)?.[1],
    },
    endpoint: /whe_\w+/.exec(made)?.[0],
    secret: /secrets\/([^/]+)\/retire/.exec(shown)?.[1],
    event:
      /security\/audit\/events?\/([^"]+)"/.exec(audit)?.[1] ?? /href="[^"]*\/event[^"]*\/([^"/]+)"/.exec(audit)?.[1],
  });
});

afterAll(() => harness?.close());

const filled = (path: string): string =>
  `/panel${path.replaceAll(/:([a-z]+)/g, (_whole, name: string) => encodeURIComponent(ids[name] ?? 'none'))}`;

/** What needs more than its path to be shown. */
const queries: Readonly<Record<string, () => string>> = {
  '/clients/:client/withdraw': () => `?restaurant=${ids.restaurant}`,
  '/clients': () => `?restaurant=${ids.restaurant}`,
  '/link': () => new URL(ids.link ?? '').search,
  '/security/audit': () => `?client=${long('opc_', 120)}`,
};

/** The ids of what the contact's client has. */
const prepareOwn = async (): Promise<void> => {
  const base = `${harness.url}/panel/portal/${ids.client}`;
  await until(async () => {
    const text = await (await page.request.get(`${base}/webhooks/${own.endpoint}`)).text();
    own.delivery = /deliveries\/(dlv_\w+)"/.exec(text)?.[1] ?? '';
    return own.delivery !== '';
  });
  await until(async () => {
    const text = await (await page.request.get(`${base}/requests`)).text();
    own.request = /refusals\/([^"]+)"/.exec(text)?.[1] ?? '';
    return own.request !== '';
  });
  Object.assign(ids, own);
};

/** Parts of pages and downloads have no layout. */
const isShown = ({ method, path }: { method: string; path: string }): boolean =>
  method === 'GET' && !/\/(events|news|export|provider|return)$/.test(path);

const lookAt = async (paths: readonly string[], wrong: string[], language: string): Promise<void> => {
  for (const path of paths) {
    await page.setViewportSize({ width: widths[0] ?? 320, height: 900 });
    await page.goto(`${harness.url}${filled(path)}${queries[path]?.() ?? ''}`);
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      const found = (await page.evaluate(probe)) as string[];
      wrong.push(...found.map((text) => `${language} ${path} at ${width} px: ${text}`));
    }
  }
};

test.skipIf(browserBinary === undefined)(
  'F-53 F-54 no page scrolls sideways, no controls overlap, no text is cut, no button breaks inside a word, no label touches its field',
  async () => {
    const wrong: string[] = [];
    const shown = allPages.filter(isShown);
    const paths = shown.filter(({ roles }) => roles.includes('admin')).map(({ path }) => path);
    const ownPaths = shown.filter(({ path }) => path.startsWith('/portal')).map(({ path }) => path);
    expect(ownPaths.length).toBeGreaterThan(10);
    for (const language of ['en', 'it']) {
      await post('/language', { language });
      await lookAt(paths, wrong, language);
      // The audit before it is searched.
      await lookAt(['/security/audit/'], wrong, language);
    }
    ({ page } = await harness.signIn(await harness.user('contact', [ids.client ?? ''])));
    await prepareOwn();
    for (const language of ['en', 'it']) {
      await post('/language', { language });
      await lookAt(ownPaths, wrong, language);
    }
    await page.context().clearCookies();
    const open = allPublicPages.filter(isShown).map(({ path }) => path);
    for (const language of ['en', 'it']) {
      await page.setExtraHTTPHeaders({ 'accept-language': language });
      await lookAt(open, wrong, language);
    }
    expect(wrong).toEqual([]);
    expect(paths.length + open.length).toBeGreaterThan(40);
  },
  900_000,
);
