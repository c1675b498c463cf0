/** The portal: support invites a contact of a client, and the contact looks after this client and nothing else. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { checkPage } from '../harness/check-page.ts';
import { browserBinary, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

if (browserBinary === undefined) process.stderr.write('portal: skipped in part, no Chromium is installed\n');

const password = 'a long password of the integrator';

let harness: PanelHarness;
let support: Visitor;
let own: Client;
let foreign: Client;

type Client = { id: string; secret: string };

const makeClient = async (name: string, ...scopes: string[]): Promise<Client> => {
  const made = await harness.command(
    ...['client', 'create', '--name', name, '--restaurant', harness.restaurants[0] ?? '', ...scopes],
  );
  return { id: made.client_id ?? '', secret: made.client_secret ?? '' };
};

const call = ({ id, secret }: Client, path = 'whoami', body?: object): Promise<Response> =>
  fetch(`${harness.url}/api/${path}`, {
    headers: { 'x-client-id': id, 'x-client-secret': secret, 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });

const statusOf = (client: Client) => async (): Promise<number> => (await call(client)).status;

type Shown = { status: number; path: string; text: string };
type Visitor = {
  get(path: string): Promise<Shown>;
  post(path: string, fields: Record<string, string>): Promise<Shown>;
};

/** A browser without pages. It follows redirects. */
const visitor = (cookie: string): Visitor => {
  const show = async (path: string, fields?: URLSearchParams): Promise<Shown> => {
    const answer = await fetch(`${harness.url}/panel${path}`, {
      headers: { cookie, ...(fields && { origin: harness.url }) },
      ...(fields && { method: 'POST', body: fields }),
    });
    const text = (await answer.text()).replaceAll('&#39;', "'");
    return { status: answer.status, path: new URL(answer.url).pathname.slice('/panel'.length), text };
  };
  return {
    get: (path) => show(path),
    post: async (path, fields) => {
      const csrf = /name="csrf" value="([^"]+)"/.exec((await show('/account')).text)?.[1] ?? '';
      return show(path, new URLSearchParams({ csrf, ...fields }));
    },
  };
};

const linkIn = ({ text }: Shown): URL | undefined => {
  const found = /id="link">([^<]+)</.exec(text)?.[1];
  return found === undefined ? undefined : new URL(found.replaceAll('&amp;', '&'));
};

const useLink = (link: URL | undefined): Promise<Response> =>
  fetch(`${harness.url}${link?.pathname}`, {
    method: 'POST',
    headers: { origin: harness.url },
    body: new URLSearchParams({ token: link?.searchParams.get('token') ?? '', password, again: password }),
    redirect: 'manual',
  });

/** Invited by support, with a password of the contact's own. */
const invite = async (email: string, client: Client): Promise<Visitor> => {
  const link = linkIn(await support.post(`/clients/${client.id}/contacts`, { email }));
  expect((await useLink(link)).status).toBe(303);
  return visitor(await harness.cookieOf({ email, password }));
};

/** Actions of the audit by an account, the oldest first. */
const auditOf = async (email: string): Promise<string[]> => {
  const { rows } = await harness.database.pool.query(
    `select action from gateway.audit_events where actor = (select 'panel:' || id from panel.users where email = $1)
     order by at, seq`,
    [email],
  );
  return rows.map(({ action }: { action: string }) => action);
};

beforeAll(async () => {
  harness = await startPanelHarness();
  own = await makeClient('Ada Delivery');
  foreign = await makeClient('Other Delivery');
  support = visitor(await harness.cookieOf(await harness.user('support')));
});

afterAll(() => harness?.close());

