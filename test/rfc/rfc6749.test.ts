/**
 * RFC 6749, sections 2.3, 4.4 and 5, with what they use of 3.2 and 3.3. Not applicable:
 * - 2.3.1, 3.2 TLS: ends in front of the process; the origin must be https unless it is loopback (settings of the program).
 * - 2.3 client types and other methods "with the resource owner": only confidential clients of the operator exist.
 * - 4.4.2, 5.1 what a client must do (ignore unknown members, send one method): duties of the other side.
 * - 5.1 refresh tokens: none are issued (4.4.3).
 * - 5.2 invalid_grant for codes, refresh tokens and redirection addresses: there are none.
 */
import { generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { origin, type Reply, sendRequest } from '../gateway/harness/public-door.ts';
import { basic, formType, nowSeconds, openRfcHarness, type RfcHarness } from './rfc-harness.ts';

let harness: RfcHarness;

beforeAll(async () => {
  harness = await openRfcHarness();
});

afterAll(() => harness.close());

const grant = { grant_type: 'client_credentials' };
const ask = (form: Parameters<RfcHarness['post']>[1], headers?: Record<string, string>): Promise<Reply> =>
  harness.post('token', form, headers);

const expectError = (reply: Reply, status: number, error: string): void =>
  expect([reply.status, reply.json?.error]).toEqual([status, error]);

const assertion = (id: string, key: Parameters<SignJWT['sign']>[0], jti: string): Promise<string> =>
  new SignJWT({ iss: id, sub: id, aud: origin, jti, iat: nowSeconds(), exp: nowSeconds() + 60 })
    .setProtectedHeader({ alg: 'ES256' })
    .sign(key);

test('RFC 6749 2.3: two methods of client authentication in one request are refused, in every combination', async () => {
  const { client } = harness;
  const asserted = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' };
  const header = basic(client.client_id, client.client_secret);
  for (const [form, headers] of [
    [{ ...grant, ...client }, header],
    [{ ...grant, ...asserted, client_assertion: 'a.b.c' }, header],
    [{ ...grant, ...client, ...asserted, client_assertion: 'a.b.c' }, {}],
  ] as const) {
    expectError(await ask(form, headers), 400, 'invalid_request');
  }
  expect((await ask(grant, header)).status).toBe(200);
});

test('RFC 6749 2.3.1: HTTP Basic works for every client that has a secret, at all three endpoints', async () => {
  const { service } = harness;
  const header = basic(service.client_id, service.client_secret);
  expect((await ask(grant, header)).status).toBe(200);
  expect((await harness.post('revoke', { token: 'unknown' }, header)).status).toBe(200);
  expect((await harness.post('introspect', { token: 'unknown' }, header)).status).toBe(200);
});

test('RFC 6749 2.3.1: both parts of Basic are form-encoded before they are joined, and are decoded here', async () => {
  const { client_id, client_secret } = harness.client;
  const encodeAll = (text: string): string =>
    [...text].map((sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
  const pair = `${encodeAll(client_id)}:${encodeAll(client_secret)}`;
  const reply = await ask(grant, { authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
  expect(reply.status).toBe(200);
});

test('RFC 6749 2.3.1: in the body both client_id and client_secret are needed', async () => {
  const { client_id, client_secret } = harness.client;
  expect((await ask({ ...grant, client_id })).status).toBe(401);
  expect((await ask({ ...grant, client_secret })).status).toBe(401);
  expect((await ask({ ...grant, client_id, client_secret })).status).toBe(200);
});

test('RFC 6749 2.3.1: client credentials in the request URI are refused, also the right ones', async () => {
  const { client } = harness;
  const query = new URLSearchParams(client).toString();
  expectError(
    await sendRequest(harness.door.url, 'POST', `/api/oauth/token?${query}`, {
      headers: { 'content-type': formType },
      body: 'grant_type=client_credentials',
    }),
    400,
    'invalid_request',
  );
  expectError(await harness.post(`token?${query}`, { ...grant, ...client }), 400, 'invalid_request');
  expect((await ask({ ...grant, ...client })).status).toBe(200);
});

test('RFC 6749 2.3.1: guessing a password is stopped after ten failures, at whichever endpoint and by whichever method', async () => {
  const client = await harness.createClient();
  const wrong = `${client.client_secret.slice(0, -1)}_`;
  const tries = [
    () => ask({ ...grant, client_id: client.client_id, client_secret: wrong }),
    () => ask(grant, basic(client.client_id, wrong)),
    () => harness.post('revoke', { token: 'x', client_id: client.client_id, client_secret: wrong }),
    () => harness.post('introspect', { token: 'x' }, basic(client.client_id, wrong)),
    () => harness.read({ 'x-client-id': client.client_id, 'x-client-secret': wrong }),
  ];
  for (let i = 0; i < 10; i += 1) expect((await tries[i % tries.length]?.())?.status).toBe(401);
  for (const attempt of tries) expect((await attempt()).status).toBe(429);
  const right = await ask({ ...grant, ...client });
  expect([right.status, right.json.error, Number(right.headers['retry-after'])]).toEqual([
    429,
    'slow_down',
    right.json.retry_after,
  ]);
  expect((await ask({ ...grant, ...harness.client })).status).toBe(200);
});

test('RFC 6749 2.3.2: another method maps an identifier to its registered key; a key proves no other client', async () => {
  const [client, victim] = [await harness.createClient(), await harness.createClient()];
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await harness.credentials.addClientKey(client.client_id, publicKey.export({ format: 'jwk' }));
  const send = async (id: string, jti: string, more: Record<string, string> = {}): Promise<Reply> =>
    ask({
      ...grant,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await assertion(id, privateKey, jti),
      ...more,
    });
  expectError(await send(victim.client_id, '1'), 401, 'invalid_client');
  expectError(await send(client.client_id, '2', { client_id: victim.client_id }), 401, 'invalid_client');
  expect((await send(client.client_id, '3')).status).toBe(200);
});

test('RFC 6749 3.2: tokens are given for POST only', async () => {
  const { client } = harness;
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const reply = await sendRequest(harness.door.url, method, '/api/oauth/token', {
      headers: basic(client.client_id, client.client_secret),
    });
    expect([reply.status, reply.headers.allow, reply.text.includes('access_token')]).toEqual([405, 'POST', false]);
  }
});

test('RFC 6749 3.2: a parameter without a value counts as omitted, an unknown one is ignored, a known one comes once', async () => {
  const { client } = harness;
  const plain = Object.entries({ ...grant, ...client });
  expect((await ask([...plain, ['scope', ''], ['client_assertion', ''], ['resource', '']])).status).toBe(200);
  expect((await ask([...plain, ['colour', 'red'], ['colour', 'blue']])).status).toBe(200);
  for (const name of ['grant_type', 'client_id', 'client_secret', 'scope', 'resource']) {
    const value = Object.fromEntries(plain)[name] ?? 'read:orders';
    const rest = plain.filter(([other]) => other !== name);
    expectError(await ask([...rest, [name, value], [name, value]]), 400, 'invalid_request');
  }
});

test('RFC 6749 3.3: scope names are case-sensitive, their sequence does not matter, and without scope all are granted and listed', async () => {
  const { client } = harness;
  expectError(await ask({ ...grant, ...client, scope: 'READ:ORDERS' }), 400, 'invalid_scope');
  const one = await ask({ ...grant, ...client, scope: 'read:menu read:orders' });
  const other = await ask({ ...grant, ...client, scope: 'read:orders read:menu' });
  expect([one.json.scope, other.json.scope]).toEqual(['read:orders read:menu', 'read:orders read:menu']);
  const all = await ask({ ...grant, ...client });
  expect(all.json.scope.split(' ')).toHaveLength(13);
});

test('RFC 6749 3.3: a scope that differs from the requested one is in the answer; one that cannot be granted is invalid_scope', async () => {
  const narrow = await harness.createClient({ scopes: ['read:orders'] });
  expectError(await ask({ ...grant, ...narrow, scope: 'read:orders write:orders' }), 400, 'invalid_scope');
  const { json } = await ask({ ...grant, ...narrow });
  expect(json.scope).toBe('read:orders');
});

test('RFC 6749 4.4: only a client that proves its secret uses the grant; a public client has no way in', async () => {
  const { client_id } = harness.client;
  for (const form of [
    { ...grant, client_id },
    { ...grant, client_id, client_secret: '' },
  ]) {
    expectError(await ask(form), 401, 'invalid_client');
  }
  // An empty password in Basic is no authentication either.
  expectError(await ask(grant, basic(client_id, '')), 401, 'invalid_client');
});

test('RFC 6749 4.4.2: grant_type is needed and must be client_credentials, exactly', async () => {
  const { client } = harness;
  expectError(await ask(client), 400, 'invalid_request');
  for (const grant_type of ['Client_Credentials', 'client_credentials ', 'client-credentials', 'password']) {
    expectError(await ask({ ...client, grant_type }), 400, 'unsupported_grant_type');
  }
});

test('F-32 RFC 6749 4.4.2: the client authenticates; without credentials there is no token', async () => {
  expectError(await ask(grant), 401, 'invalid_client');
});

test('RFC 6749 5.2: a wrong Basic credential is answered with its scheme, also behind an empty field of the same name', async () => {
  const wrong = basic(harness.client.client_id, 'x').authorization ?? '';
  const { url } = harness.door;
  const fields = ['content-type', formType, 'authorization', '', 'authorization', wrong];
  const reply = await sendRequest(url, 'POST', '/api/oauth/token', {
    headers: ['host', new URL(url).host, ...fields],
    body: new URLSearchParams(grant).toString(),
  });
  expectError(reply, 401, 'invalid_client');
  expect(reply.headers['www-authenticate']).toBe('Basic realm="orderpass"');
});

test('RFC 6749 4.4.2: parameters come as application/x-www-form-urlencoded in UTF-8, nothing else is read', async () => {
  const { client } = harness;
  const form = new URLSearchParams({ ...grant, ...client }).toString();
  for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', `x${formType}`]) {
    expectError(await ask(form, { 'content-type': type }), 400, 'invalid_request');
  }
  expect((await ask(form, { 'content-type': `${formType}; charset=UTF-8` })).status).toBe(200);
});

test('RFC 6749 5.1: a token answer has access_token, token_type, the whole seconds that it lives and its scope, and no refresh token (4.4.3)', async () => {
  const { status, json } = await ask({ ...grant, ...harness.client, scope: 'read:orders' });
  expect([status, Object.keys(json).sort()]).toEqual([200, ['access_token', 'expires_in', 'scope', 'token_type']]);
  expect([typeof json.access_token, json.token_type, json.expires_in, json.scope]).toEqual([
    'string',
    'Bearer',
    3600,
    'read:orders',
  ]);
});

test('RFC 6749 5.1: the parameters are one JSON object of type application/json, numbers as numbers', async () => {
  const { headers, text } = await ask({ ...grant, ...harness.client });
  expect(headers['content-type']).toMatch(/^application\/json\b/);
  expect(text).toMatch(/^\{.*"expires_in":\d+[,}]/);
});

test('RFC 6749 5.1: answers with tokens or about them carry Cache-Control: no-store and Pragma: no-cache', async () => {
  const { client, service } = harness;
  const issued = await ask({ ...grant, ...client });
  const token = String(issued.json.access_token);
  const introspected = await harness.post('introspect', { token, ...service });
  const ended = await harness.post('revoke', { token, ...client });
  const refused = await ask({ ...grant, client_id: client.client_id, client_secret: 'ops_wrong' });
  for (const { headers } of [issued, introspected, ended, refused]) {
    expect([headers['cache-control'], headers.pragma]).toEqual(['no-store', 'no-cache']);
  }
});

test('RFC 6749 5.2: invalid_request names what is missing, repeated, of an unsupported kind or malformed', async () => {
  const { client } = harness;
  const header = { authorization: 'Basic not-base64!' };
  const replies = [
    await ask(client),
    await ask([...Object.entries({ ...grant, ...client }), ['scope', 'read:menu'], ['scope', 'read:menu']]),
    await ask(grant, header),
    await ask('%%%'),
    await ask(''),
  ];
  for (const reply of replies) expectError(reply, 400, 'invalid_request');
});

test('RFC 6749 5.2: invalid_client for an unknown client and a failed authentication, without a difference', async () => {
  const unknown = await ask({ ...grant, client_id: 'opc_unknown', client_secret: harness.client.client_secret });
  const wrong = await ask({
    ...grant,
    client_id: harness.client.client_id,
    client_secret: harness.other.client_secret,
  });
  for (const reply of [unknown, wrong]) expectError(reply, 401, 'invalid_client');
  expect({ ...unknown.json, request_id: '' }).toEqual({ ...wrong.json, request_id: '' });
});

test('RFC 6749 5.2: a client that tried the Authorization header gets 401 with a challenge of the scheme that it used', async () => {
  for (const endpoint of ['token', 'revoke', 'introspect']) {
    for (const scheme of ['Basic', 'basic', 'BASIC']) {
      const header = basic('opc_unknown', 'ops_nothing', scheme);
      const reply = await harness.post(endpoint, { ...grant, token: 'x' }, header);
      expectError(reply, 401, 'invalid_client');
      expect(reply.headers['www-authenticate']).toMatch(/^Basic realm="[^"]+"/);
    }
  }
});

test('RFC 6749 5.2: invalid_grant when nothing of the grant is left', async () => {
  expectError(await ask({ ...grant, ...(await harness.createClient({ tenants: [] })) }), 400, 'invalid_grant');
});

test('RFC 6749 5.2: unauthorized_client for a client that may not use the grant', async () => {
  const client = await harness.createClient();
  await harness.credentials.setClientMayUseTokens(client.client_id, false);
  expectError(await ask({ ...grant, ...client }), 400, 'unauthorized_client');
});

test('RFC 6749 5.2: unsupported_grant_type before anything is said about the client', async () => {
  for (const grant_type of ['password', 'authorization_code', 'refresh_token', 'urn:example:other']) {
    expectError(await ask({ grant_type, ...harness.client }), 400, 'unsupported_grant_type');
    expectError(await ask({ grant_type }), 400, 'unsupported_grant_type');
  }
});

test('RFC 6749 5.2: invalid_scope for unknown, malformed and exceeding scopes', async () => {
  for (const scope of [
    'unknown',
    'read:orders unknown',
    'read:orders  read:menu',
    ' read:orders',
    'è',
    '"',
    '\\',
    '\n',
  ]) {
    expectError(await ask({ ...grant, ...harness.client, scope }), 400, 'invalid_scope');
  }
});

test('RFC 6749 5.2: errors are JSON objects; error, error_description and error_uri keep to their characters', async () => {
  const { client } = harness;
  const nasty = '"\\\r\nè\u0000😀<script>';
  const replies = [
    await ask({ grant_type: nasty, ...client }),
    await ask({ ...grant, client_id: nasty, client_secret: nasty }),
    await ask({ ...grant, ...client, scope: nasty }),
    await ask({ ...grant, ...client, resource: nasty }),
    await ask({ ...grant, client_assertion: nasty, client_assertion_type: nasty }),
    await harness.post('revoke', { ...client, [nasty]: nasty }),
    await harness.post('introspect', { ...client, token: nasty }),
    await harness.post(`token?${encodeURIComponent(nasty)}`, grant),
  ];
  for (const { status, headers, json } of replies) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(headers['content-type']).toMatch(/^application\/json\b/);
    expect(json.error).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(json.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(json.error_uri).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(URL.canParse(json.error_uri)).toBe(true);
  }
});
