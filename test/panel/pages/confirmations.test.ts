/**
 * Every action of the panel, over the list of all pages: it takes nothing away, or it asks first and says what, and
 * from whom.
 */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allPages, allPublicPages } from '#src/panel/pages.ts';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';
import { openTill } from '../harness/till.ts';

const url = 'http://127.0.0.1:59999/hooks';
const name = 'Ada Delivery';
const restaurant = 'Osteria Uno';

let harness: PanelHarness;
let cookie: string;
let csrf: string;
let contact: { cookie: string; csrf: string };
/** Of paths; a session is a parameter of the address. */
const ids: Record<string, string> = {};
let apiKey: string;
let email: string;

/** What an action takes, so that it can only give, begin or look; or what undoes it in the same place. */
const harmless: Readonly<Record<string, string>> = {
  '/sign-in': 'begins a session',
  '/sign-in/code': 'begins a session',
  '/sign-in/forgot': 'mails a link; the password stays as it is until the link is used',
  '/sign-in/passkey': 'begins a session',
  '/link': 'sets the first password, or one that the user asked for',
  '/sign-out': 'ends the session of this browser, which signs in again',
  '/language': 'is chosen back in the same place',
  '/users/:user/link': 'makes a link; the account stays as it is until the link is used',
  '/users/:user/enable': 'gives',
  '/users/new': 'makes an account',
  '/account/password': 'asks for the present password, and its form says that other sessions end',
  '/account/passkeys/begin': 'shows',
  '/account/passkeys': 'adds, after an answer of the authenticator',
  '/account/passkeys/remove': 'asks for the present password, on a page of its own about the own account',
  '/account/notices': 'saves a form that shows all that it changes',
  '/account/notices/secret': 'makes a secret; the former one signs beside it for a day',
  '/account/passkeys/rename': 'saves a form that shows all that it changes',
  '/account/totp/begin': 'shows',
  '/account/totp': 'adds, after a code',
  '/account/totp/remove': 'asks for a code, on a page of its own about the own account',
  '/restaurants/:restaurant/keys': 'makes a key',
  '/restaurants/:restaurant/access/on': 'gives',
  '/restaurants/:restaurant/notifications': 'is switched back in the same place, where it says what is lost meanwhile',
  '/restaurants/:restaurant/deliveries/:delivery/redeliver': 'sends again',
  '/restaurants/:restaurant/deliveries/redeliver': 'sends again, after a page that says how many',
  '/restaurants/:restaurant/webhooks': 'makes an endpoint',
  '/restaurants/:restaurant/webhooks/:endpoint/edit': 'saves a form that shows all that it changes',
  '/restaurants/:restaurant/webhooks/:endpoint/login': 'saves a form that names what it replaces',
  '/restaurants/:restaurant/webhooks/:endpoint/enable': 'gives',
  '/restaurants/:restaurant/webhooks/:endpoint/test': 'sends one event',
  '/restaurants/:restaurant/webhooks/:endpoint/redeliver': 'sends again',
  '/restaurants/:restaurant/orders/:order/confirm': 'accepts the order, which can still be cancelled',
  '/restaurants/:restaurant/orders/:order/close': 'ends the order, which can still be cancelled',
  '/restaurants/:restaurant/customers/:customer/points': 'books an entry, which another entry takes back',
  '/support/restaurants/new': 'makes a restaurant',
  '/support/restaurant-choice': 'searches',
  '/clients/new': 'makes a client',
  '/clients/:client/grant': 'gives',
  '/clients/:client/certificates': 'registers, after a page that shows what it registers',
  '/clients/:client/reactivate': 'gives',
  '/restaurants/:restaurant/keys/:key/reactivate': 'gives, on a page of its own',
  '/security/audit/saved': 'keeps a search, which is removed in the same place',
  '/security/audit/saved/remove': 'removes a name for a search, which the address bar still shows',
  '/clients/:client/contacts': 'invites, or makes a link; the account stays as it is until the link is used',
  '/portal/:client/credentials/keys': 'adds',
  '/portal/:client/credentials/certificates': 'adds',
  '/security/incident': 'looks',
  '/security/signals/:stream/resume': 'gives, on a page of its own',
  '/security/integrity/verify': 'looks',
};

type Asking = {
  /** Address of the page that asks; default: that of the action. */
  page?: () => string;
  /** Or what is posted to get the page. */
  post?: () => [path: string, fields: Record<string, string>];
  /** What the page must name. */
  names: () => string[];
  /** What the answer afterwards must name. */
  afterwards: () => string[];
  /** Fields that the user fills in. */
  fill?: Record<string, string>;
  /** Only a contact may do it. */
  isOfContact?: boolean;
};

