import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssertionVerifier } from '#src/contract/assertion.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import {
  type Headers,
  masterKey,
  metadata,
  openDoor,
  type PublicDoor,
  plainChallenge,
  type Reply,
  sendRaw,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;
let handing: PublicDoor;
let closed: PublicDoor;
/** With a budget of 20 requests a minute. */
let scarce: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url, { settings: { auth_check: 'on', legacy_status: 'on' } });
  handing = await openDoor(upstream.url, { settings: { auth_check: 'on', auth_check_audiences: 'ordering' } });
  closed = await openDoor(upstream.url);
  scarce = await openDoor(upstream.url, { settings: { auth_check: 'on', rate_minute_units: 20 } });
});

afterAll(async () => {
  await door?.close();
  await handing?.close();
  await closed?.close();
  await scarce?.close();
  await upstream?.close();
});

const read = '/api/orders/list';

type Ask = (method: string, target: string, headers: Headers, at?: PublicDoor) => Promise<Reply>;

const asNginx: Ask = (method, target, headers, at = door) =>
  sendRequest(at.url, 'GET', '/auth/check', {
    headers: { ...headers, 'x-original-method': method, 'x-original-uri': target },
  });
const asTraefik: Ask = (method, target, headers, at = door) =>
  sendRequest(at.url, 'GET', '/auth/check', {
    headers: { ...headers, 'x-forwarded-method': method, 'x-forwarded-uri': target },
  });
const asEnvoy: Ask = (method, target, headers, at = door) =>
  sendRequest(at.url, method, `/auth/check${target}`, { headers });

/** Caddy leaves the query of the request at the address of the check. */
const asCaddy: Ask = (method, target, headers, at = door) =>
  sendRequest(at.url, 'GET', `/auth/check${target.includes('?') ? target.slice(target.indexOf('?')) : ''}`, {
    headers: { ...headers, 'x-forwarded-method': method, 'x-forwarded-uri': target, 'x-forwarded-host': 'api.example' },
  });

const proxies: [string, Ask][] = [
  ['nginx', asNginx],
  ['Traefik', asTraefik],
  ['Caddy', asCaddy],
  ['Envoy', asEnvoy],
];

/** nginx makes 500 of every refusal but 401 and 403. */
const statusFor = (proxy: string, decided: number): number => (proxy === 'nginx' ? 403 : decided);

test.each(proxies)('%s: every kind of credential gets yes, with who it is and without a body', async (_name, ask) => {
  for (const headers of [door.asKey, door.asClient, door.asBearer]) {
    const answer = await ask('GET', `${read}?page=1`, headers);
    expect([answer.status, answer.text, answer.headers['cache-control']]).toEqual([200, '', 'no-store']);
    expect(answer.headers['x-orderpass-tenants']).toBe('rst_1');
    expect(answer.headers['x-orderpass-scopes']).toContain('read:orders');
    expect(answer.headers['x-orderpass-assertion']).toBeUndefined();
  }
  const kinds = await Promise.all(
    [door.asKey, door.asClient, door.asBearer].map(async (one) => (await ask('GET', read, one)).headers),
  );
  expect(kinds.map((one) => one['x-orderpass-kind'])).toEqual(['api_key', 'api_client', 'bearer']);
  expect(kinds[1]?.['x-orderpass-id']).toBe(door.asClient['x-client-id']);
  expect(upstream.seen).toEqual([]);
});

test.each(proxies)('%s: the decision is that of the original method and route', async (_name, ask) => {
  const reader = await door.bearerWith(['read:orders']);
  expect((await ask('GET', read, reader)).status).toBe(200);
  expect((await ask('HEAD', read, reader)).status).toBe(200);
  const refused = await ask('POST', '/api/order/create', reader);
  expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_scope']);
  expect(refused.headers['www-authenticate']).toBe(
    `Bearer realm="orderpass", error="insufficient_scope", error_description="This operation needs the scope write:orders", scope="write:orders", resource_metadata="${metadata}"`,
  );
  expect((await ask('POST', '/api/order/create', door.asBearer)).status).toBe(200);
  const byKey = await ask('POST', '/api/order/create', door.asKey);
  expect([byKey.status, byKey.json.error, byKey.json.missing_scopes]).toEqual([
    403,
    'INSUFFICIENT_SCOPE',
    ['write:orders'],
  ]);
});

test.each(proxies)(
  '%s: without a credential, or with a bad one, 401 in the dialect of the caller',
  async (name, ask) => {
    const none = await ask('GET', read, {});
    expect([none.status, none.json.error, none.headers['www-authenticate']]).toEqual([
      401,
      'INVALID_AUTH',
      plainChallenge,
    ]);
    const bad = await ask('GET', read, door.asExpired);
    expect([bad.status, bad.json.error]).toEqual([401, 'invalid_token']);
    expect(bad.headers['www-authenticate']).toContain('error="invalid_token"');
    const problem = await ask('GET', read, { accept: 'application/problem+json' });
    expect([problem.status, problem.headers['content-type'], problem.json.code]).toEqual([
      401,
      'application/problem+json',
      'INVALID_AUTH',
    ]);
    const inQuery = await ask('GET', `${read}?access_token=x`, {});
    expect([inQuery.status, inQuery.json.error]).toEqual([statusFor(name, 400), 'invalid_request']);
  },
);

