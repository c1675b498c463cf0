/** The start page of each role, the search from every page, and the switcher of restaurants. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOverviewPorts } from '#src/app/panel/overview-ports.ts';
import { listEndingKeys } from '#src/gateway/index.ts';
import { dayMs } from '#src/platform/clock.ts';
import { until } from '../../support/until.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { checkPage } from '../harness/check-page.ts';
import {
  browserBinary,
  type HarnessUser,
  openAccountMenu,
  type PanelHarness,
  type Role,
  startPanelHarness,
} from '../harness/panel-harness.ts';
import { openTill } from '../harness/till.ts';

let harness: PanelHarness;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let own = '';
let foreign = '';
const users = new Map<Role, HarnessUser>();
const cookies = new Map<Role, string>();
const ids: Record<string, string> = {};

beforeAll(async () => {
  harness = await startPanelHarness();
  receiver = await startReceiver();
  [own = '', foreign = ''] = harness.restaurants;
  for (const role of ['owner', 'support', 'security', 'admin'] as const) {
    const user = await harness.user(role);
    users.set(role, user);
    cookies.set(role, await harness.cookieOf(user));
  }
});

afterAll(async () => {
  await harness?.close();
  await receiver?.close();
});

type Answer = { status: number; location: string; text: string };

const get = async (role: Role, path: string): Promise<Answer> => {
  const headers = { cookie: cookies.get(role) ?? '' };
  const answer = await fetch(`${harness.url}/panel${path}`, { headers, redirect: 'manual' });
  const location = (answer.headers.get('location') ?? '').replace(/^\/panel/, '');
  return { status: answer.status, location, text: await answer.text() };
};

const post = async (role: Role, path: string, fields: Record<string, string>): Promise<string> => {
  const csrf = /name="csrf" value="([^"]+)"/.exec((await get(role, '/account')).text)?.[1] ?? '';
  const answer = await fetch(`${harness.url}/panel${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookies.get(role) ?? '', origin: harness.url },
    body: new URLSearchParams({ csrf, ...fields }),
  });
  return answer.text();
};

/** The text of a card, in one line and without markup. */
const cardOf = async (role: Role, id: string): Promise<string | undefined> => {
  const found = new RegExp(`<section class="card" id="[^"]+" aria-labelledby="card-${id}">[\\s\\S]*?</section>`);
  return found.exec((await get(role, '')).text)?.[0];
};

const plain = (html: string | undefined): string =>
  (html ?? '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

const search = (role: Role, text: string): Promise<Answer> => get(role, `/search?q=${encodeURIComponent(text)}`);

test('an owner’s first steps tick themselves off, and the orders of today are counted', async () => {
  const doneSteps = async (): Promise<number> => ((await cardOf('owner', 'steps')) ?? '').split('>Done<').length - 1;
  expect(plain(await cardOf('owner', 'steps'))).toContain('0 of 5 are done');
  expect(plain(await cardOf('owner', 'days'))).toContain('No order came in today');

  const made = await post('owner', `/restaurants/${own}/keys`, { name: 'Till' });
  const key = /opk_\w+/.exec(made)?.[0] ?? '';
  ids.key = /opk_[A-Za-z0-9]{12}/.exec(made)?.[0] ?? '';
  expect(await doneSteps()).toBe(1);

  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const created = await fetch(`${harness.url}/api/customer/create`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ first_name: 'Zelda', last_name: 'Fitzgerald', email: 'zelda@example.com' }),
  });
  expect(created.status).toBe(200);
  ids.request = created.headers.get('x-request-id') ?? '';

  ids.endpoint =
    /whe_\w+/.exec(await post('owner', `/restaurants/${own}/webhooks`, { url: receiver.url, kinds: 'orders' }))?.[0] ??
    '';
  await post('owner', `/restaurants/${own}/notifications`, { kind: 'orders', on: '1' });
  // The first call is written some seconds later.
  expect(await doneSteps()).toBeGreaterThanOrEqual(2);

  ids.order = (await (await openTill(harness, own)).order()).uid;
  const days = (await cardOf('owner', 'days')) ?? '';
  expect(plain(days)).toMatch(/Osteria Uno 1 0$/);
  const list = /href="([^"]+orders[^"]+)"/.exec(days)?.[1]?.replaceAll('&amp;', '&').replace('/panel', '') ?? '';
  expect((await get('owner', list)).text).toContain(ids.order);
});

