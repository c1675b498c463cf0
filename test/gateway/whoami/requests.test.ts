/** What a caller sees of its own requests, through the public listener. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { bearer, clientHeaders, type Harness, openHarness, read, tokenOf } from '../harness/gateway-harness.ts';
import { type Headers, type Reply, sendRequest } from '../harness/public-door.ts';
import { ask, type Listed, requestsOf, untilListed, usageOf } from './request-harness.ts';

const write = '/api/customer/create';

let harness: Harness;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness({ settings: { auth_check: 'on' } });
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const send = (method: string, target: string, headers: Headers): Promise<Reply> =>
  sendRequest(harness.url, method, target, {
    headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    ...(method === 'POST' && { body: '{}' }),
  });

const idOf = ({ headers }: Reply): string => String(headers['x-request-id']);

/** The upstream answers the next request in this way. */
const answerOnce = (status: number, body: object, more: Record<string, string> = {}): void => {
  const before = harness.upstream.answer;
  harness.upstream.answer = (req, res) => {
    harness.upstream.answer = before;
    req.resume();
    res.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(body));
  };
};

const makeKey = async (of = tenant): Promise<{ keyId: string; headers: Headers }> => {
  const { keyId, value } = await harness.credentials.createApiKey({ tenant: of, name: 'till' });
  return { keyId, headers: { 'x-api-key': value } };
};

const find = (listed: Listed[], requestId: string): Listed | undefined =>
  listed.find(({ request_id }) => request_id === requestId);

/** The hours of one route together. */
const countsOf = async (headers: Headers, route: string | null) => {
  const answer = await usageOf(harness.url, headers);
  const hours = (answer.hours as { route: string | null; reads: number; writes: number; refused: number }[]).filter(
    (hour) => hour.route === route,
  );
  const sum = (name: 'reads' | 'writes' | 'refused') => hours.reduce((total, hour) => total + hour[name], 0);
  return { reads: sum('reads'), writes: sum('writes'), refused: sum('refused') };
};

const callers = {
  key: async () => (await makeKey()).headers,
  client: async () => clientHeaders(await harness.createClient([tenant], ['read:orders', 'write:customers'])),
  token: async () =>
    bearer(await tokenOf(harness.url, await harness.createClient([tenant], ['read:orders', 'write:customers']))),
};

test.each(Object.entries(callers))(
  'A-290 a %s finds its refused, failed and written requests, and its successful reads as counts only',
  async (_kind, make) => {
    const headers = await make();
    for (let i = 0; i < 3; i += 1) expect((await send('GET', read, headers)).status).toBe(200);
    const refused = await send('GET', `${read}?email=ada%40example.com`, { ...headers, 'x-api-version': '99' });
    expect(refused.status).toBe(400);
    const scope = await send('POST', '/api/menu/import', headers);
    expect(scope.status).toBe(403);
    answerOnce(503, { success: false, error: 'OVERLOADED', message: 'busy', request_id: 'req_1' });
    const failed = await send('GET', read, headers);
    expect(failed.status).toBe(503);
    const written = await send('POST', write, { ...headers, 'idempotency-key': 'order-4711' });
    expect(written.status).toBe(200);
    const listed = await untilListed(harness.url, headers, idOf(written));
    expect(listed.map(({ request_id }) => request_id)).toEqual([written, failed, scope].map(idOf));
    const [first] = listed;
    expect(first).toEqual({
      request_id: idOf(written),
      at_iso: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      ...{ method: 'POST', route: 'customer.create', path: write, status: 200, code: null },
      duration_ms: expect.any(Number),
      ...{ restuid: tenant, idempotency_key: 'order-4711' },
    });
    expect(Math.abs(Date.parse(first?.at_iso ?? '') - Date.now())).toBeLessThan(30_000);
    expect(find(listed, idOf(failed))).toMatchObject({ status: 503, code: 'OVERLOADED', route: 'orders.list' });
    expect(find(listed, idOf(scope))).toMatchObject({ status: 403, code: 'INSUFFICIENT_SCOPE', route: 'menu.import' });
    await until(async () => (await countsOf(headers, 'orders.list')).reads === 3);
    await until(async () => (await countsOf(headers, 'customer.create')).writes === 1);
    expect((await countsOf(headers, 'menu.import')).refused).toBe(1);
    expect(JSON.stringify(listed)).not.toContain('example.com');
  },
);

