/** The gateway and the core together, as a caller sees them: what either half alone cannot show. */

import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { importsAnswer } from '../support/orders/imports-answer.ts';
import { type RunningProgram, runJson, startProgram } from '../support/program.ts';

type Json = ReturnType<typeof JSON.parse>;
type Answer = { status: number; headers: Headers; json: Json; text: string };

let database: TestDatabase;
let program: RunningProgram;
let key: Record<string, string>;
let client: Record<string, string>;
let both: Record<string, string>;
let bearer: Record<string, string>;
let restuid = '';
let otherRestuid = '';
let productUid = '';

const call = async (method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Answer> => {
  const response = await fetch(`${program.url}/api${path}`, {
    method,
    headers: { ...(body === undefined ? undefined : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? undefined : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text === '' ? undefined : JSON.parse(text), text };
};

const tokenFor = async (clientId: string, clientSecret: string, scope?: string): Promise<string> => {
  const response = await fetch(`${program.url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      ...(scope === undefined ? undefined : { scope }),
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
};

const metadata = (): string => `${program.url}/.well-known/oauth-protected-resource`;

const order = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  client: { first_name: 'Ada', email: 'ada@example.com' },
  dmethod: '0t',
  table: '4',
  payment_method: 'external',
  details: [{ product: { uid: productUid }, quantity: 1 }],
  ...change,
});

beforeAll(async () => {
  database = await createTestDatabase();
  const env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  program = await startProgram(env);
  restuid = String((await runJson(['restaurant', 'create', '--name', 'Da Ada'], env)).restuid);
  otherRestuid = String((await runJson(['restaurant', 'create', '--name', 'Da Bea'], env)).restuid);
  const made = await runJson(['client', 'create', '--name', 'Till', '--restaurant', restuid], env);
  const chain = await runJson(
    ['client', 'create', '--name', 'Chain', '--restaurant', restuid, '--restaurant', otherRestuid],
    env,
  );
  key = { 'x-api-key': String((await runJson(['key', 'create', '--restaurant', restuid], env)).api_key) };
  client = { 'x-client-id': String(made.client_id), 'x-client-secret': String(made.client_secret) };
  both = { 'x-client-id': String(chain.client_id), 'x-client-secret': String(chain.client_secret) };
  bearer = { authorization: `Bearer ${await tokenFor(String(made.client_id), String(made.client_secret))}` };
  await importsAnswer(program.url, client);
  const menu = await call('POST', '/menu/import', client, {
    pos_uid: 'till',
    update_mode: 'merge',
    categories: [{ ext_id: 'C', name: 'Pizze' }],
    products: [{ ext_id: 'P', category_ext_id: 'C', name: 'Marinara', price: 6 }],
  });
  expect(menu.status).toBe(200);
  productUid = (await call('GET', '/menu/products', client)).json.products[0].uid;
});

afterAll(async () => {
  await program?.stop();
  await database?.drop();
});

test('A-052 A-059 a fault of a value has three parts for a Bearer caller and an envelope with pointers for others', async () => {
  const wrong = order({
    details: [{ product: { uid: productUid }, quantity: 0 }],
    dmethod: 'sled',
    payment_method: 'gold',
  });
  const asClient = await call('POST', '/order/create', client, wrong);
  expect(asClient.status).toBe(400);
  expect(asClient.json).toMatchObject({ success: false, error: 'VALIDATION_ERROR', request_id: expect.any(String) });
  expect(asClient.json.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
    '/details/0/quantity',
    'dmethod',
    'payment_method',
  ]);
  const asBearer = await call('POST', '/order/create', bearer, wrong);
  expect(asBearer.status).toBe(400);
  expect(Object.keys(asBearer.json).sort()).toEqual([
    'code',
    'error',
    'error_description',
    'error_uri',
    'errors',
    'request_id',
  ]);
  expect(asBearer.json.error).toBe('invalid_request');
  expect(asBearer.json.error_uri).toBe(`${program.url}/docs/errors#VALIDATION_ERROR`);
  expect(asBearer.headers.get('www-authenticate')).toBe(
    `Bearer realm="orderpass", error="invalid_request", error_description="${asBearer.json.error_description}", resource_metadata="${metadata()}"`,
  );
  expect(asBearer.json.error_description).toContain('/details/0/quantity: must be between 1 and 999');
  expect(asBearer.headers.get('cache-control')).toBe('no-store');
  const asProblem = await call('POST', '/order/create', { ...client, accept: 'application/problem+json' }, wrong);
  expect(asProblem.headers.get('content-type')).toContain('application/problem+json');
  expect(asProblem.json).toMatchObject({
    code: 'VALIDATION_ERROR',
    status: 400,
    type: `${program.url}/docs/errors#VALIDATION_ERROR`,
  });
  expect(asProblem.json.errors).toHaveLength(3);
});

test('A-048 A-049 a missing scope is named exactly, in the core’s operations as in the route table', async () => {
  const narrow = await tokenFor(client['x-client-id'] ?? '', client['x-client-secret'] ?? '', 'read:orders');
  const refused = await call('POST', '/order/create', { authorization: `Bearer ${narrow}` }, order());
  expect(refused.status).toBe(403);
  expect(refused.headers.get('www-authenticate')).toBe(
    `Bearer realm="orderpass", error="insufficient_scope", error_description="This operation needs the scope write:orders", scope="write:orders", resource_metadata="${metadata()}"`,
  );
  const byKey = await call('POST', '/order/create', key, order());
  expect(byKey).toMatchObject({ status: 403, json: { error: 'INSUFFICIENT_SCOPE', missing_scopes: ['write:orders'] } });
});

test('A-057 A-092 a wrong order token is invalid_request for a Bearer caller, not invalid_token', async () => {
  const placed = await call('POST', '/order/create', bearer, order());
  expect(placed.status).toBe(200);
  const { uid } = placed.json.order;
  const wrong = await call('POST', `/order/confirm?uid=${uid}&token=wrong`, bearer);
  expect(wrong).toMatchObject({
    status: 400,
    json: {
      error: 'invalid_request',
      error_description: 'token: does not fit this order',
      error_uri: `${program.url}/docs/errors#INVALID_TOKEN`,
      code: 'INVALID_TOKEN',
      errors: [{ pointer: 'token', code: 'INVALID_TOKEN', message: 'does not fit this order' }],
    },
  });
  const unknown = await call('POST', '/order/confirm?uid=ord_unknown&token=wrong', bearer);
  expect(unknown).toMatchObject({ status: 404, json: { success: false, error: 'NOT_FOUND' } });
  expect(unknown.headers.get('www-authenticate')).toBeNull();
});

test('A-016 an access token in a JSON body is refused in the OAuth dialect, whatever else the request carries', async () => {
  const value = bearer.authorization?.slice('Bearer '.length);
  for (const headers of [client, key, bearer, {}]) {
    const answer = await call('POST', '/customer/create', headers, { email: 'x@example.com', access_token: value });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect(answer.headers.get('www-authenticate')).toContain('error="invalid_request"');
  }
  const read = await call('GET', '/customerstats/customer?email=x%40example.com', client);
  expect(read.status).toBe(404);
});

test('A-114 A-118 an Idempotency-Key belongs to the client: used by headers, it replays for a token of that client and for no other caller', async () => {
  const headers = { 'idempotency-key': 'door-1' };
  const first = await call('POST', '/order/create', { ...client, ...headers }, order({ table: '9' }));
  const again = await call('POST', '/order/create', { ...bearer, ...headers }, order({ table: '9' }));
  expect(again.text).toBe(first.text);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(again.headers.get('idempotency-expires')).toBe(first.headers.get('idempotency-expires'));
  const other = await call(
    'POST',
    `/customer/create?restuid=${restuid}`,
    { ...both, ...headers },
    { email: 'door@example.com' },
  );
  expect(other.status).toBe(200);
  expect(other.headers.get('idempotent-replayed')).toBeNull();
  const reused = await call('POST', '/order/create', { ...client, ...headers }, order({ table: '10' }));
  expect(reused).toMatchObject({
    status: 422,
    json: { error: 'IDEMPOTENCY_KEY_REUSED', errors: [{ pointer: 'table' }] },
  });
});

test('A-027 A-028 a client with two restaurants must name one; others are refused alike, whether they exist or not', async () => {
  expect(await call('GET', '/orders/list', both)).toMatchObject({ status: 400, json: { error: 'MISSING_PARAMETER' } });
  expect((await call('GET', `/orders/list?restuid=${otherRestuid}`, both)).status).toBe(200);
  const granted = await call('GET', `/orders/list?restuid=${otherRestuid}`, client);
  const invented = await call('GET', '/orders/list?restuid=rst_invented', client);
  expect(granted).toMatchObject({ status: 403, json: { error: 'UNAUTHORIZED' } });
  expect({ ...invented.json, request_id: '' }).toEqual({ ...granted.json, request_id: '' });
  expect(await call('GET', `/orders/list?restuid=${otherRestuid}`, key)).toMatchObject({
    status: 401,
    json: { error: 'INVALID_KEY' },
  });
  const asBearer = await call('GET', `/orders/list?restuid=${otherRestuid}`, bearer);
  expect(asBearer).toMatchObject({ status: 403, json: { error: 'insufficient_scope' } });
  expect(asBearer.headers.get('www-authenticate')).not.toContain('scope="');
});

test('A-002 A-054 HEAD answers like GET without a body, in success and in refusal', async () => {
  for (const path of ['/orders/list', '/orders/list?pagesize=0', '/orders/get?uid=ord_absent']) {
    for (const headers of [client, bearer]) {
      const withId = { ...headers, 'x-request-id': 'head-1' };
      const get = await call('GET', path, withId);
      const head = await call('HEAD', path, withId);
      expect(head.status).toBe(get.status);
      expect(head.text).toBe('');
      for (const name of ['content-type', 'content-length', 'www-authenticate', 'cache-control', 'x-request-id']) {
        expect({ path, name, value: head.headers.get(name) }).toEqual({ path, name, value: get.headers.get(name) });
      }
    }
  }
});

test('A-007 A-008 broken bodies are 400 with an empty pointer, never 500', async () => {
  const bodies = ['{', '[]', '"x"', '{"email":"a\\u0000@b.c"}', `{"a":${'['.repeat(65)}${']'.repeat(65)}}`];
  for (const body of bodies) {
    const answer = await call('POST', '/customer/create', client, body);
    expect({ body, status: answer.status, json: answer.json }).toMatchObject({
      status: 400,
      json: { error: 'VALIDATION_ERROR', errors: [{ pointer: '' }] },
    });
  }
  expect((await call('POST', '/customer/create', { ...client, 'content-type': 'text/plain' }, '{}')).status).toBe(415);
  expect((await call('POST', '/customer/create', { ...client, 'content-encoding': 'gzip' }, '{}')).status).toBe(415);
  const emptyForm = await call('POST', '/customer/create?email=form%40example.com', {
    ...client,
    'content-type': 'application/x-www-form-urlencoded',
  });
  expect(emptyForm.status).toBe(200);
});

/** A body without a declared length. */
const postChunked = (bytes: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const url = new URL(`${program.url}/api/customer/create`);
    const outgoing = httpRequest(
      url,
      { method: 'POST', headers: { ...client, 'content-type': 'application/json' } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    outgoing.on('error', reject);
    outgoing.write('{"first_name":"');
    for (let sent = 0; sent < bytes; sent += 65_536) outgoing.write('a'.repeat(Math.min(65_536, bytes - sent)));
    outgoing.end('","email":"big@example.com"}');
  });

test('A-009 a body above 1 MiB is 413, declared or chunked, and nothing of it is kept', async () => {
  const declared = await call('POST', '/customer/create', client, {
    email: 'big@example.com',
    first_name: 'a'.repeat(1024 * 1024),
  });
  expect(declared.status).toBe(413);
  expect(await postChunked(1024 * 1024)).toBe(413);
  expect((await call('GET', '/customerstats/customer?email=big%40example.com', client)).status).toBe(404);
});

test('A-003 every answer of the core leaves with the request id of the caller and no header of the house', async () => {
  const answers = [
    await call('GET', '/orders/list', { ...client, 'x-request-id': 'abc-1' }),
    await call('GET', '/orders/get?uid=ord_absent', { ...client, 'x-request-id': 'abc-1' }),
    await call('GET', '/orders/list?page=0', { ...bearer, 'x-request-id': 'abc-1' }),
  ];
  // An error repeats the id in its body.
  expect(answers.map(({ status, json }) => [status, json.success, json.request_id])).toEqual([
    [200, true, undefined],
    [404, false, 'abc-1'],
    [400, undefined, 'abc-1'],
  ]);
  for (const { headers } of answers) {
    expect(headers.get('x-request-id')).toBe('abc-1');
    expect(headers.get('x-api-version')).toBe('1.0.0');
    expect([...headers.keys()].filter((name) => name.startsWith('x-orderpass-'))).toEqual([]);
  }
});

test('reserved headers of a caller reach no upstream: a caller cannot send an assertion', async () => {
  const forged = await call('GET', '/orders/list', { 'x-orderpass-assertion': 'a.b.c' });
  expect(forged).toMatchObject({ status: 401, json: { error: 'INVALID_AUTH' } });
  const beside = await call('GET', '/orders/list', {
    ...client,
    'x-orderpass-assertion': 'a.b.c',
    connection: 'x-orderpass-assertion',
  });
  expect(beside.status).toBe(200);
});
