/**
 * RFC 6750. Not applicable:
 * - 2.2 form body, 2.3 query: offering them is the server's choice and they are not offered; a token there is refused.
 * - 2 one method per request, 5.3 for clients (keep tokens safe, check certificates, no tokens in page addresses): theirs.
 * - 5.2, 5.3 TLS: ends in front of the process.
 * - 5.2 encryption of what is confidential in a token: it holds identifiers and scopes only.
 * - 5.2 cookies: none are set; one that a client sends is no credential (tested below).
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import {
  bearer,
  formType,
  nowSeconds,
  openRfcHarness,
  type RfcHarness,
  readTarget,
  strangersKey,
} from './rfc-harness.ts';

let harness: RfcHarness;
let token: string;

beforeAll(async () => {
  harness = await openRfcHarness();
  token = await harness.tokenOf(harness.client);
});

afterAll(() => harness.close());

const challengeOf = ({ headers }: Reply): string => String(headers['www-authenticate']);

/** Parameters of the one challenge, in turn; throws when the header is not exactly one challenge of scheme Bearer. */
const parametersOf = (reply: Reply): [string, string][] => {
  const value = challengeOf(reply);
  const pair = /([A-Za-z_]+)="((?:[^"\\]|\\.)*)"/g;
  const whole = new RegExp(`^Bearer ${pair.source}(?:, ${pair.source})*$`);
  if (!whole.test(value)) throw new Error(`no challenge of RFC 6750: ${value}`);
  return [...value.matchAll(pair)].map(([, name = '', text = '']) => [name, text]);
};

const post = (target: string, headers: Record<string, string>, body: string): Promise<Reply> =>
  sendRequest(harness.door.url, 'POST', target, { headers, body });

/** Every way in which a request lacks a token that opens the resource. */
const refusals = async (): Promise<Reply[]> => [
  await harness.read(),
  await harness.read(bearer('garbage')),
  await harness.read(bearer(await harness.forge({ claims: { exp: nowSeconds() - 1 } }))),
  await harness.read(bearer(await harness.forge({ by: strangersKey() }))),
  await harness.read({ authorization: 'Bearer' }),
  await harness.read({ authorization: 'Bearer a b' }),
  await harness.read({ authorization: `Basic ${token}` }),
  await harness.read({ 'x-api-key': 'opk_wrong' }),
  await harness.read(bearer(await harness.forge({ claims: { scope: 'read:menu' } }))),
  await harness.read(bearer(token), `${readTarget}?access_token=${token}`),
  await sendRequest(harness.door.url, 'HEAD', readTarget, {}),
  await sendRequest(harness.door.url, 'HEAD', readTarget, { headers: bearer('garbage') }),
];

test('RFC 6750 2.1: a token in the Authorization header is accepted, whatever the case of the scheme', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    expect((await harness.read({ authorization: `${scheme} ${token}` })).status).toBe(200);
  }
});

test('RFC 6750 2.2, 2.3: a token in the query or in a body opens nothing, alone or beside the header', async () => {
  const before = harness.upstream.seen.length;
  const query = `access_token=${token}`;
  for (const reply of [
    await harness.read({}, `${readTarget}?${query}`),
    await harness.read(bearer(token), `${readTarget}?${query}`),
    await post('/api/order/create', { 'content-type': formType }, query),
    await post('/api/order/create', { 'content-type': formType, ...bearer(token) }, query),
  ]) {
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
  }
  expect(harness.upstream.seen).toHaveLength(before);
  expect((await harness.read(bearer(token))).status).toBe(200);
  expect(harness.upstream.seen).toHaveLength(before + 1);
});

test('RFC 6750 3: every refusal for want of a good token carries WWW-Authenticate', async () => {
  for (const reply of await refusals()) {
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(challengeOf(reply)).toMatch(/^Bearer /);
  }
});

test('RFC 6750 3: the challenge has the scheme Bearer and at least one parameter', async () => {
  for (const reply of await refusals()) expect(parametersOf(reply).length).toBeGreaterThan(0);
});

test('RFC 6750 3: no parameter of a challenge comes twice, realm and scope among them', async () => {
  for (const reply of await refusals()) {
    const names = parametersOf(reply).map(([name]) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('realm');
  }
});

test('RFC 6750 3: scope lists case-sensitive names between single spaces, in the characters that are allowed', async () => {
  const reply = await harness.read(bearer(await harness.forge({ claims: { scope: '' } })));
  const { scope } = Object.fromEntries(parametersOf(reply));
  expect([reply.status, scope]).toEqual([403, 'read:orders']);
  expect(scope).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/);
});

