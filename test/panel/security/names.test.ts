/** Names of clients, restaurants and users in searches of the audit, and the links to their history. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage } from '../harness/check-page.ts';
import { browserBinary, type HarnessUser, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let security: HarnessUser;
let admin: HarnessUser;
let till: string;

const inBrowser = test.skipIf(browserBinary === undefined);
const searchUrl = (query = ''): string => `${harness.url}/panel/security/audit${query}`;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  security = await harness.user('security');
  admin = await harness.user('admin');
  const restaurant = ['--restaurant', harness.restaurants[0] ?? ''];
  till = (await harness.command('client', 'create', '--name', 'Till', ...restaurant)).client_id ?? '';
  for (const name of ['Kiosk', 'Kiosk', 'Kiosk north'])
    await harness.command('client', 'create', '--name', name, ...restaurant);
});

afterAll(() => harness?.close());

inBrowser('the audit is searched by the name of a client or restaurant and by the email of a user', async () => {
  const { page, problems } = await harness.signIn(security);
  await page.goto(searchUrl());
  const field = (name: string) => page.getByLabel(name, { exact: true });
  expect(await page.locator(`#names-client option[value=${till}]`).getAttribute('label')).toBe('Till');
  await field('Client').fill('till');
  await field('Restaurant').fill('osteria');
  await page.keyboard.press('Enter');
  await page.waitForURL(searchUrl(`?client=${till}&restaurant=${harness.restaurants[0]}`));
  await page.getByRole('link', { name: 'History of Till' }).waitFor();
  await page.locator('tbody').getByText('client.created').waitFor();
  // A name of two clients names neither; the third has another one.
  await field('Client').fill('Kiosk');
  await page.keyboard.press('Enter');
  await page.getByText('Several clients match “Kiosk”. Choose one:').waitFor();
  const candidates = page.locator('main .found a');
  expect(await candidates.allInnerTexts()).toEqual(['Kiosk', 'Kiosk', 'Kiosk north']);
  await checkPage(page, 'security-audit-candidates');
  await candidates.last().click();
  await page.getByRole('link', { name: 'History of Kiosk north' }).waitFor();
  expect(new URL(page.url()).searchParams.get('restaurant')).toBe(harness.restaurants[0]);
  await page.goto(searchUrl('?client=unknown'));
  await page.getByText('No client has the name or id “unknown”.').waitFor();
  await page.goto(searchUrl(`?user=${admin.email.toUpperCase()}`));
  await page.waitForURL(searchUrl(`?user=${admin.userId}`));
  await page.locator('tbody').getByText('user.password_set').waitFor();
  // A part of an email finds users only for administrators, who have the list of users.
  await page.goto(searchUrl('?user=admin'));
  await page.getByText('No user has the email or id “admin”.').waitFor();
  expect(problems).toEqual([]);
});

inBrowser('the pages of a client, a restaurant and a user lead administrators to the history', async () => {
  const { page, problems } = await harness.signIn(admin);
  for (const [path, title] of [
    [`clients/${till}`, 'What happened to Till'],
    [`restaurants/${harness.restaurants[0]}`, 'What happened to Osteria Uno'],
    [`support/restaurants/${harness.restaurants[0]}`, 'What happened to Osteria Uno'],
    [`users/${security.userId}`, `Activity of ${security.email}`],
  ]) {
    await page.goto(`${harness.url}/panel/${path}`);
    await page.getByRole('link', { name: 'All events, in sentences' }).click();
    await page.getByRole('heading', { name: title ?? '' }).waitFor();
    expect(await page.locator('.timeline li:not(.day)').count()).toBeGreaterThan(0);
  }
  await checkPage(page, 'security-history-of-user');
  await page.goto(`${harness.url}/panel/security/timeline?user=security`);
  await page.waitForURL(/user=usr_/);
  await page.goto(`${harness.url}/panel/security/timeline?client=Kiosk`);
  await page.getByText('Several clients match “Kiosk”. Choose one:').waitFor();
  expect(problems).toEqual([]);
  const support = await harness.signIn(await harness.user('support'));
  await support.page.goto(`${harness.url}/panel/clients/${till}`);
  await support.page.getByRole('heading', { name: 'Till', exact: true }).waitFor();
  expect(await support.page.getByText('All events, in sentences').count()).toBe(0);
});
