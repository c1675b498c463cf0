import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import type { Json } from '../support/ordering.ts';
import { type RunningProgram, runCommand, runJson, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

let database: TestDatabase;
let env: Record<string, string>;
let gateway: RunningProgram;
let receiver: WebhookReceiver;
let restuid: string;
let key: Record<string, string>;
let client: Record<string, string>;
let endpoint: string;
let event: string;
const programs: RunningProgram[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  env = {
    DATABASE_URL: database.url,
    ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'),
    ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
  };
  const port = String(await freePort());
  const upstreams = {
    ORDERPASS_ORIGIN: 'http://localhost:4000',
    ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${port}`,
  };
  const [first] = await Promise.all([
    startProgram({ ...env, ...upstreams, ORDERPASS_ROLE: 'gateway' }),
    startProgram({ ...env, ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: port }).then((one) =>
      programs.push(one),
    ),
    startProgram({ ...env, ORDERPASS_ROLE: 'worker' }).then((one) => programs.push(one)),
  ]);
  gateway = first;
  programs.push(gateway);
  ({ restuid } = (await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)) as { restuid: string });
  await runJson(['notifications', 'set', '--restaurant', restuid, '--customers', 'on', '--orders', 'on'], env);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  client = { 'x-client-id': String(made.client_id), 'x-client-secret': String(made.client_secret) };
  key = { 'x-api-key': String((await runJson(['key', 'create', '--restaurant', restuid], env)).api_key) };
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await receiver?.close();
  await database?.drop();
});

const call = async (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<{ status: number; headers: Headers; json: Json }> => {
  const response = await fetch(`${gateway.url}/api${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? undefined : { 'content-type': 'application/json' }) },
    ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, json: await response.json() };
};

