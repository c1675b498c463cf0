/** Support looks after one client, in a real browser. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  browserBinary,
  expectAccessible,
  type PanelHarness,
  startPanelHarness,
  takeScreenshots,
} from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('support-client: skipped, no Chromium is installed\n');

let harness: PanelHarness;

beforeAll(async () => {
  if (browserBinary !== undefined) harness = await startPanelHarness();
});

afterAll(() => harness?.close());

type Client = { id: string; secret: string };

const call = async ({ id, secret }: Client) => {
  const answer = await fetch(`${harness.url}/api/whoami`, {
    headers: { 'x-client-id': id, 'x-client-secret': secret },
  });
  return { status: answer.status, text: await answer.text() };
};

const statusOf = (client: Client) => async (): Promise<number> => (await call(client)).status;

const makeClient = async (): Promise<Client> => {
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Ada Delivery', '--restaurant', harness.restaurants[0] ?? ''],
  );
  return { id: client_id, secret: client_secret };
};

test.skipIf(browserBinary === undefined)(
  'F-40 a secret is rotated with overlap and retired only on purpose while it is used; grants, quarantine and the end take effect at the API',
  async () => {
    const old = await makeClient();
    const { page, problems } = await harness.signIn(await harness.user('support'));
    const { id } = old;
    expect((await call(old)).status).toBe(200);
    await page.goto(`${harness.url}/panel/clients/${id}`);

    // Rotation: both work. By keyboard only.
    const rotate = page.getByRole('button', { name: 'Create a new secret' });
    for (let i = 0; i < 40; i += 1) {
      await page.keyboard.press('Tab');
      if (await rotate.evaluate((element) => element === element.ownerDocument.activeElement)) break;
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'The new secret is ready' }).waitFor();
    const fresh = { id, secret: await page.locator('#client-secret').innerText() };
    await expect.poll(statusOf(fresh)).toBe(200);
    expect((await call(old)).status).toBe(200);

    // The meter tells by itself when the use of the old one is written.
    await page.getByRole('link', { name: 'I have saved it' }).click();
    const row = page.locator('#secrets tbody tr').first();
    await row.getByText(/[1-9]\d* calls? in the last 5 minutes/).waitFor({ timeout: 40_000 });
    // Nothing on the page advises to end one that was made right now.
    expect(await page.locator('#secrets').innerText()).not.toContain('Safe to retire');
    expect(await row.innerText()).toMatch(/Perhaps still used|No newer one was used yet/);
    await expectAccessible(page);
    await takeScreenshots(page, 'support-client');
    await row.getByRole('link', { name: /^Retire/ }).click();
    await page
      .getByText(/No newer credential of the client has been used yet|It was used in the last 5 minutes/)
      .waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Retire' }).click();
    await page.getByText('It was not retired').waitFor();
    expect((await call(old)).status).toBe(200);
    await page.getByLabel('Retire it all the same').check();
    await page.getByRole('button', { name: 'Retire' }).click();
    await page.getByText(/of Ada Delivery is retired\./).waitFor();
    await expect.poll(statusOf(old)).toBe(401);
    expect((await call(fresh)).status).toBe(200);

    // Grants.
    const [, second = ''] = harness.restaurants;
    expect((await call(fresh)).text).not.toContain(second);
    await page.getByLabel('Find a restaurant').fill('tratt');
    await page.getByRole('checkbox', { name: /Trattoria Due/ }).check();
    await page.getByRole('button', { name: 'Add the chosen ones' }).click();
    await page.getByText('1 restaurant was added to Ada Delivery.').waitFor();
    await expect.poll(async () => (await call(fresh)).text).toContain(second);
    await page.getByRole('link', { name: 'Withdraw Trattoria Due' }).click();
    await page.getByRole('heading', { name: 'Withdraw Trattoria Due from Ada Delivery?' }).waitFor();
    await expectAccessible(page);
    expect((await call(fresh)).text).toContain(second);
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('Trattoria Due was withdrawn from Ada Delivery').waitFor();
    await expect.poll(async () => (await call(fresh)).text).not.toContain(second);

    // Quarantine tells the reason; it is lifted again.
    await page.getByRole('button', { name: 'Quarantine' }).click();
    expect((await call(fresh)).status).toBe(200);
    await page.getByLabel('Reason, which the integrator can read').fill('Your key was found in a public repository');
    await page.getByRole('button', { name: 'Quarantine' }).click();
    await page.getByRole('heading', { name: 'Quarantine Ada Delivery?' }).waitFor();
    await page.getByText('Your key was found in a public repository').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Quarantine' }).click();
    await page.getByText('Ada Delivery is quarantined').waitFor();
    await expect.poll(statusOf(fresh)).toBe(403);
    expect((await call(fresh)).text).toContain('Your key was found in a public repository');
    await expectAccessible(page);
    await page.getByLabel('Reason for lifting it').fill('They changed it');
    await page.getByRole('button', { name: 'Lift the quarantine' }).click();
    await page.getByText('Ada Delivery may call again.').waitFor();
    await expect.poll(statusOf(fresh)).toBe(200);

    // The end.
    await page.getByRole('link', { name: 'Disable for good' }).click();
    await page.getByRole('heading', { name: 'Disable Ada Delivery for good?' }).waitFor();
    await expectAccessible(page);
    await takeScreenshots(page, 'support-disable');
    await page.getByLabel('Yes, end it for good').check();
    await page.getByRole('button', { name: 'Disable for good' }).click();
    await page.getByText('Ada Delivery is disabled for good.').waitFor();
    await expect.poll(statusOf(fresh)).toBe(401);
    expect(await page.getByRole('button', { name: 'Create a new secret' }).count()).toBe(0);
    expect(problems).toEqual([]);
  },
);
