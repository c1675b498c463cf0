/**
 * The integrator's page: try operations with an own credential. In a real browser; skipped where no Chromium is
 * installed.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browserBinary, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('integrator-docs: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

const tryOut = async (page: Page, path: string): Promise<string> => {
  const operation = page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) });
  if ((await operation.locator('.opblock-body').count()) === 0) await operation.locator('button').first().click();
  const start = operation.getByRole('button', { name: 'Try it out' });
  const execute = operation.getByRole('button', { name: 'Execute' });
  // The page shows either only when it has read what the operation refers to.
  await start.or(execute).first().waitFor();
  if ((await start.count()) > 0) await start.click();
  const [response] = await Promise.all([
    page.waitForResponse((answer) => new URL(answer.url()).pathname === path),
    execute.click(),
  ]);
  await operation
    .locator('.live-responses-table .response-col_status', { hasText: String(response.status()) })
    .waitFor();
  expect(await response.request().headerValue('cookie')).toBeNull();
  // What may be left out is left out.
  expect(new URL(response.url()).search).toBe('');
  expect(await response.request().headerValue('x-request-id')).toBeNull();
  return operation.locator('.live-responses-table').innerText();
};

test.skipIf(browserBinary === undefined)(
  'the reference tries operations with the credential of the reader: an API key, and a token that the page gets for a client',
  async () => {
    const [restuid = ''] = harness.restaurants;
    const { api_key = '', key_id = '' } = await harness.command(
      'key',
      'create',
      '--restaurant',
      restuid,
      '--name',
      'Try',
    );
    const { client_id = '', client_secret = '' } = await harness.command(
      ...['client', 'create', '--name', 'Ada', '--restaurant', restuid, '--scope', 'read:orders'],
    );
    const { page, problems } = await harness.open();
    page.setDefaultTimeout(40_000);
    await page.goto(`${harness.url.replace('127.0.0.1', 'localhost')}/docs/reference`);
    await page.locator('.opblock').first().waitFor();
    expect(await tryOut(page, '/api/whoami')).toContain('INVALID_AUTH');

    await page.getByRole('button', { name: 'Authorize', exact: true }).click();
    const dialog = page.locator('.dialog-ux');
    const secrets = dialog.locator('#api_key_value, #auth-bearer-value, [id^="client_secret_"]');
    expect(await secrets.count()).toBeGreaterThan(3);
    for (const field of await secrets.all()) expect(await field.getAttribute('type')).toBe('password');
    await dialog.locator('#api_key_value').first().fill(api_key);
    await page.setViewportSize({ width: 360, height: 900 });
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);
    await page.setViewportSize({ width: 1440, height: 900 });
    await dialog.locator('.auth-container', { hasText: 'X-Api-Key' }).getByRole('button', { name: 'Apply' }).click();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    const response = await tryOut(page, '/api/whoami');
    expect(response).toContain(key_id);
    expect(response).toContain(restuid);

    // It ends with the page: no storage has it.
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);

    await page.getByRole('button', { name: 'Authorize', exact: true }).click();
    await dialog.getByRole('button', { name: 'Remove authorization' }).click();
    const oauth = dialog.locator('.auth-container', { has: page.locator('#client_id_clientCredentials') });
    await oauth.locator('#client_id_clientCredentials').fill(client_id);
    await oauth.locator('#client_secret_clientCredentials').fill(client_secret);
    await oauth.getByRole('button', { name: 'Apply' }).click();
    await dialog.getByRole('button', { name: 'Remove authorization' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    expect(await tryOut(page, '/api/orders/list')).toContain('"orders"');
    expect(problems).toEqual([]);
  },
);
