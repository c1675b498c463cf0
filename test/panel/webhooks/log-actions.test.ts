/** What the log and the pages of an endpoint let a user do: send again, send examples, set a login. Plain requests. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { until } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let receiver: WebhookReceiver;
let restuid: string;
let cookie: string;
let token: string;
let key: string;

type Fields = Record<string, string>;

const ask = async (path: string, fields?: Fields) => {
  const answer = await fetch(`${harness.url}/panel/restaurants/${restuid}${path}`, {
    headers: { cookie, origin: harness.url, 'x-csrf-token': token },
    redirect: 'manual',
    ...(fields === undefined ? undefined : { method: 'POST', body: new URLSearchParams(fields) }),
  });
  const html = /<main[\s\S]*<\/main>/.exec(await answer.text())?.[0] ?? '';
  return { status: answer.status, html, location: answer.headers.get('location') ?? '' };
};

/** The page that a form leads to, with the message on it. */
const send = async (path: string, fields: Fields = {}): Promise<string> => {
  const { status: code, location, html } = await ask(path, fields);
  expect(code, `${path}: ${html}`).toBe(303);
  return (await ask(location.replace(`/panel/restaurants/${restuid}`, ''))).html;
};

const textOf = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');

const hiddenOf = (html: string): Fields =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );

/** The number of each tab. */
const tabsOf = (html: string): Fields =>
  Object.fromEntries(
    [...html.matchAll(/id="tab-(\w+)"[^>]*>[^<]*<span class="count">([^<]*)</g)].map(([, name = '', count = '']) => [
      name,
      count,
    ]),
  );

const addEndpoint = async (url = receiver.url): Promise<string> =>
  /whe_\w+/.exec((await ask('/webhooks', { url, kinds: 'customers' })).html)?.[0] ?? '';

let count = 0;
const createCustomer = async (): Promise<string> => {
  count += 1;
  const email = `guest${count}@example.com`;
  const answer = await fetch(`${harness.url}/api/customer/create`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  });
  expect(answer.status).toBe(200);
  return email;
};

const heard = (email: string): number => receiver.received.filter(({ body }) => body.includes(email)).length;

beforeAll(async () => {
  harness = await startPanelHarness();
  receiver = await startReceiver();
  restuid = harness.restaurants[0] ?? '';
  cookie = await harness.cookieOf(await harness.user('owner'));
  token = '';
  token = /name="csrf" value="([^"]+)"/.exec((await ask('/notifications')).html)?.[1] ?? '';
  key = /opk_\w+/.exec((await ask('/keys', { name: 'events' })).html)?.[0] ?? '';
  await send('/notifications', { kind: 'customers', on: '1' });
});

afterAll(async () => {
  await harness?.close();
  await receiver?.close();
});

const audited = async (operation: string): Promise<Record<string, unknown>[]> => {
  const { rows } = await harness.database.pool.query<{ details: string }>(
    `select details from gateway.audit_events where details::jsonb->>'operation' = $1 order by at, chain, seq`,
    [operation],
  );
  return rows.map(({ details }) => JSON.parse(details) as Record<string, unknown>);
};

