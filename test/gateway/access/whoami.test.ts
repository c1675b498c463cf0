import { generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, read, scopes, tokenOf } from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;

const facts = { name: 'Osteria', time_zone: 'Europe/Rome', currency: 'EUR' };

beforeAll(async () => {
  harness = await openHarness({ settings: { rate_failures_max: 10 } });
});

afterAll(() => harness.close());

type Headers = Record<string, string>;

let tenants = 0;
const createTenant = async (): Promise<string> => {
  tenants += 1;
  const id = `rst_${String(tenants).padStart(4, '0')}`;
  await harness.credentials.createTenant(id, undefined, facts);
  return id;
};

const get = (headers: Headers, target = '/api/whoami'): Promise<Reply> =>
  sendRequest(harness.url, 'GET', target, { headers });

const denialOf = (requestId: string, headers: Headers): Promise<Reply> =>
  get(headers, `/api/whoami/denials/${requestId}`);

/** The denial, once it is written; the writing is at most 200 ms behind. */
const readDenial = async (requestId: string, headers: Headers) => {
  const reply = await denialOf(requestId, headers);
  expect(reply.status).toBe(200);
  expect(Object.keys(reply.json)).toEqual(['success', 'denial']);
  return reply.json.denial;
};

/** The texts have no fractions of a second. */
const isoBetween = (text: string, fromMs: number, toMs: number): void => {
  expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(Date.parse(text)).toBeGreaterThanOrEqual(Math.floor(fromMs / 1_000) * 1_000);
  expect(Date.parse(text)).toBeLessThanOrEqual(toMs);
};

test('A-125 a key gets its kind, id, name, fixed scopes, its one restaurant and its expiry', async () => {
  const tenant = await createTenant();
  const before = Date.now();
  const expires = new Date(before + 86_400_000);
  const { keyId: key_id, value: api_key } = await harness.credentials.createApiKey({ tenant, name: 'Till 1', expires });
  const { status, json, headers } = await get({ 'x-api-key': api_key });
  expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  expect(Object.keys(json)).toEqual(['success', 'credential', 'rate']);
  isoBetween(json.credential.issued_iso, before, Date.now());
  isoBetween(json.credential.expires_iso, expires.getTime(), expires.getTime());
  expect(json.credential).toEqual({
    kind: 'api_key',
    id: key_id,
    name: 'Till 1',
    sandbox: false,
    scopes: scopes.filter((name) => !['write:orders', 'write:menu', 'write:webhooks'].includes(name)),
    restaurants: [{ uid: tenant, ...facts, api_enabled: true }],
    restaurants_count: 1,
    issued_iso: json.credential.issued_iso,
    expires_iso: json.credential.expires_iso,
    retiring_iso: null,
    limits: { minute: null, burst: null, day: null, month: null, concurrency: null },
    allow_ip: null,
    narrowed: null,
    refused_elsewhere: null,
  });
});

test('A-125 a client gets its grants, and the expiry of a secret in rotation', async () => {
  const granted = [await createTenant(), await createTenant()];
  const client = await harness.createClient(granted, ['write:orders', 'read:orders']);
  const { json } = await get(clientHeaders(client));
  expect(json.credential).toMatchObject({
    kind: 'api_client',
    id: client.client_id,
    name: 'test',
    scopes: ['read:orders', 'write:orders'],
    restaurants_count: 2,
    expires_iso: null,
    retiring_iso: null,
  });
  expect(json.credential.restaurants.map(({ uid }: { uid: string }) => uid)).toEqual(granted);
  const ends = new Date(Date.now() + 3_600_000);
  const retiring = await harness.credentials.addClientSecret(client.client_id, ends);
  const again = { client_id: client.client_id, client_secret: retiring.secret };
  await until(async () => (await get(clientHeaders(again))).status === 200);
  isoBetween((await get(clientHeaders(again))).json.credential.retiring_iso, ends.getTime(), ends.getTime());
});

test('A-125 a token gets its own scopes and its own expiry', async () => {
  const client = await harness.createClient([await createTenant()]);
  const before = Date.now();
  const token = await tokenOf(harness.url, client, { scope: 'read:menu read:orders' });
  const { json } = await get(bearer(token));
  expect(json.credential).toMatchObject({
    kind: 'bearer',
    id: client.client_id,
    scopes: ['read:orders', 'read:menu'],
    retiring_iso: null,
  });
  isoBetween(json.credential.issued_iso, before, Date.now());
  isoBetween(json.credential.expires_iso, before + 3_600_000, Date.now() + 3_600_000);
});

