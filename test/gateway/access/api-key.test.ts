import { afterAll, beforeAll, expect, test } from 'vitest';
import { isApiKey, newApiKey } from '#src/gateway/model/credential-values.ts';
import { isWithinASecond } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Harness,
  openHarness,
  rawHeaders,
  read,
  scopes,
  tokenOf,
  withoutRequestId,
} from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';
import { openStoreLine } from '../harness/store-line.ts';

let harness: Harness;
let tenant: string;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const createKey = (expires?: Date) =>
  harness.credentials.createApiKey({ tenant, name: 'test', ...(expires === undefined ? undefined : { expires }) });

const get = (key: string, url = harness.url): Promise<Reply> =>
  sendRequest(url, 'GET', read, { headers: { 'x-api-key': key } });

const plainChallenge = (): string =>
  `Bearer realm="orderpass", resource_metadata="${harness.url}/.well-known/oauth-protected-resource"`;

test('A-013 no credential is INVALID_AUTH with a challenge that names no error', async () => {
  for (const headers of [{}, { 'x-api-key': '' }, { authorization: '', 'x-client-id': '', 'x-client-secret': '' }]) {
    const reply = await sendRequest(harness.url, 'GET', read, { headers: headers as Record<string, string> });
    expect([reply.status, reply.json.success, reply.json.error]).toEqual([401, false, 'INVALID_AUTH']);
    expect(reply.headers['www-authenticate']).toBe(plainChallenge());
  }
});