test('RFC 6750 3: error and error_description keep to their characters, whatever an upstream says', async () => {
  const usual = harness.upstream.answer;
  harness.upstream.answer = (req, res) => {
    req.resume();
    res
      .writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ message: 'quote " back \\ break \r\n è 😀 \u0000\u007f end' }));
  };
  try {
    const reply = await harness.read(bearer(token));
    const parameters = Object.fromEntries(parametersOf(reply));
    expect([reply.status, parameters.error]).toEqual([400, 'invalid_request']);
    expect(parameters.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(parameters.error_description).toBe(reply.json.error_description);
  } finally {
    harness.upstream.answer = usual;
  }
});

test('RFC 6750 3.1: the error codes and their statuses; without authentication no error code', async () => {
  const cases: [Reply, number, string | undefined][] = [
    [await harness.read(), 401, undefined],
    [await harness.read({ authorization: 'Bearer a b' }), 400, 'invalid_request'],
    [await harness.read({ authorization: 'Bearer' }), 400, 'invalid_request'],
    [await harness.read(bearer('garbage')), 401, 'invalid_token'],
    [await harness.read(bearer(await harness.forge({ claims: { scope: 'read:menu' } }))), 403, 'insufficient_scope'],
  ];
  for (const [reply, status, error] of cases) {
    expect([reply.status, Object.fromEntries(parametersOf(reply)).error]).toEqual([status, error]);
  }
});

test('RFC 6750 3.1: a request that uses two ways of sending a token, or one twice, is invalid_request', async () => {
  const host = ['host', new URL(harness.door.url).host];
  const twice = await harness.read([...host, 'authorization', `Bearer ${token}`, 'authorization', `Bearer ${token}`]);
  const beside = await harness.read({ ...bearer(token), ...harness.door.asKey });
  for (const reply of [twice, beside]) {
    expect([reply.status, Object.fromEntries(parametersOf(reply)).error]).toEqual([400, 'invalid_request']);
  }
});

test('RFC 6750 5.2: a token cannot be changed or made: each changed character is noticed', async () => {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const claims = { ...decodeJwt(token), scope: 'read:orders write:orders', exp: nowSeconds() + 1_000_000 };
  const forged = Buffer.from(JSON.stringify(claims)).toString('base64url');
  const flip = (text: string, at: number): string =>
    `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
  const changed = [`${header}.${forged}.${signature}`, `${header}.${payload}.`, `${header}.${payload}`];
  for (const part of [0, 1, 2]) {
    const parts = [header, payload, signature];
    for (const share of [0, 0.3, 0.6, 0.99]) {
      const text = parts[part] ?? '';
      changed.push(parts.map((same, i) => (i === part ? flip(text, Math.floor(text.length * share)) : same)).join('.'));
    }
  }
  for (const text of changed) expect((await harness.read(bearer(text))).status).toBe(401);
  expect((await harness.read(bearer(token))).status).toBe(200);
});

test('RFC 6750 5.2: a token names its recipient, and one for another recipient is refused', async () => {
  expect(decodeJwt(token).aud).toBe(origin);
  expect(decodeProtectedHeader(token).kid).toBe(harness.key.kid);
  for (const aud of ['https://other.example', `${origin}/`, `${origin}.evil.example`, '', [origin, 'https://other']]) {
    expect((await harness.read(bearer(await harness.forge({ claims: { aud } })))).status).toBe(401);
  }
});

test('RFC 6750 5.2: a token in a cookie is no credential, and no answer sets a cookie', async () => {
  const reply = await harness.read({ cookie: `access_token=${token}; authorization=Bearer ${token}` });
  expect([reply.status, reply.headers['set-cookie']]).toEqual([401, undefined]);
  const issued = await harness.post('token', { grant_type: 'client_credentials', ...harness.client });
  expect([issued.status, issued.headers['set-cookie']]).toEqual([200, undefined]);
});

test('RFC 6750 5.3: tokens live for an hour at most by default, and not a second longer than they say', async () => {
  const { iat = 0, exp = 0 } = decodeJwt(token);
  expect(exp - iat).toBeLessThanOrEqual(3600);
  expect((await harness.read(bearer(await harness.forge({ claims: { exp: nowSeconds() } })))).status).toBe(401);
});