test('today is counted against the same day of last week up to this time, per restaurant', async () => {
  // A day that ends between the inserts and the page would make them orders of yesterday.
  await until(() => dayMs - (Date.now() % dayMs) > 30_000);
  const { pool } = harness.database;
  const copy = `insert into ordering.orders select (jsonb_populate_record(o, jsonb_build_object(
    'uid', o.uid || $2, 'number', o.number + $3::int, 'external_id', null, 'date', now() - $4::interval))).*
    from ordering.orders o where o.restuid = $1 and o.uid = $5`;
  // The first two lie on the same day of last week before this time; the third is of the day before.
  for (const [index, age] of ['168 hours', '168 hours 1 second', '192 hours 1 minute'].entries())
    await pool.query(copy, [own, `x${index}`, 1_000 + index, age, ids.order]);
  const now = new Date();
  // Shortly after midnight the second one belongs to the day before.
  const expected = now.getUTCHours() === 0 && now.getUTCMinutes() === 0 ? /Osteria Uno 1 [12]/ : /Osteria Uno 1 2/;
  expect(plain(await cardOf('owner', 'days'))).toMatch(expected);
});

/** The card while the endpoint fails. A delivery that succeeds meanwhile ends that, so it is set until the card shows it. */
const cardOfFailing = async (role: Role): Promise<string> => {
  let card = '';
  await until(async () => {
    await harness.database.pool.query(
      `insert into webhooks.endpoint_health (endpoint_uid, failing_since) values ($1, now() - interval '1 hour')
       on conflict (endpoint_uid) do update set failing_since = excluded.failing_since`,
      [ids.endpoint],
    );
    card = (await cardOf(role, 'failing')) ?? '';
    return card.includes(String(ids.endpoint));
  });
  return card;
};

test('A-471 an owner of any number of restaurants sees the endpoints that fail and the keys that end soon, each with the page that shows it', async () => {
  const { pool } = harness.database;
  expect(plain(await cardOf('owner', 'failing'))).toContain('No endpoint fails.');
  expect(await cardOfFailing('owner')).toContain(`/panel/restaurants/${own}/webhooks/${ids.endpoint}"`);
  expect(plain(await cardOf('owner', 'ending'))).toContain(
    'No key that still needs a replacement expires within 30 days.',
  );
  await pool.query(`update gateway.api_keys set expires = now() + interval '9 days' where key_id = $1`, [ids.key]);
  expect(await cardOf('owner', 'ending')).toContain(`/keys#rotate-${ids.key}"`);
  await expectAllRestaurants();
  await pool.query(`update gateway.api_keys set expires = null where key_id = $1`, [ids.key]);
});

/** The own restaurant is the last one by name and by id of as many as 25, and of more than are looked through. */
const expectAllRestaurants = async (): Promise<void> => {
  const { pool } = harness.database;
  const chain = await harness.user('owner', [own]);
  const add = (from: number, to: number) =>
    pool.query(
      `with made as (
         insert into ordering.restaurants select (jsonb_populate_record(r, jsonb_build_object('uid', 'rst_0a' || lpad(n::text, 4, '0'),
           'name', 'Bar ' || lpad(n::text, 4, '0')))).* from ordering.restaurants r, generate_series($3::int, $4) n where r.uid = $1
         returning uid)
       insert into panel.user_restaurants (user_id, restuid) select $2, uid from made`,
      [own, chain.userId, from, to],
    );
  await add(1, 24);
  cookies.set('owner', await harness.cookieOf(chain));
  expect(await cardOfFailing('owner')).toContain(`/panel/restaurants/${own}/webhooks/${ids.endpoint}"`);
  expect(await cardOf('owner', 'ending')).toContain(`/keys#rotate-${ids.key}"`);
  expect(await cardOf('owner', 'ending')).not.toContain('Only the first');
  expect((await search('owner', 'zelda')).text).toContain('Zelda Fitzgerald');
  await until(async () => (await search('owner', ids.request ?? '')).location.includes(String(ids.key)));
  await add(25, 200);
  expect(plain(await cardOf('owner', 'failing'))).toContain('Only the first 200 of your 201 restaurants');
  expect(plain(await cardOf('owner', 'ending'))).toContain('Only the first 200 of your 201 restaurants');
  expect((await search('owner', 'zelda')).text).toContain('were searched in 200 of your 201 restaurants');
  expect(plain(await cardOf('admin', 'failing'))).toContain('Only the newest 200 restaurants were looked at.');
  await pool.query(`delete from panel.user_restaurants where restuid like 'rst_0a%'`);
  await pool.query(`delete from ordering.restaurants where uid like 'rst_0a%'`);
  cookies.set('owner', await harness.cookieOf(users.get('owner') ?? chain));
};

