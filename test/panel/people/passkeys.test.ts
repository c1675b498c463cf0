/** Passkeys and the required second factor, in a real browser with a virtual authenticator. Skipped where no Chromium is installed. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { sql } from 'kysely';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { whileLocked } from '../../support/contention.ts';
import {
  browserBinary,
  expectAccessible,
  type HarnessUser,
  openAccountMenu,
  type PanelHarness,
  startPanelHarness,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('passkeys: skipped, no Chromium is installed\n');

let harness: PanelHarness;
let origin: string;

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

beforeAll(async () => {
  if (browserBinary === undefined) return;
  const port = await freePort();
  // A passkey belongs to a host name, and an IP address is none.
  origin = `http://localhost:${port}`;
  harness = await startPanelHarness({ PORT: String(port), ORDERPASS_ORIGIN: origin });
});

afterAll(() => harness?.close());

const inBrowser = test.skipIf(browserBinary === undefined);

/** As `harness.signIn`, at the name instead of the number: a cookie belongs to one of them. */
const signIn = async (user: HarnessUser) => {
  const opened = await harness.open();
  await opened.page.goto(`${origin}/panel/sign-in`);
  await opened.page.getByLabel('Email').fill(user.email);
  await opened.page.getByLabel('Password', { exact: true }).fill(user.password);
  await opened.page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await opened.page.waitForURL((url) => !url.pathname.startsWith('/panel/sign-in'));
  return opened;
};

