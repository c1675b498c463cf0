/** Signing in, in a real browser. Skipped where no Chromium is installed; the gate installs it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  browserBinary,
  expectAccessible,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('sign-in-page: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

test.skipIf(browserBinary === undefined)(
  'a new owner sets the password with the one-time link, is signed in, signs out and in again',
  async () => {
    const made = await harness.command(
      ...[
        'user',
        'create',
        '--email',
        'Ada@Example.com',
        '--role',
        'owner',
        '--restaurant',
        harness.restaurants[0] ?? '',
      ],
    );
    const { page, context, problems } = await harness.open();
    await page.goto((made.link ?? '').replace(/^http:\/\/[^/]+/, harness.url));
    await expectAccessible(page);
    await takeScreenshots(page, 'set-password');
    await page.getByLabel('New password', { exact: true }).fill('correct horse battery');
    await page.getByLabel('Repeat the new password').fill('correct horse battery');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${harness.url}/panel`);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Overview');
    const cookie = (await context.cookies()).find(({ name }) => name === '__Host-orderpass');
    expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: 'Lax', path: '/' });
    await expectAccessible(page);
    await takeScreenshots(page, 'overview');
    await openAccountMenu(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${harness.url}/panel/sign-in`);
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill('not the password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toBe(
      'The email or password is wrong, or the account is disabled.',
    );
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${harness.url}/panel`);
    expect(problems).toEqual([]);
  },
);