test('A-465 a key with a successor that is used, or was made just now, is neither on the start page nor in a notice', async () => {
  const { pool, db } = harness.database;
  const { key_id: old = '' } = await harness.command('key', 'create', '--restaurant', own, '--name', 'Bar');
  await pool.query(`update gateway.api_keys set expires = now() + interval '5 days' where key_id = $1`, [old]);
  const isListed = async (): Promise<[boolean, boolean]> => {
    const now = new Date();
    const noticed = await listEndingKeys(db, { from: now, to: new Date(now.getTime() + 7 * 86_400_000), limit: 100 });
    return [(await cardOf('owner', 'ending'))?.includes(old) === true, noticed.some(({ keyId }) => keyId === old)];
  };
  expect(await isListed()).toEqual([true, true]);
  expect(await post('owner', `/restaurants/${own}/keys/${old}/rotate`, { overlap: '72' })).toContain('opk_');
  expect(await isListed()).toEqual([false, false]);
  const next = (await pool.query('select key_id from gateway.api_keys where successor_of = $1', [old])).rows[0]?.key_id;
  // After a day without a call the successor was perhaps never put where the key is used.
  await pool.query(`update gateway.api_keys set created = now() - interval '25 hours' where key_id = $1`, [next]);
  expect(await isListed()).toEqual([true, true]);
  await pool.query(
    `insert into gateway.credential_use (credential, last_used, last_address) values ($1, now(), '192.0.2.1')`,
    [next],
  );
  expect(await isListed()).toEqual([false, false]);
  await harness.command('key', 'revoke', '--key-id', next);
  expect(await isListed()).toEqual([true, true]);
  await harness.command('key', 'revoke', '--key-id', old);
});

test('support sees who is in quarantine, near a limit, failing or refused, and who can help', async () => {
  const made = await harness.command('client', 'create', '--name', 'Courier app', '--restaurant', own);
  ids.client = made.client_id ?? '';
  const headers = { 'x-client-id': ids.client, 'x-client-secret': made.client_secret ?? '' };
  const refused = await fetch(`${harness.url}/api/orders/list?restuid=${foreign}`, { headers });
  ids.refused = refused.headers.get('x-request-id') ?? '';
  expect(refused.status).toBe(403);
  for (let i = 0; i < 6; i += 1) await fetch(`${harness.url}/api/orders/list?restuid=${foreign}`, { headers });
  await until(async () => plain(await cardOf('support', 'refusals')).includes('Courier app'));
  const refusals = plain(await cardOf('support', 'refusals'));
  expect(refusals).toMatch(/Courier app .*may not reach this restaurant.*Who can help: support/);
  await until(async () => plain(await cardOf('support', 'callers')).includes('Courier app'));

  expect(plain(await cardOf('support', 'quarantined'))).toContain('No key or client is in quarantine.');
  await harness.command('client', 'quarantine', '--client-id', ids.client, '--reason', 'calls from two countries');
  expect(await cardOf('support', 'quarantined')).toContain(`/panel/clients/${ids.client}"`);
  expect(plain(await cardOf('security', 'decisions'))).toContain('Courier app');
  expect(await cardOf('security', 'decisions')).toContain(`/panel/security/audit?client=${ids.client}"`);

  expect(plain(await cardOf('support', 'limited'))).toContain('No client or key used four fifths');
  await harness.database.pool.query(
    `insert into gateway.caller_usage (caller, day, requests, units, limited, elsewhere, elsewhere_last, elsewhere_address)
     values ($1, date_trunc('day', now() at time zone 'UTC') at time zone 'UTC', 90, 90, 3, 2, now(), '203.0.113.9')
     on conflict (caller, day) do update set units = excluded.units, limited = excluded.limited,
       elsewhere = excluded.elsewhere, elsewhere_last = now(), elsewhere_address = excluded.elsewhere_address`,
    [ids.client],
  );
  await harness.database.pool.query(`update gateway.clients set limits = '{"day": 100}' where client_id = $1`, [
    ids.client,
  ]);
  expect(plain(await cardOf('support', 'limited'))).toMatch(
    /Courier app .*90% of the units of the day used.*refused 3 times/,
  );
  expect(await cardOf('security', 'addresses')).toContain('/panel/security/audit?address=203.0.113.9"');
});

