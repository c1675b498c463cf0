/** The browser of the tests of pages. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/**
 * `undefined` where none is installed. The headless shell is the same engine without the windows of a desktop, and takes less of
 * the processor.
 */
export const browserBinary = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => existsSync(path));

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: browserBinary ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
