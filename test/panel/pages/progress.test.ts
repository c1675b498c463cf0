/** A bar on a page that takes long. Skipped where no Chromium is installed. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { browserBinary, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('progress: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

type Shown = { ms: number; animation: string };

/**
 * The next answer from the address waits until the bar is shown, which the page reports by itself: a locator would wait for the
 * end of the navigation. `event`: from when on the time counts.
 */
const holdUntilBar = async (page: Page, address: RegExp, event: string): Promise<Shown[]> => {
  const seen: Shown[] = [];
  const name = `reportBar_${event.replaceAll(/\W/g, '_')}`;
  await page.exposeFunction(name, (ms: number, animation: string) => seen.push({ ms, animation }));
  await page.route(address, async (route) => {
    await until(() => seen.length > 0);
    await route.continue();
  });
  await page.evaluate(`{
    let began = 0;
    addEventListener('${event}', () => { began = performance.now(); }, true);
    new MutationObserver(() => {
      if (document.body.hasAttribute('data-busy'))
        ${name}(performance.now() - began, getComputedStyle(document.body, '::before').animationName);
    }).observe(document.body, { attributes: true, attributeFilter: ['data-busy'] });
  }`);
  return seen;
};

/** Timers of a browser are as exact as a millisecond. */
const leastMs = 299;

test.skipIf(browserBinary === undefined)(
  'A-477 a bar appears when a page or a part of it takes longer than 300 ms, goes when it has come, and stands still for a reader who wants no motion',
  async () => {
    const { page, problems } = await harness.signIn(await harness.user('admin'));
    await page.goto(`${harness.url}/panel/clients`);
    const ofPage = await holdUntilBar(page, /\/panel\/clients\/new$/, 'beforeunload');
    await page.locator('a[href="/panel/clients/new"]').first().click();
    await page.waitForURL(`${harness.url}/panel/clients/new`);
    expect(ofPage).toEqual([{ ms: expect.any(Number), animation: 'busy' }]);
    expect(ofPage[0]?.ms).toBeGreaterThanOrEqual(leastMs);
    expect(await page.locator('body[data-busy]').count()).toBe(0);

    await page.emulateMedia({ reducedMotion: 'reduce' });
    const ofPart = await holdUntilBar(page, /\/panel\/support\/restaurant-choice$/, 'htmx:beforeRequest');
    await page.locator('input[type=search][name=search]').fill('trattoria');
    await page.locator('#restaurant-choice').getByText('Trattoria Due').waitFor();
    await page.locator('body:not([data-busy])').waitFor();
    expect(ofPart[0]?.animation).toBe('none');
    expect(ofPart[0]?.ms).toBeGreaterThanOrEqual(leastMs);
    expect(problems).toEqual([]);
  },
);
