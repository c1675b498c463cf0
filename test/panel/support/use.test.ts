/**
 * What clients use, and what support takes away from them, in a real browser. Skipped where no Chromium is installed.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  browserBinary,
  expectAccessible,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('support-use: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

type Client = { id: string; secret: string };

const statusOf = async ({ id, secret }: Client, path: string): Promise<number> =>
  (await fetch(`${harness.url}/api/${path}`, { headers: { 'x-client-id': id, 'x-client-secret': secret } })).status;

const scopesOf = async ({ id, secret }: Client): Promise<string[]> => {
  const headers = { 'x-client-id': id, 'x-client-secret': secret };
  const answer = await fetch(`${harness.url}/api/whoami`, { headers });
  return ((await answer.json()) as { credential: { scopes: string[] } }).credential.scopes;
};

const makeClient = async (name: string, scope: string): Promise<Client> => {
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', name, '--restaurant', harness.restaurants[0] ?? '', '--scope', scope],
  );
  return { id: client_id, secret: client_secret };
};

test.skipIf(browserBinary === undefined)(
  'the panel shows what a client called and was refused, and withdraws after asking, what it never used',
  async () => {
    const busy = await makeClient('Busy App', 'read:orders read:menu write:customers');
    const idle = await makeClient('Idle App', 'read:orders');
    const other = await makeClient('Other App', 'read:orders read:menu');
    for (let i = 0; i < 3; i += 1) expect(await statusOf(busy, 'orders/list')).toBe(200);
    expect(await statusOf(other, 'menu/categories')).toBe(200);
    expect(await statusOf(busy, 'customerstats/customers')).toBe(403);

    const { page, problems, context } = await harness.signIn(await harness.user('support'));
    const usePage = `${harness.url}/panel/clients/${busy.id}/use`;
    // The audit is written moments after the answers.
    await until(async () => {
      await page.goto(usePage);
      return /GET \/api\/orders\/list\s+3/.test(await page.locator('main').innerText());
    });
    const refused = page.getByRole('table', { name: /refused/ });
    expect(await refused.innerText()).toContain('/api/customerstats/customers');
    const scopes = page.getByRole('table', { name: /What the client may do/ });
    expect(await scopes.getByRole('row', { name: /read:orders/ }).innerText()).toMatch(/\s3\s/);
    expect(await scopes.getByRole('row', { name: /read:menu/ }).innerText()).toContain('Not used');
    await expectAccessible(page);
    await takeScreenshots(page, 'support-use');

    // Scopes used after the page was shown are kept, so an old page takes away nothing that is used. The page gets an
    // event, but reads nothing by itself. It gets no events of other clients.
    const readings = async (): Promise<number> => {
      const found = await harness.database.pool.query(`select 1 from gateway.audit_events where action = 'audit.read'`);
      return found.rows.length;
    };
    const news = page.getByRole('link', { name: 'There is newer data' });
    const newsRequests: string[] = [];
    page.on('request', (request) => request.url().endsWith('/use/news?days=30') && newsRequests.push(request.url()));
    expect(await statusOf(other, 'menu/categories')).toBe(200);
    await until(async () => {
      const found = await harness.database.pool.query(
        `select sum(count) as calls from gateway.audit_events where client_id = $1 and action = 'request.allowed'`,
        [other.id],
      );
      return Number(found.rows[0]?.calls) === 2;
    });
    const asking = await context.newPage();
    await asking.goto(`${harness.url}/panel/clients/${busy.id}/shrink?days=30`);
    await asking.getByRole('heading', { name: 'Withdraw 2 scopes of Busy App' }).waitFor();
    expect(await asking.locator('main').innerText()).toContain('read:menu');
    await expectAccessible(asking);
    const read = await readings();
    expect(await statusOf(busy, 'menu/categories')).toBe(200);
    await news.waitFor();
    expect(newsRequests.length).toBe(1);
    expect(await readings()).toBe(read);
    await expectAccessible(page);
    const newer = await context.newPage();
    await until(async () => {
      await newer.goto(usePage);
      return (await newer.locator('main').innerText()).includes('/api/menu/categories');
    });
    await asking.getByRole('button', { name: 'Withdraw 2 scopes' }).click();
    await asking.getByText('Busy App now holds 2 scopes.').waitFor();
    await asking.close();
    await page.goto(usePage);
    await expect.poll(() => scopesOf(busy)).toEqual(['read:orders', 'read:menu']);
    expect(await statusOf(busy, 'menu/categories')).toBe(200);

    // Chosen anew.
    await page.getByRole('link', { name: 'Change scopes' }).click();
    await page.getByRole('checkbox', { name: /read:menu/ }).uncheck();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save scopes' }).click();
    await page.getByRole('heading', { name: 'Withdraw 1 scope of Busy App' }).waitFor();
    await expectAccessible(page);
    expect(await statusOf(busy, 'menu/categories')).toBe(200);
    await page.getByRole('button', { name: 'Withdraw 1 scope' }).click();
    await page.getByText('The scopes of Busy App are saved.').waitFor();
    await expect.poll(() => statusOf(busy, 'menu/categories')).toBe(403);

    await page.getByRole('link', { name: 'Clients', exact: true }).click();
    await page.getByRole('link', { name: 'Unused scopes' }).click();
    const row = page.getByRole('row', { name: /Other App/ });
    await row.waitFor();
    expect(await row.innerText()).toContain('read:orders');
    expect(await page.getByRole('row', { name: /Idle App/ }).innerText()).toContain('No allowed call');
    await expectAccessible(page);
    await takeScreenshots(page, 'support-unused-scopes');
    expect(await statusOf(other, 'menu/categories')).toBe(200);
    const readOfAll = await readings();
    // What was used is written down every quarter of a minute.
    await news.waitFor({ timeout: 45_000 });
    expect(await readings()).toBe(readOfAll);
    await page.getByRole('link', { name: 'Withdraw 1 scope of Other App' }).click();
    await page.getByRole('heading', { name: 'Withdraw 1 scope of Other App' }).waitFor();
    await page.getByRole('button', { name: 'Withdraw 1 scope' }).click();
    await page.getByText('Other App now holds 1 scope.').waitFor();
    expect(await page.getByRole('row', { name: /Other App/ }).count()).toBe(0);
    await expect.poll(() => statusOf(other, 'orders/list')).toBe(403);
    expect(await statusOf(other, 'menu/categories')).toBe(200);
    expect(await statusOf(idle, 'orders/list')).toBe(200);
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-579 a client with more calls than the panel reads is offered no withdrawal of scopes, and each client names the time that was read',
  async () => {
    const flood = await makeClient('Flood App', 'read:orders read:menu');
    expect(await statusOf(flood, 'orders/list')).toBe(200);
    await harness.database.pool.query(
      `update gateway.clients set created = created - interval '1 hour' where client_id = $1`,
      [flood.id],
    );
    await harness.database.pool.query(
      `insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, client_id, route_id, tenants,
         scopes, details, hash)
       select 900, n, now() - n * interval '1 millisecond', 'request.allowed', 'success', 1, '{}', $1, 'orders.list', '{}',
         '{read:orders}', '{}', '\\x00' from generate_series(1, 50000) n`,
      [flood.id],
    );
    const cookie = await harness.cookieOf(await harness.user('support'));
    const show = async (path: string) => {
      const answer = await fetch(`${harness.url}/panel/clients/${path}`, { headers: { cookie }, redirect: 'manual' });
      return { status: answer.status, text: await answer.text() };
    };
    const { text } = await show('unused-scopes');
    const row = text.split('<tr').find((part) => part.includes('Flood App')) ?? '';
    expect(row).toContain('Too many calls to read here');
    expect(row).toContain('<time');
    expect(row).not.toContain('/shrink');
    const own = await show(`${flood.id}/use`);
    expect(own.text).toContain('It made more calls than this page reads');
    expect(own.text).not.toContain('/shrink');
    expect((await show(`${flood.id}/shrink?days=30`)).status).toBe(303);
  },
);
