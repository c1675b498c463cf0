/**
 * What the pages say about endpoints and deliveries, and what their forms change, without a browser: plain requests.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until, untilHourLasts } from '../../support/until.ts';
import { startReceiver, status, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let receiver: WebhookReceiver;
let restuid: string;
let cookie: string;
let token: string;
let key: string;

const ask = async (path: string, fields?: Record<string, string> | [string, string][]) => {
  const answer = await fetch(`${harness.url}/panel/restaurants/${restuid}${path}`, {
    headers: { cookie, origin: harness.url, 'x-csrf-token': token },
    redirect: 'manual',
    ...(fields === undefined ? undefined : { method: 'POST', body: new URLSearchParams(fields) }),
  });
  const html = /<main[\s\S]*<\/main>/.exec(await answer.text())?.[0] ?? '';
  return { status: answer.status, html, location: answer.headers.get('location') ?? '' };
};

/** The page that a form leads to, with the message on it. */
const send = async (path: string, fields: Record<string, string> | [string, string][] = {}): Promise<string> => {
  const { status: code, location } = await ask(path, fields);
  expect(code, path).toBe(303);
  return (await ask(location.replace(`/panel/restaurants/${restuid}`, ''))).html;
};

/** Terms and what they say: of the lists of facts, cells and fields. */
const factsOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<dt>([^<]*)<\/dt><dd>([\s\S]*?)<\/dd>/g)].map(([, term = '', text = '']) => [
      term,
      text.replaceAll(/<[^>]*>/g, '').trim(),
    ]),
  );

const momentOf = (html: string, term: string): number =>
  Date.parse(new RegExp(`<dt>${term}</dt><dd>[^<]*<time datetime="([^"]+)"`).exec(html)?.[1] ?? '');

const fieldsOf = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<input[^>]*name="(\w+)"[^>]*>/g)].flatMap(([tag, name = '']): [string, string][] => {
      const value = /value="([^"]*)"/.exec(tag)?.[1] ?? '';
      if (!tag.includes('type="checkbox"')) return [[name, value]];
      return tag.includes(' checked') ? [[`${name}:${value}`, 'on']] : [];
    }),
  );

const addEndpoint = async (fields: [string, string][] = [['kinds', 'customers']], path = ''): Promise<string> => {
  const { html } = await ask('/webhooks', [['url', receiver.url + path], ...fields]);
  return /whe_\w+/.exec(html)?.[0] ?? '';
};

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

const pool = () => harness.database.pool;

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

test('each field of an endpoint is kept as it was typed, shown, changed and cleared', async () => {
  const typed: [string, string][] = [
    ['description', 'Accounting'],
    ['kinds', 'customers'],
    ['kinds', 'menu'],
    ['signature_header', 'X-Till-Signature'],
    ['max_per_second', '7'],
    ['digest', '1'],
  ];
  const uid = await addEndpoint(typed, '/first');
  const shown = { URL: `${receiver.url}/first`, Description: 'Accounting', 'Events to send': 'Customers, Menu' };
  expect(factsOf((await ask(`/webhooks/${uid}`)).html)).toMatchObject({
    ...shown,
    'Name of the plain signature header': 'X-Till-Signature',
    'Events per second, at most': '7',
    'More settings': expect.stringContaining('digest'),
    'Created by': 'this panel',
  });
  const form = fieldsOf((await ask(`/webhooks/${uid}/edit`)).html);
  expect(form).toEqual({
    csrf: token,
    endpoint_before: expect.any(String),
    ...{ url: `${receiver.url}/first`, description: 'Accounting', signature_header: 'X-Till-Signature' },
    ...{ max_per_second: '7', 'kinds:customers': 'on', 'kinds:menu': 'on', 'digest:1': 'on' },
  });
  await send(`/webhooks/${uid}/edit`, { url: `${receiver.url}/second`, kinds: 'orders', max_per_second: '9' });
  const edited = (await ask(`/webhooks/${uid}`)).html;
  expect(factsOf(edited)).toMatchObject({
    ...{ URL: `${receiver.url}/second`, 'Events to send': 'Orders', 'Events per second, at most': '9' },
  });
  for (const gone of ['Description', 'Name of the plain signature header', 'More settings'])
    expect(factsOf(edited)).not.toHaveProperty([gone]);
  expect(edited).toContain('Not sent, because these kinds are off for the restaurant: Orders.');
  await pool().query(`update webhooks.endpoints set owner_kind = 'api_client', owner_id = 'opc_till' where uid = $1`, [
    uid,
  ]);
  expect(factsOf((await ask(`/webhooks/${uid}`)).html)['Created by']).toBe('API client opc_till');
  await send(`/webhooks/${uid}/remove`);
  expect((await ask(`/webhooks/${uid}`)).status).toBe(404);
});