test('the tabs count by state, a row shows the last answer, and what a tab shows is sent again after a page that says how many', async () => {
  const uid = await addEndpoint();
  const good = await createCustomer();
  await until(() => heard(good) === 1);
  receiver.behave((response) => void response.writeHead(503).end('closed'));
  const bad = [await createCustomer(), await createCustomer()];
  await until(async () => tabsOf((await ask('/deliveries')).html).retrying === '2');
  const log = (await ask('/deliveries')).html;
  expect(tabsOf(log)).toEqual({ all: '3', failed: '0', retrying: '2', delivered: '1' });
  expect(textOf(log)).toMatch(/Retrying 503 · \d+ ms/);
  expect(textOf(log)).toMatch(/Delivered 204 · \d+ ms/);
  await harness.database.pool.query(
    `update webhooks.deliveries set state = 'exhausted', next_attempt_at = null, finished = now() where state = 'pending'`,
  );
  const failed = (await ask('/deliveries?state=exhausted')).html;
  expect(tabsOf(failed)).toEqual({ all: '3', failed: '2', retrying: '0', delivered: '1' });
  expect(failed).toMatch(/id="tab-failed"[^>]* aria-current="true"/);
  const page = /href="\/panel\/restaurants\/[^/]+(\/deliveries\/redeliver\?[^"]*)"/.exec(failed)?.[1] ?? '';
  receiver.behave(status(204));

  // One that is not on the page that asked: the number would not be that of the page.
  const asked = (await ask(page)).html;
  expect(textOf(asked)).toContain('2 events are sent again now');
  await harness.database.pool.query(
    `update webhooks.deliveries set state = 'exhausted' where state = 'succeeded' and endpoint_uid = $1`,
    [uid],
  );
  const refused = await ask('/deliveries/redeliver', hiddenOf(asked));
  expect([refused.status, textOf(refused.html)]).toEqual([422, expect.stringContaining('Nothing was sent')]);
  expect(textOf(refused.html)).toContain('3 events are sent again now');
  await harness.database.pool.query(
    `update webhooks.deliveries set state = 'succeeded' where endpoint_uid = $1 and uid in
       (select delivery_uid from webhooks.attempts where status = 204)`,
    [uid],
  );
  // As many, of which one is another: its event was not on the page that asked.
  const shown = (await ask(page)).html;
  const { rows: one } = await harness.database.pool.query<{ id: string }>(
    `select distinct on (state) event_id as id from webhooks.deliveries where endpoint_uid = $1 order by state, event_id`,
    [uid],
  );
  expect(one).toHaveLength(2);
  const swap = () =>
    harness.database.pool.query(
      `update webhooks.deliveries set state = case state when 'succeeded' then 'exhausted' else 'succeeded' end
       where endpoint_uid = $1 and event_id = any($2)`,
      [uid, one.map(({ id }) => id)],
    );
  await swap();
  const other = await ask('/deliveries/redeliver', hiddenOf(shown));
  expect([other.status, textOf(other.html)]).toEqual([422, expect.stringContaining('Nothing was sent')]);
  await swap();

  const again = (await ask(page)).html;
  // An event that fails after the page was shown is not among them.
  expect(await send('/deliveries/redeliver', hiddenOf(again))).toContain('2 events are being sent again.');
  await until(() => bad.every((email) => heard(email) === 2));
  expect(heard(good)).toBe(1);
  expect(await audited('webhook/redeliver')).toMatchObject([{ endpoint_uid: uid, events: 2 }]);

  const before = (await ask('/deliveries/redeliver')).html;
  await send(`/webhooks/${uid}/disable`);
  const changed = await ask('/deliveries/redeliver', hiddenOf(before));
  expect([changed.status, textOf(changed.html)]).toEqual([422, expect.stringContaining('Nothing was sent')]);
  const disabled = textOf((await ask('/deliveries/redeliver')).html);
  expect(disabled).toContain('nothing that can be sent again');
  expect(disabled).toContain('because they are disabled or removed');
  await send(`/webhooks/${uid}/remove`);
});

test('more deliveries than can be sent again at once are refused with what to do', async () => {
  const uid = await addEndpoint();
  const email = await createCustomer();
  await until(() => heard(email) === 1);
  await harness.database.pool.query(
    `insert into webhooks.deliveries (tenant, uid, endpoint_uid, event_id, event, kind, entity, seq, position, state, attempts_count, created)
     select tenant, uid || number, endpoint_uid, event_id || number, event, kind, entity || number, 1, 0, 'exhausted', 1, created
     from webhooks.deliveries, generate_series(1, 251) as number where endpoint_uid = $1`,
    [uid],
  );
  const { html } = await ask(`/deliveries/redeliver?state=exhausted&endpoint=${uid}`);
  expect(textOf(html)).toContain('The filter shows more than 250 deliveries');
  expect(html).not.toContain('<form');
  const refused = await ask('/deliveries/redeliver', { state: 'exhausted', endpoint: uid, chosen: `${uid}:251` });
  expect(refused.status).toBe(422);
  await send(`/webhooks/${uid}/remove`);
});

test('an example of each type of event reaches the receiver signed and marked as a test, and no other type is taken', async () => {
  const uid = await addEndpoint();
  const { html } = await ask(`/webhooks/${uid}`);
  const select = /<select name="event"[\s\S]*?<\/select>/.exec(html)?.[0] ?? '';
  const events = [...select.matchAll(/<option[^>]*>([^<]+)</g)].map(([, event = '']) => event);
  const document = (await (await fetch(`${harness.url}/api/openapi.json`)).json()) as { webhooks: object };
  expect([...events].sort()).toEqual(Object.keys(document.webhooks).sort());
  for (const event of events) {
    expect((await ask(`/webhooks/${uid}/test`, { event })).html, event).toContain(
      'Your receiver confirmed it with 204',
    );
    const { body, headers } = receiver.received.at(-1) ?? { body: '{}', headers: {} as Record<string, string> };
    const sent = JSON.parse(body) as Record<string, unknown>;
    expect(sent, event).toMatchObject({ event, restuid, seq: 0, previous_seq: null, id: headers['webhook-id'] });
    expect(sent.test, event).toBe(event === 'webhook.test' ? undefined : true);
  }
  expect((await ask(`/webhooks/${uid}/test`, { event: 'order.never' })).status).toBe(400);
  expect(tabsOf((await ask(`/deliveries?endpoint=${uid}`)).html).all).toBe('0');
  await send(`/webhooks/${uid}/remove`);
});

