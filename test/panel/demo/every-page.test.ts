/**
 * Every page of the panel with the demo data, as each role sees it, in both languages, at five widths and in both colours. It takes
 * many minutes, so `npm run test:pages` runs it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPages, allPublicPages } from '#src/panel/pages.ts';
import { browserBinary, launchBrowser } from '../../support/browser.ts';
import { makeDataDir, type RunningProgram, root, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { violationsOf } from '../harness/axe.ts';
import { crawl } from '../harness/crawl.ts';
import { type Account, makeAccounts, type Role } from './accounts.ts';
import { openPage, speak } from './open-page.ts';

if (browserBinary === undefined) process.stderr.write('every page: skipped, no Chromium is installed\n');

const languages = ['en', 'it'] as const;
const widths = [320, 390, 768, 1280, 1920];
const schemes = ['light', 'dark'] as const;
const roles: readonly Role[] = ['admin', 'owner', 'support', 'security', 'contact'];
const probe = readFileSync(join(import.meta.dirname, '../harness/layout-probe.js'), 'utf8');

let data: ReturnType<typeof makeDataDir>;
let program: RunningProgram;
let browser: Browser;
let accounts: Map<Role, Account>;
/** The one-time link of a user who has not used it. */
let link: URL;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  data = makeDataDir();
  const env = { ORDERPASS_DATA_DIR: data.path };
  program = await startProgram(env, root, ['--demo-data']);
  await until(() => program.output().includes('/demo/receiver\n'));
  accounts = await makeAccounts(program, env);
  const invited = await runJson(['user', 'create', '--email', 'new@trattoria.example', '--role', 'support'], env);
  link = new URL(invited.link ?? '');
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await program?.stop();
  data?.remove();
});

/** A part of a page that is fetched again is paler for a moment; what is wrong stays wrong. */
const wrongOf = async (page: Page): Promise<string[]> => {
  let found = await violationsOf(page);
  for (let again = 0; again < 3 && found.length > 0; again += 1) {
    await page.waitForTimeout(500);
    found = await violationsOf(page);
  }
  return found;
};

/** The page that is open, at each width and in each of both colours. */
const lookAt = async (page: Page, wrong: string[], name: string): Promise<void> => {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const lain = (await page.evaluate(probe)) as string[];
    wrong.push(...lain.map((text) => `${name} at ${width} px: ${text}`));
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      const found = await wrongOf(page);
      wrong.push(...found.map((text) => `${name} at ${width} px, ${colorScheme}: ${text}`));
    }
  }
};

test.skipIf(browserBinary === undefined).each(roles)(
  'A-580 axe and the layout are clean on every page of the demo, in both languages and colours, from 320 to 1920 px: %s',
  async (role) => {
    const account = accounts.get(role);
    if (account === undefined) throw new Error(`no account is ${role}`);
    const mine = allPages.filter((page) => page.roles.includes(role));
    const found = await crawl(program.url, account.cookie, mine);
    expect(found.size).toBeGreaterThan(10);
    const page = await openPage(browser, program, account);
    const wrong: string[] = [];
    for (const language of languages) {
      await speak(page, program, language);
      for (const [path, address] of found) {
        await page.goto(`${program.url}${address}`);
        expect(await page.locator('html').getAttribute('lang')).toBe(language);
        await lookAt(page, wrong, `${language} ${path}`);
      }
    }
    await page.context().close();
    expect(wrong).toEqual([]);
  },
  3_600_000,
);

test.skipIf(browserBinary === undefined)(
  'A-580 axe and the layout are clean on every page that needs no session, in both languages and colours, from 320 to 1920 px',
  async () => {
    const open = allPublicPages.filter(({ method, path }) => method === 'GET' && !/\/(provider|return)$/.test(path));
    expect(open.length).toBeGreaterThan(2);
    const page = await browser.newPage();
    const wrong: string[] = [];
    for (const language of languages) {
      await page.setExtraHTTPHeaders({ 'accept-language': language });
      for (const { path } of open) {
        await page.goto(`${program.url}/panel${path}${path === '/link' ? link.search : ''}`);
        expect(await page.locator('html').getAttribute('lang')).toBe(language);
        await lookAt(page, wrong, `${language} ${path}`);
      }
    }
    await page.close();
    expect(wrong).toEqual([]);
  },
  600_000,
);
