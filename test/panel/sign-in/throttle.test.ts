/** Guesses of passwords and codes are limited, and a stranger cannot lock out a user. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';

const minute = 60_000;
const password = 'seven unlikely words';
const window = 61 * minute;

let panel: PanelInProcess;

beforeAll(async () => {
  panel = await startPanel();
});

// Each test begins with windows that are over.
beforeEach(() => panel.pass(window));

afterAll(() => panel?.close());

let count = 0;

const makeUser = async (): Promise<{ email: string; browser: Visitor }> => {
  count += 1;
  const email = `user${count}@example.com`;
  const made = await panel.users.create('cli:test', { email, role: 'support' });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const browser = panel.visitor(`192.0.2.${count}`);
  await browser.post('/panel/link', { token, password, again: password }, '');
  return { email, browser };
};

const signIn = async (visitor: Visitor, email: string, given = password): Promise<'in' | 'refused' | 'wait'> => {
  const { status, text } = await visitor.post('/panel/sign-in', { email, password: given }, '');
  if (status === 303) return 'in';
  return text.includes('Too many attempts') ? 'wait' : 'refused';
};

/** Wrong passwords from one address. */
const guess = async (address: string, email: string, times: number): Promise<string[]> => {
  const answers: string[] = [];
  for (let i = 0; i < times; i += 1) answers.push(await signIn(panel.visitor(address), email, `guess number ${i}`));
  return answers;
};

test('from one address an account takes five guesses in a quarter of an hour, and then not even the right password', async () => {
  const { email } = await makeUser();
  expect(await guess('198.51.100.1', email, 6)).toEqual([...Array(5).fill('refused'), 'wait']);
  expect(await signIn(panel.visitor('198.51.100.1'), email)).toBe('wait');
  expect(await signIn(panel.visitor('198.51.100.2'), email)).toBe('in');
  panel.pass(15 * minute);
  expect(await signIn(panel.visitor('198.51.100.1'), email)).toBe('in');
});

test('the addresses of one IPv6 network share their guesses, and the audit has the whole address of each', async () => {
  const { email } = await makeUser();
  const before = panel.events.length;
  for (let host = 1; host <= 5; host += 1) expect(await guess(`2001:db8:1:2::${host}`, email, 1)).toEqual(['refused']);
  expect(await signIn(panel.visitor('2001:db8:1:2::6'), email)).toBe('wait');
  expect(await signIn(panel.visitor('2001:db8:1:3::6'), email)).toBe('in');
  const addresses = panel.events.slice(before).map(({ address }) => address);
  expect(addresses).toEqual([...[1, 2, 3, 4, 5, 6].map((host) => `2001:db8:1:2::${host}`), '2001:db8:1:3::6']);
});

test('guesses that come at the same moment do not pass the bound', async () => {
  const { email } = await makeUser();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_none, i) => signIn(panel.visitor('198.51.100.9'), email, `guess number ${i}`)),
  );
  expect(answers.filter((answer) => answer === 'refused')).toHaveLength(5);
});

test('strangers at many addresses are stopped for the account, while the browser of its owner still signs in', async () => {
  const { email, browser } = await makeUser();
  await browser.post('/panel/sign-out', {});
  for (let address = 10; address < 20; address += 1) await guess(`203.0.113.${address}`, email, 5);
  expect(await guess('203.0.113.99', email, 1)).toEqual(['wait']);
  // A browser that is new is a stranger too, even with the right password.
  expect(await signIn(panel.visitor('203.0.113.98'), email)).toBe('wait');
  expect(await signIn(browser, email)).toBe('in');
  // A user without such a browser can sign in by a one-time link.
  const link = new URL((await panel.users.makeLink('cli:test', email)).link);
  const fresh = panel.visitor('203.0.113.97');
  const token = link.searchParams.get('token') ?? '';
  expect((await fresh.post('/panel/link', { token, password, again: password }, '')).status).toBe(303);
  // And another account is not concerned.
  const other = await makeUser();
  expect(await signIn(panel.visitor('203.0.113.98'), other.email)).toBe('in');
});

