/** The other ways to sign in, in a real browser: one-time codes, and a provider on another site. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { clientId, clientSecret, type OpenidProvider, startOpenidProvider } from '../harness/openid-provider.ts';
import {
  browserBinary,
  expectAccessible,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('sign-in-ways: skipped, no Chromium is installed\n');

let provider: OpenidProvider;
let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  // By name, where the panel goes by number: two sites for a browser.
  provider = await startOpenidProvider('localhost');
  harness = await startPanelHarness({
    ORDERPASS_PANEL_OIDC_ISSUER: provider.issuer,
    ORDERPASS_PANEL_OIDC_CLIENT_ID: clientId,
    ORDERPASS_PANEL_OIDC_CLIENT_SECRET: clientSecret,
    ORDERPASS_PANEL_OIDC_LABEL: 'Trattoria ID',
  });
  provider.serve(harness.url, () => ({ sub: 'ada-1', email: 'security1@example.com', email_verified: true }));
});

afterAll(async () => {
  await harness?.close();
  await provider?.close();
});

const inBrowser = test.skipIf(browserBinary === undefined);

const codeOf = (key: string, step: number): string => {
  const bits = [...key].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const secret = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  return String((mac.readUInt32BE((mac[19] ?? 0) & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
};

const stepNow = (): number => Math.floor(Date.now() / 30_000);

inBrowser('a user comes back signed in from a provider on another site, to the page asked for', async () => {
  await harness.user('security');
  const { page, problems } = await harness.open();
  await page.goto(`${harness.url}/panel/account`);
  await expectAccessible(page);
  await takeScreenshots(page, 'sign-in');
  await page.getByRole('link', { name: 'Sign in with Trattoria ID' }).click();
  await page.waitForURL(`${harness.url}/panel/account`);
  expect(await page.locator('td[data-label="Signed in with"]').first().innerText()).toBe('Single sign-on');
  expect(problems).toEqual([]);
});

inBrowser('a user adds one-time codes, keeps the recovery codes, and signs in with a code', async () => {
  const user = await harness.user('support');
  const { page, context, problems } = await harness.signIn(user);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${harness.url}/panel/account`);
  await page.getByRole('link', { name: 'Add one-time codes' }).click();
  await page.getByLabel('Current password').fill(user.password);
  await page.getByRole('button', { name: 'Show the QR code' }).click();
  const key = (await page.locator('#totp-key').innerText()).replaceAll(' ', '');
  await page.getByLabel('One-time code').fill('000000');
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('alert').filter({ hasText: 'This code is wrong' }).waitFor();
  expect((await page.locator('#totp-key').innerText()).replaceAll(' ', '')).toBe(key);
  const used = stepNow();
  await page.getByLabel('One-time code').fill(codeOf(key, used));
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Copy' }).click();
  await until(async () => (await page.evaluate('navigator.clipboard.readText()')) !== '');
  const copied = String(await page.evaluate('navigator.clipboard.readText()'));
  expect(copied.split('\n')).toHaveLength(10);
  expect(copied).toContain(await page.locator('#recovery').innerText());
  await page.getByRole('link', { name: 'I have stored them' }).click();
  await page.getByText('10 recovery codes left').waitFor();
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'One more step' }).waitFor();
  await expectAccessible(page);
  await takeScreenshots(page, 'code');
  // A step later: a clock may be that much ahead.
  await page.getByLabel('One-time code').fill(codeOf(key, Math.max(used + 1, stepNow())));
  await page.keyboard.press('Enter');
  await page.waitForURL(`${harness.url}/panel`);
  expect(problems).toEqual([]);
});