test.each(proxies)(
  'A-236 %s: a check of no operation, or an ambiguous request, is refused with its own status, by 403 to nginx, even in legacy status mode',
  async (name, ask) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const cases: [number, string, string, Headers][] = [
      [404, 'GET', '/api/unknown', door.asKey],
      [404, 'GET', '/api/unknown?page=1', {}],
      [404, 'GET', '/api/x/../orders/list', door.asKey],
      [404, 'GET', '/api/orders%2Flist', door.asKey],
      [404, 'GET', '//api/orders/list', door.asKey],
      [404, 'GET', '/auth/check', door.asKey],
      [404, 'GET', '/healthz', door.asKey],
      ...['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'VERSION-CONTROL'].map(
        (method): [number, string, string, Headers] => [405, method, read, door.asKey],
      ),
      // The gateway answers it without a credential, so it must not open another proxy.
      [405, 'OPTIONS', read, {}],
      [400, 'GET', read, { ...door.asKey, ...door.asBearer }],
      [400, 'GET', read, { ...door.asKey, 'x-api-version': '2' }],
      [415, 'POST', '/api/customer/create', { ...door.asKey, ...form }],
    ];
    for (const [status, method, target, headers] of cases) {
      // The parser of Node refuses this method before the gateway sees it.
      if (name === 'Envoy' && method === 'VERSION-CONTROL') continue;
      const answer = await ask(method, target, headers);
      expect([method, target, answer.status]).toEqual([method, target, statusFor(name, status)]);
      if (status === 405) expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
    }
    expect((await ask('POST', '/api/customer/create', door.asKey)).status).toBe(200);
  },
);

test.each(proxies)('A-236 %s: a caller above its limit gets the time to wait', async (name, ask) => {
  const answers: Reply[] = [];
  for (let sent = 0; sent < 21; sent += 1) answers.push(await ask('GET', read, scarce.asKey, scarce));
  const refused = answers.find(({ status }) => status !== 200);
  expect([refused?.status, refused?.json.error]).toEqual([statusFor(name, 429), 'RATE_LIMIT_EXCEEDED']);
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0);
});

test.each(proxies)(
  'F-46 A-236 %s: the refusal of an unknown operation names the reason, and asks for no other token',
  async (name, ask) => {
    const cases: [number, string, string, string][] = [
      [404, 'GET', '/api/unknown', 'INVALID_ACTION'],
      [405, 'PUT', read, 'METHOD_NOT_ALLOWED'],
    ];
    for (const [status, method, target, code] of cases) {
      const key = await ask(method, target, door.asKey);
      expect([key.status, key.json.error]).toEqual([statusFor(name, status), code]);
      const bearer = await ask(method, target, door.asBearer);
      if (name !== 'nginx') {
        expect([bearer.status, bearer.json.error, bearer.headers['www-authenticate']]).toEqual([
          status,
          code,
          undefined,
        ]);
        continue;
      }
      expect([bearer.status, bearer.json.error, bearer.json.code]).toEqual([403, 'invalid_request', code]);
      expect(bearer.json.error_uri).toMatch(new RegExp(`#${code}$`));
      expect(bearer.headers['www-authenticate']).toContain('error="invalid_request"');
      expect(bearer.headers['www-authenticate']).not.toContain('scope');
      if (code === 'INVALID_ACTION')
        expect(bearer.json.error_description).toBe('No such operation: the path is not in the route table');
    }
    // A scope problem is still one.
    const refused = await ask('POST', '/api/order/create', await door.bearerWith(['read:orders']));
    expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_scope']);
  },
);

test('A-236 a request that the proxy has refused already never gets a yes', async () => {
  for (const [, ask] of proxies) {
    const refused = { ...door.asKey, 'x-original-refused': 'true' };
    const changed = await ask('GET', read, refused);
    expect([changed.status, changed.json.error, changed.headers['retry-after']]).toEqual([503, 'OVERLOADED', '1']);
    expect((await ask('GET', read, { 'x-original-refused': 'true' })).status).toBe(401);
  }
});

test.each(proxies)('A-193 %s: up to 50 tenants of a caller are named, and the number of more', async (_name, ask) => {
  const of = (count: number) => Array.from({ length: count }, (_, number) => `rst_check_${_name}_${count}_${number}`);
  for (const count of [50, 51]) {
    const caller = await door.clientWith(['read:orders'], of(count));
    const { status, headers } = await ask('GET', `${read}?restuid=${of(count)[0]}`, caller);
    expect(status).toBe(200);
    const list = headers['x-orderpass-tenants']?.toString().split(',').toSorted();
    expect([list, headers['x-orderpass-tenants-total']]).toEqual(
      count === 50 ? [of(50).toSorted(), undefined] : [undefined, '51'],
    );
  }
});

