import { afterAll, beforeAll, expect, test } from 'vitest';
import { newClientId, newClientSecret } from '#src/gateway/model/credential-values.ts';
import { withinASecond } from '../../support/until.ts';
import {
  bearer,
  clientHeaders,
  openStand,
  rawHeaders,
  read,
  type Stand,
  tokenOf,
  withoutRequestId,
} from '../harness/gateway-harness.ts';
import { knock, type Reply } from '../harness/public-door.ts';

let stand: Stand;
let tenant: string;
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  stand = await openStand();
  tenant = await stand.createTenant();
  client = await stand.createClient([tenant]);
});

afterAll(() => stand.close());

const get = (headers: Record<string, string>, url = stand.url): Promise<Reply> => knock(url, 'GET', read, { headers });

test('A-014 the right client id and secret open a read operation', async () => {
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
  const token = await tokenOf(stand.url, client);
  for (const empty of ['x-client-id', 'x-client-secret', 'x-api-key']) {
    expect((await get({ ...bearer(token), [empty]: '' })).status).toBe(200);
  }
});

test('A-018 unknown client, disabled client, wrong, ended and foreign secret get one answer', async () => {
  const disabled = await stand.createClient([tenant]);
  await stand.credentials.disableClient(disabled.client_id);
  const ended = await stand.credentials.addClientSecret(client.client_id, new Date(stand.clock.now().getTime() - 1));
  const other = await stand.createClient([tenant]);
  const replies = [];
  for (const [client_id, client_secret] of [
    [newClientId(), client.client_secret],
    ['nobody', 'nothing'],
    [client.client_id, newClientSecret().value],
    [client.client_id, other.client_secret],
    [client.client_id, ended.client_secret],
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
    const headers = rawHeaders(stand.url, 'x-client-id', client_id, 'x-client-secret', client_secret, name, value);
    const reply = await knock(stand.url, 'GET', read, { headers });
    expect([reply.status, reply.json.errors[0].pointer]).toEqual([400, name]);
    expect(reply.json.errors[0].code).toBe('AMBIGUOUS_CREDENTIALS');
  }
});

test('A-023 two live secrets both open an operation until one is revoked', async () => {
  const own = await stand.credentials.createClient({ name: 'rotating', tenants: [tenant] });
  const second = await stand.credentials.addClientSecret(own.client_id);
  const status = async (client_secret: string) =>
    (await get(clientHeaders({ client_id: own.client_id, client_secret }))).status;
  await expect.poll(() => status(second.client_secret), withinASecond).toBe(200);
  expect(await status(own.client_secret)).toBe(200);
  await stand.credentials.revokeClientSecret(own.secret_id);
  await expect.poll(() => status(own.client_secret), withinASecond).toBe(401);
  expect(await status(second.client_secret)).toBe(200);
});

test('A-022 a client disabled anywhere is refused by every gateway within 1 s', async () => {
  const other = await stand.openDoor();
  const own = await stand.createClient([tenant]);
  for (const url of [stand.url, other.url]) expect((await get(clientHeaders(own), url)).status).toBe(200);
  await stand.credentials.disableClient(own.client_id);
  for (const url of [stand.url, other.url]) {
    await expect.poll(async () => (await get(clientHeaders(own), url)).status, withinASecond).toBe(401);
  }
});

test('A-025 A-026 a client is RESTAURANT_NOT_FOUND when all its tenants are gone, API_DISABLED when its only one is off', async () => {
  const [one, two] = [await stand.createTenant(), await stand.createTenant()];
  const own = await stand.createClient([one, two]);
  expect((await get(clientHeaders(own))).json.error).not.toBe('RESTAURANT_NOT_FOUND');
  await stand.credentials.removeTenant(one);
  await stand.credentials.setTenantApiEnabled(two, false);
  const error = async () => (await get(clientHeaders(own))).json.error;
  await expect.poll(error, withinASecond).toBe('API_DISABLED');
  await stand.credentials.removeTenant(two);
  await expect.poll(error, withinASecond).toBe('RESTAURANT_NOT_FOUND');
});

test('a client holds the scopes that it was granted, and one without a list holds all', async () => {
  const few = await stand.createClient([tenant], ['read:menu']);
  const refused = await get(clientHeaders(few));
  expect([refused.status, refused.json.missing_scopes]).toEqual([403, ['read:orders']]);
  const write = await knock(stand.url, 'POST', '/api/order/create', { headers: clientHeaders(client) });
  expect(write.status).toBe(200);
  await expect(stand.createClient([tenant], ['read:nothing'])).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  await expect(stand.createClient(['tenant_none'])).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
