/** Signing in by an external OpenID provider, over HTTP, with a real one. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { whileLocked } from '../../support/contention.ts';
import {
  clientId,
  clientSecret,
  type Identity,
  type OpenidProvider,
  startOpenidProvider,
} from '../harness/openid-provider.ts';
import { type PanelInProcess, startPanel, type Visitor } from '../harness/panel-in-process.ts';

let provider: OpenidProvider;
let panel: PanelInProcess;
/** Who is signed in at the provider. */
let identity: Identity;

beforeAll(async () => {
  provider = await startOpenidProvider();
  panel = await startPanel({
    ...{ oidc_issuer: provider.issuer, oidc_client_id: clientId, oidc_client_secret: clientSecret },
    oidc_label: 'Trattoria ID',
  });
  provider.serve(panel.origin, () => identity);
});

beforeEach(() => {
  identity = { sub: 'none', email: 'none@example.com', email_verified: true };
});

afterAll(async () => {
  await panel?.close();
  await provider?.close();
});

/** Follows the browser's way through the provider; the address that it sends the browser back to. */
const throughProvider = async (begin: string): Promise<URL> => {
  const cookies = new Map<string, string>();
  let url = new URL(begin);
  for (let hops = 0; url.origin === provider.issuer; hops += 1) {
    expect(hops).toBeLessThan(10);
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const text of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      cookies.set(name, value);
    }
    expect(answer.status, await answer.text()).toBe(303);
    url = new URL(answer.headers.get('location') ?? '', url);
  }
  expect(url.origin).toBe(panel.origin);
  return url;
};

const signInWith = async (visitor: Visitor, who: Identity, next = '/panel') => {
  identity = who;
  const begun = await visitor.get(`/panel/sign-in/provider?next=${encodeURIComponent(next)}`);
  const back = await throughProvider(begun.location ?? '');
  return { back, answer: await visitor.get(back.pathname + back.search) };
};

const makeUser = async (email: string): Promise<string> =>
  (await panel.users.create('cli:test', { email, role: 'support' })).userId;

const isSignedIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get('/panel/account')).status === 200;

test('the user that the provider names by a verified email signs in to the account with that email, to the page asked for', async () => {
  const id = await makeUser('ada@example.com');
  const visitor = panel.visitor();
  expect((await visitor.get('/panel/sign-in')).text).toContain('Sign in with Trattoria ID');
  const { answer } = await signInWith(
    visitor,
    { sub: 'ada-1', email: 'Ada@example.com', email_verified: true },
    '/panel/account?from=here',
  );
  expect(answer).toMatchObject({ status: 303, location: '/panel/account?from=here' });
  expect(await isSignedIn(visitor)).toBe(true);
  expect(panel.events.slice(-2)).toMatchObject([
    { action: 'user.changed', details: { provider: provider.issuer } },
    { action: 'user.signed_in', actor: `panel:${id}`, details: { method: 'oidc' } },
  ]);
});

test('the first sign-in by the provider ends an unused invitation, which would add a password', async () => {
  const made = await panel.users.create('cli:test', { email: 'invited@example.com', role: 'support' });
  const token = new URL(made.link).searchParams.get('token') ?? '';
  const { answer } = await signInWith(panel.visitor(), {
    sub: 'i-1',
    email: 'invited@example.com',
    email_verified: true,
  });
  expect(answer.status).toBe(303);
  const password = 'seven unlikely words';
  expect((await panel.visitor().post('/panel/link', { token, password, again: password }, '')).status).toBe(410);
});

test('an account belongs to the first identity that came; the same email of another one opens nothing', async () => {
  await makeUser('bound@example.com');
  const { answer } = await signInWith(panel.visitor(), {
    sub: 'b-1',
    email: 'bound@example.com',
    email_verified: true,
  });
  expect(answer.status).toBe(303);
  const thief = panel.visitor();
  const stolen = await signInWith(thief, { sub: 'b-2', email: 'bound@example.com', email_verified: true });
  expect(stolen.answer.text).toContain('There is no account here');
  expect(await isSignedIn(thief)).toBe(false);
  // The first one is known also when the provider calls it by another email.
  const renamed = panel.visitor();
  await signInWith(renamed, { sub: 'b-1', email: 'new@example.com', email_verified: true });
  expect((await renamed.get('/panel/account')).text).toContain('bound@example.com');
});