const ofClient: Asking = { names: () => [name], afterwards: () => [name] };
const ofEndpoint: Asking = { names: () => [url], afterwards: () => [url] };
const ofUser: Asking = { names: () => [email], afterwards: () => [email] };
const session = { page: () => `/users/${ids.user}/end-session?session=${ids.session}` };

/** In this sequence: what ends more comes later. */
const asking: Readonly<Record<string, Asking>> = {
  '/restaurants/:restaurant/keys/:key/limits': {
    post: () => [`/restaurants/${ids.restaurant}/keys/${ids.key}/limits`, { day: '1' }],
    names: () => ['Till', '1 allowed'],
    afterwards: () => ['Till'],
  },
  '/restaurants/:restaurant/keys/:key/limits/addresses': {
    post: () => [`/restaurants/${ids.restaurant}/keys/${ids.key}/limits/addresses`, { allow_ip: '192.0.2.7' }],
    names: () => ['Till', '192.0.2.7'],
    afterwards: () => ['Till', '192.0.2.7'],
  },
  '/restaurants/:restaurant/keys/:key/rotate': { names: () => ['Till'], afterwards: () => ['Till'] },
  '/restaurants/:restaurant/keys/:key/revoke': { names: () => ['Till'], afterwards: () => ['Till'] },
  '/restaurants/:restaurant/access/off': { names: () => [restaurant], afterwards: () => [restaurant] },
  '/restaurants/:restaurant/webhooks/:endpoint/rotate': { ...ofEndpoint, afterwards: () => ['Signing secret'] },
  '/restaurants/:restaurant/webhooks/:endpoint/finish': ofEndpoint,
  '/restaurants/:restaurant/webhooks/:endpoint/login/remove': { ...ofEndpoint, names: () => [url, 'x-till-key'] },
  '/restaurants/:restaurant/webhooks/:endpoint/disable': ofEndpoint,
  '/restaurants/:restaurant/webhooks/:endpoint/remove': ofEndpoint,
  '/restaurants/:restaurant/orders/:order/cancel': {
    names: () => ['Cancel order 1?'],
    afterwards: () => ['Order 1 is cancelled.'],
    fill: { reason: 'the oven is cold' },
  },
  '/restaurants/:restaurant/menu/imports/:import/revert': {
    names: () => [restaurant, 'Till at the bar'],
    afterwards: () => ['The earlier menu is restored.'],
  },
  '/users/second-factor': {
    post: () => ['/users/second-factor', { role: 'security' }],
    names: () => ['Security'],
    afterwards: () => ['The required second factor is saved.'],
  },
  '/users/:user/access': { ...ofUser, post: () => [`/users/${ids.user}/access`, { role: 'security' }] },
  '/users/:user/remove-totp': ofUser,
  '/users/:user/end-session': { ...ofUser, ...session },
  '/users/:user/end-sessions': ofUser,
  '/users/:user/remove-passkeys': ofUser,
  '/users/:user/disable': ofUser,
  '/account/sessions/end': {
    page: () => `/account/sessions/end?session=${ids.own}`,
    names: () => ['Sign this browser out of your account?', '127.0.0.1'],
    afterwards: () => ['The browser is signed out'],
  },
  '/account/sessions/end-others': {
    names: () => ['Sign out all other browsers of admin', '127.0.0.1'],
    afterwards: () => ['1 browser is signed out'],
  },
  '/clients/:client/shrink': {
    ...ofClient,
    page: () => `/clients/${ids.client}/shrink`,
    names: () => [name, 'read:menu'],
  },
  '/clients/:client/scopes': {
    post: () => [`/clients/${ids.client}/scopes`, { which: 'some', scope: 'read:loyalty' }],
    names: () => [name, 'read:orders'],
    afterwards: () => [name],
  },
  '/clients/:client/withdraw': {
    page: () => `/clients/${ids.client}/withdraw?restaurant=${ids.restaurant}`,
    names: () => [name, restaurant],
    afterwards: () => [name, restaurant],
  },
  '/portal/:client/secrets/:secret/retire': {
    isOfContact: true,
    names: () => [name, ids.spare ?? ''],
    afterwards: () => [name, ids.spare ?? ''],
    fill: { force: 'yes' },
  },
  '/portal/:client/credentials/keys/:jwk/remove': {
    isOfContact: true,
    names: () => [name, ids.jwk ?? ''],
    afterwards: () => [name, ids.jwk ?? ''],
  },
  '/portal/:client/credentials/certificates/:thumbprint/remove': {
    isOfContact: true,
    names: () => [name, ids.thumbprint ?? ''],
    afterwards: () => [name, ids.thumbprint ?? ''],
  },
  '/clients/:client/secrets/:secret/retire': {
    names: () => [name, ids.secret ?? ''],
    afterwards: () => [name, ids.secret ?? ''],
    fill: { force: 'yes' },
  },
  '/clients/:client/rotate': {
    post: () => [`/clients/${ids.client}/rotate`, { overlap: '0' }],
    names: () => [name],
    afterwards: () => [name],
  },
  '/portal/:client/rotate': {
    ...{ ...ofClient, isOfContact: true },
    post: () => [`/portal/${ids.client}/rotate`, { overlap: '0' }],
  },
  '/clients/:client/contacts/:contact/remove': {
    names: () => [name, 'contact'],
    afterwards: () => [name, 'contact'],
  },
  '/clients/:client/limits': {
    ...ofClient,
    post: () => [`/clients/${ids.client}/limits`, { day: '1' }],
    names: () => [name, '1 allowed'],
  },
  '/clients/:client/limits/addresses': {
    ...ofClient,
    post: () => [`/clients/${ids.client}/limits/addresses`, { allow_ip: '192.0.2.7' }],
    names: () => [name, '192.0.2.7'],
  },
  '/clients/:client/quarantine': {
    ...ofClient,
    post: () => [`/clients/${ids.client}/quarantine`, { reason: 'found in public' }],
  },
  '/clients/:client/disable': { ...ofClient, fill: { confirm: 'yes' } },
  '/clients/:client/certificates/:certificate/remove': {
    names: () => [name, ids.certificate ?? ''],
    afterwards: () => [name, ids.certificate ?? ''],
  },
  '/security/signals/:stream/pause': {
    ...ofClient,
    fill: { reason: 'its receiver is moved' },
  },
  '/security/incident/revoke': {
    post: () => [
      '/security/incident',
      { kind: 'api_key', id: ids.leaked ?? '', sha256: createHash('sha256').update(apiKey).digest('hex') },
    ],
    names: () => [ids.leaked ?? ''],
    afterwards: () => [ids.leaked ?? ''],
  },
};

