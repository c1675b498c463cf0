/** A page that takes long says so. Skipped where no Chromium is installed. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { browserBinary, expectAccessible, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('progress: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

/** The next answers from the address wait until the returned function is called. */
const hold = async (page: Page, address: RegExp): Promise<() => Promise<void>> => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(address, async (route) => {
    await held;
    await route.continue();
  });
  return async () => {
    release();
    await page.unroute(address);
  };
};

/** Milliseconds between `event` and the bar. */
const observe = (page: Page, event: string): Promise<unknown> =>
  page.evaluate(`addEventListener('${event}', () => { window.began = performance.now(); }, true);
    new MutationObserver(() => { window.shownAfter ??= performance.now() - window.began; })
      .observe(document.body, { attributes: true, attributeFilter: ['data-busy'] });`);

test.skipIf(browserBinary === undefined)(
  'A-477 a bar appears when a page or a part of it takes longer than 300 ms, goes when it has come, and stands still for a reader who wants no motion',
  async () => {
    const { page, problems } = await harness.signIn(await harness.user('admin'));
    // A locator would wait for the end of the navigation.
    const isBusy = (): Promise<boolean> => page.evaluate(`document.body.hasAttribute('data-busy')`);
    await page.goto(`${harness.url}/panel/clients`);
    await observe(page, 'beforeunload');
    const showNext = await hold(page, /\/panel\/clients\/new$/);
    await page.locator('a[href="/panel/clients/new"]').first().click({ noWaitAfter: true });
    await until(isBusy);
    // Timers are as exact as a millisecond.
    expect(await page.evaluate('window.shownAfter')).toBeGreaterThanOrEqual(299);
    const animation = `getComputedStyle(document.body, '::before').animationName`;
    expect(await page.evaluate(animation)).toBe('busy');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await page.evaluate(animation)).toBe('none');
    await page.emulateMedia({ reducedMotion: null });
    await showNext();
    await page.waitForURL(`${harness.url}/panel/clients/new`);
    expect(await isBusy()).toBe(false);

    await observe(page, 'htmx:beforeRequest');
    const showPart = await hold(page, /\/panel\/support\/restaurant-choice$/);
    await page.locator('input[type=search][name=search]').fill('trattoria');
    await until(isBusy);
    expect(await page.evaluate('window.shownAfter')).toBeGreaterThanOrEqual(299);
    await expectAccessible(page);
    await showPart();
    await page.getByText('Trattoria Due').waitFor();
    await until(async () => !(await isBusy()));
    expect(problems).toEqual([]);
  },
);