test('A-643 the form leaves `v1a` out with a message signature unless it is chosen, and an edit keeps what it does not name', async () => {
  const term = 'Signature v1a';
  /** The values that the form offers, and the selected one. */
  const offered = async (path: string): Promise<string[]> => {
    const select = /<select name="v1a">([\s\S]*?)<\/select>/.exec((await ask(path)).html)?.[1] ?? '';
    return [...select.matchAll(/<option value="(\w*)"( selected)?>/g)].map(
      ([, value = '', chosen = '']) => value + chosen,
    );
  };
  const shown = async (uid: string) => factsOf((await ask(`/webhooks/${uid}`)).html)[term];
  const kinds: [string, string] = ['kinds', 'customers'];
  const signature: [string, string] = ['signature', 'rfc9421:ed25519'];
  expect(await offered('/webhooks/new')).toEqual(['', 'true', 'false']);
  const plain = await addEndpoint([kinds, ['v1a', '']]);
  expect(await shown(plain)).toBeUndefined();
  expect(await offered(`/webhooks/${plain}/edit`)).toEqual(['true selected', 'false']);
  const both = await addEndpoint([kinds, signature, ['v1a', 'true']]);
  expect(await shown(both)).toBe('Sent');
  const uid = await addEndpoint([kinds, signature, ['v1a', '']]);
  expect(await shown(uid)).toBe('Left out');
  expect(await offered(`/webhooks/${uid}/edit`)).toEqual(['true', 'false selected']);
  const edit = (more: [string, string][]) => send(`/webhooks/${uid}/edit`, [['url', receiver.url], kinds, ...more]);
  await edit([signature]);
  expect(await shown(uid)).toBe('Left out');
  await edit([signature, ['v1a', 'true']]);
  expect(await shown(uid)).toBe('Sent');
  await edit([['v1a', 'false']]);
  expect(await shown(uid)).toBe('Left out');
  for (const one of [plain, both, uid]) await send(`/webhooks/${one}/remove`);
});

test('the old secret signs for the time that was chosen, and is no longer shown when that is over', async () => {
  const uid = await addEndpoint();
  const overlap = 'The old secret signs too until';
  for (const [hours, expected] of [
    ['72', 72],
    ['1', 1],
  ] as const) {
    expect((await ask(`/webhooks/${uid}/rotate`, { overlap: hours })).html).toContain('whsec_');
    const page = (await ask(`/webhooks/${uid}`)).html;
    expect(Math.abs(momentOf(page, overlap) - Date.now() - expected * 3_600_000)).toBeLessThan(120_000);
    await pool().query(
      `update webhooks.endpoints set previous_secret_expires = now() - interval '1 s' where uid = $1`,
      [uid],
    );
    expect(factsOf((await ask(`/webhooks/${uid}`)).html)).not.toHaveProperty([overlap]);
  }
  expect((await ask(`/webhooks/${uid}/rotate`, { overlap: '2' })).status).toBe(400);
  await send(`/webhooks/${uid}/remove`);
});

test('an endpoint that fails says since when and when it is tried again, one that was ended says why', async () => {
  const uid = await addEndpoint();
  const states = async () => factsOf((await ask(`/webhooks/${uid}`)).html);
  expect(await states()).toMatchObject({ State: 'No try yet', 'Last success': 'Never', 'Last failure': 'Never' });
  receiver.behave(status(500));
  const email = await createCustomer();
  await until(async () => (await states()).State?.startsWith('Failing') === true);
  const failing = (await ask(`/webhooks/${uid}`)).html;
  expect(factsOf(failing).State).toMatch(/^Failing Failing since \d{4}/);
  expect(factsOf(failing)['Last success']).toBe('Never');
  expect(Math.abs(momentOf(failing, 'Last failure') - Date.now())).toBeLessThan(60_000);
  expect(momentOf(failing, 'Next try')).toBeGreaterThan(Date.now());
  expect((await ask('/webhooks')).html).toMatch(/data-label="State"><span class="badge bad">Failing/);
  receiver.behave(status(204));
  const delivery = /deliveries\/(dlv_\w+)/.exec((await ask(`/deliveries?endpoint=${uid}`)).html)?.[1] ?? '';
  await send(`/deliveries/${delivery}/redeliver`);
  await until(async () => (await states()).State === 'Last try succeeded');
  expect(heard(email)).toBe(2);
  const healthy = (await ask(`/webhooks/${uid}`)).html;
  expect(momentOf(healthy, 'Last success')).toBeGreaterThan(momentOf(healthy, 'Last failure'));
  expect(factsOf(healthy)['Next try']).toBe('Nothing to be sent');
  for (const [reason, text] of [
    ['gone', 'the receiver answered 410'],
    ['failing', 'every attempt failed for days'],
  ]) {
    await pool().query(`update webhooks.endpoints set enabled = false, disabled_reason = $2 where uid = $1`, [
      uid,
      reason,
    ]);
    expect((await states()).State).toContain(text);
  }
  await send(`/webhooks/${uid}/enable`);
  expect((await states()).State).toBe('Last try succeeded');
  await send(`/webhooks/${uid}/remove`);
});