test('a login at the receiver is set, replaced and removed, its secrets are never shown, and a mistake names its field', async () => {
  const uid = await addEndpoint();
  const path = `/webhooks/${uid}/login`;
  const secret = 'header-value-77c0';
  expect(await send(path, { type: 'header', name: 'X-Till-Key', value: secret })).toContain('are not shown again');
  await ask(`/webhooks/${uid}/test`, {});
  expect(receiver.received.at(-1)?.headers['x-till-key']).toBe(secret);
  for (const page of [`/webhooks/${uid}`, path, `${path}/remove`, '/webhooks'])
    expect((await ask(page)).html, page).not.toContain(secret);

  const wrong: [Fields, string][] = [
    [{ type: 'header', name: 'Host', value: secret }, 'name'],
    [{ type: 'header', name: 'X-Other', value: '' }, 'value'],
    [{ type: 'certificate', certificate: 'no pem', private_key: secret }, 'certificate'],
    [{ type: 'certificate', certificate: 'no pem', private_key: secret }, 'private_key'],
    [{ type: 'oauth', token_url: 'ftp://x.example/', client_id: 'till', client_secret: secret }, 'token_url'],
    [{ type: 'oauth', token_url: 'https://x.example/', client_id: 'till' }, 'client_secret'],
    [
      { type: 'oauth', token_url: 'https://127.0.0.1:2/', client_id: 'till', client_secret: secret, key_id: '1' },
      'key_id',
    ],
  ];
  for (const [fields, name] of wrong) {
    const refused = await ask(path, fields);
    expect(refused.status, name).toBe(422);
    expect(refused.html, name).toMatch(new RegExp(`name="${name}"[^>]*aria-invalid="true"`));
    expect(refused.html, name).toContain(`id="${name}-note"`);
    expect(refused.html, name).not.toContain(secret);
  }
  expect((await ask(path, { type: 'password' })).status).toBe(400);
  // A certificate needs https, which the receiver does not have.
  const { cert, key: pem } = makeAuthority().issue({ name: 'till', use: 'client' });
  expect((await ask(path, { type: 'certificate', certificate: cert, private_key: pem })).status).toBe(422);
  const token = { type: 'oauth', token_url: 'https://127.0.0.1:2/token', client_id: 'till-7', client_secret: secret };
  await send(path, token);
  expect(textOf((await ask(`/webhooks/${uid}`)).html)).toContain('OAuth client: till-7');
  expect(await send(`${path}/remove`)).toContain('has no login at its receiver');
  const logins = (await audited('webhook/update')).filter((one) => 'auth' in one);
  expect(logins).toEqual(['header', 'oauth', null].map((auth) => ({ operation: 'webhook/update', uid, auth })));
  await send(`/webhooks/${uid}/remove`);
});

test('a certificate that ends within 30 days is warned of on the page of its endpoint and in the list', async () => {
  const uid = await addEndpoint(`https://127.0.0.1:${receiver.port}/hook`);
  const save = async (days: number): Promise<void> => {
    const until = new Date(Date.now() + days * 86_400_000);
    const { cert, key: pem } = makeAuthority().issue({ name: 'till', use: 'client', until });
    await send(`/webhooks/${uid}/login`, {
      ...{ type: 'certificate', certificate: cert.replaceAll('\n', '\r\n'), private_key: pem.replaceAll('\n', '\r\n') },
    });
  };
  await save(40);
  expect((await ask(`/webhooks/${uid}`)).html).not.toContain('ends soon');
  await save(20);
  expect((await ask(`/webhooks/${uid}`)).html).toContain('The client certificate of this endpoint ends soon');
  expect((await ask('/webhooks')).html).toContain('Certificate ends soon');
  await send(`/webhooks/${uid}/remove`);
});

test('the attempts of a delivery are a timeline with the next one, and its event folds without a script', async () => {
  const uid = await addEndpoint();
  receiver.behave((response) => void response.writeHead(500).end('broken'));
  const email = await createCustomer();
  await until(() => heard(email) === 1);
  const log = async (): Promise<string> => (await ask(`/deliveries?endpoint=${uid}`)).html;
  await until(async () => (await log()).includes('badge warn'));
  const list = await log();
  const delivery = /deliveries\/(dlv_\w+)/.exec(list)?.[1] ?? '';
  const { html } = await ask(`/deliveries/${delivery}`);
  const timeline = /<ol class="timeline">[\s\S]*?<\/ol>/.exec(html)?.[0] ?? '';
  const { rows } = await harness.database.pool.query<{ at: Date }>(
    'select next_attempt_at as at from webhooks.deliveries where uid = $1',
    [delivery],
  );
  // The next try is the stored one.
  expect(timeline).toContain(`Next try: <time datetime="${rows[0]?.at.toISOString()}"`);
  expect(textOf(timeline)).toMatch(/Next try: .* Attempt 1 · .* · 500 · \d+ ms · Failed .*broken/);
  const json = /<div class="json[\s\S]*?<pre id="payload-sent" hidden>/.exec(html)?.[0] ?? '';
  expect(json).toContain('<details open><summary>{</summary>');
  expect(json).toContain('<summary>  &quot;customer&quot;: {</summary>');
  const shown = textOf(json.replaceAll('<pre id="payload-sent" hidden>', ''));
  expect(JSON.parse(shown.replaceAll('&quot;', '"').replaceAll('&#39;', "'"))).toEqual(
    JSON.parse(receiver.received.at(-1)?.body ?? ''),
  );
  receiver.behave(status(204));
  await send(`/webhooks/${uid}/remove`);
});
