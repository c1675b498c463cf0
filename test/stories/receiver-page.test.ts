/** The one page of the demo in a real browser. Skipped where no Chromium is installed; the gate installs it. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { browserBinary, launchBrowser } from '../support/browser.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

if (browserBinary === undefined) process.stderr.write('receiver-page: skipped, no Chromium is installed\n');

const data = makeDataDir();
let program: RunningProgram;
let browser: Browser;
let page: Page;
const problems: string[] = [];

beforeAll(async () => {
  if (browserBinary === undefined) return;
  program = await startProgram({ ORDERPASS_DATA_DIR: data.path });
  await until(() => program.output().includes('/demo/receiver\n'));
  const order = /^curl -s (\S+order\/create) -H 'X-Client-Id: (\S+)' -H 'X-Client-Secret: (\S+)' .* -d '(.*)'$/m.exec(
    program.output(),
  );
  const [, url = '', id = '', secret = '', body = ''] = order ?? [];
  const headers = { 'x-client-id': id, 'x-client-secret': secret, 'content-type': 'application/json' };
  // A name that would run as a script on a page that does not escape.
  const hostile = body.replace('"first_name":"Ada"', '"first_name":"<script>alert(1)</script>"');
  expect((await fetch(url, { method: 'POST', headers, body: hostile })).status).toBe(200);
  await until(async () => {
    const { deliveries } = (await (await fetch(`${program.url}/demo/receiver/deliveries`)).json()) as {
      deliveries: unknown[];
    };
    return deliveries.length === 3;
  });
  browser = await launchBrowser();
  page = await browser.newPage({ viewport: { width: 360, height: 640 } });
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(`${program.url}/demo/receiver`);
});

afterAll(async () => {
  await browser?.close();
  await program?.stop();
  data.remove();
});

test.skipIf(browserBinary === undefined)('a narrow screen shows the webhooks without scrolling sideways', async () => {
  expect(await page.locator('summary').count()).toBe(3);
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(overflow).toBe(0);
});

test.skipIf(browserBinary === undefined)(
  'the keyboard alone opens a webhook and shows its body and its signature',
  async () => {
    const first = page.locator('details').first();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await until(() => first.evaluate((element) => element.hasAttribute('open')));
    expect(await first.locator('pre').innerText()).toContain('"event"');
    expect(await first.locator('summary').innerText()).toContain('signature valid');
  },
);

test.skipIf(browserBinary === undefined)(
  'what a sender wrote is shown as text, and the page breaks no rule of its policy',
  async () => {
    expect(await page.locator('main script').count()).toBe(0);
    expect(await page.content()).toContain('&lt;script&gt;alert(1)');
    expect(problems.filter((text) => !text.includes('favicon'))).toEqual([]);
  },
);