test('A-466 support lifts the quarantine of a key from the start page, which lists nothing that has ended', async () => {
  const { pool } = harness.database;
  const card = async () => (await cardOf('support', 'quarantined')) ?? '';
  const key = await harness.command('key', 'create', '--restaurant', own, '--name', 'Bar');
  const client = await harness.command('client', 'create', '--name', 'Night app', '--restaurant', own);
  const why = ['--reason', 'calls from two countries'];
  await harness.command('key', 'quarantine', '--key-id', key.key_id ?? '', ...why);
  await harness.command('client', 'quarantine', '--client-id', client.client_id ?? '', ...why);
  const liftKey = `/restaurants/${own}/keys/${key.key_id}/reactivate`;
  const liftClient = `/clients/${client.client_id}#stop`;
  for (const path of [liftKey, liftClient]) expect(await card()).toContain(`href="/panel${path}"`);
  expect((await get('support', liftKey)).text).toContain('calls from two countries');
  for (const role of ['owner', 'security'] as const) expect((await get(role, liftKey)).status).toBe(403);
  expect((await get('support', `/restaurants/${own}/keys`)).text).toContain(`"/panel${liftKey}"`);
  expect((await get('owner', `/restaurants/${own}/keys`)).text).not.toContain('/reactivate"');
  expect(plain(await cardOf('security', 'decisions'))).toContain('support makes it active again');

  const callKey = async () =>
    (await fetch(`${harness.url}/api/whoami`, { headers: { 'x-api-key': key.api_key ?? '' } })).status;
  await until(async () => (await callKey()) === 403);
  expect(await post('support', liftKey, { reason: ' ' })).toContain('Enter a reason of 1 to 200 characters.');
  expect(await callKey()).toBe(403);
  await post('support', liftKey, { reason: 'it was a holiday' });
  await until(async () => (await callKey()) === 200);
  expect(await card()).not.toContain(liftKey);
  const { events } = (await harness.command('audit', 'search', '--action', 'key.state_changed')) as never as {
    events: Record<string, unknown>[];
  };
  const lifted = events.find((event) => JSON.stringify(event).includes('it was a holiday'));
  expect(lifted).toMatchObject({ 'user.name': `panel:${users.get('support')?.userId}` });

  // What has ended, by itself or for good, waits for nothing.
  await harness.command('key', 'quarantine', '--key-id', key.key_id ?? '', ...why);
  expect(await card()).toContain(liftKey);
  await pool.query(`update gateway.api_keys set expires = now() where key_id = $1`, [key.key_id]);
  await harness.command('client', 'disable', '--client-id', client.client_id ?? '');
  for (const path of [liftKey, liftClient]) expect(await card()).not.toContain(path);
});

