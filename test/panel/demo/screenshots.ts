/**
 * Pictures of every page of the panel, with the demo data: `npm run screenshots -- [folder] [--readme]`. Default folder:
 * test/artefacts/panel, outside of git. With `--readme` only the two pictures of README.md are made, in src/panel/view/pictures.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { allPages } from '#src/panel/pages.ts';
import { makeDataDir, type RunningProgram, root, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { crawl } from '../harness/crawl.ts';
import { cookieOf, password } from './cookie-of.ts';

const roles = ['admin', 'owner', 'support', 'security'] as const;
type Role = (typeof roles)[number];

const widths = [390, 1280] as const;
const languages = ['en', 'it'] as const;
/** Of each page of these paths there is a dark picture too. */
const dark = [
  '',
  '/restaurants/:restaurant/orders',
  '/restaurants/:restaurant/webhooks/:endpoint',
  '/security/charts',
  '/clients/:client',
];

const browserBinary = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

type Account = { email: string; cookie: string };

const makeAccount = async (program: RunningProgram, env: Record<string, string>, role: Role): Promise<Account> => {
  const restuid = /\((rst_\w+)\)/.exec(program.output())?.[1] ?? '';
  const email = `${role}@trattoria.example`;
  const owned = role === 'owner' ? ['--restaurant', restuid] : [];
  const made = await runJson(['user', 'create', '--email', email, '--role', role, ...owned], env);
  return { email, cookie: await cookieOf(program.url, made.link ?? '', email) };
};

const openPage = async (browser: Browser, program: RunningProgram, { email }: Account): Promise<Page> => {
  const context = await browser.newContext();
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  await page.goto(`${program.url}/panel/sign-in`);
  await page.locator('input[name=email]').fill(email);
  await page.locator('input[name=password]').fill(password);
  await page.locator('input[name=password]').press('Enter');
  await page.waitForURL(`${program.url}/panel`);
  return page;
};

const speak = async (page: Page, program: RunningProgram, language: string): Promise<void> => {
  await page.goto(`${program.url}/panel`);
  const csrf = await page.locator('input[name=csrf]').first().inputValue();
  const headers = { origin: program.url };
  await page.request.post(`${program.url}/panel/language`, { form: { csrf, language }, headers });
};

const fileOf = (path: string): string => path.replaceAll(/[/:]+/g, '-').replace(/^-|-$/g, '') || 'start';

const takeAll = async (browser: Browser, program: RunningProgram, env: Record<string, string>, folder: string) => {
  for (const role of roles) {
    const account = await makeAccount(program, env, role);
    const mine = allPages.filter((page) => page.roles.includes(role));
    const found = await crawl(program.url, account.cookie, mine);
    const page = await openPage(browser, program, account);
    mkdirSync(join(folder, role), { recursive: true });
    for (const language of languages) {
      await speak(page, program, language);
      for (const [path, address] of found) {
        await page.emulateMedia({ colorScheme: 'light' });
        await page.setViewportSize({ width: widths[0], height: 900 });
        await page.goto(`${program.url}${address}`);
        for (const width of widths)
          for (const colorScheme of dark.includes(path) ? (['light', 'dark'] as const) : (['light'] as const)) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize({ width, height: 900 });
            const name = `${fileOf(path)}-${width}-${language}${colorScheme === 'dark' ? '-dark' : ''}.png`;
            await page.screenshot({ path: join(folder, role, name), fullPage: true });
          }
      }
      process.stdout.write(`${role} ${language}: ${found.size} pages\n`);
    }
    await page.context().close();
  }
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
  const folder = resolve(args.find((one) => !one.startsWith('--')) ?? join(root, 'test/artefacts/panel'));
  const data = makeDataDir();
  const env = { ORDERPASS_DATA_DIR: data.path };
  const program = await startProgram(env, root, ['--demo-data']);
  await until(() => program.output().includes('/demo/receiver\n'));
  const browser = await chromium.launch({ executablePath: browserBinary, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    if (args.includes('--readme')) await takeForReadme(browser, program, env);
    else await takeAll(browser, program, env, folder);
  } finally {
    await browser.close();
    await program.stop();
    data.remove();
  }
};

await main(process.argv.slice(2));
