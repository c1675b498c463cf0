/** Finding deliveries in the log, long as it may be, and none of others. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#src/platform/ids.ts';
import { until } from '../../support/until.ts';
import { browserBinary, expectAccessible } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';

if (browserBinary === undefined)
  process.stderr.write('restaurant-delivery-search: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startRestaurantHarness();
  await harness.notifyOfCustomers();
  await harness.addEndpoint();
  await harness.createCustomer();
  await harness.createCustomer();
  await until(() => harness.receiver.received.length === 2);
});

afterAll(() => harness?.close());

const rows = () => harness.page.locator('#deliveries tbody tr');

test.skipIf(browserBinary === undefined)(
  'the log is searched by endpoint, state, event and age, in the address bar',
  async () => {
    const { page, place } = harness;
    await page.goto(`${place}/deliveries`);
    await page.getByLabel('State').selectOption('Delivered');
    await page.getByLabel('Since').selectOption('The last hour');
    await page.getByRole('textbox', { name: 'Event', exact: true }).fill('customer.changed');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/state=succeeded/);
    expect(await rows().count()).toBe(2);
    await page.getByLabel('State').selectOption('Failed');
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Filter' }).press('Enter');
    await page.getByText('No delivery matches this filter.').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show all' }).click();
    await rows().first().getByRole('link').click();
    // All deliveries of one event, by its id.
    await page.getByRole('link', { name: /^evt_/ }).click();
    await page.waitForURL(/id=evt_/);
    expect(await rows().count()).toBe(1);
    for (const odd of ['after=1.2.3', 'event=%27', 'after=999999999999999.a'])
      expect((await harness.ask('GET', `/deliveries?${odd}`)).status, odd).toBe(200);
    expect((await harness.ask('GET', '/keys?after=-1.x')).status).toBe(200);
    for (const path of ['/deliveries', '/keys', '/webhooks'])
      expect((await harness.ask('GET', `${path}?after=%00`)).status, path).toBe(400);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'a long log is read page by page, each delivery once, and a rare one is found behind many others',
  async () => {
    const { page, place } = harness;
    const { pool } = harness.database;
    // As if 1,200 events had been delivered long before the first one.
    await pool.query(
      `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, attempts_count, created)
       select tenant, 'dlv_past' || lpad(number::text, 6, '0'), endpoint_uid, event_id || number,
         case number when 1200 then 'customer.removed' else 'customer.changed' end, kind, entity || number, 1, 0,
         'succeeded', 1, created - number * interval '1 second' - interval '1 hour'
       from (select * from webhooks.deliveries where tenant = $1 order by created limit 1) as one, generate_series(1, 1200) as number`,
      [harness.restuid],
    );
    await page.goto(`${place}/deliveries?state=succeeded`);
    const seen: string[] = [];
    for (let number = 0; number < 3; number += 1) {
      seen.push(
        ...(await rows()
          .getByRole('link')
          .evaluateAll((links) => links.map(({ id }) => id))),
      );
      await page.locator('#next-page').click();
      await page.waitForURL((url) => url.searchParams.has('after'));
      await until(async () => !seen.includes((await rows().first().getByRole('link').getAttribute('id')) ?? ''));
    }
    expect(seen).toHaveLength(150);
    expect(new Set(seen).size).toBe(150);
    await page.goto(`${place}/deliveries?event=customer.removed`);
    expect(await rows().count()).toBe(0);
    await page.getByRole('link', { name: 'Search further back' }).click();
    await rows().filter({ hasText: 'customer.removed' }).waitFor();
    expect(await rows().count()).toBe(1);
    await expectAccessible(page);
  },
);

test.skipIf(browserBinary === undefined)(
  'a delivery of another restaurant is answered as one that does not exist, and is not sent again',
  async () => {
    const { database, receiver } = harness;
    const of = ['--restaurant', harness.others];
    const made = await harness.command('endpoint', 'create', ...of, '--url', `${receiver.url}/foreign`);
    const madeAt = new Date();
    const uid = newId('dlv', madeAt.getTime());
    await database.pool.query(
      `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, attempts_count, created)
       select $1, $2, $3, event_id, event, kind, entity, seq, position, 'succeeded', 1, $5
       from webhooks.deliveries where tenant = $4 order by created desc limit 1`,
      [harness.others, uid, made.endpoint_uid, harness.restuid, madeAt],
    );
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/redeliver'],
    ] as const) {
      const one = await harness.ask(method, `/deliveries/${uid}${path}`);
      const none = await harness.ask(method, `/deliveries/dlv_absent${path}`);
      expect(one.status, `${method} ${path}`).toBe(404);
      expect(one.text).toBe(none.text.replaceAll('dlv_absent', uid));
    }
    expect((await harness.ask('GET', `/deliveries?endpoint=${made.endpoint_uid}`)).text).not.toContain(uid);
    const many = await harness.ask('POST', `/webhooks/${made.endpoint_uid}/redeliver`, { hours: '720' });
    expect(many.status).toBe(404);
    // A user who may see every restaurant finds it, so it exists.
    const support = await harness.cookieOf(await harness.user('support'));
    const found = await fetch(`${harness.url}/panel/restaurants/${harness.others}/deliveries/${uid}`, {
      headers: { cookie: support },
    });
    expect(found.status).toBe(200);
    expect(receiver.received.filter(({ path }) => path.endsWith('/foreign'))).toEqual([]);
  },
);