test('A-474 security sees refusals per hour and the last verification, and administrators all of it in short', async () => {
  await until(async () => (await cardOf('security', 'refused'))?.includes('<svg') === true);
  expect(plain(await cardOf('security', 'integrity'))).toContain('never verified');
  const isLate = async () => plain(await cardOf('security', 'decisions')).includes('not verified from the panel for a');
  expect(await isLate()).toBe(false);
  await post('security', '/security/integrity/verify', {});
  await until(async () => plain(await cardOf('security', 'integrity')).includes('Unchanged'));
  const { pool } = harness.database;
  const move = (sign: '+' | '-') =>
    pool.query(`update gateway.audit_verifications set started = started ${sign} interval '8 days'`);
  expect(await isLate()).toBe(false);
  await move('-');
  expect(await isLate()).toBe(true);
  await move('+');
  expect(plain(await cardOf('admin', 'integrity'))).toContain('Unchanged');
  expect(plain(await cardOf('admin', 'short'))).toContain('In quarantine 1');
  expect(plain(await cardOf('admin', 'short'))).toMatch(/Orders today \(UTC\) \d+(?!\+)\b/);
  await pool.query(
    `insert into ordering.orders select (jsonb_populate_record(one, jsonb_build_object('uid', 'ord_many' || n,
       'number', 100000 + n, 'external_id', null, 'date', now()))).*
     from ordering.orders as one, generate_series(1, 1000) as n
     where restuid = $1 and uid = (select min(uid) from ordering.orders where restuid = $1)`,
    [own],
  );
  expect(plain(await cardOf('admin', 'short'))).toMatch(/Orders today \(UTC\) \d+\+/);
  await pool.query(`delete from ordering.orders where uid like 'ord_many%'`);
  expect(await cardOfFailing('admin')).toContain(`/panel/restaurants/${own}/webhooks/${ids.endpoint}"`);
  expect(plain(await cardOf('admin', 'ending'))).toContain(
    'No key that still needs a replacement expires within 30 days.',
  );
  await harness.database.pool.query(
    `update gateway.api_keys set expires = now() + interval '9 days' where key_id = $1`,
    [ids.key],
  );
  expect(await cardOf('admin', 'ending')).toContain(`/panel/restaurants/${own}/keys#rotate-${ids.key}"`);
  expect(await cardOf('admin', 'addresses')).toContain('/panel/security/audit?address=203.0.113.9"');
  const program = plain(await cardOf('admin', 'program'));
  expect(program).toMatch(/Orderpass \d+\.\d+\.\d+/);
  expect(program).toMatch(/:\d+ all \d+\.\d+\.\d+ /);
  // A process of another release, and one of a release that did not report it.
  await harness.database.pool.query(
    `insert into platform.key_holders (process, name, role, keys, version, seen)
     values ('x', 'other:1', 'ordering', '{}', '9.8.7', now()), ('y', 'older:1', 'webhooks', '{}', null, now())`,
  );
  const mixed = plain(await cardOf('admin', 'program'));
  expect(mixed).toMatch(/other:1 ordering 9\.8\.7 not that of this page/);
  expect(mixed).toMatch(/older:1 webhooks older/);
  expect(plain(await cardOf('security', 'refused'))).toMatch(
    /^Refused per hour \d+ 0 .* \d\d-\d\d \d\d:\d\d UTC \d\d-\d\d \d\d:\d\d UTC/,
  );
});

test('a start page shows figures and does not repeat the links of the menu', async () => {
  for (const role of ['owner', 'support', 'security', 'admin'] as const) {
    const { text } = await get(role, '');
    const [, main = ''] = /<main[^>]*>([\s\S]*)<\/main>/.exec(text) ?? [];
    expect(main, role).toContain('class="figures"');
    expect(main, role).not.toContain('<nav');
  }
});

test('an exact id leads to its page, for each role that may open it', async () => {
  const events = await harness.database.pool.query<{ id: string }>(
    'select id from outbox.events where entity = $1 limit 1',
    [ids.order],
  );
  ids.event = events.rows[0]?.id ?? '';
  const log = await get('owner', `/restaurants/${own}/deliveries`);
  ids.delivery = /deliveries\/(dlv_\w+)"/.exec(log.text)?.[1] ?? '';
  ids.customer = /cus_\w+/.exec((await get('owner', `/restaurants/${own}/customers`)).text)?.[0] ?? '';
  const below = `/restaurants/${own}`;
  const pages: readonly (readonly [string, string])[] = [
    [own, below],
    [ids.order ?? '', `${below}/orders/${ids.order}`],
    [ids.customer, `${below}/customers/${ids.customer}`],
    [ids.endpoint ?? '', `${below}/webhooks/${ids.endpoint}`],
    [ids.delivery, `${below}/deliveries/${ids.delivery}`],
    [ids.event, `${below}/deliveries?id=${ids.event}`],
    [ids.key ?? '', `${below}/keys/${ids.key}/requests`],
  ];
  for (const [id, path] of pages) {
    for (const role of ['owner', 'support', 'admin'] as const) {
      expect(await search(role, ` ${id} `), `${role}: ${id}`).toMatchObject({ status: 303, location: path });
      expect((await get(role, path)).status, `${role}: ${path}`).toBe(200);
    }
  }
  const request = `${below}/keys/${ids.key}/requests?id=${ids.request}`;
  await until(async () => (await search('owner', ids.request ?? '')).location === request);
  const refused = `/clients/${ids.client}/requests?id=${ids.refused}`;
  expect((await search('support', ids.refused ?? '')).location).toBe(refused);
  expect((await search('support', ids.client ?? '')).location).toBe(`/clients/${ids.client}`);
  expect((await search('security', ids.client ?? '')).location).toBe(`/security/audit?client=${ids.client}`);
  expect((await search('security', ids.refused ?? '')).location).toBe(`/security/audit?requestId=${ids.refused}`);
  const userId = users.get('support')?.userId;
  expect((await search('admin', userId ?? '')).location).toBe(`/users/${userId}`);
  for (const id of [ids.order, ids.endpoint, userId]) expect((await search('security', id ?? '')).status).toBe(200);
});