test('A-290 an operation that does not exist, and a caller that is gone before the answer, are listed', async () => {
  const { headers } = await makeKey();
  const unknown = await send('GET', '/api/orders/ada%40example.com', headers);
  expect(unknown.status).toBe(404);
  const before = harness.upstream.answer;
  let reached = false;
  harness.upstream.answer = (req) => {
    req.resume();
    reached = true;
  };
  const { port } = new URL(harness.url);
  const socket = connect(Number(port), '127.0.0.1');
  const key = Object.values(headers)[0];
  const head = ['host: gateway', `x-api-key: ${key}`, 'x-request-id: gone-1', 'content-type: application/json'];
  socket.write(`POST ${write} HTTP/1.1\r\n${head.join('\r\n')}\r\ncontent-length: 2\r\n\r\n{}`);
  await until(() => reached);
  harness.upstream.answer = before;
  socket.destroy();
  const listed = await untilListed(harness.url, headers, 'gone-1');
  expect(find(listed, 'gone-1')).toMatchObject({ status: null, code: null, method: 'POST', route: 'customer.create' });
  const found = find(await untilListed(harness.url, headers, idOf(unknown)), idOf(unknown));
  expect(found).toMatchObject({ route: null, path: null, status: 404, code: 'INVALID_ACTION', method: 'GET' });
  expect(JSON.stringify(found)).not.toContain('example.com');
});

test('A-290 of a caller with several restaurants, the one that the service acted for; none that it does not reach', async () => {
  const other = await harness.createTenant();
  const headers = clientHeaders(await harness.createClient([tenant, other]));
  answerOnce(200, { success: true }, { 'x-orderpass-tenant': other });
  const named = await send('POST', write, headers);
  expect(named.headers['x-orderpass-tenant']).toBeUndefined();
  answerOnce(200, { success: true }, { 'x-orderpass-tenant': 'tenant_of_others' });
  const foreign = await send('POST', write, headers);
  const unnamed = await send('POST', write, headers);
  const listed = await untilListed(harness.url, headers, idOf(unnamed));
  expect([named, foreign, unnamed].map((reply) => find(listed, idOf(reply))?.restuid)).toEqual([other, null, null]);
});

test('A-290 /auth/check: refusals are listed with the method of the request, and writes without a status', async () => {
  const { headers } = await makeKey();
  const check = (method: string, target: string): Promise<Reply> =>
    send('GET', '/auth/check', { ...headers, 'x-forwarded-method': method, 'x-forwarded-uri': target });
  const allowed = await check('POST', write);
  expect(allowed.status).toBe(200);
  expect((await check('GET', read)).status).toBe(200);
  const refused = await check('POST', '/api/menu/import');
  expect(refused.status).toBe(403);
  const listed = await untilListed(harness.url, headers, idOf(refused));
  expect(listed).toHaveLength(2);
  expect(find(listed, idOf(allowed))).toMatchObject({ method: 'POST', status: null, route: 'customer.create' });
  expect(find(listed, idOf(refused))).toMatchObject({ method: 'POST', status: 403, route: 'menu.import' });
});

test('A-290 /auth/check/… as Envoy asks it: an allowed write is listed without a status', async () => {
  const { headers } = await makeKey();
  const allowed = await send('POST', `/auth/check${write}`, headers);
  expect(allowed.status).toBe(200);
  const listed = await untilListed(harness.url, headers, idOf(allowed));
  expect(find(listed, idOf(allowed))).toMatchObject({ method: 'POST', status: null, route: 'customer.create' });
});

test('A-291 no caller sees requests of others, with any of its secrets and tokens', async () => {
  const client = await harness.createClient([tenant]);
  const mine = clientHeaders(client);
  const token = bearer(await tokenOf(harness.url, client));
  const { secret } = await harness.credentials.rotateClientSecret(client.client_id, 24);
  const others = [
    clientHeaders(await harness.createClient([tenant])),
    (await makeKey()).headers,
    (await makeKey()).headers,
  ];
  const byFirst = await send('POST', write, mine);
  const byToken = await send('POST', write, token);
  const byOther = await Promise.all(others.map((headers) => send('POST', write, headers)));
  expect([byFirst.status, byToken.status]).toEqual([200, 200]);
  const second = { 'x-client-id': client.client_id, 'x-client-secret': secret };
  const bySecond = await send('POST', write, second);
  const own = [byFirst, byToken, bySecond].map(idOf);
  for (const headers of [mine, token, second]) {
    const ids = (await untilListed(harness.url, headers, idOf(bySecond))).map(({ request_id }) => request_id);
    expect(ids.filter((id) => own.includes(id)).toSorted()).toEqual(own.toSorted());
    expect(ids.filter((id) => byOther.map(idOf).includes(id))).toEqual([]);
  }
  for (const [i, headers] of others.entries()) {
    const ids = (await untilListed(harness.url, headers, idOf(byOther[i] as Reply))).map(
      ({ request_id }) => request_id,
    );
    expect(ids).toEqual([idOf(byOther[i] as Reply)]);
    expect(await requestsOf(harness.url, headers, `?request_id=${own[0]}`)).toEqual([]);
  }
});

