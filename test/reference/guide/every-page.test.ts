/** Each page of the guide in a real browser, for `npm run test:pages`. Skipped where no Chromium is installed. */
import { expect, test } from 'vitest';
import { expectAccessible } from '../../panel/harness/panel-harness.ts';
import { browserBinary, launchBrowser } from '../../support/browser.ts';
import { startGatewayAlone } from '../gateway-alone.ts';
import { createRead, findPages } from './read-guide.ts';

if (browserBinary === undefined) process.stderr.write('guide: skipped, no Chromium is installed\n');

test.skipIf(browserBinary === undefined)(
  'A-483 axe finds nothing on any page that can be reached from /docs, in both colours',
  async () => {
    const gateway = await startGatewayAlone();
    const browser = await launchBrowser();
    try {
      const found = await findPages(createRead(gateway.url));
      const paths = [...found].filter(([, { type }]) => type.startsWith('text/html')).map(([path]) => path);
      expect(paths.length).toBeGreaterThan(60);
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      page.setDefaultTimeout(40_000);
      const wrong: string[] = [];
      for (const path of paths) {
        await page.goto(gateway.url + path);
        if (path === '/docs/reference') await page.locator('.opblock').first().waitFor();
        await expectAccessible(page).catch((error: Error) => wrong.push(`${path}: ${error.message}`));
      }
      expect(wrong).toEqual([]);
    } finally {
      await browser.close();
      await gateway.stop();
    }
  },
  300_000,
);