/** The contact retires another secret than support. */
const filled = (path: string): string =>
  path
    .replace('/portal/:client/secrets/:secret', '/portal/:client/secrets/:spare')
    .replaceAll(/:([a-z]+)/g, (_whole, parameter: string) => ids[parameter] ?? '');

/** `path`: where redirects led. */
type Shown = { status: number; path: string; main: string };

const ask = async (path: string, fields?: URLSearchParams, who = cookie): Promise<Shown> => {
  const answer = await fetch(`${harness.url}/panel${path}`, {
    headers: { cookie: who, ...(fields === undefined ? undefined : { origin: harness.url }) },
    ...(fields === undefined ? undefined : { method: 'POST', body: fields }),
  });
  // Long names may break at `<wbr>`.
  const text = (await answer.text()).replaceAll('&#39;', "'").replaceAll('<wbr>', '');
  return {
    status: answer.status,
    path: new URL(answer.url).pathname.slice('/panel'.length),
    main: /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? text,
  };
};

const post = (path: string, fields: Record<string, string>, who = { cookie, csrf }): Promise<Shown> =>
  ask(path, new URLSearchParams({ csrf: who.csrf, ...fields }), who.cookie);

type Form = { action: string; fields: URLSearchParams };

/** Forms of a page that are posted, with the values that they are shown with. */
const formsOf = ({ main }: Shown): Form[] =>
  [...main.matchAll(/<form method="post" action="\/panel([^"]*)"[\s\S]*?<\/form>/g)].map(([text, action = '']) => {
    const inputs = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const chosen = [...text.matchAll(/<select name="([^"]+)">[\s\S]*?<option value="([^"]*)" selected/g)];
    return {
      action,
      fields: new URLSearchParams(
        [...inputs, ...chosen].map(([, field = '', value = '']): [string, string] => [field, value]),
      ),
    };
  });

const csrfOf = async (who: string): Promise<string> =>
  formsOf(await ask('/account', undefined, who))
    .find(({ fields }) => fields.has('csrf'))
    ?.fields.get('csrf') ?? '';