test('the list of first steps goes away when all of them are done', async () => {
  await until(async () => (await cardOf('owner', 'steps')) === undefined);
});

test('an owner gets the same for an id of another restaurant as for one that does not exist', async () => {
  const other = await harness.user('owner', [foreign]);
  cookies.set('owner', await harness.cookieOf(other));
  const { location } = await search('owner', foreign);
  expect(location).toBe(`/restaurants/${foreign}`);
  const known = [own, ids.order, ids.customer, ids.endpoint, ids.delivery, ids.event, ids.key, ids.request, ids.client];
  for (const id of known.map(String)) {
    const last = id.slice(-1) === '0' ? '1' : '0';
    const unknown = `${id.slice(0, -1)}${last}`;
    const [found, absent] = [await search('owner', id), await search('owner', unknown)];
    const hide = (text: string, one: string): string =>
      text.replaceAll(one, 'ID').replaceAll(/req_\w+|name="csrf" value="[^"]*"/g, '');
    expect(found.status, id).toBe(200);
    expect(hide(found.text, id)).toBe(hide(absent.text, unknown));
    expect(hide(found.text, id)).toContain('Nothing that you may see fits “ID”.');
  }
  for (const name of ['Osteria Uno', 'Zelda', 'zelda@example.com', 'Courier', 'constructor_1'])
    expect((await search('owner', name)).text, name).toContain('Nothing that you may see fits');
  cookies.set('owner', await harness.cookieOf(users.get('owner') ?? other));
});

