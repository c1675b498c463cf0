/** The customers of a restaurant in the panel. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browserBinary, expectAccessible, takeScreenshots } from '../harness/panel-harness.ts';
import { type RestaurantHarness, startRestaurantHarness } from '../harness/restaurant-harness.ts';
import { openTill } from '../harness/till.ts';

if (browserBinary === undefined) process.stderr.write('panel customers: skipped, no Chromium is installed\n');

let harness: RestaurantHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startRestaurantHarness();
});

afterAll(() => harness?.close());

test.skipIf(browserBinary === undefined)(
  'a customer is found by the beginning of a name, and the page has orders, statistics and the ledger of points, which staff move with a reason',
  async () => {
    const { page, place, owner, restuid } = harness;
    await page.goto(`${place}/customers`);
    await page.getByText('No customer yet').waitFor();
    const till = await openTill(harness, restuid);
    const order = await till.order();
    await till.move('confirm', order);
    await till.move('close', order);
    await page.getByLabel('Start of a name').fill('lov');
    await page.getByRole('button', { name: 'Find' }).click();
    const row = page.locator('tbody tr').filter({ hasText: 'Ada Lovelace' });
    expect(await row.innerText()).toMatch(/ada@example\.com[\s\S]*1[\s\S]*13/);
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-customers');
    await row.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor();
    expect(await page.locator('main').innerText()).toMatch(/Total of all orders\s+€\d+\.\d\d\s/);
    expect(await page.locator('main').innerText()).toMatch(/Balance: 13[\s\S]*Order closed[\s\S]*\+13/);
    await page.getByLabel('Change').selectOption('Take points');
    await page.getByLabel('Points', { exact: true }).fill('20');
    await page.getByLabel('Reason').fill('Spilled <soup>');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The balance is lower than that').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('Spilled <soup>');
    await page.getByLabel('Points', { exact: true }).fill('2.55');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The points are saved.').waitFor();
    expect(await page.locator('main').innerText()).toMatch(
      /Balance: 10\.45[\s\S]*Manual[\s\S]*Spilled <soup>[\s\S]*−2\.55[\s\S]*10\.45/,
    );
    await expectAccessible(page);
    await takeScreenshots(page, 'restaurant-customer');
    const { rows } = await harness.database.pool.query(
      `select reason from gateway.audit_events where actor = $1 and details::jsonb->>'operation' = 'loyaltylog/create'`,
      [`panel:${owner.userId}`],
    );
    expect(rows).toEqual([{ reason: 'Spilled <soup>' }]);
    const orders = page.getByRole('table', { name: 'The newest orders of this customer' });
    expect(await orders.locator('tbody tr').count()).toBe(1);
    expect(await orders.getByRole('link').getAttribute('href')).toContain(order.uid);
    await page.getByRole('link', { name: 'show them' }).click();
    expect(await page.locator('#orders tbody tr').count()).toBe(1);
    expect(harness.problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-475 the ledger of a customer has further pages, without a gap between them',
  async () => {
    const uid = /customers\/(cus_\w+)"/.exec((await harness.ask('GET', '/customers')).text)?.[1] ?? '';
    // At one moment, so that they differ in their numbers only.
    await harness.database.pool.query(
      `insert into ordering.loyalty_entries select (jsonb_populate_record(e, jsonb_build_object('uid', 'lyl_more' || n,
       'seq', 1000 + n, 'created', timestamptz '2020-01-01T00:00:00Z', 'notes', 'entry ' || n || '.', 'cause', null))).*
     from ordering.loyalty_entries e, generate_series(1, 120) n
     where e.uid = (select uid from ordering.loyalty_entries where customer_uid = $1 and type = 'manual' limit 1)`,
      [uid],
    );
    const seen: string[] = [];
    let path: string | undefined = `/customers/${uid}`;
    for (let pages = 0; path !== undefined && pages < 5; pages += 1) {
      const { status, text }: { status: number; text: string } = await harness.ask('GET', path);
      expect(status).toBe(200);
      seen.push(...[...text.matchAll(/entry (\d+)\./g)].map(([, number = '']) => number));
      path = /id="next-page" rel="next" href="\/panel\/restaurants\/[^/"]+([^"]+)"/.exec(text)?.[1];
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, index) => String(120 - index)));
    expect((await harness.ask('GET', `/customers/${uid}?after=1.99999999999-x`)).status).toBe(200);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-645 a list that is asked for with a cursor of no page begins at its beginning',
  async () => {
    const uid = /customers\/(cus_\w+)"/.exec((await harness.ask('GET', '/customers')).text)?.[1] ?? '';
    // Moments for which PostgreSQL has no text are among them.
    const places = ['253402300800000.x', '999999999999999.x', '999999999999999.1-x', '1.x.y', 'x', '-1.x', 'product.'];
    const others = [...places, '1.253402300800000.x', '0.999999999999999.x'];
    for (const path of ['/orders', '/customers', `/customers/${uid}`, '/menu', '/menu/imports', '/webhooks', '/keys']) {
      const main = async (query: string): Promise<[number, string | undefined]> => {
        const { status, text } = await harness.ask('GET', `${path}${query}`);
        return [status, /<table[\s\S]*?<\/table>/.exec(text)?.[0].replaceAll(/value="[^"]*"/g, '')];
      };
      const first = await main('');
      expect([path, first[0]]).toEqual([path, 200]);
      for (const cursor of others)
        expect([path, cursor, await main(`?after=${cursor}`)]).toEqual([path, cursor, first]);
    }
  },
);

test.skipIf(browserBinary === undefined)('points that cannot be booked change nothing', async () => {
  const uid = /customers\/(cus_\w+)"/.exec((await harness.ask('GET', '/customers')).text)?.[1] ?? '';
  const before = await harness.ask('GET', `/customers/${uid}`);
  for (const fields of [
    { points: '0', reason: 'a' },
    { points: '1.005', reason: 'a' },
    { points: '1e3', reason: 'a' },
    { points: '-1', reason: 'a' },
    { points: '10000001', reason: 'a' },
    { points: '1', reason: ' ' },
    { points: '1', reason: 'x'.repeat(501) },
  ])
    expect((await harness.ask('POST', `/customers/${uid}/points`, { diff_op: 'add', ...fields })).status).toBe(422);
  expect(await harness.ask('GET', `/customers/${uid}`)).toEqual(before);
  expect((await harness.ask('POST', '/customers/cus_none/points', { points: '1', reason: 'a' })).status).toBe(404);
  expect((await harness.ask('GET', '/customers/cus_none')).status).toBe(404);
});

test.skipIf(browserBinary === undefined)(
  'A-755 the form that moves points, sent again after it was saved or at the same moment, moves them once',
  async () => {
    const { page, place, ask } = harness;
    const uid = /customers\/(cus_\w+)"/.exec((await ask('GET', '/customers')).text)?.[1] ?? '';
    const balance = async (): Promise<number> => {
      const { rows } = await harness.database.pool.query<{ points: number }>(
        'select loyalty_points::integer as points from ordering.customers where uid = $1',
        [uid],
      );
      return rows[0]?.points ?? Number.NaN;
    };
    const open = async (): Promise<Record<string, string>> => {
      await page.goto(`${place}/customers/${uid}`);
      const hidden = await page
        .locator('form[action$="/points"] input[type=hidden]')
        .evaluateAll((inputs) => inputs.map((input): [string, string] => [input.name, input.value]));
      return { ...Object.fromEntries(hidden), diff_op: 'add', points: '3', reason: 'Late delivery' };
    };
    const before = await balance();
    const form = await open();
    // In the session of the page, which then shows the message.
    const send = async (fields: Record<string, string>): Promise<{ status: number; text: string }> => {
      const headers = { origin: harness.url };
      const path = `${place}/customers/${uid}/points`;
      const answer = await page.request.post(path, { form: fields, maxRedirects: 0, headers });
      return { status: answer.status(), text: await answer.text() };
    };
    const sent = await Promise.all([send(form), send(form), send(form)]);
    expect([...sent, await send(form)].map(({ status }) => status)).toEqual([303, 303, 303, 303]);
    expect(await balance()).toBe(before + 300);
    await page.goto(`${place}/customers/${uid}`);
    await page.getByText('The points were saved when this form was first sent, and not again.').waitFor();

    const changed = await send({ ...form, points: '4' });
    expect(changed.status).toBe(422);
    expect(changed.text).toContain('This form already saved other points.');
    expect(await balance()).toBe(before + 300);
    expect((await send(await open())).status).toBe(303);
    expect(await balance()).toBe(before + 600);
  },
);
