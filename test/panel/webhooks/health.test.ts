/** The health of an endpoint over time. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browserBinary, expectAccessible, takeScreenshots } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-health: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;
let endpoint: string;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startRestaurantHarness();
  await harness.notifyOfCustomers();
  endpoint = await harness.addEndpoint();
});

afterAll(() => harness?.close());

/** As if so many deliveries had come to that, so many hours ago. */
const seed = async (hoursAgo: number, state: string, attempts: number, count: number): Promise<void> => {
  await harness.database.pool.query(
    `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, attempts_count, created)
     select $1, 'dlv_' || md5(random()::text), $2, 'evt_' || md5(random()::text), 'customer.changed', 'customers', 'cus_' || number, 1, 0, $4, $5,
       date_trunc('hour', now()) - $3 * interval '1 hour' + interval '1 minute'
     from generate_series(1, $6) as number`,
    [harness.restuid, endpoint, hoursAgo, state, attempts, count],
  );
};

test.skipIf(browserBinary === undefined)(
  'the chart shows the results of deliveries, shows the same as a table and as text, and follows changes',
  async () => {
    const { page, place } = harness;
    await page.goto(`${place}/webhooks/${endpoint}`);
    await page.getByText('No delivery was recorded in this span.').waitFor();
    await seed(1, 'succeeded', 1, 12);
    await seed(3, 'succeeded', 2, 4);
    await seed(3, 'exhausted', 9, 3);
    await seed(20, 'cancelled', 0, 2);
    await seed(100, 'exhausted', 9, 5);
    // Without a reload: the event stream reports a delivery, and the page shows all of them.
    await harness.createCustomer();
    const chart = page.getByRole('img', {
      name: /^22 deliveries: 17 delivered, 5 failed or cancelled, 0 failed so far and tried again, 0 not tried yet\./,
    });
    await chart.waitFor();
    expect(await chart.locator('rect[fill="url(#hatch)"]').count()).toBe(2);
    expect(await chart.locator('rect.good-ink').count()).toBe(3);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-health');
    await page.getByRole('link', { name: 'Table' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('columnheader', { name: 'At a later attempt' }).waitFor();
    const numbers = await page
      .locator('#endpoint-now tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent))),
      );
    expect(numbers).toEqual([
      [1, 0, 0, 0, 0, 0, 0],
      [12, 0, 0, 0, 0, 0, 0],
      [0, 4, 0, 3, 0, 0, 31],
      [0, 0, 0, 0, 2, 0, 0],
    ]);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Week' }).click();
    await page.getByText('27 deliveries: 17 delivered, 10 failed or cancelled').waitFor();
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'a busy step counts only its newest 500 deliveries, and the page says that',
  async () => {
    const { page, place } = harness;
    await seed(2, 'succeeded', 1, 700);
    await page.goto(`${place}/webhooks/${endpoint}?span=month`);
    await page.getByText('only the newest 500 are counted').waitFor();
    expect(await page.getByText('Switched off').count()).toBe(0);
    await page.goto(`${place}/webhooks/${endpoint}`);
    await page.getByText('522 deliveries').first().waitFor();
  },
);
