/** One-time codes as second factor. The codes are those of test/panel/harness/totp-code.ts, not of the code under test. */
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { whileLocked } from '../../support/contention.ts';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';
import { totpCodeAt } from '../harness/totp-code.ts';

const password = 'seven unlikely words';

let panel: PanelInProcess;

beforeAll(async () => {
  panel = await startPanel();
});

afterAll(() => panel?.close());

/** The code of now; a step later than any that was used. */
const nextCode = (key: string): string => {
  panel.pass(30_000);
  return totpCodeAt(key, panel.clock.now().getTime());
};

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

const proofIn = (shown: string): string => /name="proof" value="([^"]+)"/.exec(shown)?.[1] ?? '';

/** Adds codes as a person would; the key and the recovery codes. */
const addCodes = async ({ browser }: { browser: Visitor }): Promise<{ key: string; recovery: string[] }> => {
  const shown = (await browser.post('/panel/account/totp/begin', { current: password })).text;
  const key = (/<code id="totp-key">([^<]+)</.exec(shown)?.[1] ?? '').replaceAll(' ', '');
  const done = await browser.post('/panel/account/totp', { code: nextCode(key), proof: proofIn(shown) });
  return { key, recovery: done.text.match(/[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}/g) ?? [] };
};

const begin = async (visitor: Visitor, email: string) => {
  const answer = await visitor.post('/panel/sign-in', { email, password }, '');
  expect(answer).toMatchObject({ status: 303, location: '/panel/sign-in/code?next=%2Fpanel' });
};

const enter = async (visitor: Visitor, code: string): Promise<number> =>
  (await visitor.post('/panel/sign-in/code', { code }, '')).status;

const isSignedIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get('/panel/account')).status === 200;

test('codes are those of RFC 6238', () => {
  const key = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
  expect(totpCodeAt(key, 59_000)).toBe('287082');
  expect(totpCodeAt(key, 1_111_111_109_000)).toBe('081804');
  expect(totpCodeAt(key, 20_000_000_000_000)).toBe('353130');
});

test('with codes on, the password alone opens nothing, and the code once', async () => {
  const user = await makeUser();
  const { key, recovery } = await addCodes(user);
  expect(recovery).toHaveLength(10);
  const visitor = panel.visitor('192.0.2.101');
  await begin(visitor, user.email);
  expect(await isSignedIn(visitor)).toBe(false);
  expect(await enter(visitor, '000000')).toBe(422);
  const code = nextCode(key);
  expect(await enter(visitor, code)).toBe(303);
  expect(await isSignedIn(visitor)).toBe(true);
  const second = panel.visitor('192.0.2.102');
  await begin(second, user.email);
  expect(await enter(second, code)).toBe(422);
  expect(await enter(second, nextCode(key))).toBe(303);
});

test('adding codes needs the password: a browser left alone is not enough', async () => {
  const { browser } = await makeUser();
  const answer = await browser.post('/panel/account/totp/begin', { current: 'not the one' });
  expect(answer.status).toBe(422);
  expect(answer.text).not.toContain('totp-key');
  expect((await browser.post('/panel/account/totp/begin', { current: password })).text).toContain('totp-key');
});

test('of one code sent twice at the same moment one is taken', async () => {
  const user = await makeUser();
  const { key } = await addCodes(user);
  const [left, right] = [panel.visitor('192.0.2.111'), panel.visitor('192.0.2.112')];
  await begin(left, user.email);
  await begin(right, user.email);
  const code = nextCode(key);
  expect((await Promise.all([enter(left, code), enter(right, code)])).sort()).toEqual([303, 422]);
});

test('a clock that is half a minute off is fine, one that is two minutes off is not', async () => {
  const user = await makeUser();
  const { key } = await addCodes(user);
  const at = (shiftMs: number): string => totpCodeAt(key, panel.clock.now().getTime() + shiftMs);
  const visitor = panel.visitor('192.0.2.121');
  panel.pass(120_000);
  await begin(visitor, user.email);
  expect(await enter(visitor, at(-120_000))).toBe(422);
  expect(await enter(visitor, at(120_000))).toBe(422);
  expect(await enter(visitor, at(30_000))).toBe(303);
});