const credentialsOf = async (session: CDPSession, authenticatorId: string) =>
  (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

type Credential = Awaited<ReturnType<typeof credentialsOf>>[number];

const addAuthenticator = async (page: Page, options: { verifies?: boolean } = {}) => {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: options.verifies ?? true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    hold: (credential: Credential) => session.send('WebAuthn.addCredential', { authenticatorId, credential }),
    credentials: () => credentialsOf(session, authenticatorId),
    verify: (isUserVerified: boolean) => session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
};

const register = async (page: Page, name: string, password: string): Promise<void> => {
  await page.goto(`${origin}/panel/account/passkeys/new`);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Current password').fill(password);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page
    .getByRole('status')
    .filter({ hasText: `The passkey “${name}” was added.` })
    .waitFor();
};

const signOut = async (page: Page): Promise<void> => {
  await openAccountMenu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${origin}/panel/sign-in`);
};

const isSignedIn = async (page: Page): Promise<boolean> => {
  // A page whose session has ended goes to the sign-in by itself, which may interrupt this.
  await page.goto(`${origin}/panel/account`).catch((error: Error) => {
    if (!error.message.includes('interrupted by another navigation')) throw error;
  });
  return page.url() === `${origin}/panel/account`;
};

inBrowser('a user adds a passkey, signs in with it instead of password and code, and removes it', async () => {
  const user = await harness.user('support');
  const { page, problems } = await signIn(user);
  const authenticator = await addAuthenticator(page);
  await page.goto(`${origin}/panel/account`);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Add a passkey' }).click();
  await page.getByLabel('Name').fill('Office laptop');
  await page.getByLabel('Current password').fill('not the password');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('alert').filter({ hasText: 'The current password is wrong.' }).waitFor();
  await expectAccessible(page);
  await register(page, 'Office laptop', user.password);
  expect(await authenticator.credentials()).toMatchObject([{ rpId: 'localhost', isResidentCredential: true }]);
  // With one-time codes too: a password would need a code, the passkey needs none.
  await harness.database.pool.query(`update panel.users set totp_since = now(), totp_secret = 'x' where id = $1`, [
    user.userId,
  ]);
  await signOut(page);
  await page.goto(`${origin}/panel/account`);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Sign in with a passkey' }).click();
  await page.waitForURL(`${origin}/panel/account`);
  expect(await page.locator('td[data-label="Signed in with"]').first().innerText()).toBe('Passkey');
  await page.getByRole('link', { name: 'Rename Office laptop' }).click();
  await page.getByRole('heading', { name: 'Rename the passkey “Office laptop”' }).waitFor();
  await expectAccessible(page);
  await page.getByLabel('Name').fill(' ');
  await page.getByRole('button', { name: 'Save the name' }).click();
  await page.getByText('Give it a name of at most 60 characters.').waitFor();
  expect(await page.getByLabel('Name').getAttribute('aria-invalid')).toBe('true');
  await page.getByLabel('Name').fill('Reception');
  await page.getByRole('button', { name: 'Save the name' }).click();
  await page.getByRole('status').filter({ hasText: 'The passkey is now called “Reception”.' }).waitFor();
  await page.getByRole('rowheader', { name: 'Reception' }).waitFor();
  await page.getByRole('link', { name: 'Remove…' }).click();
  await page.getByRole('heading', { name: 'Remove the passkey “Reception”?' }).waitFor();
  await expectAccessible(page);
  await page.getByLabel('Current password').fill(user.password);
  await page.getByRole('button', { name: 'Remove the passkey' }).click();
  await page.getByRole('status').filter({ hasText: 'The passkey was removed.' }).waitFor();
  await signOut(page);
  await page.getByRole('link', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('alert').filter({ hasText: 'This passkey was not accepted' }).waitFor();
  expect(await isSignedIn(page)).toBe(false);
  for (const action of ['user.passkey_added', 'user.passkey_renamed', 'user.passkey_removed']) {
    const { events } = (await harness.command('audit', 'search', '--action', action)) as never as {
      events: Record<string, unknown>[];
    };
    expect(events).toMatchObject([{ 'user.name': `panel:${user.userId}` }]);
  }
  expect(problems).toEqual([]);
});

inBrowser(
  'an answer works once, for its own challenge, and only when the authenticator has verified the user',
  async () => {
    const user = await harness.user('support');
    const { page } = await signIn(user);
    const authenticator = await addAuthenticator(page);
    await register(page, 'Phone', user.password);
    await signOut(page);
    const sent: { answer: string; cookie: string }[] = [];
    await page.route('**/panel/sign-in/passkey', async (route) => {
      const request = route.request();
      if (request.method() !== 'POST') return route.continue();
      const { cookie = '' } = await request.allHeaders();
      sent.push({ answer: new URLSearchParams(request.postData() ?? '').get('answer') ?? '', cookie });
      await route.fulfill({ status: 204 });
    });
    const capture = async (): Promise<{ answer: string; cookie: string }> => {
      const before = sent.length;
      // The page sends the answer by itself, perhaps before it is loaded.
      await page.goto(`${origin}/panel/sign-in/passkey`, { waitUntil: 'commit' });
      await expect.poll(() => sent.length).toBe(before + 1);
      return sent.at(-1) ?? { answer: '', cookie: '' };
    };
    const use = (answer: string, cookie: string, from = origin) =>
      fetch(`${origin}/panel/sign-in/passkey`, {
        method: 'POST',
        redirect: 'manual',
        headers: { origin: from, cookie },
        body: new URLSearchParams({ answer }),
      }).then(({ status }) => status);
    const [first, second] = [await capture(), await capture()];
    expect(first.answer).not.toBe('');
    expect(await use(first.answer, second.cookie)).toBe(422);
    expect(await use(first.answer, '')).toBe(422);
    expect(await use('{}', first.cookie)).toBe(422);
    const forged = JSON.parse(second.answer) as { response: { clientDataJSON: string } };
    const client = JSON.parse(Buffer.from(forged.response.clientDataJSON, 'base64url').toString()) as object;
    forged.response.clientDataJSON = Buffer.from(JSON.stringify({ ...client, origin: 'http://localhost:1' })).toString(
      'base64url',
    );
    expect(await use(JSON.stringify(forged), second.cookie)).toBe(422);
    const both = await Promise.all([use(second.answer, second.cookie), use(second.answer, second.cookie)]);
    expect(both.sort()).toEqual([303, 422]);
    // A passkey that is synced between devices reports no count of its uses, so only the challenge tells a repeated answer.
    await harness.database.pool.query('update panel.passkeys set counter = 0 where user_id = $1', [user.userId]);
    expect(await use(second.answer, second.cookie)).toBe(422);
    const failures = (await harness.command('audit', 'search', '--action', 'user.sign_in_failed')) as never as {
      events: Record<string, unknown>[];
    };
    const own = failures.events.filter((event) => event['user.name'] === `panel:${user.userId}`);
    const reasons = own.map((event) => JSON.stringify(event)).join();
    for (const reason of ['wrong signature', 'too late', 'used before']) expect(reasons).toContain(reason);
    expect(own.length).toBeGreaterThanOrEqual(5);
    expect(failures.events.some((event) => JSON.stringify(event).includes('no such passkey'))).toBe(true);
    await page.unroute('**/panel/sign-in/passkey');
    await authenticator.verify(false);
    await page.goto(`${origin}/panel/sign-in/passkey`);
    await page.getByText('The browser gave no passkey.').waitFor();
    expect(await isSignedIn(page)).toBe(false);
    // The right passkey of an account that is disabled.
    await authenticator.verify(true);
    await harness.command('user', 'disable', '--email', user.email);
    await page.goto(`${origin}/panel/sign-in/passkey`);
    await page.getByRole('alert').filter({ hasText: 'This passkey was not accepted' }).waitFor();
    const last = (await harness.command('audit', 'search', '--action', 'user.sign_in_failed')) as never as {
      events: Record<string, unknown>[];
    };
    expect(last.events.some((event) => JSON.stringify(event).includes('disabled'))).toBe(true);
  },
);

inBrowser(
  'a role that needs a second factor opens no other page before a user has one, and a password alone adds none to an account with a passkey',
  async () => {
    const { page: adminPage } = await signIn(await harness.user('admin'));
    const user = await harness.user('security');
    const { page, problems } = await signIn(user);
    await page.goto(`${origin}/panel/security/audit`);
    await adminPage.goto(`${origin}/panel/users/second-factor`);
    await expectAccessible(adminPage);
    await adminPage.getByLabel('Security').check();
    await adminPage.getByRole('button', { name: 'Save' }).click();
    await adminPage.getByRole('heading', { name: 'Require a second factor for more roles?' }).waitFor();
    await expectAccessible(adminPage);
    await adminPage.getByRole('button', { name: 'Save' }).click();
    await adminPage.getByRole('status').filter({ hasText: 'The required second factor is saved.' }).waitFor();
    const led = `${origin}/panel/account/second-factor`;
    for (const path of ['/panel', '/panel/security/audit', '/panel/account', '/panel/account/sessions/end-others']) {
      await page.goto(`${origin}${path}`);
      expect(page.url(), path).toBe(led);
    }
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Add one-time codes' }).click();
    await page.waitForURL(`${origin}/panel/account/totp`);
    await page.goto(`${origin}/panel`);
    await addAuthenticator(page);
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await register(page, 'Key', user.password);
    await page.goto(`${origin}/panel/security/audit`);
    expect(page.url()).toBe(`${origin}/panel/security/audit`);
    // Elsewhere, with the password only.
    const other = await signIn(user);
    await other.page.waitForURL(led);
    await other.page.goto(`${origin}/panel/account/totp`);
    expect(other.page.url()).toBe(led);
    expect(await other.page.getByRole('heading', { level: 1 }).innerText()).toBe('Sign in with your passkey');
    // The administrator helps a user who has lost it.
    await adminPage.goto(`${origin}/panel/users/${user.userId}/remove-passkeys`);
    await adminPage.getByRole('button', { name: 'Remove all passkeys' }).click();
    await adminPage
      .getByRole('status')
      .filter({ hasText: `The passkeys of ${user.email} were removed` })
      .waitFor();
    expect(await isSignedIn(page)).toBe(false);
    expect(problems).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'A-462 the removal of a passkey ends the sessions that it opened elsewhere, and the session that removed it has no second factor',
  async () => {
    const user = await harness.user('support');
    const { page } = await signIn(user);
    const authenticator = await addAuthenticator(page);
    await register(page, 'Phone', user.password);
    const byPassword = await signIn(user);
    const stolen = await harness.open();
    const thief = await addAuthenticator(stolen.page);
    for (const credential of await authenticator.credentials()) await thief.hold(credential);
    await stolen.page.goto(`${origin}/panel/sign-in/passkey`);
    await stolen.page.waitForURL(`${origin}/panel`);
    const { page: adminPage } = await signIn(await harness.user('admin'));
    await adminPage.goto(`${origin}/panel/users/second-factor`);
    await adminPage.getByLabel('Support').check();
    await adminPage.getByRole('button', { name: 'Save' }).click();
    await adminPage.getByRole('heading', { name: 'Require a second factor for more roles?' }).waitFor();
    await adminPage.getByRole('button', { name: 'Save' }).click();
    await adminPage.getByRole('status').filter({ hasText: 'The required second factor is saved.' }).waitFor();
    expect(await isSignedIn(stolen.page)).toBe(true);
    await page.goto(`${origin}/panel/account`);
    await page.getByRole('link', { name: 'Remove…' }).click();
    await page.getByText('your other sessions that were opened with a passkey end').waitFor();
    await page.getByLabel('Current password').fill(user.password);
    await page.getByRole('button', { name: 'Remove the passkey' }).click();
    await page.waitForURL(`${origin}/panel/account/second-factor`);
    expect(await isSignedIn(stolen.page)).toBe(false);
    await byPassword.page.goto(`${origin}/panel/account`);
    expect(byPassword.page.url()).toBe(`${origin}/panel/account/second-factor`);
    const { events } = (await harness.command('audit', 'search', '--action', 'user.passkey_removed')) as never as {
      events: Record<string, unknown>[];
    };
    const own = events.filter((event) => event['user.name'] === `panel:${user.userId}`);
    expect(own.map((event) => JSON.stringify(event)).join()).toContain('sessions_ended');
  },
);

inBrowser('A-690 a session that ends while it adds a passkey adds none and ends no other session', async () => {
  // The tests before require a second factor of other roles.
  const user = await harness.user('owner', harness.restaurants);
  const { page } = await signIn(user);
  await addAuthenticator(page);
  const headers = { cookie: await harness.cookieOf(user), origin: harness.url };
  const ownAccount = () => fetch(`${harness.url}/panel/account`, { headers, redirect: 'manual' });
  const csrf = /name="csrf" value="([^"]+)"/.exec(await (await ownAccount()).text())?.[1] ?? '';
  await page.goto(`${origin}/panel/account/passkeys/new`);
  await page.getByLabel('Name').fill('Stranger');
  await page.getByLabel('Current password').fill(user.password);
  const answer = page.waitForResponse(
    (one) => one.request().method() === 'POST' && new URL(one.url()).pathname === '/panel/account/passkeys',
  );
  await whileLocked(
    harness.database.db,
    sql`select 1 from panel.users where id = ${user.userId} for no key update`,
    1,
    () => page.getByRole('button', { name: 'Continue' }).click(),
    async () => {
      const ended = await fetch(`${harness.url}/panel/account/sessions/end-others`, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ csrf }),
        redirect: 'manual',
      });
      expect([ended.status, ended.headers.get('location')]).toEqual([303, '/panel/account']);
    },
  );
  expect((await answer).status()).toBe(422);
  const account = await ownAccount();
  expect(account.status).toBe(200);
  expect(await account.text()).not.toContain('Stranger');
});