test('a known browser has ten guesses of its own, and is known for its own account only', async () => {
  const [first, second] = [await makeUser(), await makeUser()];
  const answers: string[] = [];
  for (let i = 0; i < 11; i += 1) answers.push(await signIn(first.browser, first.email, `guess number ${i}`));
  expect(answers).toEqual([...Array(10).fill('refused'), 'wait']);
  for (let i = 0; i < 5; i += 1) await signIn(first.browser, second.email, `guess number ${i}`);
  expect(await signIn(first.browser, second.email)).toBe('wait');
  expect(await signIn(second.browser, second.email)).toBe('in');
});

test('an address that tries many accounts is stopped for all of them', async () => {
  const { email } = await makeUser();
  const answers: string[] = [];
  for (let i = 0; i < 31; i += 1) answers.push(...(await guess('198.51.100.77', `unknown${i}@example.com`, 1)));
  expect(answers.indexOf('wait')).toBe(30);
  expect(await signIn(panel.visitor('198.51.100.77'), email)).toBe('wait');
  expect(await signIn(panel.visitor('198.51.100.78'), email)).toBe('in');
  const stored = async (): Promise<number> =>
    (await sql`select 1 from panel.attempts`.execute(panel.database.db)).rows.length;
  const before = await stored();
  for (let i = 0; i < 10; i += 1) await guess('198.51.100.77', `further${i}@example.com`, 1);
  expect(await stored()).toBe(before);
});

test('signing in takes nothing away from the next one: a hundred times a day is no attack', async () => {
  const { email } = await makeUser();
  for (let i = 0; i < 60; i += 1) expect(await signIn(panel.visitor('198.51.100.88'), email), `time ${i}`).toBe('in');
});

test('the audit records a stopped sign-in once for each window, however many attempts there are', async () => {
  const { email } = await makeUser();
  const before = panel.events.length;
  await guess('198.51.100.55', email, 12);
  const reasons = panel.events.slice(before).map(({ reason }) => reason);
  expect(reasons).toEqual([...Array(5).fill('wrong password'), 'too many attempts']);
});

test('the number of requests that wait for the check of a password is limited', async () => {
  const { email, browser } = await makeUser();
  const answers = await Promise.all(
    Array.from({ length: 90 }, (_none, i) =>
      panel.visitor(`10.0.0.${i}`).post('/panel/sign-in', { email: `visitor${i}@example.com`, password }, ''),
    ),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422, 503]));
  expect(await signIn(browser, email)).toBe('in');
});

/** Keeps every thread that checks passwords busy until the returned function is called. */
const holdThreads = (): (() => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-threads-'));
  const pipes = Array.from({ length: Number(process.env.UV_THREADPOOL_SIZE ?? 4) }, (_none, i) => join(folder, `${i}`));
  execFileSync('mkfifo', pipes);
  // To open a pipe takes a thread until its other end is opened.
  const held = pipes.map((pipe) => open(pipe, 'r'));
  return async () => {
    execFileSync('sh', ['-c', 'for pipe in "$@"; do : > "$pipe"; done', 'sh', ...pipes]);
    for (const file of await Promise.all(held)) await file.close();
    rmSync(folder, { recursive: true });
  };
};

test('A-733 an attempt that is refused because too many wait for the check is no guess: the right password works after it', async () => {
  const { email } = await makeUser();
  const address = '198.51.100.44';
  const late = panel.visitor(address);
  const post = async (visitor: Visitor, to: string): Promise<number> =>
    (await visitor.post('/panel/sign-in', { email: to, password }, '')).status;
  const releaseThreads = holdThreads();
  let strangers: Promise<number>[] = [];
  try {
    const isFull = Promise.withResolvers<void>();
    strangers = Array.from({ length: 60 }, async (_none, i) => {
      const status = await post(panel.visitor(`10.1.0.${i}`), `stranger${i}@example.com`);
      if (status === 503) isFull.resolve();
      return status;
    });
    await isFull.promise;
    for (let i = 0; i < 6; i += 1) expect(await post(late, email)).toBe(503);
  } finally {
    await releaseThreads();
    await Promise.all(strangers);
  }
  expect(await signIn(late, email)).toBe('in');
  // Wrong ones that were checked count as ever.
  expect(await guess(address, email, 6)).toEqual([...Array(5).fill('refused'), 'wait']);
});