test('A-014 the right API key opens a read operation', async () => {
  const { value: api_key, keyId: key_id } = await createKey();
  expect((await get(api_key)).status).toBe(200);
  expect(api_key).toMatch(/^opk_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
  expect(api_key.startsWith(`${key_id}_`)).toBe(true);
});

test('A-049 an API key holds its fixed scopes and no other', async () => {
  const { value: api_key } = await createKey();
  const open: string[] = [];
  for (const [scope, method, path] of [
    ['read:menu', 'GET', '/api/menu/categories'],
    ['write:customers', 'POST', '/api/customer/create'],
    ['write:orders', 'POST', '/api/order/create'],
    ['write:menu', 'POST', '/api/menu/import'],
  ] as const) {
    const reply = await sendRequest(harness.url, method, path, { headers: { 'x-api-key': api_key } });
    if (reply.status === 200) open.push(scope);
    else expect([reply.status, reply.json.missing_scopes]).toEqual([403, [scope]]);
  }
  expect(open).toEqual(['read:menu', 'write:customers']);
});

test('unknown, revoked, expired and malformed keys are one INVALID_KEY', async () => {
  const revoked = await createKey();
  await harness.credentials.revokeApiKey(revoked.keyId);
  const ended = await createKey(new Date(harness.clock.now().getTime() - 1));
  const replies = [];
  for (const key of [newApiKey().value, revoked.value, ended.value, 'x', 'opk_', `${revoked.value}x`, 'é'.repeat(66)]) {
    const reply = await get(key);
    expect([reply.status, reply.json.error]).toEqual([401, 'INVALID_KEY']);
    expect(reply.headers['www-authenticate']).toBe(plainChallenge());
    replies.push(withoutRequestId(reply));
  }
  for (const reply of replies) expect(reply).toEqual(replies[0]);
});

test('a key ends when it expires, also one that is in use', async () => {
  const { value: api_key } = await createKey(new Date(harness.clock.now().getTime() + 60_000));
  expect((await get(api_key)).status).toBe(200);
  harness.clock.move(60_000);
  expect((await get(api_key)).status).toBe(401);
});

test('a mistyped or cut value is refused without a lookup', () => {
  const { value } = newApiKey();
  expect(isApiKey(value)).toBe(true);
  for (let place = 0; place < value.length; place += 1) {
    const other = value[place] === 'a' ? 'b' : 'a';
    expect(isApiKey(value.slice(0, place) + other + value.slice(place + 1))).toBe(false);
  }
  expect(isApiKey(value.slice(0, -1))).toBe(false);
  expect(isApiKey(value.replace('opk_', 'ops_'))).toBe(false);
});

test('A-015 an API key beside client headers, or sent twice, is ambiguous and the header is named', async () => {
  const { value: api_key } = await createKey();
  const client = await harness.createClient([tenant]);
  const both = await sendRequest(harness.url, 'GET', read, {
    headers: { 'x-api-key': api_key, ...clientHeaders(client) },
  });
  expect([both.status, both.json.error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(both.json.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
    ['X-Api-Key', 'AMBIGUOUS_CREDENTIALS'],
    ['X-Client-Id', 'AMBIGUOUS_CREDENTIALS'],
  ]);
  const twice = await sendRequest(harness.url, 'GET', read, {
    headers: rawHeaders(harness.url, 'x-api-key', api_key, 'X-API-KEY', api_key),
  });
  expect([twice.status, twice.json.errors[0].pointer, twice.json.errors[0].code]).toEqual([
    400,
    'X-Api-Key',
    'AMBIGUOUS_CREDENTIALS',
  ]);
  const scheme = await sendRequest(harness.url, 'GET', read, {
    headers: { 'x-api-key': api_key, authorization: 'Basic eDp5' },
  });
  expect([scheme.status, scheme.json.error]).toEqual([400, 'VALIDATION_ERROR']);
  expect(
    (
      await sendRequest(harness.url, 'GET', read, {
        headers: rawHeaders(harness.url, 'x-api-key', '', 'x-api-key', api_key),
      })
    ).status,
  ).toBe(200);
});

test('A-020 another Authorization scheme alone is INVALID_AUTH with the Bearer challenge', async () => {
  for (const authorization of ['Basic eDp5', 'Bearerx abc', 'Negotiate x', 'x']) {
    const reply = await sendRequest(harness.url, 'GET', read, { headers: { authorization } });
    expect([authorization, reply.status, reply.json.error]).toEqual([authorization, 401, 'INVALID_AUTH']);
    expect(reply.headers['www-authenticate']).toBe(plainChallenge());
  }
});

test('A-022 a key revoked anywhere is refused by every gateway within 1 s, and stays refused', async () => {
  const other = await harness.openDoor();
  const { value: api_key, keyId: key_id } = await createKey();
  const kept = await createKey();
  for (const url of [harness.url, other.url]) expect((await get(api_key, url)).status).toBe(200);
  await harness.credentials.revokeApiKey(key_id);
  for (const url of [harness.url, other.url]) {
    await isWithinASecond(async () => (await get(api_key, url)).status, 401);
    expect((await get(kept.value, url)).status).toBe(200);
  }
});

test('A-022 a gateway without its background services also refuses a revoked key within 1 s', async () => {
  const unnotified = await harness.openDoor({ runsServices: false });
  const { value: api_key, keyId: key_id } = await createKey();
  expect((await get(api_key, unnotified.url)).status).toBe(200);
  await harness.credentials.revokeApiKey(key_id);
  await isWithinASecond(async () => (await get(api_key, unnotified.url)).status, 401);
});

test('while the store is cut off or silent, known keys are accepted for 1 s at most, and no key after that; it recovers alone', async () => {
  const line = await openStoreLine(harness.database.url);
  const door = await harness.openDoor({ pool: line.pool });
  const { value: api_key } = await createKey();
  const client = await harness.createClient([tenant]);
  const token = await tokenOf(door.url, client);
  const callers: Record<string, string>[] = [{ 'x-api-key': api_key }, clientHeaders(client), bearer(token)];
  try {
    for (const fail of [line.cut, line.freeze]) {
      await expect.poll(async () => (await get(api_key, door.url)).status).toBe(200);
      await fail();
      await isWithinASecond(async () => (await get(api_key, door.url)).status, 503);
      for (const headers of [...callers, { 'x-api-key': newApiKey().value }]) {
        const reply = await sendRequest(door.url, 'GET', read, { headers });
        expect([reply.status, reply.json.error, reply.headers['retry-after']]).toEqual([503, 'OVERLOADED', '2']);
      }
      expect((await get('garbage', door.url)).status).toBe(401);
      await line.restore();
    }
    for (const headers of callers) {
      const status = async () => (await sendRequest(door.url, 'GET', read, { headers })).status;
      await expect.poll(status).toBe(200);
    }
  } finally {
    await door.close();
    await line.close();
  }
});

test('A-025 A-026 the key of a tenant that is gone is RESTAURANT_NOT_FOUND, of one with API access off API_DISABLED', async () => {
  const own = await harness.createTenant();
  const { value: api_key } = await harness.credentials.createApiKey({ tenant: own, name: 'test' });
  await harness.credentials.setTenantApiEnabled(own, false);
  expect([(await get(api_key)).status, (await get(api_key)).json.error]).toEqual([403, 'API_DISABLED']);
  await harness.credentials.removeTenant(own);
  await expect.poll(async () => (await get(api_key)).json.error).toBe('RESTAURANT_NOT_FOUND');
  expect((await get(api_key)).status).toBe(401);
});

test('the scopes of the table are what the tests name', async () => {
  const { json } = await sendRequest(harness.url, 'GET', '/.well-known/oauth-protected-resource');
  expect(json.scopes_supported).toEqual(scopes);
});