test('A-472 a name, an email or a phone finds what the role may see, at most ten of a kind', async () => {
  expect((await search('owner', 'zeld')).text).toContain(`/customers/`);
  expect((await search('owner', 'zelda@exam')).text).toContain('Zelda Fitzgerald');
  expect((await search('support', 'trattoria')).text).toContain(`href="/panel/restaurants/${foreign}"`);
  expect((await search('support', 'courier')).text).toContain(`href="/panel/clients/${ids.client}"`);
  const customer = `href="/panel/restaurants/${own}/customers/cus_`;
  for (const role of ['support', 'admin'] as const)
    expect((await search(role, 'ZELDA@example.com')).text, role).toContain(customer);
  expect((await search('support', 'zelda@exam')).text).not.toContain('Zelda');
  expect((await search('security', 'zelda@example.com')).text).not.toContain('Zelda');
  const requests = `href="/panel/restaurants/${own}/keys/${ids.key}/requests"`;
  expect((await search('owner', 'til')).text).toContain(requests);
  for (const role of ['support', 'admin'] as const) expect((await search(role, 'till')).text, role).toContain(requests);
  expect((await search('security', 'till')).text).toContain(`href="/panel/security/audit?credential=${ids.key}"`);
  expect((await search('owner', receiver.url.slice(7))).text).toContain(`/webhooks/${ids.endpoint}"`);
  const contact = await harness.user('contact', [ids.client ?? '']);
  expect((await search('support', contact.email.slice(0, -4))).text).toContain(
    `href="/panel/clients/${ids.client}/contacts"`,
  );
  for (const id of [ids.order, ids.customer, ids.endpoint, ids.delivery, ids.event, 'ord_01jz00000aaaaaaaaaaaaaaa'])
    expect((await search('security', id ?? '')).text).toContain('Support, administrators and its owner can open them.');
  expect((await search('support', 'security3@')).text).toContain('Nothing that you may see fits');
  expect((await search('admin', 'SECURITY3@')).text).toContain('security3@example.com');
  for (let i = 0; i < 11; i += 1)
    await harness.database.pool.query(
      `insert into panel.users (id, email, role, created_at) values ($1, $2, 'support', now())`,
      [`usr_many${i}`, `many${i}@example.com`],
    );
  const many = await search('admin', 'many');
  expect(many.text.match(/href="\/panel\/users\/usr_many/g)).toHaveLength(10);
  expect(many.text).toContain('The first ten are shown.');
  expect((await search('admin', 'x'.repeat(256))).status).toBe(400);
});

test('A-535 support and administrators find an endpoint of any restaurant by the beginning of its URL or host', async () => {
  const link = `href="/panel/restaurants/${own}/webhooks/${ids.endpoint}"`;
  const host = receiver.url.replace('http://', '');
  for (const role of ['support', 'admin'] as const)
    for (const text of [receiver.url.slice(0, -1), receiver.url.toUpperCase(), host, host.slice(0, 6)])
      expect((await search(role, text)).text, `${role} ${text}`).toContain(link);
  expect((await search('support', host.slice(2))).text).not.toContain(link);
  expect((await search('security', host)).text).not.toContain(link);
});

test('a pasted key, secret or token is neither searched for nor shown again', async () => {
  for (const value of [`opk_${'a'.repeat(12)}_${'b'.repeat(49)}`, 'eyJhbGciOiJFUzI1NiJ9.e30.x', 'whsec_abcdefgh']) {
    const { status, text } = await search('admin', value);
    expect(status).toBe(200);
    expect(text).toContain('It was not searched for');
    expect(text).not.toContain(value);
  }
});

test('the switcher shows the same page of other restaurants that the user may see, and nothing of a page that is refused', async () => {
  const both = await harness.user('owner', harness.restaurants);
  cookies.set('owner', await harness.cookieOf(both));
  const crumbs = (text: string): string => /<nav class="crumbs"[\s\S]*?<\/nav>/.exec(text)?.[0] ?? '';
  const keys = crumbs((await get('owner', `/restaurants/${own}/keys/${ids.key}/requests`)).text);
  expect(plain(keys)).toMatch(/^Restaurants Another restaurant: Osteria Uno Trattoria Due All restaurants API keys$/);
  expect(keys).toContain(`href="/panel/restaurants/${foreign}/keys"`);
  expect(crumbs((await get('support', `/restaurants/${own}/orders/${ids.order}`)).text)).toContain(
    `href="/panel/restaurants/${foreign}/orders"`,
  );
  cookies.set('owner', await harness.cookieOf(users.get('owner') ?? both));
  const single = crumbs((await get('owner', `/restaurants/${own}`)).text);
  expect(plain(single)).toBe('Restaurants Osteria Uno');
  expect(crumbs((await get('owner', `/restaurants/${foreign}`)).text)).toBe('');
  expect(crumbs((await get('support', `/restaurants/${own}/orders/ord_none`)).text)).toBe('');
  const ofSupport = crumbs((await get('support', `/support/restaurants/${own}`)).text);
  expect(plain(ofSupport)).toMatch(/^Restaurants Another restaurant: Osteria Uno Trattoria Due All restaurants$/);
  expect(ofSupport).toContain(`href="/panel/support/restaurants/${foreign}"`);
});

test.skipIf(browserBinary === undefined)(
  'the key / leads to the search of any page, inside the menu on a phone, and not while a text is typed',
  async () => {
    const { page, problems } = await harness.signIn(users.get('owner') ?? { email: '', password: '' });
    const find = page.locator('header input[data-find]');
    const isFocused = (): Promise<boolean> =>
      page.evaluate(`document.activeElement?.hasAttribute('data-find') === true`);
    await page.goto(`${harness.url}/panel/restaurants/${own}/keys`);
    await page.keyboard.press('/');
    expect(await isFocused()).toBe(true);
    await page.keyboard.type(`a/${ids.order}`);
    expect(await find.inputValue()).toBe(`a/${ids.order}`);
    await find.fill(ids.order ?? '');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${harness.url}/panel/restaurants/${own}/orders/${ids.order}`);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await find.isVisible()).toBe(false);
    await page.keyboard.press('/');
    expect(await isFocused()).toBe(true);
    expect(await find.isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1440, height: 900 });
    const both = await harness.signIn(await harness.user('owner', harness.restaurants));
    await both.page.goto(`${harness.url}/panel/restaurants/${own}/webhooks`);
    await both.page.locator('details.switcher > summary').focus();
    await both.page.keyboard.press('Enter');
    await both.page.keyboard.press('Tab');
    await both.page.keyboard.press('Enter');
    await both.page.waitForURL(`${harness.url}/panel/restaurants/${foreign}/webhooks`);
    await both.page.locator('details.switcher > summary').click();
    await checkPage(both.page, 'switcher');
    for (const role of ['owner', 'support', 'security', 'admin'] as const) {
      const opened = await harness.signIn(users.get(role) ?? { email: '', password: '' });
      await checkPage(opened.page, `overview-${role}`);
      await opened.page.goto(`${harness.url}/panel/search?q=osteria`);
      await checkPage(opened.page, `search-${role}`);
      problems.push(...opened.problems);
      await opened.context.close();
    }
    expect([...problems, ...both.problems]).toEqual([]);
  },
);

test.skipIf(browserBinary === undefined)(
  'the header of an administrator has one row at 1280 pixels in both languages, and the pages for integrators are among those of clients',
  async () => {
    const { page, problems } = await harness.signIn(users.get('admin') ?? { email: '', password: '' });
    await page.setViewportSize({ width: 1280, height: 900 });
    for (const [language, title] of [
      ['English', 'For integrators'],
      ['Italiano', 'Per gli integratori'],
    ] as const) {
      await openAccountMenu(page);
      const choice = page.getByRole('button', { name: language });
      if ((await choice.count()) > 0) await choice.click();
      await page.goto(`${harness.url}/panel/clients`);
      const header = await page.locator('header.top').boundingBox();
      expect(header?.height, language).toBeLessThan(64);
      await page.locator('.sub-nav').getByRole('link', { name: title }).click();
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      expect(await page.locator('.main-nav [aria-current=page]').count()).toBe(1);
    }
    await openAccountMenu(page);
    await page.getByRole('button', { name: 'English' }).click();
    await page.locator('html[lang="en"]').waitFor();
    // On a phone neither end of an axis breaks.
    await page.setViewportSize({ width: 390, height: 900 });
    await page.goto(`${harness.url}/panel`);
    const ends = page.locator('.axis-x time');
    expect(await ends.count()).toBeGreaterThanOrEqual(2);
    for (const end of await ends.all()) expect((await end.boundingBox())?.height).toBeLessThan(16);
    await checkPage(page, 'overview-admin');
    expect(problems).toEqual([]);
  },
);

test('A-582 the start page of administrators names it when sandboxes are left out', async () => {
  expect(plain(await cardOf('admin', 'short'))).not.toContain('Sandboxes are left out.');
  await harness.command('restaurant', 'create', '--name', 'Trial', '--sandbox');
  for (const id of ['short', 'failing', 'ending'])
    expect(plain(await cardOf('admin', id))).toContain('Sandboxes are left out.');
});

test('A-694 “Same time last week” is the same time by the clock of the restaurant seven calendar days before, also over a change of the clocks', async () => {
  const { db, pool } = harness.database;
  const { restuid = '' } = await harness.command('restaurant', 'create', '--name', 'Osteria Roma');
  await pool.query(`update ordering.restaurants set api_time_zone = 'Europe/Rome' where uid = $1`, [restuid]);
  const first = (await (await openTill(harness, restuid)).order()).uid;
  const copy = `insert into ordering.orders select (jsonb_populate_record(o, jsonb_build_object(
    'uid', o.uid || $2, 'number', o.number + $2::int, 'external_id', null, 'date', $3::timestamptz))).*
    from ordering.orders o where o.restuid = $1 and o.uid = $4`;
  const cases = [
    // On Monday evening after the end of summer time, 168 hours before is a Tuesday.
    { now: '2026-10-26T22:30:00Z', counted: '2026-10-19T10:00:00Z', left: '2026-10-19T21:45:00Z' },
    // On Monday after the beginning of summer time, 168 hours before is a Sunday.
    { now: '2026-03-29T22:30:00Z', counted: '2026-03-22T23:15:00Z', left: '2026-03-22T22:15:00Z' },
    // On the day of the change itself, noon comes an hour later after midnight.
    { now: '2026-10-25T11:00:00Z', counted: '2026-10-18T09:45:00Z', left: '2026-10-18T10:15:00Z' },
  ];
  for (const [index, { now, counted, left }] of cases.entries()) {
    await pool.query(copy, [restuid, String(2_000 + index), counted, first]);
    await pool.query(copy, [restuid, String(3_000 + index), left, first]);
    const clock = { now: () => new Date(now) };
    const ports = createOverviewPorts({ installation: { store: { db }, clock } as never });
    const { days } = await ports.owner([restuid]);
    expect(days, now).toMatchObject([{ lastWeek: 1 }]);
  }
});