test('A-291 a secret that is not the one of the client is listed as a refusal of the client', async () => {
  const client = await harness.createClient([tenant]);
  const stranger = await harness.createClient([tenant]);
  const wrong = await send('GET', read, { ...clientHeaders(client), 'x-client-secret': stranger.client_secret });
  expect(wrong.status).toBe(401);
  const listed = await untilListed(harness.url, clientHeaders(client), idOf(wrong));
  expect(listed).toMatchObject([{ status: 401, code: 'INVALID_AUTH', route: 'orders.list', restuid: null }]);
  expect(await requestsOf(harness.url, clientHeaders(stranger))).toEqual([]);
});

test('A-291 the successor of a key sees the requests of both, also after two rotations, and the old key its own', async () => {
  const first = await makeKey();
  const byFirst = await send('POST', write, first.headers);
  const second = await harness.credentials.rotateApiKey(first.keyId, 24);
  const third = await harness.credentials.rotateApiKey(second.keyId, 24);
  const headers = { 'x-api-key': third.value };
  const byThird = await send('POST', write, headers);
  const bySecond = await send('POST', write, { 'x-api-key': second.value });
  await untilListed(harness.url, headers, idOf(bySecond));
  const idsOf = async (asker: Headers) => (await requestsOf(harness.url, asker)).map(({ request_id }) => request_id);
  expect(await idsOf(headers)).toEqual([bySecond, byThird, byFirst].map(idOf));
  expect(await idsOf({ 'x-api-key': second.value })).toEqual([bySecond, byFirst].map(idOf));
  expect(await idsOf(first.headers)).toEqual([idOf(byFirst)]);
  await until(async () => (await countsOf(headers, 'customer.create')).writes === 3);
  expect((await countsOf(first.headers, 'customer.create')).writes).toBe(1);
});

test('A-350 a refused token request of an identified client is listed; one with a wrong secret and an issued token are not', async () => {
  const client = await harness.createClient([tenant]);
  const ask = (form: Record<string, string>) =>
    sendRequest(harness.url, 'POST', '/api/oauth/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id: client.client_id, ...form }).toString(),
    });
  const wrong = await ask({ client_secret: `${client.client_secret}x` });
  const issued = await ask({ client_secret: client.client_secret });
  const refused = await ask({ client_secret: client.client_secret, scope: 'no:such' });
  expect([wrong.status, issued.status, refused.status]).toEqual([401, 200, 400]);
  const listed = await untilListed(harness.url, clientHeaders(client), idOf(refused));
  expect(listed).toEqual([
    {
      ...{ request_id: idOf(refused), at_iso: expect.any(String), method: 'POST', route: 'oauth.token' },
      ...{ path: '/api/oauth/token', status: 400, code: 'invalid_scope', duration_ms: expect.any(Number) },
      ...{ restuid: null, idempotency_key: null },
    },
  ]);
  const stranger = await harness.createClient([tenant]);
  expect(await requestsOf(harness.url, clientHeaders(stranger))).toEqual([]);
});

test('A-350 the successor of a key reads the denials of the key that it replaced, and not the other way round', async () => {
  const first = await makeKey();
  const second = await harness.credentials.rotateApiKey(first.keyId, 24);
  const denial = (headers: Headers, id: string) =>
    sendRequest(harness.url, 'GET', `/api/whoami/denials/${id}`, { headers });
  const byFirst = await send('POST', '/api/menu/import', first.headers);
  const bySecond = await send('POST', '/api/menu/import', { 'x-api-key': second.value });
  expect([byFirst.status, bySecond.status]).toEqual([403, 403]);
  const seen = async (headers: Headers, reply: Reply) => (await denial(headers, idOf(reply))).status;
  const successor = { 'x-api-key': second.value };
  await until(async () => (await seen(successor, byFirst)) === 200);
  expect(await seen(successor, bySecond)).toBe(200);
  expect(await seen(first.headers, byFirst)).toBe(200);
  expect(await seen(first.headers, bySecond)).toBe(404);
  expect(await seen((await makeKey()).headers, byFirst)).toBe(404);
});

