/** The foundation's pages in a real browser: keyboard, widths, languages, live updates, policy, speed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import {
  browserBinary,
  expectAccessible,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('account-pages: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

const inBrowser = test.skipIf(browserBinary === undefined);

inBrowser(
  'the pages of the account are accessible, fit 360 and 1440 pixels and break no rule of their policy',
  async () => {
    const user = await harness.user('support');
    const { page, problems } = await harness.signIn(user);
    await openAccountMenu(page);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Account' }).click();
    await expectAccessible(page);
    await takeScreenshots(page, 'account');
    await page.getByRole('link', { name: 'Add one-time codes' }).click();
    await page.getByLabel('Current password').fill(user.password);
    await page.getByRole('button', { name: 'Show the QR code' }).click();
    expect(await page.getByRole('img', { name: 'QR code of the key below' }).boundingBox()).toMatchObject({
      width: 220,
    });
    await expectAccessible(page);
    await takeScreenshots(page, 'add-codes');
    await page.goto(`${harness.url}/panel/nothing-here`);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Page not found');
    await expectAccessible(page);
    expect(problems).toEqual([]);
    // The ear is open: what the policy forbids is heard.
    await page.evaluate(`document.body.setAttribute('style', 'color: red')`);
    await until(() => problems.length > 0);
  },
);

inBrowser('the keyboard alone signs in, skips to the content, changes the password and signs out', async () => {
  const { email, password } = await harness.user('security');
  const { page } = await harness.open();
  const press = async (...keys: readonly string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const focused = (): Promise<string> =>
    page.evaluate(`(document.activeElement?.textContent ?? '').trim() || document.activeElement?.name`);
  const tabTo = async (text: string): Promise<void> => {
    for (let i = 0; i < 40 && (await focused()) !== text; i += 1) await press('Tab');
    expect(await focused()).toBe(text);
  };
  await page.goto(`${harness.url}/panel`);
  await press('Tab');
  expect(await focused()).toBe('Skip to content');
  await press('Enter');
  await tabTo('email');
  await page.keyboard.type(email);
  await tabTo('password');
  await page.keyboard.type(password);
  await press('Enter');
  await page.waitForURL(`${harness.url}/panel`);
  await tabTo(email);
  await press('Enter');
  await tabTo('Account');
  await press('Enter');
  await page.waitForURL(`${harness.url}/panel/account`);
  await tabTo('current');
  await page.keyboard.type(password);
  await press('Tab');
  await page.keyboard.type('a newer long password');
  await press('Tab');
  await page.keyboard.type('a newer long password');
  await press('Enter');
  await page.getByRole('status').filter({ hasText: 'The password was changed' }).waitFor();
  await tabTo(email);
  await press('Enter');
  await tabTo('Sign out');
  await press('Enter');
  // The list of sessions may be fetched again meanwhile, and leads there too, so one of the two navigations is given up.
  await until(() => page.url() === `${harness.url}/panel/sign-in`);
});

inBrowser('the language follows the browser, then the choice of the user, also on another browser', async () => {
  const user = await harness.user('owner');
  const { page } = await harness.open({ locale: 'it-IT' });
  await page.goto(`${harness.url}/panel/sign-in`);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Accedi');
  expect(await page.evaluate('document.documentElement.lang')).toBe('it');
  const english = await harness.signIn(user);
  await english.page.goto(`${harness.url}/panel/account`);
  await openAccountMenu(english.page);
  await english.page.getByRole('button', { name: 'Italiano' }).click();
  await english.page.getByRole('heading', { name: 'Cambia password' }).waitFor();
  expect(english.page.url()).toBe(`${harness.url}/panel/account`);
  const again = await harness.signIn(user);
  await openAccountMenu(again.page);
  expect(await again.page.getByRole('button', { name: 'Esci' }).count()).toBe(1);
});

inBrowser('moments are shown in the zone of the viewer', async () => {
  const user = await harness.user('support');
  const zones = ['Pacific/Auckland', 'America/Los_Angeles'];
  const shown: string[] = [];
  for (const timezoneId of zones) {
    const { page } = await harness.signIn(user, { timezoneId });
    await page.goto(`${harness.url}/panel/account`);
    shown.push(await page.locator('td[data-label="Since"] time').last().innerText());
  }
  expect(shown[0]).not.toContain('UTC');
  expect(new Set(shown).size).toBe(2);
});

inBrowser(
  'hours go from 1 to 12 only where the first language of the browser and that of the page count so',
  async () => {
    const openedBy = async (...languages: string[]) => {
      const { page } = await harness.signIn(await harness.user('support'));
      await page.addInitScript((all) => Object.defineProperty(navigator, 'languages', { get: () => all }), languages);
      await page.goto(`${harness.url}/panel/account`);
      return page;
    };
    const hours = (page: Awaited<ReturnType<typeof openedBy>>) =>
      page.locator('td time:not([data-style="relative"])').last().innerText();
    const american = await openedBy('en-US');
    expect(await hours(american)).toMatch(/[AP]M/);
    await openAccountMenu(american);
    await american.getByRole('button', { name: 'Italiano' }).click();
    await american.getByRole('heading', { name: 'Cambia password' }).waitFor();
    expect(await hours(american)).not.toMatch(/[AP]M/i);
    expect(await hours(await openedBy('en-GB', 'en-US'))).not.toMatch(/[AP]M/i);
    expect(await hours(await openedBy('it-IT', 'en-US'))).not.toMatch(/[AP]M/i);
  },
);

inBrowser(
  'the list of users follows what happens elsewhere, without a reload, and an administrator ends a session',
  async () => {
    const admin = await harness.signIn(await harness.user('admin'));
    const { page, problems } = admin;
    await page.goto(`${harness.url}/panel/users`);
    await page.evaluate('window.untouched = true');
    await expectAccessible(page);
    await takeScreenshots(page, 'users');
    const late = await harness.user('support');
    await page.getByRole('link', { name: late.email }).waitFor();
    expect(await page.evaluate('window.untouched')).toBe(true);
    await page.getByRole('link', { name: late.email }).click();
    const other = await harness.signIn(late);
    await until(async () => (await page.getByRole('link', { name: 'Sign out…', exact: true }).count()) === 2);
    await expectAccessible(page);
    await takeScreenshots(page, 'user');
    await page.getByRole('link', { name: 'Sign out everywhere' }).click();
    await page.getByRole('heading', { name: `Sign out ${late.email} everywhere?` }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page
      .getByRole('status')
      .filter({ hasText: `${late.email} is signed out everywhere` })
      .waitFor();
    await other.page.goto(`${harness.url}/panel/account`);
    expect(other.page.url()).toContain('/panel/sign-in');
    expect(problems).toEqual([]);
  },
);

inBrowser('a list that follows what happens elsewhere replaces nothing while the pointer is pressed', async () => {
  const first = await harness.user('support');
  const { page, problems } = await harness.signIn(await harness.user('admin'));
  const linkTo = ({ email }: { email: string }) => page.getByRole('link', { name: email });
  const fetched: string[] = [];
  page.on('response', (answer) => {
    if (answer.request().headers()['x-panel-background'] !== '1') return;
    // The page may be left while it fetches.
    answer.text().then(
      (text) => fetched.push(text),
      () => undefined,
    );
  });
  /** A user that is made meanwhile, once the page has fetched the list with it. */
  const madeMeanwhile = async () => {
    const made = await harness.user('support');
    await until(() => fetched.some((text) => text.includes(made.email)));
    return made;
  };
  await page.goto(`${harness.url}/panel/users`);
  await linkTo(first).hover();
  await page.mouse.down();
  const second = await madeMeanwhile();
  // In this time the list would be replaced, and the click would end on another element.
  await page.waitForTimeout(300);
  expect(await linkTo(second).count()).toBe(0);
  await page.mouse.up();
  await page.getByRole('heading', { name: first.email }).waitFor();
  await page.goBack();
  // A press that ends elsewhere.
  await linkTo(second).hover();
  await page.mouse.down();
  const third = await madeMeanwhile();
  await page.mouse.move(0, 0);
  await page.mouse.up();
  await linkTo(third).waitFor();
  // One that opens a menu.
  await linkTo(third).hover();
  await page.mouse.down({ button: 'right' });
  await linkTo(await madeMeanwhile()).waitFor();
  expect(problems).toEqual([]);
});

