/** The page that explains a refusal, in a real browser. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { altered } from '../../support/altered.ts';
import {
  browserBinary,
  expectAccessible,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('explain-page: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

const requestIdOf = async (path: string, headers: Record<string, string>, status: number): Promise<string> => {
  const answer = await fetch(`${harness.url}${path}`, { headers });
  expect(answer.status).toBe(status);
  return answer.headers.get('x-request-id') ?? '';
};

test.skipIf(browserBinary === undefined)(
  'the holder of the credential reads why its request was refused, in two languages; other credentials learn nothing',
  async () => {
    const [restuid = ''] = harness.restaurants;
    const client = await harness.command(
      ...['client', 'create', '--name', 'Ada', '--restaurant', restuid, '--scope', 'read:orders'],
    );
    const { api_key = '', key_id = '' } = await harness.command(
      'key',
      'create',
      '--restaurant',
      restuid,
      '--name',
      'Other',
    );
    const { client_id = '', client_secret = '' } = client;
    const headers = { 'x-client-id': client_id, 'x-client-secret': client_secret };
    const scopeless = await requestIdOf('/api/menu/categories', headers, 403);
    const faulty = await requestIdOf('/api/orders/list?pagesize=many', headers, 400);
    const wrong = {
      ...headers,
      'x-client-secret': altered(client_secret),
    };

    const { page, problems, context } = await harness.open({ locale: 'en' });
    page.setDefaultTimeout(20_000);
    const link = /<a href="([^"]+)">Why was a request refused\?</.exec(
      await (await fetch(`${harness.url}/docs`)).text(),
    );
    await page.goto(harness.url + (link?.[1] ?? ''));
    const explanation = page.locator('#explanation');
    await expectAccessible(page);

    // By keyboard only.
    await page.getByLabel('Request id').focus();
    await page.keyboard.type(scopeless);
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Tab');
    await page.keyboard.type(client_id);
    await page.keyboard.press('Tab');
    await page.keyboard.type(client_secret);
    const asked = page.waitForRequest((request) => request.url().includes('/api/whoami/denials/'));
    await page.keyboard.press('Enter');
    expect(await (await asked).headerValue('cookie')).toBeNull();
    await explanation.getByRole('heading', { name: 'A scope was missing' }).waitFor();
    expect(await explanation.innerText()).toContain('read:menu');
    expect(await explanation.innerText()).toContain('GET /api/menu/categories');
    expect(await explanation.getByRole('link', { name: 'INSUFFICIENT_SCOPE' }).getAttribute('href')).toBe(
      '/docs/errors#INSUFFICIENT_SCOPE',
    );
    expect(page.url()).not.toContain(client_secret);
    await expectAccessible(page);
    await takeScreenshots(page, 'explain');

    await page.getByLabel('Request id').fill(faulty);
    await page.getByRole('button', { name: 'Explain' }).click();
    await explanation.getByRole('heading', { name: 'Something in the request was not valid' }).waitFor();
    expect(await explanation.innerText()).toContain('pagesize');

    // Another credential, one that is not accepted, and an id that never was.
    await page.getByLabel('Client secret').fill(wrong['x-client-secret']);
    await page.getByRole('button', { name: 'Explain' }).click();
    await explanation.getByRole('heading', { name: 'This credential is not accepted now' }).waitFor();
    expect(await explanation.innerText()).not.toContain('pagesize');
    await page.getByRole('radio', { name: 'API key' }).check();
    await page.getByRole('textbox', { name: 'API key' }).fill(api_key);
    await page.getByRole('button', { name: 'Explain' }).click();
    const heading = explanation.getByRole('heading', { name: 'Nothing is known about this request' });
    await heading.waitFor();
    const foreign = await explanation.innerText();
    await page.getByLabel('Request id').fill('req_that_never_was');
    await page.getByRole('button', { name: 'Explain' }).click();
    await explanation.getByText('Asking …').waitFor({ state: 'detached' });
    await heading.waitFor();
    expect(await explanation.innerText()).toBe(foreign);

    // The holder of an ended credential may still know why it is refused.
    await harness.command('key', 'revoke', '--key-id', key_id);
    await expect
      .poll(async () => (await fetch(`${harness.url}/api/whoami`, { headers: { 'x-api-key': api_key } })).status)
      .toBe(401);
    const revoked = await requestIdOf('/api/whoami', { 'x-api-key': api_key }, 401);
    await page.getByLabel('Request id').fill(revoked);
    await page.getByRole('button', { name: 'Explain' }).click();
    await explanation.getByRole('heading', { name: 'The API key was revoked' }).waitFor();

    await page.getByRole('button', { name: 'Italiano' }).click();
    await page.getByRole('heading', { level: 1, name: 'Perché una richiesta è stata rifiutata?' }).waitFor();
    await page.getByLabel('Id della richiesta').fill(scopeless);
    await page.getByRole('radio', { name: 'Client API' }).check();
    await page.getByLabel('Id del client').fill(client_id);
    await page.getByLabel('Segreto del client').fill(client_secret);
    await page.getByRole('button', { name: 'Spiega' }).click();
    await explanation.getByRole('heading', { name: 'Mancava un permesso' }).waitFor();
    expect(problems).toEqual([]);
    await context.close();

    // Without script nothing can be sent; with an account the panel leads there.
    const plain = await harness.open({ javaScriptEnabled: false, locale: 'en' });
    await plain.page.goto(`${harness.url}/panel/explain`);
    expect(await plain.page.getByRole('button', { name: 'Explain' }).isDisabled()).toBe(true);
    const owner = await harness.signIn(await harness.user('owner'));
    await openAccountMenu(owner.page);
    await owner.page.getByRole('link', { name: 'For integrators' }).click();
    await expectAccessible(owner.page);
    await owner.page.getByRole('link', { name: /Why was a request refused/ }).click();
    await owner.page.getByRole('heading', { level: 1, name: 'Why was a request refused?' }).waitFor();
    expect(owner.problems).toEqual([]);
  },
);
