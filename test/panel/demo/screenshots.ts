/**
 * Pictures of every page of the panel, with the demo data: `npm run screenshots -- [folder [role…]] [--readme]`.
 * Default: all roles, into test/artefacts/panel, outside of git. With `--readme` only the two pictures of README.md are made, in src/panel/view/pictures.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { allPages } from '#src/panel/pages.ts';
import { browserBinary, launchBrowser } from '../../support/browser.ts';
import { makeDataDir, type RunningProgram, root, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { crawl } from '../harness/crawl.ts';
import { type Account, makeAccount, makeAccounts, type Role } from './accounts.ts';
import { openPage, speak } from './open-page.ts';

const languages = ['en', 'it'] as const;
type Language = (typeof languages)[number];

type Look = { width: number; colorScheme: 'light' | 'dark' };

/**
 * Every page on a phone and on a desk. Administrators and contacts together see every page: theirs are also taken in the dark,
 * and those of administrators at the least width that the panel supports.
 */
const looksOf = (role: Role, language: Language): readonly Look[] => {
  const both: readonly Look[] = [
    { width: 390, colorScheme: 'light' },
    { width: 1280, colorScheme: 'light' },
  ];
  if (language !== 'en' || (role !== 'admin' && role !== 'contact')) return both;
  const dark: Look = { width: 1280, colorScheme: 'dark' };
  return role === 'admin' ? [...both, dark, { width: 320, colorScheme: 'light' }] : [...both, dark];
};

const fileOf = (path: string): string => path.replaceAll(/[/:]+/g, '-').replace(/^-|-$/g, '') || 'start';

const takePage = async (page: Page, looks: readonly Look[], fileFor: (look: Look) => string): Promise<void> => {
  for (const look of looks) {
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await page.setViewportSize({ width: look.width, height: 900 });
    await page.screenshot({ path: fileFor(look), fullPage: true });
  }
};

const takeRole = async (browser: Browser, program: RunningProgram, role: Role, account: Account, folder: string) => {
  const mine = allPages.filter((page) => page.roles.includes(role));
  const found = await crawl(program.url, account.cookie, mine);
  const page = await openPage(browser, program, account);
  mkdirSync(join(folder, role), { recursive: true });
  for (const language of languages) {
    await speak(page, program, language);
    for (const [path, address] of found) {
      await page.goto(`${program.url}${address}`);
      await takePage(page, looksOf(role, language), ({ width, colorScheme }) =>
        join(folder, role, `${fileOf(path)}-${width}-${language}${colorScheme === 'dark' ? '-dark' : ''}.png`),
      );
    }
    process.stdout.write(`${role} ${language}: ${found.size} pages\n`);
  }
  await page.context().close();
};

/** All accounts are there before the first picture, so the lists of accounts show them. */
const takeAll = async (
  browser: Browser,
  program: RunningProgram,
  env: Record<string, string>,
  folder: string,
  wanted: readonly string[],
) => {
  for (const [role, account] of await makeAccounts(program, env))
    if (wanted.length === 0 || wanted.includes(role)) await takeRole(browser, program, role, account, folder);
};

/** Two pages, as an owner and a support person see them. */
const takeForReadme = async (browser: Browser, program: RunningProgram, env: Record<string, string>) => {
  const folder = join(root, 'src/panel/view/pictures');
  mkdirSync(folder, { recursive: true });
  const pictures = [
    ['support', '/restaurants/:restaurant/orders', 'orders.png', 'light'],
    ['admin', '/security/charts', 'charts.png', 'dark'],
  ] as const;
  for (const [role, path, file, colorScheme] of pictures) {
    const account = await makeAccount(program, env, role);
    const address = (await crawl(program.url, account.cookie, allPages)).get(path);
    if (address === undefined) throw new Error(`no link leads to ${path}`);
    const page = await openPage(browser, program, account);
    await speak(page, program, 'en');
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${program.url}${address}`);
    await page.screenshot({ path: join(folder, file) });
    process.stdout.write(`${join('src/panel/view/pictures', file)}\n`);
  }
};

const main = async (args: readonly string[]): Promise<void> => {
  if (browserBinary === undefined) throw new Error('no Chromium is installed');
  const [named, ...wanted] = args.filter((one) => !one.startsWith('--'));
  const folder = resolve(named ?? join(root, 'test/artefacts/panel'));
  const data = makeDataDir();
  const env = { ORDERPASS_DATA_DIR: data.path };
  const program = await startProgram(env, root, ['--demo-data']);
  await until(() => program.output().includes('/demo/receiver\n'));
  const browser = await launchBrowser();
  try {
    if (args.includes('--readme')) await takeForReadme(browser, program, env);
    else await takeAll(browser, program, env, folder, wanted);
  } finally {
    await browser.close();
    await program.stop();
    data.remove();
  }
};

await main(process.argv.slice(2));
