/** The log of deliveries, from the click to what the receiver hears. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { status } from '../support/webhook-receiver.ts';
import { browserBinary, expectAccessible, takeScreenshots } from './panel-stand.ts';
import { type RestaurantStand, startRestaurantStand } from './restaurant-stand.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-deliveries: skipped, no Chromium is installed\n');

let stand: RestaurantStand;
let endpoint: string;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  stand = await startRestaurantStand();
  const of = ['--restaurant', stand.restuid];
  await stand.command('notifications', 'set', ...of, '--customers', 'on');
  endpoint = (await stand.command('endpoint', 'create', ...of, '--url', stand.receiver.url)).endpoint_uid ?? '';
}, 60_000);

afterAll(() => stand?.close());

const rows = () => stand.page.locator('#deliveries tbody tr');

const heard = (email: string): number => stand.receiver.received.filter(({ body }) => body.includes(email)).length;

test.skipIf(browserBinary === undefined)(
  'a delivery appears while the log is open; one that fails tells why and when it is tried next, and is sent again',
  async () => {
    const { page, place, receiver } = stand;
    await page.goto(`${place}/deliveries`);
    expect(await page.locator('#deliveries').innerText()).toContain('Nothing was sent yet');
    await expectAccessible(page);
    await stand.createCustomer();
    await rows().filter({ hasText: 'Delivered' }).waitFor();
    receiver.behave(
      (response) => void response.writeHead(503, { 'retry-after': '600' }).end('{"error":"<till> is closed"}'),
    );
    const failing = await stand.createCustomer();
    await rows().filter({ hasText: 'Retrying' }).waitFor();
    expect(await rows().count()).toBe(2);
    expect(await rows().filter({ hasText: 'Retrying' }).innerText()).toMatch(
      /customer\.changed[\s\S]*cus_[\s\S]*in \d+ minutes/,
    );
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-deliveries');
    await rows().filter({ hasText: 'Retrying' }).getByRole('link').focus();
    await page.keyboard.press('Enter');
    await page.getByText('The last attempt failed; another one comes by itself.').waitFor();
    const text = await page.locator('main').innerText();
    expect(text).toMatch(
      /Attempt 1[\s\S]*no success \(2xx\)[\s\S]*503[\s\S]*<till> is closed[\s\S]*asked to wait 600 s/,
    );
    const payload = await page.locator('#payload').innerText();
    expect(payload).toContain(`\n  "event": "customer.changed"`);
    expect(await page.locator('#payload-sent').textContent()).toBe(receiver.received.at(-1)?.body);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-delivery');
    receiver.behave(status(204));
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('1 event is being sent again.').waitFor();
    await rows().filter({ hasText: 'Delivered' }).waitFor();
    expect(await rows().count()).toBe(1);
    expect(heard(failing)).toBe(2);
    expect(stand.problems).toEqual([]);
  },
  60_000,
);

test.skipIf(browserBinary === undefined)(
  'the log is searched by endpoint, state, event and age, in the address bar',
  async () => {
    const { page, place } = stand;
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
    await page.getByText('No delivery fits this choice.').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show all' }).click();
    await rows().first().getByRole('link').click();
    // All deliveries of one event, by its id.
    await page.getByRole('link', { name: /^evt_/ }).click();
    await page.waitForURL(/id=evt_/);
    expect(await rows().count()).toBe(1);
  },
);

test.skipIf(browserBinary === undefined)(
  'what an endpoint has not confirmed since a time is sent again, and nothing else',
  async () => {
    const { page, place, receiver } = stand;
    receiver.behave(status(500));
    const missed = [await stand.createCustomer(), await stand.createCustomer()];
    await until(() => missed.every((email) => heard(email) === 1));
    await stand.ask('POST', `/webhooks/${endpoint}/disable`);
    await page.goto(`${place}/deliveries`);
    await rows().filter({ hasText: 'Cancelled' }).nth(1).waitFor();
    await rows().filter({ hasText: 'Cancelled' }).first().getByRole('link').click();
    expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(0);
    await page.getByText('Its endpoint is disabled').waitFor();
    receiver.behave(status(204));
    await stand.ask('POST', `/webhooks/${endpoint}/enable`);
    const before = receiver.received.length;
    await page.goto(`${place}/deliveries`);
    await page.getByRole('link', { name: 'Send again…' }).click();
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
    const { rows: noted } = await stand.database.pool.query(
      `select count(*)::int as count from gateway.audit_events
       where actor = $1 and details::jsonb->>'operation' = 'webhook/redeliver'`,
      [`panel:${stand.owner.userId}`],
    );
    expect(noted).toEqual([{ count: 3 }]);
    expect(stand.problems).toEqual([]);
  },
  60_000,
);

test.skipIf(browserBinary === undefined)(
  'a long log is read page by page, each delivery once, and a rare one is found behind many others',
  async () => {
    const { page, place } = stand;
    const { pool } = stand.database;
    // As if 1,200 events had been delivered long before the first one.
    await pool.query(
      `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, attempts_count, created)
       select tenant, 'dlv_past' || lpad(number::text, 6, '0'), endpoint_uid, event_id || number,
         case number when 1200 then 'customer.removed' else 'customer.changed' end, kind, entity || number, 1, 0,
         'succeeded', 1, created - number * interval '1 second' - interval '1 hour'
       from (select * from webhooks.deliveries where tenant = $1 order by created limit 1) as one, generate_series(1, 1200) as number`,
      [stand.restuid],
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
    const { database, receiver } = stand;
    const of = ['--restaurant', stand.others];
    const made = await stand.command('endpoint', 'create', ...of, '--url', `${receiver.url}/foreign`);
    const uid = 'dlv_1m7zb42tmh0wp4ycc50z0y7dq';
    await database.pool.query(
      `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, attempts_count, created)
       select $1, $2, $3, event_id, event, kind, entity, seq, position, 'succeeded', 1, created
       from webhooks.deliveries where tenant = $4 order by created desc limit 1`,
      [stand.others, uid, made.endpoint_uid, stand.restuid],
    );
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/redeliver'],
    ] as const) {
      const one = await stand.ask(method, `/deliveries/${uid}${path}`);
      const none = await stand.ask(method, `/deliveries/dlv_absent${path}`);
      expect(one.status, `${method} ${path}`).toBe(404);
      expect(one.text).toBe(none.text.replaceAll('dlv_absent', uid));
    }
    expect((await stand.ask('GET', `/deliveries?endpoint=${made.endpoint_uid}`)).text).not.toContain(uid);
    const many = await stand.ask('POST', `/webhooks/${made.endpoint_uid}/redeliver`, { hours: '720' });
    expect(many.status).toBe(404);
    // Whoever sees every restaurant finds it, so it is there.
    const support = await stand.cookieOf(await stand.user('support'));
    const found = await fetch(`${stand.url}/panel/restaurants/${stand.others}/deliveries/${uid}`, {
      headers: { cookie: support },
    });
    expect(found.status).toBe(200);
    expect(receiver.received.filter(({ path }) => path.endsWith('/foreign'))).toEqual([]);
  },
);
