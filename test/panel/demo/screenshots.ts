/**
 * Pictures of every page of the panel, with the demo data: `npm run screenshots -- [folder] [--readme]`. Default folder:
 * test/artefacts/panel, outside of git. With `--readme` only the two pictures of README.md are made, in src/panel/pictures.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { allPages } from '#src/panel/pages.ts';
import { makeDataDir, type RunningProgram, root, runJson, startProgram } from '../../support/program.ts';
import { crawl } from '../harness/crawl.ts';

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
const password = 'a long password of the pictures';

const browserBinary = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

const asForm = (origin: string, fields: Record<string, string>) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
  body: new URLSearchParams(fields),
  redirect: 'manual' as const,
});

/** Makes an account and signs it in; returns its cookies. */
const signIn = async (program: RunningProgram, env: Record<string, string>, role: Role): Promise<string[]> => {
  const restuid = /\((rst_\w+)\)/.exec(program.output())?.[1] ?? '';
  const email = `${role}@trattoria.example`;
  const owned = role === 'owner' ? ['--restaurant', restuid] : [];
  const made = await runJson(['user', 'create', '--email', email, '--role', role, ...owned], env);
  const link = new URL(made.link ?? '');
  const token = link.searchParams.get('token') ?? '';
  await fetch(`${program.url}${link.pathname}`, asForm(program.url, { token, password, again: password }));
  const answer = await fetch(`${program.url}/panel/sign-in`, asForm(program.url, { email, password }));
  if (answer.status !== 303) throw new Error(`${email} could not sign in: ${answer.status}`);
  return answer.headers.getSetCookie().map((text) => text.split(';', 1)[0] ?? '');
};

const openPage = async (browser: Browser, program: RunningProgram, cookies: readonly string[]): Promise<Page> => {
  const context = await browser.newContext({ deviceScaleFactor: 1 });
  context.setDefaultTimeout(120_000);
  await context.addCookies(
    cookies.map((text) => {
      const [name = '', value = ''] = text.split(/=(.*)/s);
      return { name, value, url: program.url };
    }),
  );
  return context.newPage();
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
    const cookies = await signIn(program, env, role);
    const mine = allPages.filter((page) => page.roles.includes(role));
    const found = await crawl(program.url, cookies.join('; '), mine);
    const page = await openPage(browser, program, cookies);
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
  const folder = join(root, 'src/panel/pictures');
  mkdirSync(folder, { recursive: true });
  const pictures = [
    ['support', '/restaurants/:restaurant/orders', 'orders.png', 'light'],
    ['admin', '/security/charts', 'charts.png', 'dark'],
  ] as const;
  for (const [role, path, file, colorScheme] of pictures) {
    const cookies = await signIn(program, env, role);
    const address = (await crawl(program.url, cookies.join('; '), allPages)).get(path);
    if (address === undefined) throw new Error(`no link leads to ${path}`);
    const page = await openPage(browser, program, cookies);
    await speak(page, program, 'en');
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${program.url}${address}`);
    await page.screenshot({ path: join(folder, file) });
    process.stdout.write(`${join('src/panel/pictures', file)}\n`);
  }
};

const main = async (args: readonly string[]): Promise<void> => {
  if (browserBinary === undefined) throw new Error('no Chromium is installed');
  const folder = resolve(args.find((one) => !one.startsWith('--')) ?? join(root, 'test/artefacts/panel'));
  const data = makeDataDir();
  const env = { ORDERPASS_DATA_DIR: data.path };
  const program = await startProgram(env, root, ['--demo-data']);
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
