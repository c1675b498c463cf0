/** Support makes a restaurant and a client for it, in a real browser. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  browserBinary,
  expectAccessible,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('support-clients: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

const whoami = async (id: string, secret: string) => {
  const answer = await fetch(`${harness.url}/api/whoami`, {
    headers: { 'x-client-id': id, 'x-client-secret': secret },
  });
  return { status: answer.status, body: (await answer.json()) as { credential?: Record<string, unknown> } };
};

test.skipIf(browserBinary === undefined)(
  'support makes a restaurant, finds it by a word of its name, and makes a client that reaches it with the chosen scopes only',
  async () => {
    const support = await harness.user('support');
    const { page, problems, context } = await harness.signIn(support, { timezoneId: 'Europe/Rome' });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);

    await page.getByRole('link', { name: 'Restaurants' }).first().click();
    await page.getByText('Osteria Uno').waitFor();
    await expectAccessible(page);
    await takeScreenshots(page, 'support-restaurants');
    await page.getByRole('link', { name: 'New restaurant' }).click();
    expect(await page.getByLabel('Time zone').inputValue()).toBe('Europe/Rome');
    await page.getByLabel('Name', { exact: true }).fill('Pizzeria "Da <Mario> & Figli"');
    await page.getByLabel('Currency').selectOption('CHF');
    await expectAccessible(page);
    await takeScreenshots(page, 'support-new-restaurant');
    await page.getByRole('button', { name: 'Create restaurant' }).click();
    await page.getByRole('heading', { level: 1, name: 'Pizzeria "Da <Mario> & Figli"' }).waitFor();
    const restuid = await page.locator('#restuid').innerText();
    expect(restuid).toMatch(/^rst_/);
    expect(await page.locator('main').innerText()).toContain('No API client may reach this restaurant yet.');
    await expectAccessible(page);

    await page.goto(`${harness.url}/panel/support/restaurants`);
    await page.getByLabel('Name or id').fill('mar fig');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=mar/);
    expect(await page.locator('tbody tr').count()).toBe(1);
    expect(await page.locator('tbody').innerText()).toContain(restuid);
    await page.getByLabel('Name or id').fill('ario');
    await page.keyboard.press('Enter');
    await page.getByText('No restaurant has “ario” as its name or id.').waitFor();

    await page.goto(`${harness.url}/panel/clients`);
    await page.getByText('There is no API client yet').waitFor();
    await page.getByRole('link', { name: 'New client' }).click();
    await page.getByRole('button', { name: 'Create client' }).focus();
    await page.getByLabel('Name', { exact: true }).fill('Ada Delivery');
    await page.getByRole('button', { name: 'Create client' }).click();
    await page.getByText('Choose at least one restaurant.').waitFor();
    await page.getByText('Check at least one scope').waitFor();
    await page.getByLabel('Find a restaurant').fill('mario');
    const found = page.getByRole('checkbox', { name: /Pizzeria/ });
    await found.check();
    await page.getByLabel('Find a restaurant').fill('osteria');
    await page.getByRole('checkbox', { name: /Osteria Uno/ }).check();
    expect(await found.isChecked()).toBe(true);
    await page.getByRole('checkbox', { name: /^Read orders/ }).check();
    await page.getByRole('checkbox', { name: /^Confirm, close and cancel orders/ }).check();
    await expectAccessible(page);
    await takeScreenshots(page, 'support-new-client');
    // An impatient hand makes one client.
    await page.getByRole('button', { name: 'Create client' }).dblclick();
    await page.getByRole('heading', { level: 1, name: 'The client is ready' }).waitFor();
    const [id, secret] = [
      await page.locator('#client-id').innerText(),
      await page.locator('#client-secret').innerText(),
    ];
    await page.getByRole('button', { name: 'Copy Client secret' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
    await expectAccessible(page);

    const { status, body } = await whoami(id, secret);
    expect(status).toBe(200);
    expect(body.credential).toMatchObject({ name: 'Ada Delivery', scopes: ['read:orders', 'manage:orders'] });
    expect(body.credential?.restaurants).toMatchObject(
      [restuid, harness.restaurants[0] ?? ''].sort().map((uid) => ({ uid })),
    );
    expect(body.credential?.restaurants).toContainEqual(
      expect.objectContaining({ uid: restuid, currency: 'CHF', time_zone: 'Europe/Rome' }),
    );

    // Nothing is made twice by a reload, and the secret is gone.
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Ada Delivery' }).waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('link', { name: 'Clients', exact: true }).click();
    await page.waitForURL(`${harness.url}/panel/clients`);
    expect(await page.locator('tbody tr').count()).toBe(1);
    await takeScreenshots(page, 'support-clients');
    await expectAccessible(page);
    // What others do comes to the open lists by itself.
    await harness.command('client', 'create', '--name', 'Later', '--restaurant', restuid);
    await page.locator('tbody tr', { hasText: 'Later' }).waitFor();
    await page.goto(`${harness.url}/panel/support/restaurants`);
    const made = await harness.command('restaurant', 'create', '--name', 'Trattoria Tre', '--time-zone', 'Europe/Rome');
    await page.locator('tbody tr', { hasText: made.restuid ?? '' }).waitFor();
    const audited = await harness.command('audit', 'search', '--client', id, '--action', 'client.created');
    expect(JSON.stringify(audited)).toContain(`panel:${support.userId}`);
    expect(problems).toEqual([]);
  },
);
