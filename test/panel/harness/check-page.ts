/**
 * A page as people with a phone, a wide screen, and a dark or a light one have it: nothing for axe to say, and pictures
 * of it.
 */
import type { Page } from 'playwright-core';
import { type ColorScheme, expectAccessible, takeScreenshots } from './panel-harness.ts';

/** The layouts of phones and of wide screens each have both colours. */
const looks: readonly [number, ColorScheme][] = [
  [320, 'light'],
  [390, 'dark'],
  [768, 'light'],
  [1280, 'dark'],
  [1920, 'light'],
];

export const checkPage = async (page: Page, name: string): Promise<void> => {
  const before = page.viewportSize();
  for (const [width, scheme] of looks) {
    await page.setViewportSize({ width, height: 900 });
    await expectAccessible(page, [scheme]);
  }
  if (before !== null) await page.setViewportSize(before);
  await takeScreenshots(page, name);
};