/** A contact, and credentials of the client that the contact may take away. */
const prepareContact = async (clientId: string): Promise<void> => {
  const user = await harness.user('contact', [clientId]);
  const contactCookie = await harness.cookieOf(user);
  contact = { cookie: contactCookie, csrf: await csrfOf(contactCookie) };
  const { secret_id: spare } = await harness.command('client', 'rotate-secret', '--client-id', clientId);
  const thumbprint = 'c'.repeat(42).concat('A');
  await harness.command('client', 'add-certificate', '--client-id', clientId, '--thumbprint', thumbprint);
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: 'next' });
  expect((await post(`/portal/${clientId}/credentials/keys`, { jwk }, contact)).main).toContain('next');
  Object.assign(ids, { contact: user.userId, spare, thumbprint, jwk: 'next' });
};

beforeAll(async () => {
  harness = await startPanelHarness();
  const [restuid = ''] = harness.restaurants;
  const admin = await harness.user('admin');
  cookie = await harness.cookieOf(admin);
  csrf = await csrfOf(cookie);
  const user = await harness.user('support');
  email = user.email;
  const client = await harness.command(
    ...['client', 'create', '--name', name, '--restaurant', restuid, '--restaurant', harness.restaurants[1] ?? ''],
    ...['--scope', 'read:orders read:menu read:loyalty'],
  );
  const leaked = await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Leaked');
  const key = await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Till');
  apiKey = leaked.api_key ?? '';
  const made = await post(`/restaurants/${restuid}/webhooks`, { url, kinds: 'orders' });
  const uid = /whe_\w+/.exec(made.main)?.[0];
  await post(`/restaurants/${restuid}/webhooks/${uid}/login`, { type: 'header', name: 'X-Till-Key', value: 'secret' });
  const till = await openTill(harness, restuid);
  await till.reprice(7);
  Object.assign(ids, {
    ...{ restaurant: restuid, user: user.userId, client: client.client_id, key: key.key_id, leaked: leaked.key_id },
    order: (await till.order()).uid,
    category: /menu\/categories\/([^/"]+)"/.exec((await ask(`/restaurants/${restuid}/menu`)).main)?.[1],
    import: (await ask(`/restaurants/${restuid}/menu/imports`)).main.match(/imp_\w+/g)?.at(-1),
    endpoint: uid,
    secret: /secrets\/([^/]+)\/retire/.exec((await ask(`/clients/${client.client_id}`)).main)?.[1],
  });
  await harness.database.pool.query(
    `insert into gateway.signal_streams (stream_id, client_id, issuer, delivery, endpoint_url, created, next_try)
     values ('str_one', $1, 'http://localhost', 'push', 'https://receiver.example/', now(), now())`,
    [client.client_id],
  );
  ids.stream = 'str_one';
  // Of today, and of the day that begins while the test runs.
  await harness.database.pool.query(
    `insert into gateway.caller_usage (caller, day, requests, units, limited, elsewhere)
     select caller, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + d * interval '1 day', 90, 90, 0, 0
     from unnest($1::text[]) as caller, generate_series(0, 1) as d`,
    [[client.client_id, key.key_id]],
  );
  const { cert } = makeAuthority().issue({ name: 'till', use: 'client' });
  const registered = await post(`/clients/${client.client_id}/certificates`, { pem: cert, confirmed: 'yes' });
  ids.certificate = /certificates\/([\w-]+)\/remove/.exec(registered.main)?.[1] ?? '';
  const { client_id = '', client_secret = '' } = client;
  await prepareContact(client_id);
  for (const path of ['orders/list', 'loyaltylog/list'])
    await fetch(`${harness.url}/api/${path}?restuid=${restuid}`, {
      headers: { 'x-client-id': client_id, 'x-client-secret': client_secret },
    });
  await harness.database.pool.query(`update panel.users set totp_since = now(), totp_secret = 'x' where id = $1`, [
    user.userId,
  ]);
  await harness.database.pool.query(
    `insert into panel.passkeys (credential_id, id, user_id, name, public_key, counter, created_at)
     values ('x', 'psk_1', $1, 'Phone', 'x', 0, now())`,
    [user.userId],
  );
});

afterAll(() => harness?.close());

test('F-44 every action of the panel is known to take nothing away, or has a page that asks', () => {
  const posts = [...allPages, ...allPublicPages].filter(({ method }) => method === 'POST').map(({ path }) => path);
  expect([...Object.keys(harmless), ...Object.keys(asking)].sort()).toEqual(posts.sort());
});

test('F-44 no page but the one that asks holds a form that takes something away, or a red link; copy buttons look the same', async () => {
  const askingPaths = Object.keys(asking).map(filled);
  const pages = allPages.filter(({ method, path }) => method === 'GET' && !path.includes('/events'));
  let seen = 0;
  for (const { path, roles } of pages) {
    const who = roles.includes('admin') ? cookie : contact.cookie;
    const shown = await ask(filled(path.replace(':delivery', 'none')), undefined, who);
    expect(shown.main, path).not.toMatch(/<(?:a|summary) class="[^"]*danger/);
    for (const [button] of shown.main.matchAll(/<button[^>]* data-copy=[^>]*>/g))
      expect(button, path).not.toContain('class=');
    for (const { action } of formsOf(shown)) {
      seen += 1;
      const asks = asking[Object.keys(asking).find((one) => filled(one) === action) ?? ''];
      if (!askingPaths.includes(action) || asks?.post !== undefined) continue;
      expect(shown.path, `${path} posts to ${action}`).toBe((asks?.page?.() ?? action).split('?')[0]);
    }
  }
  expect(seen).toBeGreaterThan(20);
});

test('A-473 a change of limits, networks, a role or the required factor that takes nothing away is saved at once', async () => {
  const saved = async (path: string, fields: Record<string, string>): Promise<void> => {
    const done = await post(path, fields);
    expect(done.main, path).not.toContain('data-confirm');
    expect(done.main, path).toContain('class="message good"');
  };
  await saved(`/clients/${ids.client}/limits`, { day: '1000000', month: '' });
  await saved(`/clients/${ids.client}/limits/addresses`, { allow_ip: '' });
  await saved(`/clients/${ids.client}/limits`, {});
  await saved('/users/second-factor', {});
  const owner = await harness.user('owner');
  const [first = '', second = ''] = harness.restaurants;
  const access = (restaurants: readonly string[], more: Record<string, string> = {}) =>
    ask(
      `/users/${owner.userId}/access`,
      new URLSearchParams([
        ...Object.entries({ csrf, role: 'owner', ...more }),
        ...restaurants.map((uid): [string, string] => ['restaurant', uid]),
      ]),
    );
  expect((await access([first, second])).main).toContain('class="message good"');
  const asked = await access([second]);
  expect(asked.main).toContain(`Change role or restaurants of ${owner.email}?`);
  expect(asked.main).toContain(`<li>${restaurant}</li>`);
  expect((await ask(`/users/${owner.userId}/access`)).main).toContain(`value="${first}" checked`);
});

test('F-44 an action that withdraws access names its object and its user, before and after it is done', async () => {
  for (const [path, { page, post: first, names, afterwards, fill = {}, isOfContact }] of Object.entries(asking)) {
    const who = isOfContact === true ? contact : { cookie, csrf };
    if (path.startsWith('/users/') || path.startsWith('/account/')) await renewSessions();
    if (path.endsWith('/shrink')) await untilUseIsWritten();
    const asked = first?.();
    const shown =
      asked === undefined ? await ask(page?.() ?? filled(path), undefined, who.cookie) : await post(...asked, who);
    expect(shown.status, path).toBe(200);
    const form = formsOf(shown).find(({ action }) => action === filled(path));
    expect(form, `${path}: ${shown.main}`).toBeDefined();
    for (const text of names()) expect(shown.main, path).toContain(text);
    for (const [field, value] of Object.entries(fill)) form?.fields.set(field, value);
    const done = await ask(filled(path), form?.fields, who.cookie);
    expect(done.status, path).toBe(200);
    expect(done.main, path).not.toContain('class="message bad" role="alert"');
    for (const text of afterwards()) expect(done.main, path).toContain(text);
  }
});

/** A session of the user and one more of the administrator. */
const renewSessions = async (): Promise<void> => {
  const sessions = (main: string): string[] => [...main.matchAll(/\?session=([\w-]+)/g)].map(([, id = '']) => id);
  if (sessions((await ask('/account')).main).length === 0)
    await harness.cookieOf({ email: 'admin1@example.com', password: 'a long password of admin1@example.com' });
  ids.own = sessions((await ask('/account')).main)[0] ?? '';
  ids.session = sessions((await ask(`/users/${ids.user}`)).main)[0] ?? ids.session ?? '';
};

const untilUseIsWritten = async (): Promise<void> => {
  await expect
    .poll(async () =>
      formsOf(await ask(`/clients/${ids.client}/shrink`)).some(({ action }) => action.endsWith('/shrink')),
    )
    .toBe(true);
};

/** Sends what a page that asks would send, after others have changed the same thing. */
const sendForm = (form: Form | undefined): Promise<Shown> => {
  if (form === undefined) throw new Error('the page asks nothing');
  return ask(form.action, form.fields);
};

test('A-680 a confirmed withdrawal of scopes takes the scopes that its page names, and none that was granted meanwhile', async () => {
  // The access of the first restaurant is off since the test before.
  const [, restuid = ''] = harness.restaurants;
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Bruno Till', '--restaurant', restuid],
    ...['--scope', 'read:orders read:menu'],
  );
  const path = `/clients/${client_id}`;
  const held = async (): Promise<string[]> =>
    [...(await ask(`${path}/scopes`)).main.matchAll(/value="(\w+:\w+)" checked/g)]
      .map(([, scope = '']) => scope)
      .sort();
  const save = (...scopes: string[]): Promise<Shown> =>
    ask(
      `${path}/scopes`,
      new URLSearchParams([
        ['csrf', csrf],
        ['which', 'some'],
        ...scopes.map((scope): [string, string] => ['scope', scope]),
      ]),
    );
  const asked = await save('read:orders');
  expect(asked.main).toContain('Withdraw 1 scope of Bruno Till?');
  await save('read:orders', 'read:menu', 'read:loyalty');
  const again = await sendForm(formsOf(asked).find(({ action }) => action === `${path}/scopes`));
  expect(again.main).toContain('Withdraw 2 scopes of Bruno Till?');
  expect(await held()).toEqual(['read:loyalty', 'read:menu', 'read:orders']);
  await sendForm(formsOf(again).find(({ action }) => action === `${path}/scopes`));
  expect(await held()).toEqual(['read:orders']);

  await save('read:orders', 'read:menu');
  const { status } = await fetch(`${harness.url}/api/orders/list?restuid=${restuid}`, {
    headers: { 'x-client-id': client_id, 'x-client-secret': client_secret },
  });
  expect(status).toBe(200);
  const shrinking = async () => formsOf(await ask(`${path}/shrink`)).find(({ action }) => action === `${path}/shrink`);
  await expect.poll(shrinking).toBeDefined();
  const form = await shrinking();
  await save('read:orders', 'read:menu', 'write:orders');
  await sendForm(form);
  expect(await held()).toEqual(['read:orders', 'write:orders']);
});

