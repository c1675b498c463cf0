/** What pages state and keep in cases that are rare in a small installation. Plain requests. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type PanelHarness, type Role, startPanelHarness } from '../harness/panel-harness.ts';
import { signInVisitor, type Visitor } from '../harness/visitor.ts';

let harness: PanelHarness;
let restuid: string;
let key: { id: string; headers: Record<string, string> };
let client: { id: string; headers: Record<string, string> };
const visitors = new Map<Role, Visitor>();

/** Nothing listens there. */
const nowhere = 'http://127.0.0.1:59999/hook';

beforeAll(async () => {
  harness = await startPanelHarness({
    ORDERPASS_SMTP_URL: 'smtp://127.0.0.1:9',
    ORDERPASS_SMTP_FROM: 'panel@example.com',
  });
  [restuid = ''] = harness.restaurants;
  for (const role of ['owner', 'support', 'security', 'admin'] as const)
    visitors.set(role, await signInVisitor(harness, role));
  const { key_id = '', api_key = '' } = await harness.command(
    ...['key', 'create', '--restaurant', restuid, '--name', 'Till'],
  );
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Courier app', '--restaurant', restuid],
  );
  key = { id: key_id, headers: { 'x-api-key': api_key } };
  client = { id: client_id, headers: { 'x-client-id': client_id, 'x-client-secret': client_secret } };
}, 120_000);

afterAll(() => harness?.close());

const as = (role: Role): Visitor => {
  const found = visitors.get(role);
  if (found === undefined) throw new Error(`no visitor ${role}`);
  return found;
};

const plain = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

const cardOf = async (role: Role, id: string): Promise<string> => {
  const found = new RegExp(`<section class="card" id="[^"]+" aria-labelledby="card-${id}">[\\s\\S]*?</section>`);
  return plain(found.exec((await as(role).get('')).text)?.[0] ?? '');
};

