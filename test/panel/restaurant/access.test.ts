/**
 * Finding a restaurant and switching its API, from the click to what the API answers. Skipped where no Chromium is
 * installed.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  browserBinary,
  expectAccessible,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-access: skipped, no Chromium is installed\n');

let harness: PanelHarness;
let page: Page;
let problems: string[];
let place: string;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  const owner = await harness.user('owner');
  ({ page, problems } = await harness.signIn(owner));
  place = `${harness.url}/panel/restaurants/${harness.restaurants[0]}`;
});

afterAll(() => harness?.close());

const statusWith = async (key: string): Promise<number> => {
  const answer = await fetch(`${harness.url}/api/account/subrestaurants`, { headers: { 'x-api-key': key } });
  await answer.arrayBuffer();
  return answer.status;
};

test.skipIf(browserBinary === undefined)(
  'API access turned off refuses every call, and turned on answers again',
  async () => {
    const made = await harness.command(
      'key',
      'create',
      '--restaurant',
      harness.restaurants[0] ?? '',
      '--name',
      'switch',
    );
    const key = made.api_key ?? '';
    expect(await statusWith(key)).toBe(200);
    await page.goto(place);
    await page.getByRole('link', { name: 'Turn off…' }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Turn off API access' }).click();
    await page.getByText('API access of Osteria Uno is off.').waitFor();
    await until(async () => (await statusWith(key)) === 403);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByText('API access of Osteria Uno is on.').waitFor();
    await until(async () => (await statusWith(key)) === 200);
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'an owner of several restaurants finds one by its name, also in Italian; staff open any',
  async () => {
    const several = await harness.user('owner', harness.restaurants);
    const view = await harness.signIn(several);
    await view.page.goto(`${harness.url}/panel/restaurants`);
    expect(await view.page.locator('tbody tr').count()).toBe(2);
    await expectAccessible(view.page);
    await takeScreenshots(view.page, 'restaurants');
    const [, other = ''] = harness.restaurants;
    for (const state of ['Off', 'On']) {
      await harness.command('restaurant', 'set', '--restaurant', other, '--api-enabled', state.toLowerCase());
      await view.page.locator('tbody tr', { hasText: other }).getByText(state, { exact: true }).waitFor();
    }
    await view.page.getByRole('searchbox').fill('TORIA due');
    await view.page.keyboard.press('Enter');
    await view.page.waitForURL(/q=TORIA/);
    expect(await view.page.locator('tbody th').allInnerTexts()).toEqual(['Trattoria Due']);
    await view.page.getByRole('searchbox').fill('100%_none');
    await view.page.keyboard.press('Enter');
    await view.page.waitForURL(/none/);
    expect(await view.page.locator('tbody tr').count()).toBe(0);
    await openAccountMenu(view.page);
    await view.page.getByRole('button', { name: 'Italiano' }).click();
    await view.page.getByRole('heading', { name: 'Ristoranti' }).waitFor();
    await expectAccessible(view.page);
    expect(view.problems).toEqual([]);
    const support = await harness.cookieOf(await harness.user('support'));
    for (const restuid of harness.restaurants) {
      const answer = await fetch(`${harness.url}/panel/restaurants/${restuid}`, { headers: { cookie: support } });
      expect(answer.status).toBe(200);
    }
  },
);
