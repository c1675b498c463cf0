/** The guide in a real browser; `every-page.test.ts` opens all of its pages. Skipped where no Chromium is installed; the gate installs it. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { expectAccessible } from '../../panel/harness/panel-harness.ts';
import { browserBinary, launchBrowser } from '../../support/browser.ts';
import { until } from '../../support/until.ts';
import { startGatewayAlone } from '../gateway-alone.ts';

if (browserBinary === undefined) process.stderr.write('guide: skipped, no Chromium is installed\n');

let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;
let browser: Browser;
let page: Page;
/** Errors that the browser reported, violations of the content security policy included. */
let problems: string[];

beforeAll(async () => {
  if (browserBinary === undefined) return;
  gateway = await startGatewayAlone();
  browser = await launchBrowser();
});

const open = async (path: string, options: BrowserContextOptions): Promise<void> => {
  const context = await browser.newContext(options);
  page = await context.newPage();
  page.setDefaultTimeout(40_000);
  problems = [];
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(gateway.url + path);
};

afterEach(() => page?.context().close());

afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

const overflow = (): Promise<unknown> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

const phone = { viewport: { width: 320, height: 640 } };
const desk = { viewport: { width: 1280, height: 800 } };

const examples = [
  '/docs',
  '/docs/webhooks',
  '/docs/errors',
  '/docs/events/order.new',
  '/docs/operate/settings',
  '/docs/search?q=token',
];

test.skipIf(browserBinary === undefined)(
  'A-327 axe finds nothing at 320 and 1280 px in light and dark colours',
  async () => {
    await open('/docs', phone);
    for (const path of examples) {
      await page.goto(gateway.url + path);
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await expectAccessible(page);
      }
    }
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)('A-327 no page scrolls sideways between 320 and 1920 px', async () => {
  await open('/docs', phone);
  for (const path of [...examples, '/docs/operate/routes', '/docs/callers', '/docs/secure/gateway']) {
    await page.goto(gateway.url + path);
    for (const width of [320, 360, 768, 900, 1200, 1280, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      expect([path, width, await overflow()]).toEqual([path, width, 0]);
    }
  }
});

test.skipIf(browserBinary === undefined)(
  'A-328 without scripts the menu of a phone opens, tabs change by the keyboard, and the search answers',
  async () => {
    await open('/docs/webhooks', { ...phone, javaScriptEnabled: false });
    const menu = page.locator('.menu nav');
    expect(await menu.isVisible()).toBe(false);
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Skip to the content');
    await page.locator('.menu summary').focus();
    await page.keyboard.press('Enter');
    await menu.getByRole('link', { name: 'Orders', exact: true }).waitFor();
    await page.keyboard.press('Enter');

    const tabs = page.locator('.tabs').first();
    const shown = () => tabs.locator('.tab:visible code');
    expect(await shown().count()).toBe(1);
    expect(await shown().innerText()).toContain('node:crypto');
    await tabs.getByRole('radio', { name: 'Node' }).focus();
    await page.keyboard.press('ArrowRight');
    await until(async () => (await shown().innerText()).includes('hashlib'));
    expect(await tabs.getByRole('radio', { name: 'Python' }).isChecked()).toBe(true);

    await page.getByRole('searchbox').fill('rotate secret');
    await page.keyboard.press('Enter');
    await page.locator('main .results a').first().waitFor();
    expect(page.url()).toContain('/docs/search?q=rotate+secret');
    expect(await page.getByRole('searchbox').inputValue()).toBe('rotate secret');
  },
);

test.skipIf(browserBinary === undefined)(
  'A-328 each tab of a printed page is shown with its language, and the navigation is not',
  async () => {
    await open('/docs/webhooks', desk);
    await page.emulateMedia({ media: 'print' });
    const tabs = page.locator('.tabs').first();
    expect(await tabs.locator('.tab:visible').count()).toBe(await tabs.locator('.tab').count());
    expect(await tabs.locator('.tab-title', { hasText: 'PHP' }).isVisible()).toBe(true);
    expect(await page.locator('header, .side, .contents').locator('visible=true').count()).toBe(0);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-329 with scripts / moves to the search, results come while words are typed, and the keyboard opens one',
  async () => {
    await open('/docs', desk);
    await page.keyboard.press('/');
    await page.keyboard.type('idempotency');
    const results = page.locator('.search-results .results a');
    await results.first().waitFor();
    await expectAccessible(page);
    await page.keyboard.press('ArrowDown');
    expect(await page.locator(':focus').getAttribute('href')).toMatch(/^\/docs\/idempotency/);
    await page.keyboard.press('Escape');
    expect(await results.first().isVisible()).toBe(false);
    await page.getByRole('searchbox').fill('<img src=x>');
    await page.locator('.search-results', { hasText: 'result' }).waitFor();
    expect(await page.locator('.search-results img').count()).toBe(0);
    await page.getByRole('searchbox').fill('orders list');
    await page.locator('.search-results a', { hasText: 'GET /api/orders/list' }).click();
    await page.locator('.opblock.is-open [data-path="/api/orders/list"]').waitFor();
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-329 every code block has a button that copies exactly its text',
  async () => {
    await open('/docs/webhooks', { ...desk, permissions: ['clipboard-read', 'clipboard-write'] });
    const boxes = page.locator('.code');
    expect(await page.locator('.code > .copy').count()).toBe(await boxes.count());
    const box = page.locator('.tab .code').first();
    await box.getByRole('button', { name: 'Copy' }).click();
    await box.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await box.locator('code').innerText());
    expect(problems).toEqual([]);
  },
);
