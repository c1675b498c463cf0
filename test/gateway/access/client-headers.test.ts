import { afterAll, beforeAll, expect, test } from 'vitest';
import { newClientId, newClientSecret } from '#src/gateway/model/credential-values.ts';
import { isWithinASecond } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  type Harness,
  openHarness,
  rawHeaders,
  read,
  tokenOf,
  withoutRequestId,
} from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = await harness.createClient([tenant]);
});

afterAll(() => harness.close());

const get = (headers: Record<string, string>, url = harness.url): Promise<Reply> =>
  sendRequest(url, 'GET', read, { headers });

test('A-014 the right client id and secret give access to a read operation', async () => {
  expect((await get(clientHeaders(client))).status).toBe(200);
});

test('A-017 one client header without the other is INVALID_AUTH and names the missing one; empty ones are absent', async () => {
  for (const [headers, missing] of [
    [{ 'x-client-id': client.client_id }, 'X-Client-Secret'],
    [{ 'x-client-id': client.client_id, 'x-client-secret': '' }, 'X-Client-Secret'],
    [{ 'x-client-secret': client.client_secret }, 'X-Client-Id'],
  ] as const) {
    const reply = await get(headers);
    expect([reply.status, reply.json.error]).toEqual([401, 'INVALID_AUTH']);
    expect(reply.json.message).toContain(missing);
  }
  const token = await tokenOf(harness.url, client);
  for (const empty of ['x-client-id', 'x-client-secret', 'x-api-key']) {
    expect((await get({ ...bearer(token), [empty]: '' })).status).toBe(200);
  }
});

test('A-018 an unknown client, a disabled client, and a wrong, ended or foreign secret get the same answer', async () => {
  const disabled = await harness.createClient([tenant]);
  await harness.credentials.disableClient(disabled.client_id);
  const ended = await harness.credentials.addClientSecret(
    client.client_id,
    new Date(harness.clock.now().getTime() - 1),
  );
  const other = await harness.createClient([tenant]);
  const replies = [];
  for (const [client_id, client_secret] of [
    [newClientId(), client.client_secret],
    ['unknown', 'nothing'],
    [client.client_id, newClientSecret().value],
    [client.client_id, other.client_secret],
    [client.client_id, ended.secret],
    [client.client_id, client.client_id],
    [disabled.client_id, disabled.client_secret],
  ] as const) {
    const reply = await get(clientHeaders({ client_id, client_secret }));
    expect([reply.status, reply.json.error]).toEqual([401, 'INVALID_AUTH']);
    replies.push(withoutRequestId(reply));
  }
  for (const reply of replies) expect(reply).toEqual(replies[0]);
  expect((await get(clientHeaders(client))).status).toBe(200);
});

test('A-015 one client header sent twice is ambiguous and named', async () => {
  const { client_id, client_secret } = client;
  for (const [name, value] of [
    ['X-Client-Id', client_id],
    ['X-Client-Secret', client_secret],
  ] as const) {
    const headers = rawHeaders(harness.url, 'x-client-id', client_id, 'x-client-secret', client_secret, name, value);
    const reply = await sendRequest(harness.url, 'GET', read, { headers });
    expect([reply.status, reply.json.errors[0].pointer]).toEqual([400, name]);
    expect(reply.json.errors[0].code).toBe('AMBIGUOUS_CREDENTIALS');
  }
});

test('A-023 two live secrets are both accepted until one is revoked', async () => {
  const own = await harness.credentials.createClient({ name: 'rotating', tenants: [tenant] });
  const second = await harness.credentials.addClientSecret(own.clientId);
  const status = async (client_secret: string) =>
    (await get(clientHeaders({ client_id: own.clientId, client_secret }))).status;
  await expect.poll(() => status(second.secret)).toBe(200);
  expect(await status(own.secret)).toBe(200);
  await harness.credentials.revokeClientSecret(own.secretId);
  await expect.poll(() => status(own.secret)).toBe(401);
  expect(await status(second.secret)).toBe(200);
});

test('A-022 a client disabled anywhere is refused by every gateway within 1 s', async () => {
  const other = await harness.openDoor();
  const own = await harness.createClient([tenant]);
  for (const url of [harness.url, other.url]) expect((await get(clientHeaders(own), url)).status).toBe(200);
  await harness.credentials.disableClient(own.client_id);
  for (const url of [harness.url, other.url]) {
    await isWithinASecond(async () => (await get(clientHeaders(own), url)).status, 401);
  }
});

test('A-025 A-026 a client is RESTAURANT_NOT_FOUND when all its tenants are gone, API_DISABLED when its only one is off', async () => {
  const [one, two] = [await harness.createTenant(), await harness.createTenant()];
  const own = await harness.createClient([one, two]);
  expect((await get(clientHeaders(own))).json.error).not.toBe('RESTAURANT_NOT_FOUND');
  await harness.credentials.removeTenant(one);
  await harness.credentials.setTenantApiEnabled(two, false);
  const error = async () => (await get(clientHeaders(own))).json.error;
  await expect.poll(error).toBe('API_DISABLED');
  await harness.credentials.removeTenant(two);
  await expect.poll(error).toBe('RESTAURANT_NOT_FOUND');
});

test('a client holds its granted scopes, and a client without a list holds all', async () => {
  const few = await harness.createClient([tenant], ['read:menu']);
  const refused = await get(clientHeaders(few));
  expect([refused.status, refused.json.missing_scopes]).toEqual([403, ['read:orders']]);
  const write = await sendRequest(harness.url, 'POST', '/api/order/create', { headers: clientHeaders(client) });
  expect(write.status).toBe(200);
  await expect(harness.createClient([tenant], ['read:nothing'])).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  await expect(harness.createClient(['tenant_none'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
