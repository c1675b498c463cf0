/**
 * A page as people with a phone, a wide screen, and a dark or a light one have it: nothing for axe to say, and pictures
 * of it.
 */
import type { Page } from 'playwright-core';
import { expectAccessible, takeScreenshots } from './panel-harness.ts';

export const checkPage = async (page: Page, name: string): Promise<void> => {
  const before = page.viewportSize();
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await expectAccessible(page);
  }
  if (before !== null) await page.setViewportSize(before);
  await takeScreenshots(page, name);
};