test('support invites a contact with a link that works once, sees the contact and takes the access away at once', async () => {
  const contacts = `/clients/${own.id}/contacts`;
  expect((await support.get(`/clients/${own.id}`)).text).toContain(`href="/panel${contacts}"`);
  expect((await support.post(contacts, { email: 'no email' })).status).toBe(422);
  const first = linkIn(await support.post(contacts, { email: 'Eve@Example.com' }));
  const second = linkIn(await support.post(contacts, { email: 'eve@example.com' }));
  expect((await useLink(first)).status).not.toBe(303);
  expect((await useLink(second)).status).toBe(303);
  expect((await useLink(second)).status).not.toBe(303);
  const eve = visitor(await harness.cookieOf({ email: 'eve@example.com', password }));
  expect((await eve.get('/portal')).path).toBe(`/portal/${own.id}`);
  const choices = [...(await eve.get('/account/notices')).text.matchAll(/name="kind" value="(\w+)"/g)];
  expect(choices.map(([, kind]) => kind)).toEqual(['credential_ending', 'leak_reported']);

  // An account with a password gets no link, so support cannot sign in as the contact.
  const added = await support.post(`/clients/${foreign.id}/contacts`, { email: 'eve@example.com' });
  expect(added.text).toContain('eve@example.com has an account already, and now sees Other Delivery too.');
  expect(linkIn(added)).toBeUndefined();
  expect((await eve.get('/portal')).text).toContain('Other Delivery');
  expect((await eve.get(`/portal?client=${foreign.id}`)).path).toBe(`/portal/${foreign.id}`);
  const { rows } = await harness.database.pool.query(`select email from panel.users where role = 'support'`);
  expect((await support.post(contacts, { email: rows[0].email })).status).toBe(422);

  const { text } = await support.get(`/clients/${foreign.id}/contacts`);
  const [, remove = ''] = /href="\/panel(\/clients\/[^"]+\/contacts\/[^"]+\/remove)"/.exec(text) ?? [];
  expect((await support.get(remove)).text).toContain('Remove eve@example.com as a contact of Other Delivery?');
  expect((await support.post(remove, {})).text).toContain('is no longer a contact of Other Delivery');
  expect((await eve.get(`/portal/${foreign.id}`)).status).toBe(404);
  await support.post(remove.replace(foreign.id, own.id), {});
  expect((await eve.get('/portal')).path).toBe('/sign-in');
  expect((await support.post(remove, {})).status).toBe(404);
  const events = await harness.database.pool.query(
    `select action, client_id from gateway.audit_events where details::jsonb->>'email' = 'eve@example.com'
       and actor = (select 'panel:' || id from panel.users where role = 'support') order by at, seq`,
  );
  expect(events.rows.map((row) => [row.action, row.client_id])).toEqual([
    ['user.created', own.id],
    ['user.link_made', own.id],
    ['user.changed', foreign.id],
    ['user.changed', foreign.id],
    ['user.changed', own.id],
  ]);
});

test('a contact rotates the secret while the old one still works, ends the old one on purpose, and each change is his in the audit', async () => {
  const ada = await invite('ada@example.com', own);
  const path = `/portal/${own.id}`;
  expect((await ada.get(path)).text).toContain('Osteria Uno');
  const made = await ada.post(`${path}/rotate`, { overlap: '24' });
  const fresh = { id: own.id, secret: /id="client-secret">([^<]+)</.exec(made.text)?.[1] ?? '' };
  await expect.poll(statusOf(fresh)).toBe(200);
  expect(await statusOf(own)()).toBe(200);
  expect((await ada.get(`${path}/credentials`)).text).not.toContain(fresh.secret);

  const [old = ''] = /\/secrets\/[^/"]+\/retire/.exec((await ada.get(`${path}/credentials`)).text) ?? [];
  expect((await ada.post(path + old, {})).status).toBe(422);
  expect(await statusOf(own)()).toBe(200);
  expect((await ada.post(path + old, { force: 'yes' })).text).toContain('is retired.');
  await expect.poll(statusOf(own)).toBe(401);
  expect(await statusOf(fresh)()).toBe(200);
  own = fresh;

  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const keys = `${path}/credentials/keys`;
  const secret = await ada.post(keys, { jwk: JSON.stringify(privateKey.export({ format: 'jwk' })) });
  expect(secret.status).toBe(422);
  expect(secret.text).not.toContain(String(privateKey.export({ format: 'jwk' }).d));
  const jwk = JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: 'till/1 <b>' });
  expect((await ada.post(keys, { jwk: jwk.replace('till/1 <b>', 'till/1') })).text).toContain('till/1');
  expect((await ada.post(keys, { jwk: jwk.replace('till/1 <b>', 'till/1') })).status).toBe(422);
  expect((await ada.post(`${keys}/till%2F1/remove`, {})).text).toContain('till/1 of Ada Delivery is removed.');
  // This installation reads no certificates of clients.
  expect((await ada.get(`${path}/credentials`)).text).not.toContain('Add a certificate');
  expect((await ada.post(`${path}/credentials/certificates`, { pem: 'any' })).status).toBe(409);

  expect(await auditOf('ada@example.com')).toEqual([
    ...['user.password_set', 'user.signed_in', 'user.signed_in'],
    ...['secret.retired', 'secret.created', 'secret.retired'],
    ...['client_key.added', 'client_key.revoked'],
  ]);
});