test.each(proxies)('A-236 %s: a GET passes whatever type it states, as without another proxy', async (_name, ask) => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const method of ['GET', 'HEAD']) expect((await ask(method, read, { ...door.asKey, ...form })).status).toBe(200);
});

test('A-236 the query of a check is that of the request, as Caddy leaves it there, or none', async () => {
  const asked = (target: string, uri: string) =>
    sendRequest(door.url, 'GET', `/auth/check${target}`, {
      headers: { ...door.asKey, 'x-forwarded-method': 'GET', 'x-forwarded-uri': uri },
    });
  for (const query of ['', '?', '?page=1', '?a;b=%zz&c=%2F?'])
    expect([query, (await asked(query, `${read}${query}`)).status]).toEqual([query, 200]);
  expect((await asked('', `${read}?page=1`)).status).toBe(200);
  for (const [query, uri] of [
    ['?page=1', read],
    ['?page=1', `${read}?page=2`],
    ['?', `${read}?page=1`],
    ['?page=1', `${read}?page=1&x=2`],
  ] as const)
    expect([query, (await asked(query, uri)).status]).toEqual([query, 403]);
});

test('a check that names no request, or names two, is refused with every credential', async () => {
  const pair = { 'x-original-method': 'GET', 'x-original-uri': read };
  const other = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': read };
  const cases: [string, Headers][] = [
    ['/auth/check', {}],
    ['/auth/check', { 'x-original-uri': read }],
    ['/auth/check', { 'x-original-method': 'GET' }],
    ['/auth/check', { ...pair, ...other }],
    ['/auth/check', { ...pair, 'x-forwarded-uri': '/api/order/create' }],
    ['/auth/check', { 'x-original-method': 'GET', 'x-forwarded-uri': read }],
    ['/auth/check', { ...pair, 'x-original-uri': `http://x${read}` }],
    ['/auth/check', { ...pair, 'x-original-uri': `${read}#x` }],
    ['/auth/check', { ...pair, 'x-original-uri': `${read} x` }],
    ['/auth/check', { ...pair, 'x-original-uri': '' }],
    ['/auth/check', { ...pair, 'x-original-method': 'get' }],
    ['/auth/check', { ...pair, 'x-original-uri': `${read}?${'x'.repeat(9_000)}` }],
    ['/auth/check?x=1', pair],
    ['/auth/check?', pair],
    ['/auth/check/', pair],
    [`/auth/check${read}`, pair],
    [`/auth/check${read}`, { 'x-forwarded-uri': read }],
  ];
  for (const [target, headers] of cases) {
    const answer = await sendRequest(door.url, 'GET', target, { headers: { ...door.asKey, ...headers } });
    expect([target, headers, answer.status]).toEqual([target, headers, 403]);
  }
  const twice = await sendRaw(
    door.port,
    `GET /auth/check HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Api-Key: ${door.asKey['x-api-key']}\r\nX-Original-Method: GET\r\nX-Original-URI: ${read}\r\nX-Original-URI: ${read}\r\n\r\n`,
  );
  expect(twice).toContain('HTTP/1.1 403');
  expect((await sendRequest(door.url, 'GET', '/auth/check', { headers: { ...door.asKey, ...pair } })).status).toBe(200);
  expect((await sendRequest(door.url, 'POST', '/auth/check', { headers: { ...door.asKey, ...pair } })).status).toBe(
    405,
  );
  // The check is asked with HEAD, the question is about GET.
  const head = await sendRequest(door.url, 'HEAD', '/auth/check', { headers: pair });
  expect([head.status, head.text, head.headers['www-authenticate']]).toEqual([401, '', plainChallenge]);
});

test('the assertion is handed out only for an audience that the operator named, and fits this request alone', async () => {
  const target = `${read}?page=2`;
  const verify = createAssertionVerifier({
    key: createSecretBox(masterKey).derive('assertion/ordering'),
    audience: 'ordering',
    now: () => Date.now(),
  });
  for (const [, ask] of proxies) {
    const given = (await ask('GET', target, handing.asBearer, handing)).headers['x-orderpass-assertion'];
    expect(verify(String(given), { method: 'GET', target })).toMatchObject({ kind: 'bearer', tenants: ['rst_1'] });
    expect(verify(String(given), { method: 'POST', target })).toBeUndefined();
    expect(verify(String(given), { method: 'GET', target: read })).toBeUndefined();
  }
  const refused = await asNginx('GET', target, {}, handing);
  expect([refused.status, refused.headers['x-orderpass-assertion']]).toEqual([401, undefined]);
});

test('off unless it is switched on: the path is one that does not exist', async () => {
  for (const [, ask] of proxies) {
    const answer = await ask('GET', read, closed.asKey, closed);
    expect([answer.status, answer.json.error, answer.headers['x-orderpass-id']]).toEqual([
      404,
      'INVALID_ACTION',
      undefined,
    ]);
  }
  expect((await sendRequest(closed.url, 'GET', read, { headers: closed.asKey })).status).toBe(200);
});