const call = async (headers: Record<string, string>, path: string, body: object) => {
  const answer = await fetch(`${harness.url}/api${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, json: (await answer.json()) as { endpoint?: { uid: string } } };
};

test('A-542 an address that was only refused is named behind ten busy ones, one that was also allowed is not', async () => {
  const busy = Array.from({ length: 10 }, (_, index) => [`203.0.113.${index}`, 'used', 1_000] as const);
  const rows = [
    ...busy,
    ['198.51.100.9', 'refused', 400],
    ['198.51.100.10', 'refused', 500],
    ['198.51.100.10', 'used', 1],
  ];
  for (const row of rows)
    await harness.database.pool.query(
      `insert into gateway.audit_hours (dimension, hour, what, value, count)
       values ('address', date_trunc('hour', now(), 'UTC'), $2, $1, $3)`,
      [...row],
    );
  for (const role of ['security', 'admin'] as const) {
    const card = await cardOf(role, 'addresses');
    expect(card).toContain('198.51.100.9 refused 400 times in the last 24 hours, with no allowed request');
    expect(card).not.toContain('198.51.100.10');
  }
});

test('A-543 a delivery that ended because its client lost a right is not said to be of a disabled endpoint or to wait', async () => {
  const scopes = (list: string) => harness.command('client', 'scopes', '--client-id', client.id, '--scope', list);
  await harness.command('notifications', 'set', '--restaurant', restuid, '--customers', 'on');
  const made = await call(client.headers, '/webhook/create', { url: nowhere, kinds: ['customers'] });
  expect([made.status, made.json]).toEqual([200, made.json]);
  const endpoint = made.json.endpoint?.uid ?? '';
  expect((await call(key.headers, '/customer/create', { email: 'ada@example.com' })).status).toBe(200);
  const delivery = async (): Promise<{ uid: string; state: string } | undefined> =>
    (
      await harness.database.pool.query('select uid, state from webhooks.deliveries where endpoint_uid = $1', [
        endpoint,
      ])
    ).rows[0];
  await until(async () => (await delivery()) !== undefined);
  await scopes('read:webhooks');
  await until(async () => (await delivery())?.state === 'cancelled');
  const path = `/restaurants/${restuid}/deliveries/${(await delivery())?.uid}`;
  expect((await as('owner').get(path)).text).toContain('or its API client could not read such events then');
  for (const [from, fields] of [
    [path, {}],
    [`/restaurants/${restuid}/webhooks/${endpoint}`, { hours: '24' }],
  ] as const) {
    const { location } = await as('owner').post(`${from}/redeliver`, fields);
    const { text } = await as('owner').get(location);
    expect(text).toContain('The API client that made this endpoint may not read these events now');
    expect(text).not.toContain('Wait until that is done');
  }

  // A time that is refused comes back with the rest of the form.
  const refused = await as('owner').post(`/restaurants/${restuid}/webhooks/${endpoint}/redeliver`, {
    hours: '72',
    since: '2020-01-01T00:00:00.000Z',
  });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('<option value="72" selected>');
  expect(refused.text).toContain('id="exact-moment" value="2020-01-01T00:00:00.000Z"');
});

test('A-544 an account with a passkey is listed with a second factor, one without both with none', async () => {
  const { userId } = as('support').user;
  const factor = async (): Promise<string | undefined> =>
    /Second factor<\/dt><dd>([^<]*)</.exec((await as('admin').get(`/users/${userId}`)).text)?.[1];
  expect(await factor()).toBe('None');
  await harness.database.pool.query(
    `insert into panel.passkeys (credential_id, id, user_id, name, public_key, counter, created_at)
     values ('x', 'pky_1', $1, 'phone', 'x', 0, now())`,
    [userId],
  );
  expect(await factor()).toBe('Passkey');
  const list = (await as('admin').get('/users')).text;
  expect(plain(list)).toMatch(/support\d+@example\.com Support Active Passkey/);
  expect(plain(list)).toMatch(/owner\d+@example\.com Owner Active None/);
});

test('A-545 a form that comes back with an error keeps what was chosen about mail and about a stored address', async () => {
  const isChecked = (text: string, name: string): boolean => new RegExp(`name="${name}" checked`).test(text);
  expect(isChecked((await as('admin').get('/users/new')).text, 'mail')).toBe(true);
  const fields = { email: 'no email', role: 'support' };
  for (const [chosen, more] of [
    [false, {}],
    [true, { mail: 'on' }],
  ] as const) {
    const refused = await as('admin').post('/users/new', { ...fields, ...more });
    expect(refused.status).toBe(422);
    expect(isChecked(refused.text, 'mail')).toBe(chosen);
    const contacts = `/clients/${client.id}/contacts`;
    expect(isChecked((await as('support').post(contacts, { email: 'no email', ...more })).text, 'mail')).toBe(chosen);
  }

  const notices = '/account/notices';
  expect((await as('owner').post(notices, { url: 'https://127.0.0.1:59999/hook' })).status).toBe(200);
  expect(isChecked((await as('owner').get(notices)).text, 'remove')).toBe(false);
  const refused = await as('owner').post(notices, { url: 'ftp://example.com', remove: 'on' });
  expect(refused.status).toBe(422);
  expect(isChecked(refused.text, 'remove')).toBe(true);
});

test('A-546 a request that the service answered with an error failed, and only a denied one was refused', async () => {
  expect((await call(key.headers, '/customer/create', { email: 'no email' })).status).toBe(400);
  expect((await call({ 'x-api-key': 'wrong' }, '/customer/create', {})).status).toBe(401);
  const badgesOf = async (action: string): Promise<string[]> => {
    const { text } = await as('security').get(`/security/audit?decision=deny&action=${action}`);
    return [...text.matchAll(/<code>([\w.]+)<\/code> <span class="badge[^>]*>([^<]*)</g)].flatMap(
      ([, of, badge = '']) => (of === action ? [badge] : []),
    );
  };
  await until(
    async () => (await badgesOf('request.allowed')).length > 0 && (await badgesOf('request.denied')).length > 0,
  );
  expect(new Set(await badgesOf('request.allowed'))).toEqual(new Set(['Failed']));
  expect(new Set(await badgesOf('request.denied'))).toEqual(new Set(['Refused']));
  expect((await as('security').get('/security/audit')).text).toContain('Refused or failed</option>');
});

test('A-548 the page of proof says that nothing was changed only when nothing was', async () => {
  const proof = '/security/incident/proof?kind=api_key&id=opk_000000000000';
  expect(plain((await as('security').get(proof)).text)).toContain('Nothing was changed: it was no longer valid.');
  // One that ended nothing stands for one that the audit has dropped.
  const { text } = await as('security').get('/security/audit');
  const [, event = ''] = /\/panel\/security\/events\/([^"]+)"/.exec(text) ?? [];
  const gone = plain((await as('security').get(`${proof}&event=${event}`)).text);
  expect(gone).toContain('No proof in the audit');
  expect(gone).not.toContain('Nothing was changed');
  expect(gone).not.toContain('Revoked: the proof');
});

test('A-549 the card of refusals names who can help a client and who a key', async () => {
  const helperFor = async (caller: string, reason: string): Promise<string | undefined> => {
    const { pool } = harness.database;
    await pool.query('delete from gateway.denials where caller = any ($1)', [[client.id, key.id]]);
    await pool.query(`insert into gateway.denials (caller, request_id, at, denial) values ($1, $2, now(), $3)`, [
      ...[caller, `req_${reason}`, JSON.stringify({ reason, code: 'UNAUTHORIZED' })],
    ]);
    return /Who can help: (.*?) (?:Why|Explain)/.exec(await cardOf('support', 'refusals'))?.[1]?.trim();
  };
  const makesSecret = 'support, which makes a new secret';
  for (const [reason, helper] of [
    ['leak_reported', makesSecret],
    ['secret_ended', makesSecret],
    ['client_disabled', 'support, which creates a new client'],
    ['address_not_allowed', 'support, by a grant, a scope or a network'],
    ['api_disabled', 'the owner of the restaurant'],
    ['parameters', 'the developer of the program'],
  ] as const)
    expect(await helperFor(client.id, reason), reason).toBe(helper);
  for (const [reason, helper] of [
    ['leak_reported', 'the owner of the restaurant'],
    ['address_not_allowed', 'the owner of the restaurant, under API keys, Limits'],
    ['restaurant_not_granted', 'the developer of the program'],
    ['quarantined', 'support, which lifts the quarantine'],
  ] as const)
    expect(await helperFor(key.id, reason), reason).toBe(helper);
});
