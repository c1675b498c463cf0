/** The log of deliveries, from the click to what the receiver gets. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { status } from '../../support/webhook-receiver.ts';
import { browserBinary, expectAccessible, takeScreenshots } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-deliveries: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;
let endpoint: string;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startRestaurantHarness();
  await harness.notifyOfCustomers();
  endpoint = await harness.addEndpoint();
});

afterAll(() => harness?.close());

const rows = () => harness.page.locator('#deliveries tbody tr');

const heard = (email: string): number => harness.receiver.received.filter(({ body }) => body.includes(email)).length;

test.skipIf(browserBinary === undefined)(
  'a delivery appears while the log is open; one that fails tells why and when it is tried next, and is sent again',
  async () => {
    const { page, place, receiver } = harness;
    await page.goto(`${place}/deliveries`);
    expect(await page.locator('#deliveries').innerText()).toContain('Nothing has been sent yet');
    await expectAccessible(page);
    await harness.createCustomer();
    await rows().filter({ hasText: 'Delivered' }).waitFor();
    receiver.behave(
      (response) => void response.writeHead(503, { 'retry-after': '600' }).end('{"error":"<till> is closed"}'),
    );
    const failing = await harness.createCustomer();
    // The page writes moments in words when it has put in what is new.
    const retrying = rows().filter({ hasText: 'Retrying' });
    await retrying.filter({ hasText: /in \d+ minutes/ }).waitFor();
    expect(await rows().count()).toBe(2);
    expect(await retrying.innerText()).toMatch(/customer\.changed[\s\S]*cus_[\s\S]*in \d+ minutes/);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-deliveries');
    await rows().filter({ hasText: 'Retrying' }).getByRole('link').focus();
    await page.keyboard.press('Enter');
    await page.getByText('The last attempt failed; another one follows automatically.').waitFor();
    const text = await page.locator('main').innerText();
    expect(text).toMatch(
      /Attempt 1[\s\S]*not a success \(2xx\)[\s\S]*503[\s\S]*<till> is closed[\s\S]*asked to wait 600 s/,
    );
    const payload = await page.locator('#payload').innerText();
    expect(payload).toContain(`\n  "event": "customer.changed"`);
    expect(await page.locator('#payload-sent').textContent()).toBe(receiver.received.at(-1)?.body);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-delivery');
    receiver.behave(status(204));
    await page.getByRole('button', { name: 'Send this event again' }).click();
    await page.getByText('1 event is being sent again.').waitFor();
    await rows().filter({ hasText: 'Delivered' }).waitFor();
    expect(await rows().count()).toBe(1);
    expect(heard(failing)).toBe(2);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'what an endpoint has not confirmed since a time is sent again, and nothing else',
  async () => {
    const { page, place, receiver } = harness;
    receiver.behave(status(500));
    const missed = [await harness.createCustomer(), await harness.createCustomer()];
    await until(() => missed.every((email) => heard(email) === 1));
    await harness.ask('POST', `/webhooks/${endpoint}/disable`);
    await page.goto(`${place}/deliveries`);
    await rows().filter({ hasText: 'Cancelled' }).nth(1).waitFor();
    await rows().filter({ hasText: 'Cancelled' }).first().getByRole('link').click();
    await page.getByText('Its endpoint is disabled').waitFor();
    expect(await page.getByRole('button', { name: 'Send this event again' }).count()).toBe(0);
    receiver.behave(status(204));
    await harness.ask('POST', `/webhooks/${endpoint}/enable`);
    const before = receiver.received.length;
    await page.goto(`${place}/deliveries`);
    await page.getByRole('link', { name: 'Send again what was not confirmed…' }).click();
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-send-again');
    await page.getByLabel('Or since this time').fill('2020-01-01T12:00');
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Choose a time within the last 30 days.').waitFor();
    await page.locator('select[name=hours]').selectOption('1 hour ago');
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('2 events are being sent again.').waitFor();
    await rows().filter({ hasText: 'Delivered' }).nth(1).waitFor();
    expect(missed.map(heard)).toEqual([2, 2]);
    expect(receiver.received).toHaveLength(before + 2);
    await page.goto(`${place}/webhooks/${endpoint}/redeliver`);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Nothing to send again').waitFor();
    const { rows: noted } = await harness.database.pool.query(
      `select count(*)::int as count from gateway.audit_events
       where actor = $1 and details::jsonb->>'operation' = 'webhook/redeliver'`,
      [`panel:${harness.owner.userId}`],
    );
    expect(noted).toEqual([{ count: 3 }]);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'the time since which deliveries are sent again is one of the zone in which the page shows times',
  async () => {
    const { page, problems } = await harness.signIn(harness.owner, { timezoneId: 'Asia/Tokyo' });
    await page.goto(`${harness.place}/webhooks/${endpoint}/redeliver`);
    const sent = () => page.locator('#exact-moment').inputValue();
    const field = page.getByLabel('Or since this time');
    await field.fill('2026-05-01T12:00');
    expect(await sent()).toBe('2026-05-01T03:00:00.000Z');
    await page.evaluate(() => localStorage.setItem('orderpass-times', 'utc'));
    await page.reload();
    await field.fill('2026-05-01T12:00');
    expect(await sent()).toBe('2026-05-01T12:00:00.000Z');
    expect(problems).toEqual([]);
  },
);