test('a recovery code works once', async () => {
  const user = await makeUser();
  const { recovery } = await addCodes(user);
  const [code = ''] = recovery;
  const visitor = panel.visitor('192.0.2.131');
  await begin(visitor, user.email);
  expect(await enter(visitor, code.toLowerCase().replaceAll('-', ' '))).toBe(303);
  expect((await visitor.get('/panel/account')).text).toContain('9 recovery codes left');
  const second = panel.visitor('192.0.2.132');
  await begin(second, user.email);
  expect(await enter(second, code)).toBe(422);
});

const minute = 60_000;

test('a one-time link opens an account with codes also after strangers have used up its attempts', async () => {
  panel.pass(61 * minute);
  const user = await makeUser();
  const { key } = await addCodes(user);
  const guess = (visitor: Visitor) => visitor.post('/panel/sign-in', { email: user.email, password: 'a guess' }, '');
  for (let i = 0; i < 50; i += 1) await guess(panel.visitor(`198.18.6.${Math.floor(i / 5)}`));
  const visitor = panel.visitor('192.0.2.141');
  expect((await guess(visitor)).text).toContain('or ask for a one-time link');
  const token = new URL((await panel.users.makeLink('cli:test', user.email)).link).searchParams.get('token') ?? '';
  await visitor.post('/panel/link', { token, password, again: password }, '');
  expect(await enter(visitor, nextCode(key))).toBe(303);
  expect(await isSignedIn(visitor)).toBe(true);
});

test('a one-time link opens an account with codes also in a browser that used up its attempts', async () => {
  const user = await makeUser();
  const { key } = await addCodes(user);
  const visitor = panel.visitor('192.0.2.142');
  for (let i = 0; i < 6; i += 1)
    await visitor.post('/panel/sign-in', { email: user.email, password: `guess number ${i}` }, '');
  const token = new URL((await panel.users.makeLink('cli:test', user.email)).link).searchParams.get('token') ?? '';
  await visitor.post('/panel/link', { token, password, again: password }, '');
  expect(await enter(visitor, nextCode(key))).toBe(303);
});

/** Wrong ones, each from an address of its own with the right password; what the last one was answered. */
const guessCodes = async (email: string, times: number, net: string): Promise<string[]> => {
  const answers: string[] = [];
  for (let i = 0; i < times; i += 1) {
    const visitor = panel.visitor(`${net}.${i}`);
    await begin(visitor, email);
    const { status, text } = await visitor.post('/panel/sign-in/code', { code: `x${i}` }, '');
    answers.push(text.includes('Too many attempts') ? 'wait' : String(status));
  }
  return answers;
};

test('F-27 wrong codes are counted for the account, whatever the address, and the right password does not reset the count', async () => {
  panel.pass(24 * 60 * minute);
  const user = await makeUser();
  const { key } = await addCodes(user);
  expect(await guessCodes(user.email, 12, '198.18.0')).toEqual([...Array(10).fill('422'), 'wait', 'wait']);
  // Not even the right code, and not by the door of the account page.
  const removal = await user.browser.post('/panel/account/totp/remove', { code: nextCode(key) });
  expect(removal.text).toContain('Too many attempts');
  // The waits grow: the second ten need an hour, the second twenty a day.
  panel.pass(16 * minute);
  expect((await guessCodes(user.email, 11, '198.18.1')).at(-1)).toBe('wait');
  panel.pass(16 * minute);
  expect(await guessCodes(user.email, 1, '198.18.2')).toEqual(['wait']);
  panel.pass(61 * minute);
  const visitor = panel.visitor('198.18.3.1');
  await begin(visitor, user.email);
  expect(await enter(visitor, nextCode(key))).toBe(303);
});

test('F-27 a link that an administrator makes ends the wait for codes that who knew the password has guessed', async () => {
  panel.pass(24 * 60 * minute);
  const user = await makeUser();
  const { key } = await addCodes(user);
  for (const address of ['198.18.4', '198.18.5', '198.18.6']) {
    await guessCodes(user.email, 11, address);
    panel.pass(61 * minute);
  }
  expect(await guessCodes(user.email, 11, '198.18.7')).toContain('wait');
  const link = new URL((await panel.users.makeLink('cli:test', user.email)).link);
  const visitor = panel.visitor('198.18.8.1');
  const token = link.searchParams.get('token') ?? '';
  const fresh = 'another seven unlikely words';
  expect((await visitor.post('/panel/link', { token, password: fresh, again: fresh }, '')).status).toBe(303);
  expect(await enter(visitor, nextCode(key))).toBe(303);
});