test('F-42 F-43 an endpoint that only ever failed shows its failed attempts from the first one, and no next try in the past', async () => {
  const uid = await addEndpoint();
  const health = async () => (await ask(`/webhooks/${uid}`)).html;
  await untilHourLasts();
  receiver.behave(status(500));
  await createCustomer();
  await createCustomer();
  const summary =
    'Attempts: 2, succeeded: 0 (0%). 2 deliveries: 0 delivered, 0 failed or cancelled, 2 failed so far and tried again, 0 not tried yet.';
  await until(async () => (await health()).includes(summary));
  const shown = await health();
  expect(shown).toContain('aria-label="Attempts that failed: 2 in all, at most 2 within an hour"');
  expect(shown).toContain('aria-label="Attempts that succeeded: 0 in all, at most 0 within an hour"');
  expect(shown).toMatch(/data-label="Failed so far">2</);
  expect(shown).toMatch(/data-label="Attempts that failed">2</);

  // What is due and on its way has no time: it goes now, or when it is its turn.
  receiver.behave(() => undefined);
  const email = await createCustomer();
  await until(() => heard(email) === 1);
  expect(factsOf((await ask(`/webhooks/${uid}`)).html)['Next try']).toBe('as soon as possible');
  expect((await ask('/webhooks')).html).toContain('data-label="Next try">as soon as possible<');
  const askedAtMs = Date.now();
  const log = (await ask(`/deliveries?endpoint=${uid}`)).html;
  expect(log).toContain('data-label="Next try">as soon as possible<');
  for (const [, moment = ''] of log.matchAll(/data-label="Next try"><time datetime="([^"]+)"/g))
    expect(Date.parse(moment)).toBeGreaterThan(askedAtMs - 1_000);
  receiver.behave(status(204));
  await send(`/webhooks/${uid}/disable`);
  await send(`/webhooks/${uid}/enable`);
  expect(factsOf((await ask(`/webhooks/${uid}`)).html).State).toBe('No try since it was enabled');
  await send(`/webhooks/${uid}/remove`);
});

