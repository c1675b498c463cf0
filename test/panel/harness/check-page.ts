/**
 * A page as people with a phone, a wide screen, and a dark or a light one have it: nothing for axe to say, and pictures
 * of it.
 */
import type { Page } from 'playwright-core';
import { type ColorScheme, expectAccessible, takeScreenshots } from './panel-harness.ts';

/** Each rule has its cause in one of these: the layouts of phones and of wide screens, a light screen and a dark one. */
const fewLooks: readonly [number, ColorScheme][] = [
  [320, 'light'],
  [1280, 'dark'],
];

/** `npm run test:pages` looks at the pages with the demo data at five widths; with its setting this does so too. */
const looks: readonly [number, ColorScheme][] =
  process.env.TEST_PAGES === 'on' ? [...fewLooks, [390, 'dark'], [768, 'light'], [1920, 'light']] : fewLooks;

export const checkPage = async (page: Page, name: string): Promise<void> => {
  const before = page.viewportSize();
  for (const [width, scheme] of looks) {
    await page.setViewportSize({ width, height: 900 });
    await expectAccessible(page, [scheme]);
  }
  if (before !== null) await page.setViewportSize(before);
  await takeScreenshots(page, name);
};
