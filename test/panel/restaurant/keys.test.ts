/** API keys of a restaurant, from the click to what the API answers. Skipped where no Chromium is installed. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  browserBinary,
  expectAccessible,
  type HarnessUser,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-keys: skipped, no Chromium is installed\n');

let harness: PanelHarness;
let owner: HarnessUser;
let page: Page;
let problems: string[];
let place: string;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  owner = await harness.user('owner');
  ({ page, problems } = await harness.signIn(owner));
  place = `${harness.url}/panel/restaurants/${harness.restaurants[0]}`;
});

afterAll(() => harness?.close());

const statusWith = async (key: string): Promise<number> => {
  const answer = await fetch(`${harness.url}/api/account/subrestaurants`, { headers: { 'x-api-key': key } });
  await answer.arrayBuffer();
  return answer.status;
};

const shownKey = async (): Promise<string> => (await page.locator('#secret-value').innerText()).trim();

const rowOf = (name: string, state: string) =>
  page.getByRole('row').filter({ hasText: name }).filter({ hasText: state });

test.skipIf(browserBinary === undefined)(
  'with the keyboard alone an owner makes a key that opens the API; it is shown once, also after a reload',
  async () => {
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.getByRole('link', { name: 'Restaurants' }).first().focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(place);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant');
    await page.getByRole('link', { name: 'API keys' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${place}/keys`);
    expect(await page.locator('#keys').innerText()).toContain('There is no active key');
    await expectAccessible(page);
    await page.getByLabel('Name').focus();
    await page.keyboard.type('Till at the <b>bar</b>');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your new key' }).waitFor();
    const key = await shownKey();
    expect(key).toMatch(/^opk_/);
    expect(await statusWith(key)).toBe(200);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-new-key');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
    await page.reload();
    expect(page.url()).toBe(`${place}/keys`);
    expect(await page.content()).not.toContain(key);
    expect(await page.locator('#keys tbody tr').count()).toBe(1);
    expect(await page.locator('#keys tbody').innerText()).toContain('Till at the <b>bar</b>');
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)('a name or day that cannot be is refused beside its field', async () => {
  await page.goto(`${place}/keys`);
  await page.getByLabel('Name').fill('Ends before it begins');
  await page.getByLabel('Last day').fill('2020-01-01');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.locator('#expires-note').waitFor();
  expect(await page.getByLabel('Name').inputValue()).toBe('Ends before it begins');
  expect(await page.getByLabel('Last day').getAttribute('aria-invalid')).toBe('true');
  await expectAccessible(page);
  expect(await page.locator('#keys tbody tr').count()).toBe(1);
});

test.skipIf(browserBinary === undefined)(
  'a rotated key goes on beside its successor, the page tells who still uses it, and a revoked one is refused',
  async () => {
    await page.goto(`${place}/keys`);
    await page.getByLabel('Name').fill('Kitchen');
    await page.getByLabel('Last day').fill(`${new Date().getUTCFullYear() + 2}-03-01`);
    await page.getByRole('button', { name: 'Create key' }).click();
    const old = await shownKey();
    await page.getByRole('link', { name: 'I have saved it' }).click();
    await page.getByRole('link', { name: 'Rotate Kitchen' }).click();
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-rotate-key');
    await page.getByLabel('The old key works for').selectOption('3 more days');
    await page.getByRole('button', { name: 'Create the new key' }).click();
    await page.getByRole('heading', { name: 'Your new key' }).waitFor();
    const fresh = await shownKey();
    expect(fresh).not.toBe(old);
    await page.getByRole('link', { name: 'I have saved it' }).click();
    const ending = rowOf('Kitchen', 'Expiring');
    expect(await ending.innerText()).toContain('No use recorded');
    expect(await page.locator('#keys').innerText()).not.toContain('Safe to retire');
    expect([await statusWith(old), await statusWith(fresh)]).toEqual([200, 200]);
    // Without a reload: the event stream reports the use.
    await ending.filter({ hasText: 'Still used' }).waitFor({ timeout: 25_000 });
    expect(await ending.innerText()).toMatch(/1 call in about 5 minutes[\s\S]*from 127\.0\.0\.1/);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-keys');
    await ending.getByRole('link', { name: 'Revoke Kitchen' }).click();
    await page.getByText('Programs that still use it will be refused').waitFor();
    expect(await statusWith(old)).toBe(200);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-revoke-key');
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('The key Kitchen is revoked.').waitFor();
    await until(async () => (await statusWith(old)) === 401);
    expect(await statusWith(fresh)).toBe(200);
    await page.getByRole('link', { name: 'Show expired and revoked keys' }).click();
    await rowOf('Kitchen', 'Revoked').waitFor();
    await expectAccessible(page);
    const { rows } = await harness.database.pool.query(
      `select distinct action from gateway.audit_events where actor = $1 and action like 'key.%' order by 1`,
      [`panel:${owner.userId}`],
    );
    expect(rows.map(({ action }: { action: string }) => action)).toEqual(['key.created', 'key.revoked', 'key.rotated']);
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-684 a double click sends a form once, so that the page with the new value is the one that is shown',
  async () => {
    await page.goto(`${place}/keys`);
    await page.getByLabel('Name').fill('Clicked twice');
    let sent = 0;
    const clicked = page.waitForEvent('console');
    await page.route(`${place}/keys`, async (route) => {
      if (route.request().method() === 'POST') sent += 1;
      await clicked;
      await route.continue();
    });
    // The second click comes while the first request is on its way.
    await page.evaluate(`{
      const button = document.querySelector('main form .primary');
      button.click();
      setTimeout(() => {
        button.click();
        console.log('clicked');
      }, 100);
    }`);
    expect(await statusWith(await shownKey())).toBe(200);
    await page.unroute(`${place}/keys`);
    expect(sent).toBe(1);
    await page.goto(`${place}/keys`);
    expect(await rowOf('Clicked twice', 'Active').count()).toBe(1);
    expect(problems).toEqual([]);
  },
);

test('a key of another restaurant is answered as one that does not exist, and stays as it is', async () => {
  if (browserBinary === undefined) return;
  const [own = '', others = ''] = harness.restaurants;
  const foreign = await harness.command('key', 'create', '--restaurant', others, '--name', 'foreign');
  const cookie = await harness.cookieOf(owner);
  const ask = async (method: string, path: string) => {
    const token = /name="csrf" value="([^"]+)"/.exec(
      await (await fetch(`${harness.url}/panel/restaurants/${own}`, { headers: { cookie } })).text(),
    )?.[1];
    const answer = await fetch(`${harness.url}/panel/restaurants/${own}/keys/${path}`, {
      method,
      redirect: 'manual',
      headers: { cookie, origin: harness.url, 'x-csrf-token': token ?? '' },
      ...(method === 'POST' ? { body: new URLSearchParams({ overlap: '0' }) } : undefined),
    });
    return { status: answer.status, text: (await answer.text()).replaceAll(/req_\w+|\/panel\/restaurants[^"]*/g, '') };
  };
  for (const method of ['GET', 'POST'])
    for (const what of ['rotate', 'revoke']) {
      const [one, none] = [await ask(method, `${foreign.key_id}/${what}`), await ask(method, `absent/${what}`)];
      expect(one.status, `${method} ${what}`).toBe(404);
      expect(one.text).toBe(none.text);
    }
  expect(await statusWith(foreign.api_key ?? '')).toBe(200);
});
