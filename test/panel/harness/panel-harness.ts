/**
 * The real program with a panel, users of each role and a browser, for the tests of every area. Tests of pages skip where
 * `browserBinary` is undefined, since no Chromium is installed.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { launchBrowser } from '../../support/browser.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { makeDataDir, type RunningProgram, root, runJson, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { violationsOf } from './axe.ts';

export { browserBinary } from '../../support/browser.ts';

export type Role = 'owner' | 'support' | 'security' | 'admin' | 'contact';

export type HarnessUser = { userId: string; email: string; password: string; link: string };

export type SignedInBrowser = {
  context: BrowserContext;
  page: Page;
  /** What the content policy was broken by, and errors of scripts: must stay empty. */
  problems: string[];
};

export type PanelHarness = Awaited<ReturnType<typeof startPanelHarness>>;

let browser: Promise<Browser> | undefined;

/** One for all files of this process, since a start costs more than most tests; each profile is alone. It ends with the process. */
const sharedBrowser = async (): Promise<Browser> => {
  const last = browser;
  const isThere = last === undefined || (await last.then((started) => started.isConnected()).catch(() => false));
  if (!isThere && browser === last) browser = undefined;
  browser ??= launchBrowser();
  return browser;
};

const passwordOf = (email: string): string => `a long password of ${email}`;

/** One database, one program; `restaurants` lists two restaurants, of which owners made by `user` have the first. */
export const startPanelHarness = async (env: Record<string, string> = {}) => {
  const database: TestDatabase = await createTestDatabase();
  const data = makeDataDir();
  const settings = {
    ORDERPASS_DATA_DIR: data.path,
    ORDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATABASE_URL: database.url,
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
    ...env,
  };
  const program: RunningProgram = await startProgram(settings);
  const command = (...args: string[]) => runJson(args, settings);
  const restaurants: string[] = [];
  for (const name of ['Osteria Uno', 'Trattoria Due'])
    restaurants.push((await command('restaurant', 'create', '--name', name)).restuid ?? '');
  const contexts: BrowserContext[] = [];
  let count = 0;

  /** A user with a password, made as people make them: command line, then one-time link. `of`: restaurants, or the clients of a contact. */
  const user = async (role: Role, of: readonly string[] = restaurants.slice(0, 1)): Promise<HarnessUser> => {
    count += 1;
    const email = `${role}${count}@example.com`;
    const option = role === 'owner' ? '--restaurant' : role === 'contact' ? '--client' : undefined;
    const owned = option === undefined ? [] : of.flatMap((id) => [option, id]);
    const made = await command('user', 'create', '--email', email, '--role', role, ...owned);
    const link = new URL(made.link ?? '');
    const password = passwordOf(email);
    const answer = await fetch(`${program.url}${link.pathname}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: program.url },
      body: new URLSearchParams({ token: link.searchParams.get('token') ?? '', password, again: password }),
      redirect: 'manual',
    });
    expect(answer.status).toBe(303);
    return { userId: made.user_id ?? '', email, password, link: made.link ?? '' };
  };

  /** Session cookie of a user, for calls without a browser. */
  const cookieOf = async ({ email, password }: Pick<HarnessUser, 'email' | 'password'>): Promise<string> => {
    const answer = await fetch(`${program.url}/panel/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: program.url },
      body: new URLSearchParams({ email, password }),
      redirect: 'manual',
    });
    expect(answer.status).toBe(303);
    return answer.headers
      .getSetCookie()
      .map((text) => text.split(';', 1)[0])
      .join('; ');
  };

  /** A new browser profile. */
  const open = async (options: Parameters<Browser['newContext']>[0] = {}): Promise<SignedInBrowser> => {
    const context = await (await sharedBrowser()).newContext({ viewport: { width: 1440, height: 900 }, ...options });
    // Only what hangs meets it, also on a machine that has other work.
    context.setDefaultTimeout(120_000);
    contexts.push(context);
    const problems: string[] = [];
    await context.exposeFunction('reportViolation', (text: string) => problems.push(text));
    await context.addInitScript(
      `addEventListener('securitypolicyviolation', (event) =>
        reportViolation('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`,
    );
    const page = await context.newPage();
    page.on('pageerror', (error) => problems.push(`script: ${error.message}`));
    return { context, page, problems };
  };

  /** A new browser profile in which the user is signed in. */
  const signIn = async (who: Pick<HarnessUser, 'email' | 'password'>, options: Parameters<typeof open>[0] = {}) => {
    const opened = await open(options);
    await opened.page.goto(`${program.url}/panel/sign-in`);
    await opened.page.getByLabel('Email').fill(who.email);
    await opened.page.getByLabel('Password', { exact: true }).fill(who.password);
    await opened.page.getByRole('button', { name: 'Sign in' }).click();
    await opened.page.waitForURL(`${program.url}/panel`);
    return opened;
  };

  return {
    program,
    database,
    settings,
    url: program.url,
    restaurants,
    command,
    user,
    cookieOf,
    open,
    signIn,
    close: async (): Promise<void> => {
      for (const context of contexts) await context.close();
      await program.stop();
      await database.drop();
      data.remove();
    },
  };
};

/** On a wide screen; on a phone what it holds is in the menu of the page. */
export const openAccountMenu = (page: Page): Promise<void> => page.locator('.account-button').click();

export type ColorScheme = 'light' | 'dark';

/** Fails with what axe finds on the page as it is now, by default in its light and its dark colours. */
export const expectAccessible = async (
  page: Page,
  schemes: readonly ColorScheme[] = ['light', 'dark'],
): Promise<void> => {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    // A part of a page that is fetched again is paler for a moment; what is wrong stays wrong.
    let found = ['axe did not run'];
    const isClean = async (): Promise<boolean> => {
      found = await violationsOf(page);
      return found.length === 0;
    };
    await until(isClean, 30_000).catch(() => undefined);
    expect(found, colorScheme).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null });
};

const artefacts = join(root, 'test/artefacts');

/**
 * The page at 360 and at 1440 pixels, in light and dark: no width may need sideways scrolling. With TEST_PICTURES=on as files
 * outside of git too; pictures of long pages take seconds.
 */
export const takeScreenshots = async (page: Page, name: string): Promise<void> => {
  const isKept = process.env.TEST_PICTURES === 'on';
  if (isKept) mkdirSync(artefacts, { recursive: true });
  const before = page.viewportSize();
  for (const width of [360, 1440]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow, `${name} at ${width} px scrolls sideways`).toBe(0);
      if (isKept)
        await page.screenshot({ path: join(artefacts, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
  }
  await page.emulateMedia({ colorScheme: null });
  if (before !== null) await page.setViewportSize(before);
};