test('A-683 a confirmed change of restaurants or networks asks again when it would take more than its page names', async () => {
  const owner = await harness.user('owner', harness.restaurants);
  const { restuid: third = '' } = await harness.command('restaurant', 'create', '--name', 'Pizzeria Tre');
  const [first = '', second = ''] = harness.restaurants;
  const path = `/users/${owner.userId}/access`;
  const access = (...restaurants: string[]): Promise<Shown> =>
    ask(
      path,
      new URLSearchParams([
        ['csrf', csrf],
        ['role', 'owner'],
        ...restaurants.map((uid): [string, string] => ['restaurant', uid]),
      ]),
    );
  const asked = await access(second);
  expect(asked.main).toContain(`<li>${restaurant}</li>`);
  await access(first, second, third);
  const again = await sendForm(formsOf(asked).find(({ action }) => action === path));
  expect(again.main).toContain('<li>Pizzeria Tre</li>');
  expect((await ask(path)).main).toContain(`value="${third}" checked`);
  await sendForm(formsOf(again).find(({ action }) => action === path));
  expect((await ask(path)).main).not.toContain(`value="${third}" checked`);

  const { client_id = '' } = await harness.command(
    ...['client', 'create', '--name', 'Carla Till', '--restaurant', ids.restaurant ?? ''],
  );
  const addresses = `/clients/${client_id}/limits/addresses`;
  await sendForm(
    formsOf(await post(addresses, { allow_ip: '192.0.2.0/24' })).find(({ action }) => action === addresses),
  );
  const narrower = await post(addresses, { allow_ip: '192.0.2.7' });
  await post(addresses, { allow_ip: '192.0.2.0/24 198.51.100.0/24' });
  const wider = await sendForm(formsOf(narrower).find(({ action }) => action === addresses));
  expect(wider.main).toContain('198.51.100.0/24');
  expect(wider.main).toContain('data-confirm');
  await sendForm(formsOf(wider).find(({ action }) => action === addresses));
  expect((await ask(`/clients/${client_id}/limits`)).main).not.toContain('198.51.100.0/24');
});
