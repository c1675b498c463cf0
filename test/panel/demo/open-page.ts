/** A browser with which an account of the demo is signed in. */
import type { Browser, Page } from 'playwright-core';
import type { RunningProgram } from '../../support/program.ts';
import type { Account } from './accounts.ts';
import { password } from './cookie-of.ts';

/** A new profile of the browser, in which the account is signed in. */
export const openPage = async (browser: Browser, program: RunningProgram, { email }: Account): Promise<Page> => {
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

/** `language`: `en` or `it`, which the panel keeps for this profile. */
export const speak = async (page: Page, program: RunningProgram, language: string): Promise<void> => {
  await page.goto(`${program.url}/panel`);
  const csrf = await page.locator('input[name=csrf]').first().inputValue();
  const headers = { origin: program.url };
  await page.request.post(`${program.url}/panel/language`, { form: { csrf, language }, headers });
};