inBrowser(
  'the list of the own sessions follows what happens elsewhere, and leaves a form alone that is being filled in',
  async () => {
    const user = await harness.user('owner');
    const { page, problems } = await harness.signIn(user);
    await page.goto(`${harness.url}/panel/account`);
    const rows = page.locator('#own tbody tr');
    const before = await rows.count();
    await page.getByLabel('Current password').fill('half of it');
    const elsewhere = await harness.signIn(user);
    await until(async () => (await rows.count()) === before + 1);
    await openAccountMenu(elsewhere.page);
    await elsewhere.page.getByRole('button', { name: 'Sign out' }).click();
    await until(async () => (await rows.count()) === before);
    expect(await page.getByLabel('Current password').inputValue()).toBe('half of it');
    await expectAccessible(page);
    expect(problems).toEqual([]);
  },
);

inBrowser('a tab in the background closes its connection, and catches up when it is shown again', async () => {
  const { page } = await harness.signIn(await harness.user('admin'));
  await page.clock.install();
  let ended = 0;
  const streams: string[] = [];
  page.on('request', (request) => request.url().includes('/panel/events') && streams.push(request.url()));
  page.on('requestfailed', (request) => {
    if (request.url().includes('/panel/events')) ended += 1;
  });
  await page.goto(`${harness.url}/panel/users`);
  await until(() => streams.length === 1);
  // The stream of the start page ended when this page was opened.
  const before = ended;
  const turn = (state: string) =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
      document.dispatchEvent(new Event('visibilitychange'))`);
  await turn('hidden');
  await page.clock.fastForward(11_000);
  await until(() => ended === before + 1);
  const late = await harness.user('support');
  await turn('visible');
  await page.getByRole('link', { name: late.email }).waitFor();
  expect(streams).toHaveLength(2);
});

inBrowser('pages work without script: signing in, changing something, reading what happened', async () => {
  const user = await harness.user('support');
  const { page } = await harness.signIn(user, { javaScriptEnabled: false });
  await page.goto(`${harness.url}/panel/account`);
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'Italiano' }).click();
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'Esci' }).waitFor();
});

inBrowser('the first page takes less than 150 kB compressed, all of it from the host of the panel', async () => {
  const { page, context } = await harness.open();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  await session.send('Network.enable');
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  const hosts = new Set<string>();
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.goto(`${harness.url}/panel/sign-in`, { waitUntil: 'load' });
  expect(hosts).toEqual(new Set([new URL(harness.url).host]));
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(150_000);
});