test('F-27 on the account page right passwords between wrong codes reset nothing', async () => {
  panel.pass(24 * 60 * minute);
  const user = await makeUser();
  await addCodes(user);
  const before = panel.events.length;
  const answers: string[] = [];
  for (let i = 0; i < 14; i += 1) {
    // Codes are there already, but the password is checked.
    await user.browser.post('/panel/account/totp/begin', { current: password });
    const { text } = await user.browser.post('/panel/account/totp/remove', { code: `99${i}` });
    answers.push(text.includes('Too many attempts') ? 'wait' : 'refused');
  }
  expect(answers).toEqual([...Array(10).fill('refused'), ...Array(4).fill('wait')]);
  const failed = panel.events.slice(before).filter(({ action }) => action === 'user.check_failed');
  expect(failed.map(({ reason }) => reason)).toEqual([...Array(10).fill('wrong code'), 'too many attempts']);
});

test('F-27 codes that are guessed at the same moment do not pass the bound, and a right one takes back its own attempt only', async () => {
  panel.pass(24 * 60 * minute);
  const user = await makeUser();
  const { key } = await addCodes(user);
  const right = panel.visitor('198.18.9.1');
  for (let i = 0; i < 12; i += 1) {
    await begin(right, user.email);
    expect(await enter(right, nextCode(key)), `time ${i}`).toBe(303);
  }
  const visitors = await Promise.all(
    Array.from({ length: 20 }, async (_none, i) => {
      const visitor = panel.visitor(`198.18.4.${i}`);
      await begin(visitor, user.email);
      return visitor;
    }),
  );
  const texts = await Promise.all(
    visitors.map(async (visitor) => (await visitor.post('/panel/sign-in/code', { code: '12' }, '')).text),
  );
  expect(texts.filter((text) => !text.includes('Too many attempts'))).toHaveLength(10);
});

test('F-27 a stranger without the password uses up no code, however many attempts there are', async () => {
  panel.pass(24 * 60 * minute);
  const user = await makeUser();
  const { key } = await addCodes(user);
  for (let i = 0; i < 45; i += 1) {
    const stranger = panel.visitor(`198.18.5.${i}`);
    await stranger.post('/panel/sign-in', { email: user.email, password: 'not the password' }, '');
    expect((await stranger.post('/panel/sign-in/code', { code: '123456' }, '')).status).not.toBe(303);
  }
  await begin(user.browser, user.email);
  expect(await enter(user.browser, nextCode(key))).toBe(303);
});

test('a sign-in that waits for its code ends after ten minutes, and when the password changes', async () => {
  const user = await makeUser();
  const { key } = await addCodes(user);
  const late = panel.visitor('192.0.2.151');
  await begin(late, user.email);
  panel.pass(10 * 60_000);
  expect(await enter(late, nextCode(key))).toBe(422);
  expect(await isSignedIn(late)).toBe(false);
  const old = panel.visitor('192.0.2.152');
  await begin(old, user.email);
  const change = { current: password, password: 'eight more words', again: 'eight more words' };
  expect((await user.browser.post('/panel/account/password', change)).status).toBe(303);
  expect((await old.post('/panel/sign-in/code', { code: nextCode(key) }, '')).text).toContain(
    'This sign-in has expired',
  );
  expect(await isSignedIn(old)).toBe(false);
});

test('a one-time link sets the password, and the code is still asked for', async () => {
  const user = await makeUser();
  const { key } = await addCodes(user);
  const token = new URL((await panel.users.makeLink('cli:test', user.email)).link).searchParams.get('token') ?? '';
  const visitor = panel.visitor('192.0.2.161');
  const answer = await visitor.post('/panel/link', { token, password, again: password }, '');
  expect(answer.location).toMatch(/^\/panel\/sign-in\/code/);
  expect(await isSignedIn(visitor)).toBe(false);
  expect(await enter(visitor, nextCode(key))).toBe(303);
});

