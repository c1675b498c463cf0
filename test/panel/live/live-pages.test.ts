/** Pages that follow changes while they are open, in a real browser. Skipped where no Chromium is installed. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  browserBinary,
  expectAccessible,
  type PanelHarness,
  type Role,
  startPanelHarness,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('live-pages: skipped, no Chromium is installed\n');

let harness: PanelHarness;
let client: { id: string; headers: Record<string, string> };
const problems: string[][] = [];

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  const [restaurant = ''] = harness.restaurants;
  const made = await harness.command('client', 'create', '--name', 'Ada Delivery', '--restaurant', restaurant);
  const { client_id: id = '', client_secret: secret = '' } = made;
  client = { id, headers: { 'x-client-id': id, 'x-client-secret': secret, 'content-type': 'application/json' } };
  await harness.command('notifications', 'set', '--restaurant', restaurant, '--customers', 'on');
});

afterAll(() => harness?.close());

const inBrowser = test.skipIf(browserBinary === undefined);

const call = async (path: string, body: object): Promise<number> => {
  const { headers } = client;
  return (await fetch(`${harness.url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
};

/** The page of a signed-in user, marked so that a reload would be seen, once its event stream is open. */
const openAs = async (role: Role, path: string): Promise<Page> => {
  const opened = await harness.signIn(await harness.user(role, role === 'contact' ? [client.id] : undefined));
  problems.push(opened.problems);
  const stream = opened.page.waitForResponse((response) => response.url().includes('/panel/events?'));
  await opened.page.goto(`${harness.url}/panel${path}`);
  await stream;
  await opened.page.evaluate('document.body.dataset.loaded = "once"');
  return opened.page;
};

const expectNotReloaded = async (page: Page): Promise<void> => {
  expect(await page.evaluate('document.body.dataset.loaded')).toBe('once');
  expect(problems.flat()).toEqual([]);
};

const quarantine = (on: boolean) =>
  on
    ? harness.command('client', 'quarantine', '--client-id', client.id, '--reason', 'found in public')
    : harness.command('client', 'reactivate', '--client-id', client.id, '--reason', 'it was none');

/** Readings of the audit that were recorded. */
const readings = async (): Promise<number> =>
  (await harness.database.pool.query(`select 1 from gateway.audit_events where action = 'audit.read'`)).rows.length;

inBrowser('the start page of support and of an owner shows a change while it is open', async () => {
  const support = await openAs('support', '');
  const owner = await openAs('owner', '');
  const card = support.locator('#quarantined-card');
  expect(await card.innerText()).not.toContain('Ada Delivery');
  await quarantine(true);
  await card.getByRole('link', { name: 'Ada Delivery' }).waitFor();
  await quarantine(false);
  await card.getByRole('link', { name: 'Ada Delivery' }).waitFor({ state: 'detached' });
  const steps = owner.locator('#steps-card');
  const before = await steps.getByText('Done').count();
  expect(await call('webhook/create', { url: 'http://127.0.0.1:59999/hooks', kinds: ['customers'] })).toBe(200);
  await expect.poll(() => steps.getByText('Done').count()).toBeGreaterThan(before);
  await expectAccessible(owner);
  for (const page of [support, owner]) await expectNotReloaded(page);
});

inBrowser(
  'the start pages of security and administrators show a change and read the audit only when they are opened',
  async () => {
    const before = await readings();
    const security = await openAs('security', '');
    const admin = await openAs('admin', '');
    // Each sign-in leads to the start page too.
    await expect.poll(readings).toBe(before + 4);
    await quarantine(true);
    await security.locator('#decisions-card').getByText('Ada Delivery').waitFor();
    await admin.locator('#short-card dd').first().filter({ hasText: '1' }).waitFor();
    await quarantine(false);
    await security.locator('#decisions-card').getByText('Ada Delivery').waitFor({ state: 'detached' });
    // The charts stay, and the audit was not read for them again.
    expect(await security.locator('#refused-card').count()).toBe(1);
    expect(await readings()).toBe(before + 4);
    await expectAccessible(security);
    for (const page of [security, admin]) await expectNotReloaded(page);
  },
);

inBrowser('the lists of requests and of deliveries of a contact show new ones while they are open', async () => {
  const requests = await openAs('contact', `/portal/${client.id}/requests`);
  const endpoints = await openAs('contact', `/portal/${client.id}/webhooks`);
  expect(await call('no/such/operation', {})).toBe(404);
  await requests.locator('#requests tbody tr').filter({ hasText: '404' }).first().waitFor();
  const link = endpoints.locator('#own-webhooks').getByRole('link', { name: 'http://127.0.0.1:59998/' });
  expect(await link.count()).toBe(0);
  expect(await call('webhook/create', { url: 'http://127.0.0.1:59998/', kinds: ['customers'] })).toBe(200);
  await link.waitFor();
  await expectAccessible(endpoints);
  await expectNotReloaded(endpoints);
  await link.click();
  await endpoints.getByText('There is no delivery yet.').waitFor();
  expect(await call('customer/create', { email: 'guest@example.com' })).toBe(200);
  await endpoints.getByRole('link', { name: 'customer.changed' }).waitFor();
  await expectNotReloaded(requests);
});

inBrowser('the list of streams of security events shows a new stream and a change of its state', async () => {
  const page = await openAs('security', '/security/signals');
  await harness.database.pool.query(
    `insert into gateway.signal_streams (stream_id, client_id, issuer, delivery, endpoint_url, created, next_try)
     values ('str_one', $1, 'http://localhost', 'push', 'https://receiver.example/', now(), now())`,
    [client.id],
  );
  const row = page.locator('#signals tbody tr').filter({ hasText: 'str_one' });
  await row.waitFor();
  await harness.database.pool.query(`update gateway.signal_streams set status = 'paused', status_reason = 'moved'`);
  await row.getByText('moved').waitFor();
  await expectAccessible(page);
  await expectNotReloaded(page);
});
