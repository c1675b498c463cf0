import type { ServerResponse } from 'node:http';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestRestaurant } from '../../support/ordering.ts';
import { until } from '../../support/until.ts';
import { status } from '../../support/webhook-receiver.ts';
import { clientOf, keyOf, startWebhookApi, type WebhookApi } from '../harness/webhook-api.ts';

let api: WebhookApi;
let other: TestRestaurant;

beforeAll(async () => {
  api = await startWebhookApi();
  other = await api.core.addRestaurant();
});

afterAll(() => api?.close());

/** Clients of the first restaurant, each with endpoints of its own. */
let clients = 0;
const newClient = (change = {}) => {
  clients += 1;
  return clientOf([api.restuid], { id: `opc_${clients}`, ...change });
};

const url = 'http://127.0.0.1:2/hook';

test('create answers with the endpoint and its secret, which no later answer shows and no table contains', async () => {
  const caller = newClient();
  const made = await api.post('/webhook/create', { url, kinds: ['orders', 'customers'], description: 'Till' }, caller);
  expect(made.status).toBe(200);
  expect(made.json.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(made.json.endpoint).toEqual({
    uid: expect.stringMatching(/^whe_/),
    restuid: api.restuid,
    owner: { kind: 'api_client', id: caller.id },
    url,
    description: 'Till',
    kinds: ['orders', 'customers'],
    withheld_kinds: [],
    enabled: true,
    status: 'active',
    disabled_reason: null,
    health: 'ok',
    failing_since_iso: null,
    last_success_iso: null,
    last_failure_iso: null,
    next_attempt_iso: null,
    next_attempt: null,
    signature_header: 'X-Orderpass-Signature',
    signature: null,
    v1a: true,
    max_per_second: null,
    digest: false,
    auth: null,
    previous_secret_expires_iso: null,
    created: '2026-03-01 12:00:00',
    created_iso: '2026-03-01T12:00:00+01:00',
  });
  const read = await api.get('/webhook/endpoint', { uid: made.json.endpoint.uid }, caller);
  expect(read.json).toEqual({ success: true, endpoint: made.json.endpoint });
  const listed = await api.get('/webhook/endpoints', {}, caller);
  expect(listed.json).toEqual({
    success: true,
    endpoints: [made.json.endpoint],
    kinds_enabled: { customers: true, orders: true, loyaltylog: true, menu: true },
    page: 1,
    pagesize: 100,
    total_count: 1,
    more: false,
    next_cursor: null,
  });
  const { rows } = await sql<{ row: string }>`select endpoint::text as row from webhooks.endpoints as endpoint`.execute(
    api.db,
  );
  const plain = Buffer.from(made.json.secret).toString('hex');
  for (const { row } of rows) expect(row.includes(plain) || row.includes(made.json.secret)).toBe(false);
});

test('A-050 kinds are all that the credential may read when none is named, and each named one needs its scope', async () => {
  const caller = newClient({ scopes: ['write:webhooks', 'read:webhooks', 'read:orders', 'read:loyalty'] });
  expect((await api.endpoint(url, {}, caller)).kinds).toEqual(['orders', 'loyaltylog']);
  const refused = await api.post('/webhook/create', { url, kinds: ['menu', 'orders', 'customers'] }, caller);
  expect(refused.status).toBe(403);
  expect(refused.json).toMatchObject({
    error: 'INSUFFICIENT_SCOPE',
    missing_scopes: ['read:customers', 'read:menu'],
  });
  const { uid } = await api.endpoint(url, { kinds: ['orders'] }, caller);
  const widened = await api.post('/webhook/update', { uid, kinds: ['customers'] }, caller);
  expect([widened.status, widened.json.missing_scopes]).toEqual([403, ['read:customers']]);
  expect(
    (await api.post('/webhook/update', { uid, kinds: ['loyaltylog', 'orders'] }, caller)).json.endpoint.kinds,
  ).toEqual(['orders', 'loyaltylog']);
});

test('all invalid values are reported at once, and a header with another meaning cannot carry a signature', async () => {
  const refused = await api.post('/webhook/create', {
    kinds: ['fish'],
    max_per_second: 1001,
    description: 'x'.repeat(201),
    signature_header: 'Webhook-Id',
    secret: 'too short',
  });
  expect(refused.status).toBe(400);
  expect(refused.json.error).toBe('MISSING_PARAMETER');
  expect(
    Object.fromEntries(refused.json.errors.map((one: { pointer: string; code: string }) => [one.pointer, one.code])),
  ).toEqual({
    url: 'REQUIRED',
    '/kinds/0': 'ENUM',
    max_per_second: 'RANGE',
    description: 'LENGTH',
    signature_header: 'FORMAT',
    secret: 'FORMAT',
  });
  for (const name of ['Content-Length', 'host', 'Transfer-Encoding', 'x-orderpass-attempt', 'a b', 'ü'])
    expect((await api.post('/webhook/create', { url, signature_header: name })).status, name).toBe(400);
  const own = await api.endpoint(url, { signature_header: 'X-Pos-Sign', secret: 'a-secret-of-another-platform' });
  expect(own).toMatchObject({ signature_header: 'X-Pos-Sign', secret: 'a-secret-of-another-platform' });
});

test('update changes named members and clears null ones, and disabling cancels unfinished deliveries', async () => {
  const caller = newClient();
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(
    receiver.url,
    { kinds: ['customers'], description: 'Till', max_per_second: 5, signature_header: 'X-Own' },
    caller,
  );
  const update = async (changes: object) =>
    (await api.post('/webhook/update', { uid, ...changes }, caller)).json.endpoint;
  expect(await update({ digest: true, max_per_second: null, description: '', signature_header: null })).toMatchObject({
    digest: true,
    auth: null,
    max_per_second: null,
    description: null,
    signature_header: 'X-Orderpass-Signature',
    signature: null,
    kinds: ['customers'],
    url: receiver.url,
  });
  const stop = api.startWorker();
  await api.record({ entity: 'cus_update', seq: 1 });
  await until(() => receiver.received.length === 1);
  await until(
    async () => (await api.get('/webhook/endpoint', { uid }, caller)).json.endpoint.next_attempt === 'planned',
  );
  expect(await update({ enabled: false })).toMatchObject({
    enabled: false,
    status: 'disabled',
    disabled_reason: 'owner',
    next_attempt_iso: null,
  });
  await until(async () => {
    const { counts } = (await api.get('/webhook/deliveries', { endpoint_uid: uid }, caller)).json;
    return counts.cancelled === 1 && counts.pending === 0;
  });
  await api.record({ entity: 'cus_update', seq: 2 });
  await until(async () => (await api.get('/events/list', { entity: 'cus_update' }, caller)).json.events.length === 2);
  api.clock.advance(1_000);
  expect(await update({ enabled: true })).toMatchObject({ enabled: true, status: 'active', disabled_reason: null });
  receiver.behave(status(204));
  await api.record({ entity: 'cus_update', seq: 3 });
  await until(() => receiver.received.length >= 2);
  expect(JSON.parse(receiver.received.at(-1)?.body ?? '').seq).toBe(3);
  await stop();
});

test('a removed endpoint answers like one that never existed; its deliveries are cancelled and stay in the log', async () => {
  const caller = newClient();
  const receiver = await api.receiver(status(500));
  const { uid } = await api.endpoint(receiver.url, { kinds: ['orders'] }, caller);
  const stop = api.startWorker();
  await api.record({ entity: 'ord_removed', seq: 1, kind: 'orders', event: 'order.new', object: 'order' });
  await until(() => receiver.received.length === 1);
  const removed = await api.post('/webhook/remove', { uid }, caller);
  expect(removed.json).toEqual({ success: true });
  const invented = await api.get('/webhook/endpoint', { uid: 'whe_invented' }, caller);
  const gone = await api.get('/webhook/endpoint', { uid }, caller);
  expect([gone.status, gone.json.message]).toEqual([404, invented.json.message]);
  for (const path of ['/webhook/remove', '/webhook/update', '/webhook/rotate-secret', '/webhook/test'])
    expect((await api.post(path, { uid }, caller)).status, path).toBe(404);
  expect((await api.get('/webhook/endpoints', {}, caller)).json.total_count).toBe(0);
  await until(async () => {
    const { counts } = (await api.get('/webhook/deliveries', { endpoint_uid: uid }, caller)).json;
    return counts.cancelled === 1 && counts.pending === 0;
  });
  await stop();
});

test('A-141 A-029 a client sees its own endpoints only, an API key all of the restaurant, another restaurant none', async () => {
  const owner = newClient();
  const { uid } = await api.endpoint(url, {}, owner);
  const stranger = newClient();
  const foreign = other.caller;
  const uidOf = (answer: { json: { endpoint?: { uid: string } } }) => answer.json.endpoint?.uid;
  const bare = ({ status: code, json: { request_id: _id, ...json } }: Awaited<ReturnType<typeof api.get>>) => ({
    code,
    json,
  });
  for (const caller of [stranger, foreign]) {
    const invented = 'whe_0000000000000000000000000';
    const pairs: [string, (given: string) => Promise<Awaited<ReturnType<typeof api.get>>>][] = [
      ['endpoint', (given) => api.get('/webhook/endpoint', { uid: given }, caller)],
      ['update', (given) => api.post('/webhook/update', { uid: given, url: 'http://nowhere.invalid/' }, caller)],
      ['remove', (given) => api.post('/webhook/remove', { uid: given }, caller)],
      ['rotate', (given) => api.post('/webhook/rotate-secret', { uid: given }, caller)],
      ['test', (given) => api.post('/webhook/test', { uid: given }, caller)],
      [
        'redeliver',
        (given) => api.post('/webhook/redeliver', { endpoint_uid: given, since: '2026-03-01T00:00:00Z' }, caller),
      ],
      ['deliveries', (given) => api.get('/webhook/deliveries', { endpoint_uid: given }, caller)],
    ];
    for (const [name, ask] of pairs) expect(bare(await ask(uid)), name).toEqual(bare(await ask(invented)));
  }
  expect(uidOf(await api.get('/webhook/endpoint', { uid }, keyOf(api.restuid)))).toBe(uid);
  expect(uidOf(await api.get('/webhook/endpoint', { uid }, owner))).toBe(uid);
  const all = await api.get('/webhook/endpoints', {}, keyOf(api.restuid));
  expect(all.json.endpoints.map((one: { uid: string }) => one.uid)).toContain(uid);
});

test('A-143 each owner has at most twenty endpoints, also when many are made at the same time', async () => {
  const [first, second] = [newClient(), newClient()];
  const made = await Promise.all(Array.from({ length: 23 }, () => api.post('/webhook/create', { url }, first)));
  expect(made.map(({ status: code }) => code).sort()).toEqual([...Array(20).fill(200), ...Array(3).fill(409)]);
  expect((await api.post('/webhook/create', { url }, second)).status).toBe(200);
  const [one] = (await api.get('/webhook/endpoints', {}, first)).json.endpoints;
  await api.post('/webhook/remove', { uid: one.uid }, first);
  expect((await api.post('/webhook/create', { url }, first)).status).toBe(200);
  const pages = await api.get('/webhook/endpoints', { pagesize: 7, page: 3 }, first);
  expect(pages.json).toMatchObject({ total_count: 20, more: false, page: 3, pagesize: 7 });
  expect(pages.json.endpoints).toHaveLength(6);
});

test('a repeated creation gets the same answer byte for byte, with the secret, although its receipt is sealed', async () => {
  const caller = newClient();
  const key = { 'idempotency-key': 'create-1' };
  const body = { url, secret: 'whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=' };
  const first = await api.post('/webhook/create', body, caller, key);
  const again = await api.post('/webhook/create', body, caller, key);
  expect(again.text).toBe(first.text);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect((await api.get('/webhook/endpoints', {}, caller)).json.total_count).toBe(1);
  // A different body is reported, also when it is large; another operation does not share the key.
  const differenceOf = async (sent: Promise<{ json: Record<string, unknown> }>): Promise<unknown> => {
    const { error, errors } = (await sent).json;
    return [error, (errors as { pointer: string }[])[0]?.pointer];
  };
  const refused = (pointer: string): unknown => ['IDEMPOTENCY_KEY_REUSED', pointer];
  expect(await differenceOf(api.post('/webhook/create', { url }, caller, key))).toEqual(refused('secret'));
  const other = { ...body, url: `${url}/other` };
  expect(await differenceOf(api.post('/webhook/create', other, caller, key))).toEqual(refused('url'));
  const large = { ...body, note: 'x'.repeat(300_000) };
  const largeKey = { 'idempotency-key': 'create-2' };
  expect((await api.post('/webhook/create', large, caller, largeKey)).status).toBe(200);
  const largeOther = { ...large, url: `${url}/other` };
  expect(await differenceOf(api.post('/webhook/create', largeOther, caller, largeKey))).toEqual(refused('url'));
  expect(await differenceOf(api.post('/webhook/remove', { uid: 'whe_1' }, caller, key))).toEqual(refused(''));
  const { rows } = await sql<{ row: string }>`select receipt::text as row from platform.receipts as receipt`.execute(
    api.db,
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const { row } of rows) expect(row).not.toContain('b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0');
});

test('no secret of a login that is changed with an Idempotency-Key is stored in clear', async () => {
  const caller = newClient();
  const { uid } = await api.endpoint(url, {}, caller);
  const auth = { type: 'header', name: 'X-Partner', value: 'value-of-the-login-in-clear' };
  const key = { 'idempotency-key': 'update-login' };
  const changed = await api.post('/webhook/update', { uid, auth }, caller, key);
  expect(changed.status).toBe(200);
  const again = await api.post('/webhook/update', { uid, auth }, caller, key);
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([changed.text, 'true']);
  const { rows } = await sql<{ row: string }>`
    select receipt::text as row from platform.receipts as receipt where key = 'update-login'`.execute(api.db);
  expect(rows).toHaveLength(1);
  for (const { row } of rows) expect(row).not.toContain('in-clear');
});

test('a change without a secret leaves a receipt that a process of release 1.0.0 can repeat', async () => {
  const caller = newClient();
  const { uid } = await api.endpoint(url, {}, caller);
  const changed = await api.post('/webhook/update', { uid, description: 'x' }, caller, { 'idempotency-key': 'plain' });
  const { rows } = await sql<{ body: string }>`select body from platform.receipts where key = 'plain'`.execute(api.db);
  expect(rows).toEqual([{ body: changed.text }]);
});

test('A-135 a test is one immediate attempt, also while the endpoint is disabled, and stores nothing', async () => {
  const caller = newClient();
  const receiver = await api.receiver((response) => void response.writeHead(503, { 'retry-after': '7' }).end('busy'));
  const { uid } = await api.endpoint(receiver.url, { enabled: false }, caller);
  const answer = await api.post('/webhook/test', { uid }, caller);
  expect(answer.json.attempt).toMatchObject({
    uid: expect.stringMatching(/^att_/),
    number: 1,
    started_iso: expect.stringMatching(/^2026-03-01T12:00:0\d\+01:00$/),
    address: '127.0.0.1',
    status: 503,
    failure: 'status',
    retry_after: 7,
    response: 'busy',
  });
  expect(Object.keys(answer.json.attempt.timings_ms)).toEqual(['dns', 'connect', 'tls', 'first_byte', 'total']);
  const body = JSON.parse(receiver.received[0]?.body ?? '');
  expect(Object.keys(body)).toEqual(['event', 'webhook', 'id', 'created', 'restuid', 'seq', 'previous_seq']);
  expect(body).toMatchObject({ event: 'webhook.test', webhook: { uid }, restuid: api.restuid, seq: 0 });
  expect(receiver.received[0]?.headers['webhook-id']).toBe(body.id);
  expect((await api.get('/webhook/deliveries', { endpoint_uid: uid }, caller)).json.total_count).toBe(0);
  expect((await api.get('/webhook/endpoint', { uid }, caller)).json.endpoint.enabled).toBe(false);
});

test('A-116 of many tests with one Idempotency-Key one is sent, and the others get its answer or a refusal to wait', async () => {
  const caller = newClient();
  const receiver = await api.receiver();
  const { uid } = await api.endpoint(receiver.url, {}, caller);
  const key = { 'idempotency-key': 'test-1' };
  const answers = await Promise.all(Array.from({ length: 20 }, () => api.post('/webhook/test', { uid }, caller, key)));
  const first = answers.find(({ status: code, headers }) => code === 200 && !headers.has('idempotent-replayed'));
  for (const { status: code, text, headers } of answers) {
    if (code === 200) expect(text).toBe(first?.text);
    else expect([code, headers.get('retry-after')]).toEqual([409, '1']);
  }
  expect((await api.post('/webhook/test', { uid }, caller, key)).text).toBe(first?.text);
  expect(receiver.received).toHaveLength(1);
});

test('A-822 a client tests its endpoint while another one tests an endpoint that hangs, as often as it may', async () => {
  const held: ServerResponse[] = [];
  const hanging = await api.receiver((response) => void held.push(response));
  const many = newClient();
  const { uid } = await api.endpoint(hanging.url, {}, many);
  let refused = 0;
  const tests = Array.from({ length: 80 }, async () => {
    const { status: code, json, headers } = await api.post('/webhook/test', { uid }, many);
    if (code === 200) return;
    refused += 1;
    expect([code, json.error, headers.get('retry-after')]).toEqual([503, 'OVERLOADED', '5']);
  });
  await until(() => refused >= 16);
  const one = newClient();
  const receiver = await api.receiver();
  const own = await api.endpoint(receiver.url, {}, one);
  const answer = await api.post('/webhook/test', { uid: own.uid }, one);
  expect([answer.status, answer.json.attempt?.status]).toEqual([200, 204]);
  hanging.behave(status(204));
  for (const response of held) response.writeHead(204).end();
  await Promise.all(tests);
  expect(hanging.received.length + refused).toBe(80);
});
