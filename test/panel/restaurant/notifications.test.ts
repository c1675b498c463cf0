/** Kinds of events as switches, from the click to what a receiver gets. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { browserBinary, expectAccessible, takeScreenshots } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-notifications: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startRestaurantHarness();
  await harness.addEndpoint();
});

afterAll(() => harness?.close());

const heard = (): string[] =>
  harness.receiver.received.map(({ body }) => (JSON.parse(body) as { customer: { email: string } }).customer.email);

test.skipIf(browserBinary === undefined)(
  'with the keyboard alone a kind is switched on and off, and what happens while it is off is never sent',
  async () => {
    const { page, place } = harness;
    await page.goto(`${place}/notifications`);
    const customers = page.getByRole('switch', { name: 'Customers' });
    expect(await page.getByRole('switch').count()).toBe(4);
    expect(await customers.getAttribute('aria-checked')).toBe('false');
    await harness.createCustomer();
    await customers.focus();
    await page.keyboard.press('Space');
    await page.getByRole('switch', { name: 'Customers', checked: true }).waitFor();
    // The page was not left, and the keyboard stays where it was.
    expect(await page.evaluate('document.activeElement.id')).toBe('switch-customers');
    const first = await harness.createCustomer();
    await until(() => heard().length === 1);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-notifications');
    await page.keyboard.press('Enter');
    await page.getByRole('switch', { name: 'Customers', checked: false }).waitFor();
    await harness.createCustomer();
    await page.keyboard.press('Space');
    await page.getByRole('switch', { name: 'Customers', checked: true }).waitFor();
    const last = await harness.createCustomer();
    await until(() => heard().length >= 2);
    expect(heard()).toEqual([first, last]);
    const { rows } = await harness.database.pool.query(
      `select details::jsonb->'notifications' as set from gateway.audit_events
       where actor = $1 and action = 'tenant.changed' order by at`,
      [`panel:${harness.owner.userId}`],
    );
    expect(rows.map(({ set }: { set: unknown }) => set)).toEqual([
      { customers: true },
      { customers: false },
      { customers: true },
    ]);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'the switches work without script, and an unknown switch is refused',
  async () => {
    const { page } = await harness.signIn(harness.owner, { javaScriptEnabled: false });
    await page.goto(`${harness.place}/notifications`);
    await page.getByRole('switch', { name: 'Menu' }).click();
    await page.getByText('Menu: on', { exact: true }).waitFor();
    expect(await page.getByRole('switch', { name: 'Menu' }).getAttribute('aria-checked')).toBe('true');
    expect((await harness.ask('POST', '/notifications', { kind: 'everything', on: '1' })).status).toBe(400);
  },
);