const bearer = async (scope: string): Promise<Record<string, string>> => {
  const issued = await fetch(`${gateway.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: client['x-client-id'] ?? '',
      client_secret: client['x-client-secret'] ?? '',
      scope,
    }),
  });
  return { authorization: `Bearer ${((await issued.json()) as { access_token: string }).access_token}` };
};

test('A-049 an API key makes no endpoint and changes none', async () => {
  for (const path of ['create', 'update', 'remove', 'rotate-secret', 'test', 'redeliver']) {
    const { status, json } = await call('POST', `/webhook/${path}`, key, { uid: 'whe_1', url: receiver.url });
    expect([path, status, json.error, json.missing_scopes]).toEqual([
      path,
      403,
      'INSUFFICIENT_SCOPE',
      ['write:webhooks'],
    ]);
  }
});

test('A-050 A-144 a token learns exactly the read scopes that are missing for the kinds that it names', async () => {
  const token = await bearer('write:webhooks read:webhooks read:orders');
  const refusals = [
    await call('POST', '/webhook/create', token, { url: receiver.url, kinds: ['customers', 'orders'] }),
    await call('GET', '/events/list?kinds=customers', token),
  ];
  for (const { status, headers, json } of refusals) {
    expect([status, json.error]).toEqual([403, 'insufficient_scope']);
    expect(headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    expect(headers.get('www-authenticate')).toContain('scope="read:customers"');
  }
  const several = await call('POST', '/webhook/create', token, {
    url: receiver.url,
    kinds: ['loyaltylog', 'menu', 'customers', 'orders'],
  });
  expect(several.headers.get('www-authenticate')).toContain('scope="read:customers read:menu read:loyalty"');
});

test('with gateway, core and worker as three processes: make an endpoint, test it, receive, look, send again, catch up, rotate', async () => {
  const token = await bearer('');
  const made = await call('POST', '/webhook/create', token, { url: receiver.url, kinds: ['customers'] });
  expect(made.status).toBe(200);
  const { uid } = made.json.endpoint;
  expect(made.json.endpoint.owner).toEqual({ kind: 'api_client', id: client['x-client-id'] });
  // The same owner by its headers; an API key sees what the client made.
  expect((await call('GET', `/webhook/endpoint?uid=${uid}`, client)).json.endpoint.uid).toBe(uid);
  expect((await call('GET', '/webhook/endpoints', key)).json).toMatchObject({
    total_count: 1,
    kinds_enabled: { customers: true, orders: true, loyaltylog: false, menu: false },
  });

  const tried = await call('POST', '/webhook/test', token, { uid });
  expect(tried.json.attempt).toMatchObject({ status: 204, failure: null, address: '127.0.0.1' });
  expect(JSON.parse(receiver.received[0]?.body ?? '').event).toBe('webhook.test');

  await call('POST', '/customer/create', client, { first_name: 'Ada', email: 'ada@example.com' });
  await until(() => receiver.received.length === 2);
  const log = await call('GET', `/webhook/deliveries?endpoint_uid=${uid}`, key);
  const [delivery] = log.json.deliveries;
  await until(
    async () => (await call('GET', `/webhook/delivery?uid=${delivery.uid}`, key)).json.delivery.state === 'succeeded',
  );
  const whole = (await call('GET', `/webhook/delivery?uid=${delivery.uid}`, key)).json.delivery;
  expect(whole.body).toBe(receiver.received[1]?.body);
  expect(whole.attempts).toMatchObject([{ number: 1, status: 204, failure: null, address: '127.0.0.1' }]);

  const again = await call('POST', '/webhook/redeliver', token, { endpoint_uid: uid, event_id: delivery.event_id });
  expect(again.json.redelivery).toMatchObject({ queued: 1, state: 'done' });
  await until(() => receiver.received.length === 3);
  expect(receiver.received[2]?.headers['webhook-id']).toBe(delivery.event_id);

  const feed = await call('GET', '/events/list', key);
  expect(feed.json.events).toMatchObject([{ id: delivery.event_id, body: receiver.received[1]?.body }]);
  expect((await call('POST', '/webhook/rotate-secret', token, { uid })).json.secret).toMatch(/^whsec_/);

  endpoint = uid;
  event = delivery.event_id;
});

test('the command line shows the same log, delivers again, ends an overlap and disables, and the audit knows who did it', async () => {
  const of = ['--restaurant', restuid];
  const made = await runJson(['endpoint', 'create', ...of, '--url', `${receiver.url}/hidden?token=hidden`], env);
  const other = [...of, '--endpoint', String(made.endpoint_uid)];
  const one = [...of, '--endpoint', endpoint];
  const cli = (...args: string[]): Promise<Json> => runJson(['webhook', ...args], env);
  await cli('remove', ...other);
  const [listed, shown, log, recorded] = await Promise.all([
    cli('list', ...of),
    cli('show', ...one),
    cli('deliveries', ...of, '--event-id', event),
    cli('events', ...of, '--kinds', 'customers'),
  ]);
  expect(listed.endpoints[0]).toMatchObject({ uid: endpoint, status: 'active' });
  expect(shown.endpoint.previous_secret_expires_iso).not.toBeNull();
  expect(log.counts).toEqual({ pending: 0, waiting: 0, succeeded: 2, exhausted: 0, cancelled: 0 });
  expect(recorded.events).toHaveLength(1);
  const { redelivery } = await cli('redeliver', ...one, '--event-id', event);
  expect(redelivery.queued).toBe(1);
  expect((await cli('redelivery', ...of, '--redelivery', redelivery.uid)).redelivery).toMatchObject({ queued: 1 });
  await until(() => receiver.received.length === 4);
  expect((await cli('rotate-secret', ...one, '--finish')).secret).toBeNull();
  expect((await cli('disable', ...one)).endpoint.disabled_reason).toBe('owner');
  const [lines, whole, refused, absent, audited] = await Promise.all([
    runCommand(['webhook', 'deliveries', ...one], env),
    runCommand(['webhook', 'delivery', ...of, '--delivery', log.deliveries[0].uid], env),
    runCommand(['webhook', 'redeliver', ...one], env),
    runCommand(['webhook', 'show', ...of, '--endpoint', 'whe_none'], env),
    runJson(['audit', 'search', '--action', 'webhook.changed'], env),
  ]);
  expect(lines.stdout).toMatch(/^dlv_\S+ .*event=customer\.changed .*state=succeeded/);
  expect(whole.stdout).toMatch(/\n {2}1 .*status=204 .*total_ms=\d+.*\n\{"event":"customer.changed"/);
  expect([refused.code, refused.stderr]).toEqual([2, 'give --event-id or --since\n']);
  expect([absent.code, absent.stderr]).toEqual([1, 'No such endpoint\n']);
  const entries = (audited as Json).events as Json[];
  expect(entries.map((entry) => entry['orderpass.details'].operation)).toEqual([
    'webhook/update',
    'webhook/rotate-secret',
    'webhook/redeliver',
    'webhook/remove',
    'webhook/create',
    'notifications/set',
  ]);
  expect(JSON.stringify(entries)).not.toContain('"url"');
  const created = { uid: made.endpoint_uid, origin: new URL(receiver.url).origin };
  expect(entries[4]['orderpass.details']).toMatchObject(created);
  for (const entry of entries) expect(entry['user.name']).toMatch(/^cli:./);
  expect(JSON.stringify(audited)).not.toMatch(/hidden|whsec_/);
});

test('a removed endpoint is gone for everybody', async () => {
  const uid = endpoint;
  expect((await call('POST', '/webhook/remove', client, { uid })).json).toEqual({ success: true });
  expect((await call('GET', `/webhook/endpoint?uid=${uid}`, key)).status).toBe(404);
});