test('adding codes ends other sessions; removing them needs a code, or an administrator', async () => {
  const user = await makeUser();
  const other = panel.visitor('192.0.2.171');
  await other.post('/panel/sign-in', { email: user.email, password }, '');
  const { key } = await addCodes(user);
  expect(await isSignedIn(other)).toBe(false);
  expect((await user.browser.post('/panel/account/totp/begin', { current: password })).status).toBe(303);
  expect((await user.browser.post('/panel/account/totp/remove', { code: '123456' })).status).toBe(422);
  expect((await user.browser.post('/panel/account/totp/remove', { code: nextCode(key) })).status).toBe(303);
  expect((await other.post('/panel/sign-in', { email: user.email, password }, '')).location).toBe('/panel');
  await addCodes(user);
  await panel.users.removeTotp('cli:test', user.email);
  expect((await other.post('/panel/sign-in', { email: user.email, password }, '')).location).toBe('/panel');
  const actions = panel.events.map(({ action }) => action);
  expect(actions.filter((action) => action === 'user.totp_removed')).toHaveLength(2);
});

test('a proposal that was left is worth nothing to another session, without its form, and after a quarter of an hour', async () => {
  const { browser } = await makeUser();
  const begun = async (): Promise<{ key: string; proof: string }> => {
    const shown = (await browser.post('/panel/account/totp/begin', { current: password })).text;
    return { key: (/<code id="totp-key">([^<]+)</.exec(shown)?.[1] ?? '').replaceAll(' ', ''), proof: proofIn(shown) };
  };
  const { key, proof } = await begun();
  for (const wrong of ['', 'x', proof.replace(/.$/, 'z'), `9${proof}`]) {
    const answer = await browser.post('/panel/account/totp', { code: nextCode(key), proof: wrong });
    expect([answer.status, answer.text.includes('totp-key')]).toEqual([303, false]);
  }
  const again = await browser.post('/panel/account/totp', { code: '000000', proof });
  expect([again.status, again.text.includes('totp-key')]).toEqual([422, true]);
  panel.pass(15 * 60_000);
  const late = await browser.post('/panel/account/totp', { code: nextCode(key), proof });
  expect([late.status, late.text.includes('totp-key')]).toEqual([303, false]);
  const fresh = await begun();
  const done = await browser.post('/panel/account/totp', { code: nextCode(fresh.key), proof: fresh.proof });
  expect(done.text).toContain('One-time codes are on.');
});

test('a sign-in by password opens no session when a second factor is added meanwhile, because its code was not asked for', async () => {
  const { email, browser } = await makeUser();
  await browser.post('/panel/account/totp/begin', { current: password });
  const visitor = panel.visitor('192.0.2.181');
  // The sign-in has read the account without a second factor, and waits for the account until it has one.
  const added = sql`update panel.users set totp_since = ${panel.clock.now()} where email = ${email}`;
  const answer = await whileLocked(panel.database.db, added, 1, () =>
    visitor.post('/panel/sign-in', { email, password }, ''),
  );
  expect(answer.status).toBe(422);
  expect(await isSignedIn(visitor)).toBe(false);
  await begin(visitor, email);
});

test('A-690 a session that ends while its request waits adds no codes, changes no password and ends no other session', async () => {
  for (const [path, fieldsOf] of [
    ['/panel/account/totp', (key: string, proof: string) => ({ code: nextCode(key), proof })],
    ['/panel/account/password', () => ({ current: password, password: 'eight more words', again: 'eight more words' })],
  ] as const) {
    const { email, browser } = await makeUser();
    const owner = panel.visitor(`192.0.2.${190 + count}`);
    await owner.post('/panel/sign-in', { email, password }, '');
    const shown = (await browser.post('/panel/account/totp/begin', { current: password })).text;
    const key = (/<code id="totp-key">([^<]+)</.exec(shown)?.[1] ?? '').replaceAll(' ', '');
    const fields = fieldsOf(key, proofIn(shown));
    const lock = sql`select 1 from panel.users where email = ${email} for update`;
    await whileLocked(
      panel.database.db,
      lock,
      1,
      () => browser.post(path, fields),
      async () => {
        expect((await owner.post('/panel/account/sessions/end-others', {})).status).toBe(303);
      },
    );
    expect([await isSignedIn(browser), await isSignedIn(owner)], path).toEqual([false, true]);
    const again = panel.visitor(`192.0.2.${210 + count}`);
    expect((await again.post('/panel/sign-in', { email, password }, '')).location, path).toBe('/panel');
  }
});
