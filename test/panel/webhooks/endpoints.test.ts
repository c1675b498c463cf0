/**
 * Webhook endpoints of a restaurant, from the click to what the receiver gets. Skipped where no Chromium is installed.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type ReceivedRequest, startReceiver, status } from '../../support/webhook-receiver.ts';
import { browserBinary, expectAccessible, takeScreenshots } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';

if (browserBinary === undefined) process.stderr.write('restaurant-webhooks: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startRestaurantHarness();
  await harness.notifyOfCustomers();
});

afterAll(() => harness?.close());

const lastReceived = (): ReceivedRequest => {
  const last = harness.receiver.received.at(-1);
  if (last === undefined) throw new Error('nothing was received');
  return last;
};

/** Signatures of the secret among those that came with the request. */
const isSignedWith = (secret: string, { headers, body }: ReceivedRequest): boolean => {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(expected);
};

/** Waits until the events are dispatched to their endpoints. */
const allDispatched = (): Promise<void> =>
  until(async () => (await harness.database.pool.query('select from outbox.waiting limit 1')).rowCount === 0);

const secretShown = async (): Promise<string> => (await harness.page.locator('#secret-value').innerText()).trim();

let secret: string;

test.skipIf(browserBinary === undefined)(
  'an endpoint is added, its secret is shown once, and a test event comes signed with it',
  async () => {
    const { page, place, receiver } = harness;
    await page.goto(`${place}/webhooks`);
    expect(await page.locator('#endpoints').innerText()).toContain('There is no endpoint yet');
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-new-endpoint');
    await page.getByLabel('URL').fill('ftp://elsewhere.example/hook');
    await page.getByLabel('Description').fill('Accounting');
    for (const kind of ['Orders', 'Menu', 'Loyalty log']) await page.getByLabel(kind, { exact: true }).uncheck();
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await page.locator('#url-note').waitFor();
    expect(await page.locator('#url-note').innerText()).toContain('must begin with https://');
    expect(await page.getByLabel('Description').inputValue()).toBe('Accounting');
    expect(await page.getByLabel('Menu', { exact: true }).isChecked()).toBe(false);
    await expectAccessible(page);
    await page.getByLabel('URL').fill(receiver.url);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The secret of your endpoint' }).waitFor();
    secret = await secretShown();
    await page.reload();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('heading', { name: 'Accounting' }).waitFor();
    await page.getByRole('button', { name: 'Send test event' }).click();
    await page.getByText(/confirmed it with 204 in \d+ ms/).waitFor();
    expect(JSON.parse(lastReceived().body)).toMatchObject({ event: 'webhook.test' });
    expect(isSignedWith(secret, lastReceived())).toBe(true);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-test-event');
    receiver.behave((response) => void response.writeHead(500).end('<b>no</b> such table'));
    await page.getByRole('button', { name: 'Send test event' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.locator('main').innerText()).toMatch(
      /did not confirm it[\s\S]*not a success \(2xx\)[\s\S]*500[\s\S]*<b>no<\/b> such table/,
    );
    receiver.behave(status(204));
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)('a rotated secret signs beside the old one until that is ended', async () => {
  const { page } = harness;
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('link', { name: 'Rotate secret…' }).click();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Create the new secret' }).click();
  await page.getByRole('heading', { name: 'The secret of your endpoint' }).waitFor();
  const fresh = await secretShown();
  await page.getByRole('link', { name: 'I have saved it' }).click();
  await page.getByText('The old secret signs too until').waitFor();
  await harness.createCustomer();
  await until(() => lastReceived().body.includes('guest1@'));
  expect([isSignedWith(secret, lastReceived()), isSignedWith(fresh, lastReceived())]).toEqual([true, true]);
  await page.getByRole('link', { name: 'Rotate secret…' }).click();
  await page.getByText('End it first').waitFor();
  await page.getByRole('link', { name: 'End the old secret now' }).click();
  await page.getByRole('heading', { name: 'End the old secret of this endpoint?' }).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'End the old secret now' }).click();
  await page.getByText(/The old secret of \S+ has ended\./).waitFor();
  await harness.createCustomer();
  await until(() => lastReceived().body.includes('guest2@'));
  expect([isSignedWith(secret, lastReceived()), isSignedWith(fresh, lastReceived())]).toEqual([false, true]);
});

test.skipIf(browserBinary === undefined)(
  'events go to the new address of an edited endpoint, and none to a disabled or removed one',
  async () => {
    const { page, place, receiver } = harness;
    const other = await startReceiver();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('URL').fill(other.url);
    await page.getByText('More settings').click();
    await page.getByLabel('Events per second, at most').fill('zero');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#max_per_second-note').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Events per second, at most').fill('5');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/The endpoint \S+ is saved\./).waitFor();
    const before = receiver.received.length;
    await harness.createCustomer();
    await until(() => other.received.length === 1);
    await page.getByText('Last try succeeded').waitFor();
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-endpoint');
    await page.getByRole('link', { name: 'Disable…' }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Disable endpoint' }).click();
    await page.getByText('Disabled by hand.').waitFor();
    await harness.createCustomer();
    await allDispatched();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByText(/The endpoint \S+ is enabled\./).waitFor();
    const heard = await harness.createCustomer();
    await until(() => other.received.length === 2);
    expect(other.received[1]?.body).toContain(heard);
    await page.goto(`${place}/webhooks`);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-endpoints');
    await page.getByRole('link', { name: other.url }).click();
    await page.getByRole('link', { name: 'Remove…' }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Remove endpoint' }).click();
    await page.getByText(/The endpoint \S+ is removed\./).waitFor();
    await harness.createCustomer();
    await allDispatched();
    // A later endpoint gets the events after it: the removed one would have got them as well.
    await harness.addEndpoint();
    const after = await harness.createCustomer();
    await until(() => receiver.received.length > before);
    expect(lastReceived().body).toContain(after);
    expect(other.received).toHaveLength(2);
    await other.close();
    const { rows } = await harness.database.pool.query(
      `select details::jsonb->>'operation' as operation, count(*)::int as count from gateway.audit_events
       where actor = $1 and action = 'webhook.changed' group by 1 order by 1`,
      [`panel:${harness.owner.userId}`],
    );
    expect(rows).toEqual([
      { operation: 'webhook/create', count: 2 },
      { operation: 'webhook/remove', count: 1 },
      { operation: 'webhook/rotate-secret', count: 2 },
      { operation: 'webhook/update', count: 3 },
    ]);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'an endpoint of another restaurant is answered as one that does not exist, and gets no event',
  async () => {
    const foreign = await harness.command(
      ...['endpoint', 'create', '--restaurant', harness.others, '--url', `${harness.receiver.url}/foreign`],
    );
    const uid = foreign.endpoint_uid ?? '';
    for (const path of ['', '/edit', '/disable', '/remove', '/rotate'])
      for (const method of ['GET', 'POST'] as const) {
        if (method === 'POST' && path === '') continue;
        const fields = { url: harness.receiver.url, kinds: 'orders', overlap: '0' };
        const one = await harness.ask(method, `/webhooks/${uid}${path}`, fields);
        const none = await harness.ask(method, `/webhooks/whe_absent${path}`, fields);
        expect(one.status, `${method} ${path}`).toBe(404);
        expect(one.text).toBe(none.text.replaceAll('whe_absent', uid));
      }
    for (const action of ['enable', 'finish', 'test'])
      expect((await harness.ask('POST', `/webhooks/${uid}/${action}`)).status, action).toBe(404);
    expect(harness.receiver.received.filter(({ path }) => path.endsWith('/foreign'))).toEqual([]);
  },
);
