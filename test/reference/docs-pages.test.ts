/** The reference in a real browser. Skipped where no Chromium is installed; the gate installs it. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { faultCodes } from '#src/contract/fault.ts';
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { describedEvents } from '#src/ordering/index.ts';
import { expectAccessible } from '../panel/harness/panel-harness.ts';
import { browserBinary, launchBrowser } from '../support/browser.ts';
import { until } from '../support/until.ts';
import { startGatewayAlone } from './gateway-alone.ts';

if (browserBinary === undefined) process.stderr.write('docs-pages: skipped, no Chromium is installed\n');

const { routes } = readRouteTable(routesFileOf({}));
let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;
let browser: Browser;
let page: Page;
/** Errors that the browser reported, violations of the content security policy included. */
let problems: string[];
let asked: string[];

beforeAll(async () => {
  if (browserBinary === undefined) return;
  gateway = await startGatewayAlone();
  browser = await launchBrowser();
});

beforeEach(async () => {
  if (browserBinary === undefined) return;
  page = await browser.newPage({ viewport: { width: 360, height: 640 } });
  page.setDefaultTimeout(40_000);
  problems = [];
  asked = [];
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => asked.push(request.url()));
});

afterEach(() => page?.close());

afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
});

const overflow = (): Promise<unknown> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

const background = (): Promise<string> =>
  page.evaluate(
    'getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color',
  );

const foreign = (): string[] => asked.filter((url) => !url.startsWith(`${gateway.url}/`) && !url.startsWith('data:'));

const operation = (path: string) => page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) });

const openViewer = async (): Promise<void> => {
  await page.goto(`${gateway.url}/docs/reference`);
  await page.locator('.opblock').first().waitFor();
};