test('A-292 each filter alone and with others passes exactly the requests that fit', async () => {
  const { headers } = await makeKey();
  const started = new Date(Date.now() - 1_000).toISOString();
  const refused = await send('POST', '/api/menu/import', headers);
  answerOnce(500, { success: false, error: 'INTERNAL_ERROR', message: 'no', request_id: 'req_1' });
  const failed = await send('GET', read, headers);
  const chosen = await send('POST', write, { ...headers, 'x-request-id': 'my-own.id' });
  expect(idOf(chosen)).toBe('my-own.id');
  await untilListed(harness.url, headers, 'my-own.id');
  const idsOf = async (query: string) => (await requestsOf(harness.url, headers, query)).map((one) => one.request_id);
  const [r, f, c] = [refused, failed, chosen].map(idOf);
  const soon = encodeURIComponent(new Date(Date.now() + 60_000).toISOString());
  const long = encodeURIComponent(started);
  for (const [query, ids] of [
    ['?status=2xx', [c]],
    ['?status=4xx', [r]],
    ['?status=5xx', [f]],
    ['?status=none', []],
    ['?status=3xx', []],
    ['?route=menu.import', [r]],
    ['?code=INTERNAL_ERROR', [f]],
    [`?request_id=${f}`, [f]],
    ['?request_id=my-own.id', [c]],
    ['?request_id=req_none', []],
    [`?restuid=${tenant}`, [c, f, r]],
    ['?restuid=rst_other', []],
    [`?since=${long}&until=${soon}`, [c, f, r]],
    [`?until=${long}`, []],
    [`?since=${soon}`, []],
    ['?status=4xx&route=menu.import&code=INSUFFICIENT_SCOPE', [r]],
    ['?status=4xx&route=orders.list', []],
    [`?request_id=${r}&status=5xx`, []],
    ['?unknown=1', [c, f, r]],
  ] as const)
    expect([query, await idsOf(query)]).toEqual([query, ids]);
});

test('A-292 parameters that are not valid are refused, each by its name', async () => {
  const { headers } = await makeKey();
  for (let i = 0; i < 2; i += 1) await send('POST', write, headers);
  await until(async () => (await requestsOf(harness.url, headers)).length === 2);
  const { next_cursor: cursor } = (await ask(harness.url, headers, '?pagesize=1')).json;
  const refusal = async (query: string) => {
    const { status, json } = await ask(harness.url, headers, query);
    return [status, json.errors?.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)];
  };
  for (const [query, errors] of [
    ['?status=400', ['status ENUM']],
    ['?since=yesterday&pagesize=0', ['since FORMAT', 'pagesize RANGE']],
    ['?pagesize=101', ['pagesize RANGE']],
    ['?route=a&route=b', ['route DUPLICATE']],
    [`?request_id=${'x'.repeat(65)}`, ['request_id LENGTH']],
    ['?code=%00', ['code FORMAT']],
    ['?cursor=abc', ['cursor CURSOR_INVALID']],
    [`?cursor=${cursor}&status=2xx`, ['cursor CURSOR_INVALID']],
    [`?cursor=${cursor}x`, ['cursor CURSOR_INVALID']],
  ] as const)
    expect([query, ...(await refusal(query))]).toEqual([query, 400, errors]);
  const { headers: others } = await makeKey();
  expect((await ask(harness.url, others, `?pagesize=1&cursor=${cursor}`)).status).toBe(400);
  expect(await requestsOf(harness.url, headers, `?pagesize=1&cursor=${cursor}`)).toHaveLength(1);
  for (const query of ['?days=0', '?days=401', '?days=x', `?cursor=${cursor}`])
    expect((await sendRequest(harness.url, 'GET', `/api/whoami/usage${query}`, { headers })).status).toBe(400);
});

test('A-290 a refusal with a report of more than 64 KiB is listed with its own status and code, also in legacy status mode', async () => {
  const { headers } = await makeKey();
  const door = await harness.openDoor({ settings: { legacy_status: 'on' } });
  const errors = Array.from({ length: 3_000 }, (_, index) => ({ pointer: `/products/${index}`, code: 'TYPE' }));
  for (const [status, error] of [
    [422, 'IMPORT_ERROR'],
    [400, 'VALIDATION_ERROR'],
  ] as const)
    for (const url of [door.url, harness.url]) {
      answerOnce(status, { success: false, error, message: 'Refused', errors });
      const answer = await sendRequest(url, 'POST', write, {
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{}',
      });
      expect([answer.status, answer.json.error]).toEqual([url === door.url ? 200 : status, error]);
      const listed = find(await untilListed(url, headers, idOf(answer)), idOf(answer));
      expect(listed).toMatchObject({ status, code: error });
      if (status !== 400) continue;
      const denial = await sendRequest(url, 'GET', `/api/whoami/denials/${idOf(answer)}`, { headers });
      expect([denial.status, denial.json.denial?.code]).toEqual([200, error]);
    }
  await door.close();
});
