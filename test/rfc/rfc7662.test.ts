/**
 * RFC 7662. Not applicable:
 * - 2, 4 TLS: ends in front of the process.
 * - 2.1 GET with a query: optional, not offered (4 warns of tokens in logs; tested).
 * - 2.2 username, nbf: our tokens have neither; 2.2 different answers per resource server: there is one.
 * - 2.3 an asker that shows a Bearer token instead of client credentials: askers are clients here.
 * - 4 what a protected resource caches: duty of the other side; our answers say no-store (tested).
 */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { basic, bearer, nowSeconds, openRfcHarness, type RfcHarness, strangersKey } from './rfc-harness.ts';

let harness: RfcHarness;

beforeAll(async () => {
  harness = await openRfcHarness();
});

afterAll(() => harness.close());

const ask = (token: string, as = harness.service): Promise<Reply> => harness.post('introspect', { token, ...as });

const expectInactive = async (token: string): Promise<void> => {
  const { status, json } = await ask(token);
  expect([status, json]).toEqual([200, { active: false }]);
};

const expectActive = async (token: string): Promise<void> => {
  const { status, json } = await ask(token);
  expect([status, json.active]).toEqual([200, true]);
};

test('RFC 7662 2.1: the question is a form by POST with the parameter token; a GET, which would be logged, is refused', async () => {
  const token = await harness.tokenOf(harness.client);
  const header = basic(harness.service.client_id, harness.service.client_secret);
  const get = await sendRequest(harness.door.url, 'GET', `/api/oauth/introspect?token=${token}`, { headers: header });
  expect([get.status, get.json.active]).toEqual([405, undefined]);
  for (const reply of [
    await harness.post('introspect', {}, header),
    await harness.post('introspect', { token: '' }, header),
    await harness.post(
      'introspect',
      [
        ['token', token],
        ['token', token],
      ],
      header,
    ),
    await harness.post(`introspect?token=${token}`, {}, header),
  ]) {
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
  }
  await expectActive(token);
});

test('F-32 RFC 7662 2.1: who asks is authenticated and holds the right to ask, against scanning for tokens', async () => {
  const token = await harness.tokenOf(harness.client);
  const { client_id } = harness.service;
  const replies = [
    await harness.post('introspect', { token }),
    await harness.post('introspect', { token, client_id }),
    await harness.post('introspect', { token }, bearer(token)),
    await harness.post('introspect', { token, client_id, client_secret: 'ops_wrong' }),
    await ask(token, harness.client),
    await ask('garbage', harness.client),
  ];
  expect(replies.map(({ status, json }) => [status, json.error, json.active])).toEqual([
    [401, 'invalid_client', undefined],
    [401, 'invalid_client', undefined],
    [401, 'invalid_client', undefined],
    [401, 'invalid_client', undefined],
    [400, 'unauthorized_client', undefined],
    [400, 'unauthorized_client', undefined],
  ]);
});

test('RFC 7662 2.1: the hint is a hint: with a wrong or unknown type the token is found all the same', async () => {
  const token = await harness.tokenOf(harness.client);
  for (const token_type_hint of ['access_token', 'refresh_token', 'something_else', '']) {
    const { json } = await harness.post('introspect', { token, token_type_hint, ...harness.service });
    expect(json.active).toBe(true);
  }
});

test('RFC 7662 2.2: the answer is JSON with the boolean active, and what it tells is what the token says, in its types', async () => {
  const token = await harness.tokenOf(harness.client, { scope: 'read:orders read:menu' });
  const { headers, json } = await ask(token);
  expect(headers['content-type']).toMatch(/^application\/json\b/);
  const { iat, exp, jti } = decodeJwt(token);
  const { client_id } = harness.client;
  expect(json).toEqual({
    active: true,
    scope: 'read:orders read:menu',
    client_id,
    sub: client_id,
    token_type: 'Bearer',
    ...{ iat, exp, jti },
    iss: origin,
    aud: origin,
  });
  for (const member of ['iat', 'exp']) expect(Number.isInteger(json[member])).toBe(true);
});

test('RFC 7662 2.2: what is not an active token here is exactly {"active":false}, and that is no error', async () => {
  for (const token of ['garbage', 'a.b.c', '\u0000', 'è', 'x'.repeat(50_000), harness.client.client_secret]) {
    await expectInactive(token);
  }
});

test('RFC 7662 2.3: failed authentication is 401 invalid_client as in RFC 6749 section 5.2', async () => {
  const reply = await harness.post('introspect', { token: 'x' }, basic(harness.service.client_id, 'ops_wrong'));
  expect([reply.status, reply.json.error]).toEqual([401, 'invalid_client']);
  expect(reply.headers['www-authenticate']).toMatch(/^Basic realm=/);
});

test('RFC 7662 4: whether the token has expired is looked at', async () => {
  await expectActive(await harness.forge({ claims: { jti: 'lives', exp: nowSeconds() + 60 } }));
  await expectInactive(await harness.forge({ claims: { jti: 'over', exp: nowSeconds() } }));
});

test('RFC 7662 4: whether the token is valid already is looked at', async () => {
  await expectActive(await harness.forge({ claims: { jti: 'begun', nbf: nowSeconds() - 1 } }));
  await expectInactive(await harness.forge({ claims: { jti: 'later', nbf: nowSeconds() + 30 } }));
});

test('RFC 7662 4: whether the token was revoked is looked at', async () => {
  const token = await harness.tokenOf(harness.client);
  await expectActive(token);
  await harness.post('revoke', { token, ...harness.client });
  await expectInactive(token);
});

test('RFC 7662 4: the signature is checked', async () => {
  await expectInactive(await harness.forge({ by: strangersKey() }));
  const token = await harness.tokenOf(harness.client);
  await expectInactive(`${token.slice(0, token.lastIndexOf('.'))}.`);
});

test('RFC 7662 4: whether the token may be used at this resource is looked at', async () => {
  await expectInactive(await harness.forge({ claims: { aud: 'https://other.example' } }));
  await expectInactive(await harness.forge({ claims: { iss: 'https://other.example' } }));
});

test('RFC 7662 4: answers may not be stored', async () => {
  for (const { headers } of [await ask('garbage'), await ask(await harness.tokenOf(harness.client))]) {
    expect(headers['cache-control']).toBe('no-store');
  }
});

test('RFC 7662 4: more than 600 questions a minute of one asker are refused', async () => {
  const made = await harness.credentials.createClient({ name: 'busy', tenants: ['rst_1'], mayIntrospect: true });
  const busy = { client_id: made.clientId, client_secret: made.secret };
  let refused: Reply | undefined;
  let answered = 0;
  while (refused === undefined && answered < 1_400) {
    const replies = await Promise.all(Array.from({ length: 50 }, () => ask('garbage', busy)));
    answered += replies.filter(({ status }) => status === 200).length;
    refused = replies.find(({ status }) => status !== 200);
  }
  expect([refused?.status, refused?.json.error]).toEqual([429, 'slow_down']);
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(answered).toBeGreaterThanOrEqual(600);
  await expectActive(await harness.tokenOf(harness.client));
});