test('a contact reads why a request of the client was refused, the usage of its limits, and its webhooks; not those of others', async () => {
  const [restuid = ''] = harness.restaurants;
  const narrow = await makeClient('Narrow Delivery', '--scope', 'read:menu');
  const bob = await invite('bob@example.com', own);
  const nia = await invite('nia@example.com', narrow);
  const refused = (await call(narrow, 'orders/list')).headers.get('x-request-id') ?? '';
  const page = `/portal/${narrow.id}/requests/refusals/${refused}`;
  await until(async () => (await nia.get(page)).text.includes('A scope was missing'));
  expect((await nia.get(page)).text).toContain('read:orders');
  await until(async () => (await nia.get(`/portal/${narrow.id}/requests`)).text.includes(`href="/panel${page}"`));
  const byName = await nia.get(`/portal/${narrow.id}/requests?restuid=OSTERIA+UNO`);
  expect(byName.text).toContain(`name="restuid" maxlength="128" autocomplete="off" value="${restuid}"`);
  expect(byName.text).toContain('>Osteria Uno</td>');
  // A name may be the id itself.
  const rename = 'update ordering.restaurants set name = $2 where uid = $1';
  await harness.database.pool.query(rename, [restuid, restuid]);
  expect((await nia.get(`/portal/${narrow.id}/requests?restuid=${restuid}`)).status).toBe(200);
  await harness.database.pool.query(rename, [restuid, 'Osteria Uno']);
  expect((await bob.get(page)).status).toBe(404);
  expect((await bob.get(page.replace(narrow.id, own.id))).text).toContain('Nothing is kept about this request.');
  expect((await bob.get(`/portal/${own.id}/requests/hours`)).status).toBe(200);
  expect((await bob.get(`/portal/${own.id}/usage`)).text).toContain('Units in a month (UTC)');

  await harness.command('notifications', 'set', '--restaurant', restuid, '--customers', 'on');
  const url = 'http://127.0.0.1:59999/hooks';
  for (const client of [own, foreign])
    expect((await call(client, 'webhook/create', { url, kinds: ['customers'] })).status).toBe(200);
  expect((await call(own, 'customer/create', { email: 'guest@example.com' })).status).toBe(200);
  const list = await bob.get(`/portal/${own.id}/webhooks`);
  const found = [...list.text.matchAll(/href="\/panel(\/portal\/[^"]+\/webhooks\/whe_\w+)"/g)].map(([, one]) => one);
  expect(found).toHaveLength(1);
  const endpoint = found[0] ?? '';
  let delivery = '';
  await until(async () => {
    delivery = /href="\/panel([^"]+\/deliveries\/dlv_\w+)"/.exec((await bob.get(endpoint)).text)?.[1] ?? '';
    return delivery !== '';
  });
  await until(async () => (await bob.get(delivery)).text.includes('Attempt 1'));
  expect((await bob.get(delivery)).text).not.toContain('guest@example.com');
  const { rows } = await harness.database.pool.query('select uid from webhooks.endpoints where owner_id = $1', [
    foreign.id,
  ]);
  expect((await bob.get(`/portal/${own.id}/webhooks/${rows[0].uid}`)).status).toBe(404);
  expect((await nia.get(`/portal/${narrow.id}/webhooks`)).text).toContain('may not read this at the API');

  // What is withdrawn at the API is gone here too.
  await harness.command('client', 'withdraw', '--client-id', own.id, '--restaurant', restuid);
  for (const path of [endpoint, delivery]) expect((await bob.get(path)).status, path).toBe(404);
  await harness.command('client', 'grant', '--client-id', own.id, '--restaurant', restuid);
});

test('A-581 the start page of a contact shows each client with its state, its use of today, its newest refusal and its failing endpoints, as far as the client may read them', async () => {
  const homeOf = async (email: string): Promise<string> => {
    const { text } = await visitor(await harness.cookieOf({ email, password })).get('');
    return text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  };
  await harness.command('client', 'limits', '--client-id', own.id, '--day', '1000');
  await until(async () =>
    / Requests today \(UTC\) [1-9]\d* \d+% of the units of the day used /.test(await homeOf('bob@example.com')),
  );
  await until(async () => (await homeOf('bob@example.com')).includes('Endpoints that fail 1 '));
  expect(await homeOf('bob@example.com')).toContain(' State Active ');
  const narrow = await homeOf('nia@example.com');
  expect(narrow).toMatch(/ Narrow Delivery State Active .* Newest refusal INSUFFICIENT_SCOPE /);
  expect(narrow).not.toContain('Endpoints that fail');
  await harness.command('client', 'limits', '--client-id', own.id, '--day', 'none');
});

