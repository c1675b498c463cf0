/**
 * Every page about a restaurant in Italian on a phone: longer words, the same rules. Skipped where no Chromium is
 * installed.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { orderingPages } from '#src/panel/ordering/pages.ts';
import { restaurantPages } from '#src/panel/restaurant/pages.ts';
import { webhookPages } from '#src/panel/webhooks/pages.ts';
import { until } from '../../support/until.ts';
import { status } from '../../support/webhook-receiver.ts';
import { browserBinary, expectAccessible, openAccountMenu } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';
import { openTill } from '../harness/till.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-italian: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startRestaurantHarness();
});

afterAll(() => harness?.close());

test.skipIf(browserBinary === undefined)(
  'each page is in Italian, accessible and as wide as a phone, also where something failed',
  async () => {
    const { page, receiver, restuid, url } = harness;
    await harness.notifyOfCustomers();
    receiver.behave(status(500));
    const endpoint = await harness.addEndpoint();
    await harness.createCustomer();
    const { pool } = harness.database;
    const one = async (query: string): Promise<string> => (await pool.query(query, [restuid])).rows[0]?.id ?? '';
    await until(async () => (await one('select uid as id from webhooks.attempts where tenant = $1')) !== '');
    const till = await openTill(harness, restuid, { client: 'Cassa' });
    const { uid: order } = await till.order();
    await till.reprice(7);
    const found = async (path: string, pattern: RegExp): Promise<string> => {
      await page.goto(`${url}/panel/restaurants/${restuid}/${path}`);
      return pattern.exec(await page.locator('main').innerHTML())?.[1] ?? '';
    };
    const params: Record<string, string> = {
      order,
      customer: await one('select uid as id from ordering.customers where restuid = $1'),
      restaurant: restuid,
      endpoint,
      delivery: await one('select uid as id from webhooks.deliveries where tenant = $1'),
      category: await found('menu', /menu\/categories\/([^/"]+)"/),
      import: await found('menu/imports', /(imp_\w+)/),
      key: await one('select key_id as id from gateway.api_keys where tenant = $1'),
    };
    await openAccountMenu(page);
    await page.getByRole('button', { name: 'Italiano' }).click();
    await page.locator('html[lang="it"]').waitFor();
    await page.setViewportSize({ width: 360, height: 900 });
    const pages = [...orderingPages, ...restaurantPages, ...webhookPages].filter(
      ({ method, roles }) => method === 'GET' && roles.includes('owner'),
    );
    expect(pages.length).toBeGreaterThan(10);
    for (const [at, { path }] of pages.entries()) {
      const filled = path.replaceAll(/:(\w+)/g, (_whole, name: string) => params[name] ?? name);
      const answer = await page.goto(`${url}/panel${filled}`);
      expect(answer?.status(), path).toBe(200);
      expect(await page.locator('html').getAttribute('lang')).toBe('it');
      expect(await page.locator('main').innerText(), path).not.toMatch(
        /\b(the|is|are|not|Endpoint id|Show|Send|Cancel|Last|Choose)\b/,
      );
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow, `${path} scrolls sideways`).toBe(0);
      // Colours do not depend on the language, so each page has one of the two.
      await expectAccessible(page, [at % 2 === 0 ? 'light' : 'dark']);
    }
    expect(harness.problems).toEqual([]);
  },
);
