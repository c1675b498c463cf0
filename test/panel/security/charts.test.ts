/** Charts of issue, use and refusal, in a real browser. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until, untilHourLasts } from '../../support/until.ts';
import { checkPage } from '../harness/check-page.ts';
import {
  browserBinary,
  expectAccessible,
  type HarnessUser,
  type PanelHarness,
  startPanelHarness,
} from '../harness/panel-harness.ts';

let harness: PanelHarness;
let user: HarnessUser;
let client: Record<string, string>;
let key: Record<string, string>;

const inBrowser = test.skipIf(browserBinary === undefined);

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  const restuid = harness.restaurants[0] ?? '';
  user = await harness.user('security');
  client = await harness.command(
    'client',
    'create',
    '--name',
    'Till',
    '--restaurant',
    restuid,
    '--scope',
    'read:orders',
  );
  key = await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Counter');
});

afterAll(() => harness?.close());

const get = async (path: string, headers: Record<string, string>): Promise<number> =>
  (await fetch(`${harness.url}${path}`, { headers })).status;

const counted = (dimension: string, count: number): Promise<void> =>
  until(
    async () =>
      Number(
        (
          await harness.database.pool.query('select sum(count) as n from gateway.audit_hours where dimension = $1', [
            dimension,
          ])
        ).rows[0].n,
      ) === count,
    15_000,
  );

inBrowser(
  'allowed and refused requests appear in the charts a moment later, as bars and as a table, for each client, reason, route and address',
  async () => {
    await untilHourLasts();
    const { client_id = '', client_secret = '' } = client;
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
    const issued = await fetch(`${harness.url}/api/oauth/token`, { method: 'POST', body });
    const { access_token: token } = (await issued.json()) as { access_token: string };
    const bearer = { authorization: `Bearer ${token}` };
    for (let i = 0; i < 4; i += 1) expect(await get('/api/orders/list', bearer)).toBe(200);
    for (let i = 0; i < 2; i += 1) expect(await get('/api/orders/list', { 'x-api-key': key.api_key ?? '' })).toBe(200);
    for (let i = 0; i < 3; i += 1) expect(await get('/api/account/subrestaurants', bearer)).toBe(403);
    expect(await get('/api/orders/list', {})).toBe(401);
    await counted('all', 11);
    const { page, problems } = await harness.signIn(user);
    await page.getByRole('link', { name: 'Charts' }).first().click();
    await page.waitForURL(`${harness.url}/panel/security/charts`);
    for (const [name, count] of [
      ['Issued tokens', 1],
      ['Allowed requests', 6],
      ['Refused requests', 4],
    ] as const) {
      const chart = page.locator('.charts').getByRole('img', { name: `${name}: ${count} in all` });
      expect(await chart.locator('rect').count()).toBeGreaterThan(0);
    }
    await checkPage(page, 'security-charts');
    // The newest bar of the chart of allowed requests has its value by focus, and older ones by the arrow keys.
    const chart = page.locator('[data-chart]').nth(1);
    await chart.focus();
    const value = chart.locator('[data-chart-value]');
    const last = chart.locator('[data-at]').last();
    await until(async () => (await value.innerText()).endsWith(`: ${await last.getAttribute('data-number')}`));
    await page.keyboard.press('ArrowLeft');
    const earlier = await chart.locator('[data-at]').nth(-2).getAttribute('data-number');
    await until(async () => (await value.innerText()).endsWith(`: ${earlier}`));
    expect(await chart.locator('.axis-y').innerText()).toMatch(/^6\s+0$/);
    await page.getByText('The numbers as a table').click();
    const figures = await page.locator('details tbody tr').allInnerTexts();
    expect(figures).toHaveLength(24);
    const sums = figures.map((line) => line.split('\t').slice(1).map(Number));
    expect([0, 1, 2].map((at) => sums.reduce((total, line) => total + (line[at] ?? 0), 0))).toEqual([1, 6, 4]);
    const rowOf = async (text: string): Promise<string> => {
      const row = page.locator('table.stack tbody tr', { hasText: text });
      return (await row.innerText()).replaceAll(/\s+/g, ' ').trim();
    };
    expect(await rowOf(client_id)).toBe(`Till ${client_id} 1 4 3 Show`);
    expect(await rowOf(key.key_id ?? '')).toBe(`Counter ${key.key_id} 0 2 0 Show`);
    expect(await rowOf('unknown')).toBe('unknown 0 0 1 –');
    // A small chart of the table has its values as well: by focus, the arrow keys and the mouse.
    const small = page.locator('table .small-chart').nth(1);
    const shown = small.locator('[data-chart-value]');
    const shows = async (act: () => Promise<void>): Promise<void> => {
      const before = await shown.innerText();
      await act();
      await until(async () => /: \d+$/.test(await shown.innerText()) && (await shown.innerText()) !== before);
    };
    await shows(() => small.focus());
    await shows(() => page.keyboard.press('ArrowLeft'));
    await shows(() => page.keyboard.press('End'));
    await shows(() => small.locator('svg').hover({ position: { x: 1, y: 5 } }));
    // One client alone, over a week, and from there to its events.
    await page.getByRole('link', { name: client_id }).click();
    await page.getByRole('link', { name: 'Week' }).click();
    await page.waitForURL(new RegExp(`by=client&days=7&value=${client_id}`));
    await page.locator('.charts').getByRole('img', { name: 'Allowed requests: 4 in all' }).waitFor();
    await page.locator('table.stack tbody tr', { hasText: client_id }).getByRole('link', { name: 'Show' }).click();
    await page.waitForURL(/security\/audit\?client=/);
    expect(await page.locator('tbody').innerText()).toContain('request.denied');
    for (const [by, text, figuresOf] of [
      ['reason', 'insufficient_scope', '0 0 3 –'],
      ['route', 'orders.list', '0 6 1 Show'],
      ['address', '127.0.0.1', '1 6 4 Show'],
    ] as const) {
      await page.goto(`${harness.url}/panel/security/charts?by=${by}&days=30`);
      const line = page.locator('table.stack tbody tr', { hasText: figuresOf.at(-1) === '–' ? '3' : text });
      expect((await line.first().innerText()).replaceAll(/\s+/g, ' '), by).toContain(figuresOf);
    }
    // An open page tells of more, and shows it when it is wanted.
    expect(await get('/api/orders/list', bearer)).toBe(200);
    await counted('all', 12);
    await page.getByRole('link', { name: 'There are newer events' }).click();
    await page.locator('.charts').getByRole('img', { name: 'Allowed requests: 7 in all' }).waitFor();
    expect(problems).toEqual([]);
  },
);

inBrowser('an empty period is shown as empty, and an address with unknown values is refused', async () => {
  const { page, problems } = await harness.signIn(user);
  const credential = `value=${client.client_secret}`;
  for (const asked of ['by=nothing', 'days=9999', `value=${'x'.repeat(500)}`, credential]) {
    const answer = await page.goto(`${harness.url}/panel/security/charts?${asked}`);
    expect(answer?.status(), asked).toBe(400);
  }
  const { rows } = await harness.database.pool.query('select from gateway.audit_events where details like $1', [
    `%${client.client_secret}%`,
  ]);
  expect(rows).toEqual([]);
  await page.goto(`${harness.url}/panel/security/charts?by=client&value=none`);
  expect(await page.locator('.charts').innerText()).toContain('Highest bar: 0');
  await page.goto(`${harness.url}/panel/security/charts?by=reason&value=none`);
  await expectAccessible(page);
  expect(problems).toEqual([]);
});
