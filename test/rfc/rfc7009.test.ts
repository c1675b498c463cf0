/**
 * RFC 7009. Not applicable:
 * - 2 TLS, 2 https address of the endpoint: TLS ends in front of the process.
 * - 2, 2.1 refresh tokens, their grants and the tokens made from them: none are issued.
 * - 2.1 public clients: there are none.
 * - 2.2.1 what a client does after 503; 5 what it must check: duties of the other side.
 * - 2.3 cross-origin support: optional, not offered.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { basic, bearer, formType, openRfcHarness, type RfcHarness } from './rfc-harness.ts';

let harness: RfcHarness;

beforeAll(async () => {
  harness = await openRfcHarness();
});

afterAll(() => harness.close());

const revoke = (form: Parameters<RfcHarness['post']>[1], headers?: Record<string, string>): Promise<Reply> =>
  harness.post('revoke', form, headers);

const statusWith = async (token: string): Promise<number> => (await harness.read(bearer(token))).status;

test('RFC 7009 2: an access token is revoked', async () => {
  const token = await harness.tokenOf(harness.client);
  expect(await statusWith(token)).toBe(200);
  const { status, text } = await revoke({ token, ...harness.client });
  expect([status, text, await statusWith(token)]).toEqual([200, '', 401]);
});

test('RFC 7009 2.1: the request is a form by POST with the parameter token, once', async () => {
  const token = await harness.tokenOf(harness.client);
  const get = await sendRequest(harness.door.url, 'GET', `/api/oauth/revoke?token=${token}`, {
    headers: basic(harness.client.client_id, harness.client.client_secret),
  });
  expect([get.status, get.headers.allow]).toEqual([405, 'POST']);
  for (const reply of [
    await revoke({ ...harness.client }),
    await revoke({ token: '', ...harness.client }),
    await revoke([['token', token], ['token', token], ...Object.entries(harness.client)]),
    await revoke(JSON.stringify({ token, ...harness.client }), { 'content-type': 'application/json' }),
    await harness.post(`revoke?token=${token}`, harness.client),
  ]) {
    expect([reply.status, reply.json.error]).toEqual([400, 'invalid_request']);
  }
  expect(await statusWith(token)).toBe(200);
});

test('F-32 RFC 7009 2.1: the client is authenticated before anything is done about the token', async () => {
  const token = await harness.tokenOf(harness.client);
  const { client_id } = harness.client;
  expect((await revoke({ token })).status).toBe(401);
  expect((await revoke({ token, client_id })).status).toBe(401);
  expect((await revoke({ token, client_id, client_secret: 'ops_wrong' })).status).toBe(401);
  expect((await revoke({ token }, bearer(token))).status).toBe(401);
  expect(await statusWith(token)).toBe(200);
});

test('RFC 7009 2.1: a token of another client is not revoked, and the request is refused', async () => {
  const token = await harness.tokenOf(harness.client);
  const reply = await revoke({ token, ...harness.other });
  expect([reply.status, reply.json.error, await statusWith(token)]).toEqual([400, 'invalid_request', 200]);
});

test('RFC 7009 2.1: the hint is a hint: with a wrong, unknown or no type the token is found all the same', async () => {
  for (const token_type_hint of ['access_token', 'refresh_token', 'something_else', '']) {
    const token = await harness.tokenOf(harness.client);
    expect((await revoke({ token, token_type_hint, ...harness.client })).status).toBe(200);
    expect(await statusWith(token)).toBe(401);
  }
});

test('RFC 7009 2.1: the token ends at once, and other tokens of the client live on', async () => {
  const [first, second] = [await harness.tokenOf(harness.client), await harness.tokenOf(harness.client)];
  expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200]);
  await revoke({ token: first, ...harness.client });
  for (let i = 0; i < 3; i += 1) expect(await statusWith(first)).toBe(401);
  expect(await statusWith(second)).toBe(200);
});

test('RFC 7009 2.2: a token that is invalid, unknown or revoked before is answered with 200', async () => {
  const token = await harness.tokenOf(harness.client);
  const expired = await harness.forge({ claims: { exp: 1, iat: 0 } });
  for (const text of [token, token, expired, 'garbage', 'a.b.c', '\u0000', `${token}x`, 'x'.repeat(50_000)]) {
    expect((await revoke({ token: text, ...harness.client })).status).toBe(200);
  }
});

test('RFC 7009 2.2: an ended token of another client is unknown to every client, and no error', async () => {
  const ended = await harness.tokenOf(harness.client);
  await revoke({ token: ended, ...harness.client });
  const expired = await harness.forge({ claims: { exp: 1, iat: 0 } });
  for (const token of [ended, expired]) {
    const { status, text } = await revoke({ token, ...harness.other });
    expect([status, text]).toEqual([200, '']);
  }
  const live = await harness.tokenOf(harness.client);
  expect((await revoke({ token: live, ...harness.other })).status).toBe(400);
});

test('RFC 7009 2.2.1: errors are those of RFC 6749 section 5.2', async () => {
  const wrong = await revoke({ token: 'x' }, basic(harness.client.client_id, 'ops_wrong'));
  expect([wrong.status, wrong.json.error]).toEqual([401, 'invalid_client']);
  expect(wrong.headers['www-authenticate']).toMatch(/^Basic realm=/);
  expect(wrong.headers['content-type']).toMatch(/^application\/json\b/);
  expect(Object.keys(wrong.json)).toEqual(['error', 'error_description', 'error_uri', 'code', 'request_id']);
});

test('RFC 7009 5: guessing credentials here is stopped like at the token endpoint', async () => {
  const { client_id, client_secret } = await harness.createClient();
  for (let i = 0; i < 10; i += 1)
    expect((await revoke({ token: 'x', client_id, client_secret: 'x' })).status).toBe(401);
  const reply = await harness.post('token', { grant_type: 'client_credentials', client_id, client_secret });
  expect([reply.status, reply.json.error]).toEqual([429, 'slow_down']);
  expect((await revoke({ token: 'x', ...harness.client }, { 'content-type': formType })).status).toBe(200);
});
