/** The health of an endpoint over time. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { untilHourLasts } from '../../support/until.ts';
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

/** The first minute of an hour so many hours ago, or later in it. */
const at = (hoursAgo: number, minutes = 1): string =>
  `date_trunc('hour', now()) - ${hoursAgo} * interval '1 hour' + ${minutes} * interval '1 minute'`;

/** As if so many deliveries had come to that, so many hours ago; each attempt in the hour that is given for it. */
const seed = async (
  hoursAgo: number,
  state: string,
  count: number,
  attempts: readonly number[] = [hoursAgo],
): Promise<void> => {
  const { rows } = await harness.database.pool.query(
    `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state,
       attempts_count, created, finished)
     select $1, 'dlv_' || md5(random()::text), $2, 'evt_' || md5(random()::text), 'customer.changed', 'customers', 'cus_' || number, 1, 0, $3, $4,
       ${at(hoursAgo)}, ${at(attempts.at(-1) ?? hoursAgo, 2)}
     from generate_series(1, $5) as number returning uid, event_id`,
    [harness.restuid, endpoint, state, attempts.length, count],
  );
  for (const { uid, event_id } of rows)
    for (const [index, hours] of attempts.entries())
      await harness.database.pool.query(
        `insert into webhooks.attempts (tenant, uid, delivery_uid, number, started, total_ms, event_id)
         values ($1, 'att_' || md5(random()::text), $2, $3, ${at(hours, 2)}, 5, $4)`,
        [harness.restuid, uid, index + 1, event_id],
      );
};

test.skipIf(browserBinary === undefined)(
  'the charts count attempts by the hour in which they began, show values on focus and the same as a table, and follow changes',
  async () => {
    const { page, place } = harness;
    await untilHourLasts();
    await page.goto(`${place}/webhooks/${endpoint}`);
    await page.getByText('Nothing was sent or recorded in this span.').waitFor();
    await seed(1, 'succeeded', 12);
    await seed(3, 'succeeded', 4, [3, 1]);
    await seed(3, 'exhausted', 3, [3, 3, 2]);
    await seed(20, 'cancelled', 2, []);
    // Recorded before the span, and tried in it.
    await seed(30, 'exhausted', 5, [29, 5]);
    // Without a reload: the event stream reports a delivery, and the page shows all of them.
    await harness.createCustomer();
    const summary =
      /^Attempts: 35, succeeded: 17 \(48%\)\. 22 deliveries: 17 delivered, 5 failed or cancelled, 0 failed/;
    await page.getByText(summary).waitFor();
    const succeeded = page.getByRole('group', {
      name: 'Attempts that succeeded: 17 in all, at most 16 within an hour',
    });
    const failed = page.getByRole('group', { name: 'Attempts that failed: 18 in all, at most 10 within an hour' });
    // One scale for both.
    expect(await failed.locator('.axis-y span').allInnerTexts()).toEqual(['16', '0']);
    await failed.focus();
    const value = failed.locator('output');
    expect(await value.innerText()).toMatch(/: 0$/);
    for (const number of [0, 3, 10, 0, 5]) {
      await page.keyboard.press('ArrowLeft');
      expect(await value.innerText()).toMatch(new RegExp(`: ${number}$`));
    }
    expect(await succeeded.locator('rect').count()).toBe(2);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-health');
    await page.getByText('The numbers as a table').click();
    await page.getByRole('columnheader', { name: 'Attempts that failed' }).waitFor();
    const numbers = () =>
      page
        .locator('#endpoint-now tbody tr')
        .evaluateAll((rows) =>
          rows.map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent))),
        );
    expect(await numbers()).toEqual([
      [1, 0, 1, 0, 0, 0, 0, 0],
      [16, 0, 12, 0, 0, 0, 0, 0],
      [0, 3, 0, 0, 0, 0, 0, 0],
      [0, 10, 0, 4, 0, 3, 0, 0],
      [0, 5, 0, 0, 0, 0, 0, 0],
      [0, 0, 0, 0, 0, 0, 2, 0],
    ]);
    await expectAccessible(page);
    // The table stays open when the part of the page is fetched again, and the charts answer the keyboard again.
    await harness.createCustomer();
    await page.getByText(/^Attempts: 36,/).waitFor();
    await page.getByRole('columnheader', { name: 'Attempts that failed' }).waitFor();
    expect((await numbers())[0]).toEqual([2, 0, 2, 0, 0, 0, 0, 0]);
    await page.getByRole('group', { name: /^Attempts that succeeded: 18/ }).focus();
    await page.getByText(/: 2$/).waitFor();
    await page.getByRole('link', { name: 'Week' }).click();
    await page.getByText('28 deliveries: 18 delivered, 10 failed or cancelled').waitFor();
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'a busy step counts only its newest 500 deliveries, and the page says that',
  async () => {
    const { page, place } = harness;
    await seed(2, 'succeeded', 700);
    await page.goto(`${place}/webhooks/${endpoint}?span=month`);
    await page.getByText('only the newest 500 are counted').waitFor();
    expect(await page.getByText('Switched off').count()).toBe(0);
    await page.goto(`${place}/webhooks/${endpoint}`);
    await page.getByText('523 deliveries').first().waitFor();
  },
);