test('A-125 with many restaurants, the first hundred are listed and all are counted', async () => {
  const many = [];
  for (let i = 0; i < 101; i += 1) many.push(await createTenant());
  const { json } = await get(clientHeaders(await harness.createClient(many)));
  expect(json.credential.restaurants_count).toBe(101);
  expect(json.credential.restaurants.map(({ uid }: { uid: string }) => uid)).toEqual(many.slice(0, 100));
});

test('A-125 HEAD has the status and length of GET; without a credential it is 401; POST is not offered', async () => {
  const headers = clientHeaders(await harness.createClient([await createTenant()]));
  const whole = await get(headers);
  const head = await sendRequest(harness.url, 'HEAD', '/api/whoami', { headers });
  expect([head.status, head.text]).toEqual([200, '']);
  expect(Number(head.headers['content-length'])).toBeGreaterThan(whole.body.length - 8);
  expect((await get({})).status).toBe(401);
  expect((await sendRequest(harness.url, 'POST', '/api/whoami', { headers })).headers.allow).toBe('GET, HEAD, OPTIONS');
});

test('A-026 with API access off, /whoami is 200 and shows that, and every other operation is API_DISABLED', async () => {
  const tenant = await createTenant();
  const client = await harness.createClient([tenant]);
  const { value: api_key } = await harness.credentials.createApiKey({ tenant, name: 'key' });
  const token = await tokenOf(harness.url, client);
  await harness.credentials.setTenantApiEnabled(tenant, false);
  for (const headers of [{ 'x-api-key': api_key }, clientHeaders(client), bearer(token)] as Headers[]) {
    await until(async () => (await get(headers, read)).status === 403);
    const refused = await get(headers, read);
    const { status, json } = await get(headers);
    expect([status, json.credential.restaurants[0].api_enabled]).toEqual([200, false]);
    const denial = await readDenial(String(refused.headers['x-request-id']), headers);
    expect(denial).toMatchObject({ reason: 'api_disabled', code: 'API_DISABLED', status: 403 });
  }
});

test('A-126 the client of an expired token reads with its headers that it expired and when; another client gets nothing', async () => {
  const short = await openHarness({ tokenLifetime: 60 });
  try {
    const tenant = await short.createTenant();
    const client = await short.createClient([tenant]);
    const other = await short.createClient([tenant]);
    const headers = bearer(await tokenOf(short.url, client));
    expect((await sendRequest(short.url, 'GET', read, { headers })).status).toBe(200);
    short.clock.move(72_000);
    const second = await short.openDoor();
    // Remembered by the first gateway, verified anew by the other.
    for (const url of [short.url, second.url]) {
      const refused = await sendRequest(url, 'GET', `${read}?page=2`, { headers });
      expect(refused.status).toBe(401);
      const requestId = refused.json.request_id;
      const path = `/api/whoami/denials/${requestId}`;
      const reply = await sendRequest(url, 'GET', path, { headers: clientHeaders(client) });
      const { at_iso, detail } = reply.json.denial;
      expect(reply.json).toEqual({
        success: true,
        denial: {
          request_id: requestId,
          at_iso,
          method: 'GET',
          path: read,
          status: 401,
          code: 'INVALID_AUTH',
          reason: 'token_expired',
          missing_scopes: [],
          detail,
          hint: 'Get a new token before expires_in has passed',
          errors: [],
        },
      });
      expect(detail.expired_seconds_ago).toBeGreaterThanOrEqual(11);
      // 12 s after its end, and what a busy machine takes.
      expect(detail.expired_seconds_ago).toBeLessThanOrEqual(120);
      const ended = Date.parse(detail.expired_iso) + detail.expired_seconds_ago * 1000;
      expect(Math.abs(Date.parse(at_iso) - ended)).toBeLessThanOrEqual(1_000);
      // At every gateway, once it is written.
      const fresh = clientHeaders(client);
      await until(async () => (await sendRequest(second.url, 'GET', path, { headers: fresh })).status === 200);
      const foreign = await sendRequest(url, 'GET', path, { headers: clientHeaders(other) });
      const invented = await sendRequest(url, 'GET', '/api/whoami/denials/req_none', { headers: clientHeaders(other) });
      expect([foreign.status, foreign.json.error]).toEqual([404, 'NOT_FOUND']);
      const withoutId = (found: Reply) => ({ ...found.json, request_id: '' });
      expect(withoutId(foreign)).toEqual(withoutId(invented));
    }
  } finally {
    await short.close();
  }
});

