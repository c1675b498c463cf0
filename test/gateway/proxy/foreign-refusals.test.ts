/** What a service of the operator says by its own refusals: missing scopes in the words of RFC 6750, its codes, its errors. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseChallenges } from '#src/gateway/upstream/refusal/parse-challenges.ts';
import {
  metadata,
  openDoor,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

let upstream: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  upstream = await startUpstream();
  door = await openDoor(upstream.url);
});

afterAll(async () => {
  await door.close();
  await upstream.close();
});

const get = (headers: Record<string, string>) => sendRequest(door.url, 'GET', '/api/orders/list', { headers });

const answerWith = (status: number, headers: Record<string, string | string[]>, body: unknown): void => {
  upstream.answer = (_req, res) => {
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    res
      .writeHead(status, { 'content-type': type, ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
  };
};

const challenge = 'Bearer realm="inner", error="insufficient_scope", scope="write:things"';

const understood: [string, Record<string, string | string[]>, unknown, string[]][] = [
  ['its own challenge', { 'www-authenticate': challenge }, '', ['write:things']],
  [
    'a challenge among others',
    { 'www-authenticate': ['Basic realm="a, b"', `Negotiate a==, ${challenge}`] },
    '',
    ['write:things'],
  ],
  [
    'a challenge in other spelling',
    { 'www-authenticate': 'BEARER Error = insufficient_scope ,SCOPE="read:orders  write\\:things"' },
    '',
    ['write:things'],
  ],
  ['a DPoP challenge', { 'www-authenticate': 'DPoP algs="ES256", error="insufficient_scope", scope="a"' }, {}, ['a']],
  ['JSON with scope', {}, { error: 'insufficient_scope', scope: 'write:things read:orders' }, ['write:things']],
  ['JSON with scope alone', {}, { message: 'No', scope: 'write:things' }, ['write:things']],
  ['JSON with missing_scopes', {}, { missing_scopes: ['write:things', 'no such', 'x"'] }, ['write:things']],
  [
    'an envelope that leaves the scopes to its challenge',
    { 'www-authenticate': challenge },
    { success: false, error: 'INSUFFICIENT_SCOPE', message: 'No', request_id: 'req_x' },
    ['write:things'],
  ],
];

test.each(understood)(
  'F-45 scopes that an upstream names by %s leave in the words of each caller',
  async (_name, headers, body, scopes) => {
    answerWith(403, headers, body);
    const bearer = await get(door.asBearer);
    expect([bearer.status, bearer.json.error, bearer.json.code]).toEqual([
      403,
      'insufficient_scope',
      'INSUFFICIENT_SCOPE',
    ]);
    expect(bearer.json.missing_scopes).toEqual(scopes);
    expect(bearer.headers['www-authenticate']).toBe(
      `Bearer realm="orderpass", error="insufficient_scope", error_description="${bearer.json.error_description}", scope="${scopes.join(' ')}", resource_metadata="${metadata}"`,
    );
    const key = await get(door.asKey);
    expect([key.status, key.json.success, key.json.error]).toEqual([403, false, 'INSUFFICIENT_SCOPE']);
    expect(key.json.missing_scopes).toEqual(scopes);
    const problem = await get({ ...door.asKey, accept: 'application/problem+json' });
    expect([problem.json.code, problem.json.missing_scopes]).toEqual(['INSUFFICIENT_SCOPE', scopes]);
  },
);

const many = Array.from({ length: 40 }, (_, index) => `X${index} a=b`).join(', ');

const unread: [string, number, Record<string, string>, unknown][] = [
  ['another error', 403, { 'www-authenticate': 'Bearer error="invalid_token", scope="write:things"' }, ''],
  ['another scheme', 403, { 'www-authenticate': 'Basic error="insufficient_scope", scope="write:things"' }, ''],
  ['a quote that does not end', 403, { 'www-authenticate': `${challenge}, x="` }, ''],
  ['a parameter twice', 403, { 'www-authenticate': `${challenge}, scope="read:orders"` }, ''],
  ['too many challenges', 403, { 'www-authenticate': `${many}, ${challenge}` }, ''],
  [
    'scopes that are no tokens',
    403,
    { 'www-authenticate': 'Bearer error="insufficient_scope", scope="\u00e4 \\""' },
    '',
  ],
  ['a scope beside another error', 403, {}, { error: 'ACCOUNT_LOCKED', scope: 'global' }],
  ['400', 400, { 'www-authenticate': challenge }, { scope: 'write:things' }],
  ['401', 401, { 'www-authenticate': challenge }, { scope: 'write:things' }],
];

test.each(unread)('F-45 no scope is made up from %s', async (_name, status, headers, body) => {
  answerWith(status, headers, body);
  const bearer = await get(door.asBearer);
  expect([bearer.status, bearer.json.missing_scopes]).toEqual([status, undefined]);
  expect(bearer.headers['www-authenticate']).not.toContain('scope="');
  const key = await get(door.asKey);
  expect([key.status, key.json.missing_scopes]).toEqual([status, undefined]);
  // The same upstream is understood a moment later.
  answerWith(403, { 'www-authenticate': challenge }, '');
  expect((await get(door.asBearer)).json.missing_scopes).toEqual(['write:things']);
});

test('F-45 challenges are read in time that grows with their length, whatever they hold', () => {
  const pieces = ['a ', '=', 'a=', '"', '\\', '"\\', ',', ' ,', 'a="', 'a=a ', '\t', 'Bearer a==', 'a/=', 'x y, '];
  for (const piece of pieces) {
    for (const ending of ['', '"', 'x', '=']) {
      const text = piece.repeat(8_192 / piece.length).slice(0, 8_191) + ending;
      const started = process.cpuUsage().user;
      parseChallenges(text);
      // A quadratic reader takes seconds for the worst of these; microseconds of this process, not of its neighbours.
      expect(process.cpuUsage().user - started).toBeLessThan(500_000);
    }
  }
  expect(parseChallenges(`Bearer a="${'x'.repeat(9_000)}"`)).toBeUndefined();
  expect(parseChallenges('Bearer, Basic realm="x\\"y", Digest a=b')?.map(({ scheme }) => scheme)).toEqual([
    'bearer',
    'basic',
    'digest',
  ]);
});

test('F-47 a Bearer caller gets the code and the errors of its refusal, whether the gateway or the upstream refused', async () => {
  const errors = [{ pointer: '/total', code: 'ORDER_MIN', message: 'is below 10.00' }];
  const envelope = { success: false, error: 'VALIDATION_ERROR', message: 'No', errors, request_id: 'req_1' };
  const cases: [number, unknown, string, unknown][] = [
    [400, envelope, 'VALIDATION_ERROR', errors],
    [400, { ...envelope, error: 'INVALID_TOKEN' }, 'INVALID_TOKEN', errors],
    [400, { code: 'cart.too-small', detail: 'Too small', errors }, 'cart.too-small', errors],
    [
      400,
      { error: 'CART_TOO_SMALL', errors: [{ ...errors[0], secret: 'inner' }, 'x', { pointer: 1 }] },
      'CART_TOO_SMALL',
      errors,
    ],
    [403, { success: false, error: 'LOCKED_OUT', message: 'No' }, 'LOCKED_OUT', undefined],
    [401, { error: 'invalid_token' }, 'INVALID_AUTH', undefined],
    [403, 'plain words', 'UNAUTHORIZED', undefined],
    [400, { code: 'two words' }, 'VALIDATION_ERROR', undefined],
    [400, { code: 'x'.repeat(65), errors: 'none' }, 'VALIDATION_ERROR', undefined],
    [
      400,
      {
        errors: [
          { pointer: 'p'.repeat(1_025), code: 'A', message: 'm' },
          { pointer: 'p', code: 'a b', message: 'm' },
        ],
      },
      'VALIDATION_ERROR',
      undefined,
    ],
    [400, { errors: [{ pointer: 'p', code: 'A', message: 'm'.repeat(2_049) }] }, 'VALIDATION_ERROR', undefined],
  ];
  for (const [status, body, code, wanted] of cases) {
    answerWith(status, {}, body);
    const { status: seen, json } = await get(door.asBearer);
    expect([seen, json.code, json.errors]).toEqual([status, code, wanted]);
  }
});