test.skipIf(browserBinary === undefined)(
  'A-047 the viewer shows every operation and every webhook, breaks no rule of its policy and asks no other host',
  async () => {
    const response = await page.goto(`${gateway.url}/docs/reference`);
    const policy = (await response?.allHeaders())?.['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'self';");
    expect(policy).not.toContain('unsafe');
    await page.locator('.opblock').first().waitFor();
    const shown = await page.locator('.opblock-summary-path').allInnerTexts();
    const paths = shown.map((text) => text.replaceAll('\u200b', ''));
    for (const { path } of routes) expect(paths).toContain(path);
    for (const { event } of describedEvents) expect(paths).toContain(event);
    const open = operation('/api/order/create');
    await open.locator('button').first().click();
    await open.locator('text=PRODUCT_NOT_AVAILABLE').first().waitFor();
    expect(await open.innerText()).toContain('write:orders');
    expect(problems).toEqual([]);
    expect(asked.length).toBeGreaterThan(4);
    expect(foreign()).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'a phone of 360 px reads the reference and the error codes without scrolling sideways',
  async () => {
    await openViewer();
    expect(await overflow()).toBe(0);
    const open = operation('/api/order/create');
    await open.locator('button').first().click();
    await open.locator('.responses-wrapper').waitFor();
    expect(await overflow()).toBe(0);
    await page.goto(`${gateway.url}/docs/errors`);
    expect(await overflow()).toBe(0);
  },
);

test.skipIf(browserBinary === undefined)('the pages follow a light and a dark screen', async () => {
  for (const path of ['/docs', '/docs/reference', '/docs/errors', '/docs/changelog']) {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(gateway.url + path);
    const light = await background();
    await page.emulateMedia({ colorScheme: 'dark' });
    await until(async () => (await background()) !== light);
  }
});

test.skipIf(browserBinary === undefined)(
  'A-483 credentials are typed into password fields, and a tried operation sends them and shows its answer',
  async () => {
    await openViewer();
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const dialog = page.locator('.modal-ux');
    await dialog.waitFor();
    // Ids of clients are public.
    const isPublic = (id: string | null): boolean => /^(?:client_id_|auth-basic-username$)/.test(id ?? '');
    const fields = await dialog.locator('input:not([type=checkbox])').all();
    const plain: (string | null)[] = [];
    for (const field of fields)
      if ((await field.getAttribute('type')) !== 'password') plain.push(await field.getAttribute('id'));
    for (const id of plain) expect([id, isPublic(id)]).toEqual([id, true]);
    expect(fields.length - plain.length).toBeGreaterThan(2);
    const byKey = dialog.locator('.auth-container', { hasText: 'X-Api-Key' });
    await byKey.locator('input[type=password]').fill('opk_typed');
    await byKey.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.locator('.close-modal').click();
    const tried = operation('/api/whoami');
    await tried.locator('button').first().click();
    await tried.getByRole('button', { name: 'Try it out' }).click();
    const sent = page.waitForRequest(`${gateway.url}/api/whoami`);
    await tried.getByRole('button', { name: 'Execute' }).click();
    expect((await sent).headers()).toMatchObject({ 'x-api-key': 'opk_typed' });
    await tried.locator('.live-responses-table', { hasText: 'INVALID_KEY' }).waitFor();
    expect(foreign()).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-513 axe finds nothing in opened operations, their schemas and answers, and in the fields for credentials, in both colours',
  async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await openViewer();
    for (const path of ['/api/orders/list', '/api/order/create']) {
      const opened = operation(path);
      await opened.locator('button').first().click();
      await opened.getByRole('button', { name: 'Try it out' }).click();
      await opened.getByRole('button', { name: 'Execute' }).click();
      await opened.locator('.live-responses-table').waitFor();
      const schema = opened.locator('.responses-wrapper').getByText('Schema', { exact: true }).first();
      await schema.click();
      await opened.locator('.json-schema-2020-12').first().waitFor();
    }
    const hook = page.locator('.webhooks-container .opblock').first();
    await hook.locator('button').first().click();
    await hook.locator('.opblock-body').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    const byKey = page.locator('.modal-ux .auth-container', { hasText: 'X-Api-Key' });
    await byKey.locator('input[type=password]').fill('opk_typed');
    await expectAccessible(page);
    await byKey.getByRole('button', { name: 'Apply credentials' }).click();
    await byKey.getByRole('button', { name: 'Logout' }).waitFor();
    await expectAccessible(page);
    expect(foreign()).toEqual([]);
  },
  180_000,
);

test.skipIf(browserBinary === undefined)('the keyboard alone opens an operation of the reference', async () => {
  await openViewer();
  const control = operation('/api/orders/list').locator('button').first();
  for (let i = 0; i < 60; i += 1) {
    await page.keyboard.press('Tab');
    if (await control.evaluate((element) => element === element.ownerDocument.activeElement)) break;
  }
  await page.keyboard.press('Enter');
  await operation('/api/orders/list').locator('.responses-wrapper').waitFor();
});

test.skipIf(browserBinary === undefined)(
  'the keyboard alone reaches each anchor of the error codes, and a link to one shows it',
  async () => {
    await page.goto(`${gateway.url}/docs/errors`);
    const reached = new Set<string>();
    for (let i = 0; i < faultCodes.length + 60; i += 1) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate('document.activeElement.getAttribute("href") ?? ""'));
    }
    for (const code of faultCodes) expect([...reached]).toContain(`#${code}`);
    const last = faultCodes.at(-1) ?? '';
    await page.locator(`article ul a[href="#${last}"]`).focus();
    await page.keyboard.press('Enter');
    await until(async () => page.url().endsWith(`#${last}`));
    await until(() =>
      page.locator(`h4#${last}`).evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top < 640 && bottom > 0;
      }),
    );
    await page.goto(`${gateway.url}/docs/errors#invalid_token`);
    expect(await page.locator('h4:target').getAttribute('id')).toBe('invalid_token');
    expect(problems).toEqual([]);
    expect(foreign()).toEqual([]);
  },
);
