/** A page as people with a phone, a wide screen, and a dark or a light one have it: nothing for axe to say, and pictures of it. */
import type { Page } from 'playwright-core';
import { expectAccessible, takeScreenshots } from './panel-stand.ts';

export const checkPage = async (page: Page, name: string): Promise<void> => {
  const before = page.viewportSize();
  for (const [width, colorScheme] of [
    [360, 'dark'],
    [1440, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await expectAccessible(page);
  }
  await page.emulateMedia({ colorScheme: null });
  if (before !== null) await page.setViewportSize(before);
  await takeScreenshots(page, name);
};