test('two first sign-ins of one identity at the same moment both open its account', async () => {
  await makeUser('twice@example.com');
  const who = { sub: 't-1', email: 'twice@example.com', email_verified: true };
  const backs: [Visitor, URL][] = [];
  for (const visitor of [panel.visitor(), panel.visitor()]) {
    identity = who;
    const begun = await visitor.get('/panel/sign-in/provider?next=%2Fpanel');
    backs.push([visitor, await throughProvider(begun.location ?? '')]);
  }
  const lock = sql`select 1 from panel.users where email = 'twice@example.com' for update`;
  await whileLocked(panel.database.db, lock, backs.length, () =>
    Promise.all(backs.map(([visitor, back]) => visitor.get(back.pathname + back.search))),
  );
  for (const [visitor] of backs) expect(await isSignedIn(visitor)).toBe(true);
});

test('an email that the provider has not verified, an unknown one and a disabled account open nothing', async () => {
  await makeUser('unverified@example.com');
  await makeUser('gone@example.com');
  await panel.users.disable('cli:test', 'gone@example.com');
  for (const who of [
    { sub: 'u-1', email: 'unverified@example.com', email_verified: false },
    { sub: 'u-2', email: 'unknown@example.com', email_verified: true },
    { sub: 'u-3', email: 'gone@example.com', email_verified: true },
  ]) {
    const visitor = panel.visitor();
    const { answer } = await signInWith(visitor, who, '/panel/account?from=here');
    expect(answer.text, who.email).toContain('There is no account here');
    // Another way of signing in still leads to the page that was asked for.
    expect(answer.text).toContain('name="next" value="/panel/account?from=here"');
    expect(await isSignedIn(visitor)).toBe(false);
    expect(panel.events.at(-1)).toMatchObject({ action: 'user.sign_in_failed', outcome: 'failure' });
  }
});

test('the return from the provider works once, in the browser that began, and only with the parameters that the provider sent', async () => {
  await makeUser('way@example.com');
  const who = { sub: 'w-1', email: 'way@example.com', email_verified: true };
  const visitor = panel.visitor();
  const { back } = await signInWith(visitor, who);
  expect(await isSignedIn(visitor)).toBe(true);
  const again = panel.visitor();
  expect((await again.get(back.pathname + back.search)).text).toContain('did not work');
  identity = who;
  const begun = await again.get('/panel/sign-in/provider?next=/panel/account');
  const fresh = await throughProvider(begun.location ?? '');
  for (const [name, value] of [
    ['state', 'another'],
    ['iss', 'https://elsewhere.example'],
    ['code', 'guessed'],
  ] as const) {
    const wrong = new URL(fresh);
    wrong.searchParams.set(name, value);
    // A wrong code goes to the provider, which then takes the right one no more: it comes last.
    const { text } = await again.get(wrong.pathname + wrong.search);
    expect(text, name).toContain('did not work');
    expect(text, name).toContain('name="next" value="/panel/account"');
  }
  expect(await isSignedIn(again)).toBe(false);
  await signInWith(again, who);
  expect(await isSignedIn(again)).toBe(true);
});

test('a second factor that is on is asked for here too', async () => {
  await makeUser('codes@example.com');
  const visitor = panel.visitor();
  const who = { sub: 'c-1', email: 'codes@example.com', email_verified: true };
  await signInWith(visitor, who);
  await panel.database.pool.query(
    `update panel.users set totp_since = now(), totp_secret = 'x' where email = 'codes@example.com'`,
  );
  const second = panel.visitor();
  const { answer } = await signInWith(second, who);
  expect(answer.location).toBe('/panel/sign-in/code?next=%2Fpanel');
  expect(await isSignedIn(second)).toBe(false);
});