test.skipIf(browserBinary === undefined)(
  'a contact of several clients sets the password in a browser, switches between them, and has pages without barriers',
  async () => {
    const email = 'mia@example.com';
    const link = linkIn(await support.post(`/clients/${own.id}/contacts`, { email }));
    await support.post(`/clients/${foreign.id}/contacts`, { email });
    const { page, problems } = await harness.open();
    page.setDefaultTimeout(20_000);
    // The second invitation ended the first link.
    expect((await useLink(link)).status).not.toBe(303);
    const fresh = linkIn(await support.post(`/clients/${own.id}/contacts`, { email }));
    await page.goto(String(fresh).replace(fresh?.origin ?? '', harness.url));
    await page.getByLabel('New password', { exact: true }).fill(password);
    await page.getByLabel('Repeat the new password').fill(password);
    await page.locator('main button').click();
    await page.getByRole('link', { name: 'Your API clients' }).first().click();
    await page.getByRole('link', { name: /Ada Delivery/ }).click();
    await page.locator('select[name=client]').selectOption({ label: 'Other Delivery' });
    await page.getByRole('button', { name: 'Switch client' }).click();
    await page.getByRole('heading', { level: 1, name: 'Other Delivery' }).waitFor();
    for (const name of ['', '/credentials']) {
      await page.goto(`${harness.url}/panel/portal/${own.id}${name}`);
      await checkPage(page, `portal${name.replace('/', '-')}`);
    }
    await page.goto(`${harness.url}/panel`);
    await checkPage(page, 'portal-start');
    expect(problems).toEqual([]);
  },
);

test('A-467 the page that removes a contact lists the public keys that this contact added, and none that have ended', async () => {
  const [eve, other] = [await invite('lea@example.com', own), await invite('leo@example.com', own)];
  const keys = `/portal/${own.id}/credentials/keys`;
  const add = async (who: typeof eve, kid: string): Promise<void> => {
    const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
    expect((await who.post(keys, { jwk: JSON.stringify({ ...jwk, kid }) })).text).toContain(kid);
  };
  await add(eve, 'eves-laptop');
  await add(eve, 'eves-former');
  await add(other, 'dans-laptop');
  await eve.post(`${keys}/eves-former/remove`, {});
  const list = (await support.get(`/clients/${own.id}/contacts`)).text;
  const paths = [...list.matchAll(/href="\/panel([^"]+\/contacts\/[^"]+\/remove)"/g)].map(([, path = '']) => path);
  const pages = await Promise.all(paths.map((path) => support.get(path)));
  const ofEve = pages.find(({ text }) => text.includes('Remove lea@example.com'))?.text ?? '';
  expect(ofEve).toContain('remove the public keys and certificates that the person added');
  expect(ofEve).toMatch(/<code>eves-laptop<\/code>.*orderpass client revoke-key/);
  expect(ofEve).not.toMatch(/eves-former|dans-laptop/);
  // One who added nothing that still works.
  const ofOthers = pages.filter(({ text }) => !/lea@example.com|leo@example.com/.test(text));
  for (const { text } of ofOthers) expect(text).not.toContain('The person added these credentials');
  for (const id of ['eves-laptop', 'dans-laptop'])
    await harness.command('client', 'revoke-key', '--client-id', own.id, '--key-id', id);
});

test('a contact of a client that is stopped sees why, and can change nothing', async () => {
  const zoe = await invite('zoe@example.com', own);
  const path = `/portal/${own.id}`;
  const attempts: readonly [string, Record<string, string>][] = [
    [`${path}/rotate`, { overlap: '24' }],
    [`${path}/credentials/keys`, { jwk: '{}' }],
  ];
  const expectStopped = async (text: string): Promise<void> => {
    expect((await zoe.get(path)).text).toContain(text);
    const { text: credentials } = await zoe.get(`${path}/credentials`);
    expect(credentials).toContain(text);
    expect(credentials.slice(credentials.indexOf('<main'))).not.toContain('method="post"');
    for (const [action, fields] of attempts) expect((await zoe.post(action, fields)).status, action).toBe(409);
  };
  expect((await zoe.get('/integrators')).text).not.toContain('Send these links to the developers');
  await harness.command('client', 'quarantine', '--client-id', own.id, '--reason', 'found in public');
  await expectStopped('found in public');
  await harness.command('client', 'reactivate', '--client-id', own.id, '--reason', 'replaced');
  expect((await zoe.get(`${path}/credentials`)).text).toContain('method="post"');
  await harness.command('client', 'disable', '--client-id', own.id);
  await expectStopped('This client is disabled for good');
  const before = await auditOf('zoe@example.com');
  expect(before.filter((action) => !action.startsWith('user.'))).toEqual([]);
  expect((await support.post(`/clients/${own.id}/contacts`, { email: 'late@example.com' })).status).toBe(409);
});
