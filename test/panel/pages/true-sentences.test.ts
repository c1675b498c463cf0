/** Sentences of the panel that depend on what is known: each says no more than that. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';
import { type PanelInProcess, startPanel } from '../harness/panel-in-process.ts';

const password = 'seven unlikely words';

let panel: PanelInProcess;
let harness: PanelHarness;

beforeAll(async () => {
  panel = await startPanel();
  harness = await startPanelHarness();
});

afterAll(async () => {
  await panel?.close();
  await harness?.close();
});

const tokenOf = (link: string): string => new URL(link).searchParams.get('token') ?? '';

/** As RFC 6238 says, not by the code under test. */
const codeOf = (key: string, ms: number): string => {
  const bits = [...key].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  const secret = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(ms / 30_000)));
  const mac = createHmac('sha1', secret).update(counter).digest();
  return String((mac.readUInt32BE((mac[19] ?? 0) & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
};

test('F-40 after too many passwords the page suggests a one-time link, and after too many codes it does not, because the link needs a code too', async () => {
  const made = await panel.users.create('cli:test', { email: 'ada@example.com', role: 'support' });
  const browser = panel.visitor('192.0.2.1');
  await browser.post('/panel/link', { token: tokenOf(made.link), password, again: password }, '');
  expect((await browser.get('/panel/account')).text).toContain('You sign in without a code.');
  const answers: string[] = [];
  for (let i = 0; i < 6; i += 1) {
    const given = { email: 'ada@example.com', password: `wrong password ${i}` };
    answers.push((await panel.visitor('192.0.2.2').post('/panel/sign-in', given, '')).text);
  }
  expect(answers.at(-1)).toMatch(/Try again in 15 minutes, or ask for a one-time link\./);
  const { email } = await addCodes();
  const guesses: string[] = [];
  for (let i = 0; i < 11; i += 1) {
    const visitor = panel.visitor(`198.18.0.${i}`);
    await visitor.post('/panel/sign-in', { email, password }, '');
    guesses.push((await visitor.post('/panel/sign-in/code', { code: `x${i}` }, '')).text);
  }
  expect(guesses.at(-1)).toMatch(/Try again in \d+ minutes\./);
  expect(guesses.at(-1)).not.toContain('one-time link');
});

/** A user with one-time codes. */
const addCodes = async (): Promise<{ email: string }> => {
  const email = 'bea@example.com';
  const { link } = await panel.users.create('cli:test', { email, role: 'support' });
  const browser = panel.visitor('192.0.2.3');
  await browser.post('/panel/link', { token: tokenOf(link), password, again: password }, '');
  const shown = (await browser.post('/panel/account/totp/begin', { current: password })).text;
  const key = (/<code id="totp-key">([^<]+)</.exec(shown)?.[1] ?? '').replaceAll(' ', '');
  const proof = /name="proof" value="([^"]+)"/.exec(shown)?.[1] ?? '';
  const done = await browser.post('/panel/account/totp', { code: codeOf(key, panel.clock.now().getTime()), proof });
  expect(done.text).toContain('One-time codes are on.');
  return { email };
};

test('F-40 enabling an account without a password tells that its link has ended, not that it can sign in again', async () => {
  const admin = panel.visitor('192.0.2.4');
  const { link } = await panel.users.create('cli:test', { email: 'admin@example.com', role: 'admin' });
  await admin.post('/panel/link', { token: tokenOf(link), password, again: password }, '');
  const invited = await panel.users.create('cli:test', { email: 'new@example.com', role: 'support' });
  const after = async (userId: string, change: string): Promise<string> => {
    expect((await admin.post(`/panel/users/${userId}/${change}`, {})).status).toBe(303);
    return (await admin.get(`/panel/users/${userId}`)).text;
  };
  await after(invited.userId, 'disable');
  expect(await after(invited.userId, 'enable')).toContain('its former one-time link has ended: make a new link');
  expect((await panel.visitor().get(`/panel/link?token=${tokenOf(invited.link)}`)).status).toBe(410);
  const [known] = (await panel.users.list()).filter(({ email }) => email === 'ada@example.com');
  await after(known?.userId ?? '', 'disable');
  expect(await after(known?.userId ?? '', 'enable')).toContain('ada@example.com is enabled and can sign in again.');
});

test('F-40 F-56 the last page of a restaurant list says that it is the last, and an unusable search or cursor is refused', async () => {
  const cookie = await harness.cookieOf(await harness.user('owner', harness.restaurants));
  const list = async (query: string) => {
    const answer = await fetch(`${harness.url}/panel/restaurants?${query}`, { headers: { cookie } });
    return { status: answer.status, text: await answer.text() };
  };
  expect((await list('')).text).toContain('Osteria Uno');
  const behind = await list('after=none-such');
  expect(behind.text).toContain('This is the end of the list.');
  expect(behind.text).not.toContain('No restaurant is assigned');
  for (const query of [`q=${'x'.repeat(101)}`, `after=${'x'.repeat(256)}`, 'q=%00'])
    expect((await list(query)).status, query).toBe(400);
  expect((await list(`q=${'x'.repeat(100)}`)).text).toContain('None of your restaurants has');
});