test('A-126 a forged token that names a client leaves no denial for that client', async () => {
  const client = await harness.createClient([await createTenant()]);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [header = '', payload = ''] = (await tokenOf(harness.url, client)).split('.');
  const ended = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), exp: 1 };
  const text = `${header}.${Buffer.from(JSON.stringify(ended)).toString('base64url')}`;
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const refused = await get(bearer(`${text}.${signature.toString('base64url')}`), read);
  expect(refused.status).toBe(401);
  expect((await denialOf(refused.json.request_id, clientHeaders(client))).status).toBe(404);
});

test('reasons: missing scopes, parameters, restaurants without a grant, refusals of the upstream, secrets', async () => {
  const client = await harness.createClient([await createTenant()], ['read:orders']);
  const mine = clientHeaders(client);
  const envelope = (status: number, body: unknown) => {
    harness.upstream.answer = (_req, res) => {
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
  };
  const reasonAfter = async (headers: Headers, target = read) => {
    const refused = await get(headers, target);
    return readDenial(String(refused.headers['x-request-id']), mine);
  };
  // A token of the client reads what its headers were refused.
  const refused = await get(mine, '/api/menu/categories');
  const byToken = bearer(await tokenOf(harness.url, client));
  expect(await readDenial(refused.json.request_id, byToken)).toMatchObject({
    reason: 'scope_missing',
    code: 'INSUFFICIENT_SCOPE',
    missing_scopes: ['read:menu'],
  });
  const errors = [{ pointer: 'page', code: 'RANGE', message: 'must be at least 1 \u0000' }];
  envelope(400, { success: false, error: 'VALIDATION_ERROR', message: 'no', errors });
  expect(await reasonAfter(mine)).toMatchObject({
    reason: 'parameters',
    errors: [{ pointer: 'page', code: 'RANGE', message: 'must be at least 1 ?' }],
  });
  envelope(403, { success: false, error: 'UNAUTHORIZED', message: 'no' });
  expect(await reasonAfter(mine)).toMatchObject({ reason: 'restaurant_not_granted', status: 403 });
  envelope(403, { message: 'go away' });
  expect(await reasonAfter(mine)).toMatchObject({ reason: 'upstream', status: 403 });
  expect(await reasonAfter({ ...mine, 'x-client-secret': 'wrong' })).toMatchObject({ reason: 'secret_wrong' });
  const ended = await harness.credentials.addClientSecret(
    client.client_id,
    new Date(harness.clock.now().getTime() - 1),
  );
  await until(async () => {
    const found = await reasonAfter({ ...mine, 'x-client-secret': ended.secret });
    return found.reason === 'secret_ended';
  });
});

test('the newer of two denials with one id is returned, and after 7 days none', async () => {
  const own = await openHarness();
  try {
    const client = await own.createClient([await own.createTenant()], ['read:orders', 'read:menu']);
    const mine = { ...clientHeaders(client), 'x-request-id': 'mine' };
    const path = '/api/whoami/denials/mine';
    for (const target of ['/api/loyaltylog/list', '/api/account/subrestaurants']) {
      expect((await sendRequest(own.url, 'GET', target, { headers: mine })).status).toBe(403);
      await until(async () => {
        const reply = await sendRequest(own.url, 'GET', path, { headers: clientHeaders(client) });
        return reply.json.denial?.path === target;
      });
    }
    // Read by another gateway, so from the store.
    const other = await own.openDoor();
    const readOther = () => sendRequest(other.url, 'GET', path, { headers: clientHeaders(client) });
    await until(async () => (await readOther()).json.denial?.path === '/api/account/subrestaurants');
    own.clock.move(7 * 24 * 60 * 60 * 1000 - 60_000);
    expect((await readOther()).status).toBe(200);
    own.clock.move(60_000);
    expect((await readOther()).status).toBe(404);
    // A gateway that starts removes what is over.
    await own.openDoor();
    const count = async () =>
      Number(
        (await own.database.pool.query('select count(*) from gateway.denials where request_id = $1', ['mine'])).rows[0]
          .count,
      );
    await until(async () => (await count()) === 0);
  } finally {
    await own.close();
  }
});

test('a denial id is one well-formed segment; any other path is not an operation', async () => {
  const headers = clientHeaders(await harness.createClient([await createTenant()]));
  for (const target of ['a%2Fb', 'a/b', '', '{}', '{request_id}', 'x'.repeat(1_025)]) {
    const reply = await get(headers, `/api/whoami/denials/${target}`);
    expect([target, reply.status, reply.json.error]).toEqual([target, 404, 'INVALID_ACTION']);
  }
  expect((await denialOf('unknown', headers)).json.error).toBe('NOT_FOUND');
});
