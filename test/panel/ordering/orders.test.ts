/** The orders of a restaurant in the panel. The part with a browser is skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { browserBinary, expectAccessible, takeScreenshots } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';
import { openTill, type Till } from '../harness/till.ts';

if (browserBinary === undefined) process.stderr.write('panel orders: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;
let till: Till;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startRestaurantHarness();
  await harness.ask('POST', '/notifications', { kind: 'orders', on: '1' });
  till = await openTill(harness, harness.restuid);
});

afterAll(() => harness?.close());

const isSkipped = browserBinary === undefined;

test.skipIf(isSkipped)(
  'a new order appears in the open list, and its page has lines, amounts, states with their authors, and events',
  async () => {
    const { page, place, owner } = harness;
    await page.goto(`${place}/orders`);
    await page.getByText('No order yet').waitFor();
    await expectAccessible(page);
    const { uid, number } = await till.order({ external_id: 'till-1' });
    const row = page.locator('#orders tbody tr').filter({ hasText: 'Ada Lovelace' });
    await row.waitFor();
    expect(await row.innerText()).toMatch(new RegExp(`${number}[\\s\\S]*New[\\s\\S]*Table 4[\\s\\S]*€13.00`));
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-orders');
    await row.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: `Order ${number}` }).waitFor();
    const shown = await page.locator('main').innerText();
    expect(shown).toMatch(/Marinara[\s\S]*Note: well done[\s\S]*2[\s\S]*€6.50[\s\S]*€13.00/);
    expect(shown).toMatch(/Received[\s\S]*by Till at the bar/);
    expect(shown).toContain('till-1');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText(`Order ${number} is confirmed.`).waitFor();
    expect(await page.locator('.steps').innerText()).toMatch(new RegExp(`Confirmed[\\s\\S]*by ${owner.email}`));
    // Events are in the feed, and so on the page, once the dispatcher has taken them.
    await until(async () => {
      await page.reload();
      return /order\.new[\s\S]*order\.confirmed/.test(await page.locator('#order').innerText());
    });
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-order');
    await page.getByRole('link', { name: 'Cancel order…' }).click();
    await expectAccessible(page);
    await page.getByLabel('Reason').fill('The oven is <cold>');
    await page.getByRole('button', { name: 'Cancel order' }).click();
    await page.getByText('Reason: The oven is <cold>').waitFor();
    const { rows } = await harness.database.pool.query(
      `select details::jsonb->>'operation' as operation, reason from gateway.audit_events
       where actor = $1 and details::jsonb->>'uid' = $2 order by operation`,
      [`panel:${owner.userId}`, uid],
    );
    expect(rows).toEqual([
      { operation: 'order/cancel', reason: 'The oven is <cold>' },
      { operation: 'order/confirm', reason: null },
    ]);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(isSkipped)(
  'an order that another program moved first keeps its state, a cancellation needs a reason, and nothing of it is audited',
  async () => {
    const order = await till.order();
    const path = `/orders/${order.uid}`;
    await till.move('confirm', order);
    await harness.ask('POST', `${path}/confirm`);
    const after = await harness.ask('GET', path);
    expect(after.text).toMatch(/Confirmed[\s\S]*by Till at the bar/);
    for (const reason of ['', ' ', 'x'.repeat(501)])
      expect((await harness.ask('POST', `${path}/cancel`, { reason })).status).toBe(422);
    expect((await harness.ask('POST', '/orders/ord_none/confirm')).status).toBe(404);
    const { rows } = await harness.database.pool.query(
      `select 1 from gateway.audit_events where details::jsonb->>'uid' = $1`,
      [order.uid],
    );
    expect(rows).toEqual([]);
    expect((await harness.ask('GET', path)).text).toContain('The restaurant accepted it.');
  },
);

test.skipIf(isSkipped)(
  'orders are filtered by state, day and id; a filter that cannot be read is refused',
  async () => {
    const order = await till.order({ external_id: 'till-2' });
    const count = async (query: string): Promise<number> =>
      (await harness.ask('GET', `/orders?${query}`)).text.match(/orders\/ord_\w+"/g)?.length ?? 0;
    expect(await count('external=till-2')).toBe(1);
    expect(await count('status=new')).toBe(1);
    expect(await count('status=open')).toBe(2);
    expect(await count('status=cancelled')).toBe(1);
    expect(await count('from=2020-01-01&to=2020-01-02')).toBe(0);
    expect(await count('from=2020-01-01')).toBe(3);
    for (const query of ['status=lost', 'from=2026-02-30', 'to=yesterday'])
      expect((await harness.ask('GET', `/orders?${query}`)).status, query).toBe(400);
    // The order of another restaurant is unknown here.
    const elsewhere = await fetch(`${harness.url}/panel/restaurants/${harness.others}/orders/${order.uid}`, {
      headers: { cookie: await harness.cookieOf(harness.owner) },
    });
    expect(elsewhere.status).toBe(404);
  },
);

test.skipIf(isSkipped)(
  'on a phone the one menu is closed, and opens by keyboard with every page of the role and restaurant, and the account',
  async () => {
    const { page, place } = harness;
    await page.setViewportSize({ width: 360, height: 800 });
    await page.goto(`${place}/orders`);
    expect((await page.locator('.top').boundingBox())?.height).toBeLessThan(70);
    expect(await page.locator('.sub-nav').isVisible()).toBe(false);
    expect(await page.locator('header').getByRole('button').count()).toBe(1);
    expect(await page.getByRole('link', { name: 'Deliveries' }).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).press('Enter');
    for (const name of ['Overview', 'Restaurants', 'Deliveries', 'For integrators', 'Account'])
      expect(await page.locator('#menu').getByRole('link', { name }).isVisible(), name).toBe(true);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('link', { name: 'Overview' }).isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).press('Enter');
    await page.locator('#menu').getByRole('link', { name: 'Deliveries' }).click();
    await page.waitForURL(`${place}/deliveries`);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(isSkipped)(
  'A-791 amounts of a currency without coins in everyday use are shown as they are owed, and a discount of nothing has no sign',
  async () => {
    const { restuid = '' } = await harness.command('restaurant', 'create', '--name', 'Kávéház', '--currency', 'HUF');
    const cookie = await harness.cookieOf(await harness.user('owner', [restuid]));
    const { pool } = harness.database;
    for (const [code, percent] of Object.entries({ TENTH: 1_000, NOTHING: 0 }))
      await pool.query(
        `with generator as (
           insert into ordering.coupon_generators (restuid, gencode, discount_perc, quantity, order_min, valid_weekdays, points, created)
           values ($1, $2, $3, 9, 0, '{}', 0, now()))
         insert into ordering.coupons (restuid, code, gencode, discount_perc, quantity, order_min, valid_weekdays, created)
         values ($1, $2, $2, $3, 9, 0, '{}', now())`,
        [restuid, code, percent],
      );
    const cafe = await openTill(harness, restuid);
    // Two at 6.50, shown as they are read.
    const shown = async (code: string): Promise<string> => {
      const { uid } = await cafe.order({ coupon: { code } });
      const page = `${harness.url}/panel/restaurants/${restuid}/orders/${uid}`;
      return (await (await fetch(page, { headers: { cookie } })).text())
        .replaceAll(/<[^>]+>|\s/g, ' ')
        .replaceAll(/ +/g, ' ');
    };
    const tenth = await shown('TENTH');
    for (const amount of ['HUF 6.50', 'HUF 13 ', '-HUF 1.30', 'HUF 11.70']) expect(tenth).toContain(amount);
    expect(await shown('NOTHING')).toMatch(/Coupon NOTHING HUF 0 /);
  },
);

test.skipIf(isSkipped)(
  'A-792 the history of an order that a release without recorded moves inserted keeps every state with a known time',
  async () => {
    const { pool } = harness.database;
    const inserted = await till.order();
    const change = (set: string) => pool.query(`update ordering.orders set ${set} where uid = $1`, [inserted.uid]);
    const steps = async (): Promise<string[]> => {
      const { text } = await harness.ask('GET', `/orders/${inserted.uid}`);
      return [...text.matchAll(/<li><strong>([^<]+)<\/strong>/g)].map(([, step = '']) => step);
    };
    await change('moves = null');
    expect(await steps()).toEqual(['Received']);
    await till.move('confirm', inserted);
    expect(await steps()).toEqual(['Received', 'Confirmed']);
    // The earlier release confirmed it, during the update and before.
    await change(`moves = '[{"to": "new", "at": "2026-03-01T10:00:00.000Z", "by": "system"}]'`);
    expect(await steps()).toEqual(['Received', 'Confirmed']);
    await change('moves = null');
    await till.move('close', inserted);
    expect(await steps()).toEqual(['Received', 'Confirmed', 'Closed']);
    await change('moves = null');
    await till.move('cancel', inserted);
    expect(await steps()).toEqual(['Received', 'Confirmed', 'Cancelled']);
    await change(`status = 'timed_out', confirmed = false, cancelled = null, moves = null`);
    expect(await steps()).toEqual(['Received', 'Timed out']);
  },
);