test('a long list of endpoints is read a page at a time, each once', async () => {
  const uid = await addEndpoint();
  await pool().query(
    `insert into webhooks.endpoints (tenant, uid, owner_kind, owner_id, url, kinds, secret, created)
     select tenant, uid || number, owner_kind, 'other', url || number, kinds, secret, created - number * interval '1 s'
     from webhooks.endpoints, generate_series(1, 60) as number where uid = $1`,
    [uid],
  );
  const seen: string[] = [];
  let next: string | undefined = '/webhooks';
  for (let pages = 0; next !== undefined && pages < 5; pages += 1) {
    const { html } = await ask(next);
    seen.push(...[...html.matchAll(/id="open-(whe_\w+)"/g)].map((match) => match[1] ?? ''));
    next = /id="next-page"[^>]*href="[^"]*(\/webhooks\?after=[^"]+)"/.exec(html)?.[1];
  }
  expect(seen).toHaveLength(61);
  expect(new Set(seen).size).toBe(61);
  await pool().query('delete from webhooks.endpoints where uid like $1', [`${uid}_%`]);
  await send(`/webhooks/${uid}/remove`);
});

test('the log is narrowed to an endpoint and to a time, and an attempt says where it went and how long it took', async () => {
  const [one, other] = [await addEndpoint(undefined, '/one'), await addEndpoint(undefined, '/other')];
  const email = await createCustomer();
  await until(() => heard(email) === 2);
  const listed = async (query: string): Promise<string[]> =>
    [...(await ask(`/deliveries?${query}`)).html.matchAll(/id="open-(dlv_\w+)"/g)].map((match) => match[1] ?? '');
  const [first = ''] = await listed(`endpoint=${one}`);
  const [second = ''] = await listed(`endpoint=${other}`);
  expect([first, second]).toEqual([expect.stringMatching(/^dlv_/), expect.stringMatching(/^dlv_/)]);
  expect(first).not.toBe(second);
  await until(async () => (await ask(`/deliveries/${first}`)).html.includes('The receiver confirmed it.'));
  await pool().query(
    `update webhooks.attempts set total_ms = 77, dns_ms = null, connect_ms = 11, tls_ms = 22, first_byte_ms = 66 where delivery_uid = $1`,
    [first],
  );
  const facts = factsOf((await ask(`/deliveries/${first}`)).html);
  expect(facts).toMatchObject({
    Status: '204',
    Address: '127.0.0.1',
    Took: '77 ms (TCP 11 ms, TLS 22 ms, first byte 66 ms)',
  });
  await pool().query(
    `update webhooks.deliveries set created = created - interval '2 hours' where tenant = $1 and uid = $2`,
    [restuid, first],
  );
  expect(await listed(`endpoint=${one}&since=1`)).toEqual([]);
  expect(await listed(`endpoint=${other}&since=1`)).toEqual([second]);
  expect(await listed(`endpoint=${one}&since=24`)).toEqual([first]);
  // The part that renews itself asks for the same choice again.
  expect((await ask(`/deliveries?endpoint=${one}&since=24`)).html).toMatch(
    new RegExp(`hx-get="[^"]*endpoint=${one}&amp;since=24"`),
  );
  for (const uid of [one, other]) await send(`/webhooks/${uid}/remove`);
});

test('a redelivery sends the events that were missed since then, and a refused one names the reason', async () => {
  await pool().query(`update outbox.places set created = created - interval '10 days' where tenant = $1`, [restuid]);
  const uid = await addEndpoint();
  receiver.behave(status(500));
  const [early, late] = [await createCustomer(), await createCustomer()];
  await until(() => heard(early) === 1 && heard(late) === 1);
  await pool().query(
    `update outbox.places set created = created - interval '3 hours'
     where tenant = $1 and event_id in (select id from outbox.events where body like $2)`,
    [restuid, `%${early}%`],
  );
  receiver.behave(status(204));
  const log = await send(`/webhooks/${uid}/redeliver`, { hours: '1' });
  expect(log).toContain('1 event is being sent again.');
  // The page of a sending again says how far it is (F-08).
  expect(log).toMatch(/Queued: 1\. Delivered: [01]\. Failed or cancelled: 0\. Pending: [01]\./);
  expect(log).toContain('sent again)');
  await until(() => heard(late) === 2);
  await until(async () => (await ask(`/webhooks/${uid}`)).html.includes('Last try succeeded'));
  const since = new Date(Date.now() - 4 * 3_600_000).toISOString();
  expect(await send(`/webhooks/${uid}/redeliver`, { since })).toContain('1 event is being sent again.');
  await until(() => heard(early) === 2);
  expect(heard(late)).toBe(2);

  const delivery = /deliveries\/(dlv_\w+)/.exec((await ask(`/deliveries?endpoint=${uid}`)).html)?.[1] ?? '';
  // One that is queued already: taken up within a second, so it is asked again where that was faster.
  await until(async () => {
    await pool().query(
      `insert into webhooks.redeliveries (tenant, uid, endpoint_uid, since, everything, after_position, last_position, state, created)
       values ($1, 'rdl_' || md5(random()::text), $2, now(), false, 0, 0, 'running', now()) on conflict do nothing`,
      [restuid, uid],
    );
    return (await send(`/webhooks/${uid}/redeliver`, { hours: '1' })).includes('again. Wait until that is done');
  });
  await pool().query(`update webhooks.redeliveries set state = 'done' where endpoint_uid = $1`, [uid]);
  await send(`/webhooks/${uid}/edit`, { url: receiver.url, kinds: 'menu' });
  expect(await send(`/deliveries/${delivery}/redeliver`)).toContain('Nothing can be sent again');
  await send(`/webhooks/${uid}/edit`, { url: receiver.url, kinds: 'customers' });
  await send(`/webhooks/${uid}/disable`);
  for (const path of [`/deliveries/${delivery}/redeliver`, `/webhooks/${uid}/redeliver`])
    expect(await send(path, { hours: '1' }), path).toContain('The endpoint is disabled. Enable it first.');
  // More than one step holds, while no receiver listens.
  await pool().query(
    `insert into outbox.events (id, tenant, kind, event, entity, seq, previous_seq, created, body)
     select id || number, tenant, kind, event, entity || number, seq, previous_seq, now(), body
     from (select * from outbox.events where tenant = $1 order by id desc limit 1) as one, generate_series(1, 120) as number`,
    [restuid],
  );
  await until(async () => (await pool().query('select from outbox.waiting')).rowCount === 0);
  await send(`/webhooks/${uid}/enable`);
  expect(await send(`/webhooks/${uid}/redeliver`, { hours: '1' })).toContain(
    'events are being sent again; more follow.',
  );
  await send(`/webhooks/${uid}/remove`);
});
