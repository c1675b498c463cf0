import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  bearer,
  clientHeaders,
  type Harness,
  openHarness,
  pick,
  postToken,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { type Reply, sendRequest } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
const grant = { grant_type: 'client_credentials' };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
});

afterAll(() => harness.close());

const get = (headers: Record<string, string>): Promise<Reply> => sendRequest(harness.url, 'GET', read, { headers });
const becomes = (headers: Record<string, string>, status: number): Promise<void> =>
  expect.poll(async () => (await get(headers)).status).toBe(status);

test('A-024 A-039 a quarantined client is refused by headers, by Bearer and at the token endpoint, with reason and remedy', async () => {
  const client = pick(await harness.createClient([tenant]));
  const token = await tokenOf(harness.url, client);
  expect((await get(clientHeaders(client))).status).toBe(200);
  await harness.credentials.quarantine('client', client.client_id, 'the secret was seen in a public repository');
  await becomes(clientHeaders(client), 403);

  const byHeaders = await get(clientHeaders(client));
  expect(byHeaders.json).toMatchObject({ success: false, error: 'UNAUTHORIZED' });
  const byToken = await get(bearer(token));
  expect([byToken.status, byToken.json.error]).toEqual([403, 'insufficient_scope']);
  expect(byToken.headers['www-authenticate']).not.toMatch(/ scope=/);
  const atEndpoint = await postToken(harness.url, { ...grant, ...client });
  expect([atEndpoint.status, atEndpoint.json.error]).toEqual([400, 'unauthorized_client']);
  for (const text of [byHeaders.json.message, byToken.json.error_description, atEndpoint.json.error_description]) {
    expect(text).toContain('the secret was seen in a public repository');
    expect(text).toContain('Contact support');
  }
  // Only a caller with a valid secret gets the reason.
  expect((await get(clientHeaders({ ...client, client_secret: 'wrong' }))).status).toBe(401);
  const wrong = await postToken(harness.url, { ...grant, ...client, client_secret: 'wrong' });
  expect([wrong.status, wrong.json.error]).toEqual([401, 'invalid_client']);

  await harness.credentials.reactivate('client', client.client_id, 'the secret was changed');
  await becomes(clientHeaders(client), 200);
  expect((await get(bearer(token))).status).toBe(200);
  expect((await postToken(harness.url, { ...grant, ...client })).status).toBe(200);
});

test('A-464 a quarantine is shown with its own reason, person and time, whatever was changed since', async () => {
  const made = await harness.createClient([tenant]);
  const { client_id } = pick(made);
  const key = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const reason = 'calls from two countries';
  const shownClient = () => harness.credentials.showClient(client_id);
  const shownKey = async () => (await harness.credentials.listApiKeys(tenant)).find(({ id }) => id === key.keyId);

  await harness.credentials.revokeClientTokens(client_id);
  expect(await shownClient()).toMatchObject({ state: 'active', reason: null, actor: null, changed: null });
  await harness.credentials.quarantine('client', client_id, reason);
  await harness.credentials.quarantine('secret', made.secret_id, reason);
  await harness.credentials.quarantine('api_key', key.keyId, reason);
  const { changed } = await shownClient();
  expect(changed).toBeInstanceOf(Date);
  await harness.credentials.revokeClientTokens(client_id);
  await harness.credentials.rotateClientSecret(client_id, 24);
  await harness.credentials.rotateApiKey(key.keyId, 24);
  const client = await shownClient();
  expect(client).toMatchObject({ state: 'quarantined', reason, changed });
  expect(client.secrets.find(({ id }) => id === made.secret_id)).toMatchObject({ state: 'quarantined', reason });
  expect(await shownKey()).toMatchObject({ state: 'quarantined', reason });
  expect(
    (await harness.credentials.listClients({ after: undefined, limit: 100 })).find(
      ({ clientId }) => clientId === client_id,
    ),
  ).toMatchObject({
    reason,
  });

  await harness.credentials.reactivate('client', client_id, 'it was a holiday');
  await harness.credentials.revokeClientTokens(client_id);
  expect(await shownClient()).toMatchObject({ state: 'active', reason: 'it was a holiday' });
});

test('A-024 one secret, or one API key, is quarantined without the others', async () => {
  const made = await harness.createClient([tenant]);
  const { client_id, secret_id } = made as typeof made & { secret_id: string };
  const second = { client_id, client_secret: (await harness.credentials.addClientSecret(client_id)).secret };
  await harness.credentials.quarantine('secret', secret_id, 'laptop lost');
  await becomes(clientHeaders(made), 403);
  const atEndpoint = await postToken(harness.url, { ...grant, ...pick(made) });
  expect([atEndpoint.status, atEndpoint.json.error]).toEqual([400, 'unauthorized_client']);
  expect((await get(clientHeaders(second))).status).toBe(200);
  expect((await postToken(harness.url, { ...grant, ...second })).status).toBe(200);

  const key = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const other = await harness.credentials.createApiKey({ tenant, name: 'printer' });
  expect((await get({ 'x-api-key': key.value })).status).toBe(200);
  await harness.credentials.quarantine('api_key', key.keyId, 'used from an unknown address');
  await becomes({ 'x-api-key': key.value }, 403);
  const refused = await get({ 'x-api-key': key.value });
  expect(refused.json.error).toBe('UNAUTHORIZED');
  expect(refused.json.message).toContain('used from an unknown address');
  expect((await get({ 'x-api-key': other.value })).status).toBe(200);
  await harness.credentials.reactivate('api_key', key.keyId, 'checked');
  await becomes({ 'x-api-key': key.value }, 200);
});

test('each state is stored with reason, actor and time, and a disabled client stays disabled', async () => {
  const { client_id } = await harness.createClient([tenant]);
  const shown = () => harness.credentials.showClient(client_id);
  expect(await shown()).toMatchObject({ state: 'active', reason: null, actor: null, changed: null });
  const before = Date.now();
  await harness.credentials.quarantine('client', client_id, 'under review');
  const { changed, ...rest } = await shown();
  expect(rest).toMatchObject({ state: 'quarantined', reason: 'under review', actor: 'system' });
  expect(changed?.getTime()).toBeGreaterThanOrEqual(before);
  expect(changed?.getTime()).toBeLessThanOrEqual(Date.now());
  await harness.credentials.reactivate('client', client_id, 'cleared');
  expect(await shown()).toMatchObject({ state: 'active', reason: 'cleared' });
  await harness.credentials.disableClient(client_id, undefined, 'contract ended');
  expect(await shown()).toMatchObject({ state: 'revoked', reason: 'contract ended' });
  await expect(harness.credentials.reactivate('client', client_id, 'x')).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(harness.credentials.quarantine('client', client_id, ' ')).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
  });
  await expect(harness.credentials.quarantine('client', 'opc_absent', 'x')).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });

  const key = await harness.credentials.createApiKey({ tenant, name: 'old', expires: new Date(Date.now() - 1_000) });
  const [entry] = (await harness.credentials.listApiKeys(tenant)).filter(({ id }) => id === key.keyId);
  expect(entry).toMatchObject({ state: 'expired', name: 'old' });
});

test('A-022 all keys of a tenant are revoked at once, and keys of another tenant stay valid', async () => {
  const [one, two] = [await harness.createTenant(), await harness.createTenant()];
  const keys: { keyId: string; value: string }[] = [];
  for (const of of [one, one, two]) keys.push(await harness.credentials.createApiKey({ tenant: of, name: 'k' }));
  const status = (): Promise<number[]> =>
    Promise.all(keys.map(async ({ value }) => (await get({ 'x-api-key': value })).status));
  expect(await status()).toEqual([200, 200, 200]);
  expect((await harness.credentials.revokeTenantKeys(one)).sort()).toEqual(
    keys
      .slice(0, 2)
      .map(({ keyId }) => keyId)
      .sort(),
  );
  await expect.poll(status).toEqual([401, 401, 200]);
});

test('the use of a secret, a key and a token is counted with time and address, and written in batches', async () => {
  const client = await harness.createClient([tenant]);
  const key = await harness.credentials.createApiKey({ tenant, name: 'meter' });
  const { pool } = harness.database;
  const door = await harness.openDoor();
  const token = await tokenOf(door.url, client);
  const before = Date.now();
  for (const headers of [clientHeaders(client), clientHeaders(client), { 'x-api-key': key.value }, bearer(token)]) {
    expect((await sendRequest(door.url, 'GET', read, { headers })).status).toBe(200);
  }
  expect(
    (await sendRequest(door.url, 'GET', read, { headers: clientHeaders({ ...client, client_secret: 'x' }) })).status,
  ).toBe(401);
  // Requests do not write; a stopping gateway writes its counts.
  expect((await pool.query('select 1 from gateway.credential_use where credential = $1', [key.keyId])).rows).toEqual(
    [],
  );
  await door.close();

  const { secrets } = await harness.credentials.showClient(client.client_id);
  expect(secrets).toHaveLength(1);
  expect(secrets[0]).toMatchObject({ calls5m: 3, state: 'active', safeToRetire: false });
  expect(secrets[0]?.lastAddress).toMatch(/127\.0\.0\.1$/);
  expect(secrets[0]?.lastUsed?.getTime()).toBeGreaterThanOrEqual(before);
  expect(secrets[0]?.lastUsed?.getTime()).toBeLessThanOrEqual(Date.now());
  const shownKey = (await harness.credentials.listApiKeys(tenant)).find(({ id }) => id === key.keyId);
  expect(shownKey).toMatchObject({ calls5m: 1, lastUsed: expect.any(Date) });
  const tokens = await pool.query('select calls from gateway.credential_calls where credential = $1', [
    client.client_id,
  ]);
  expect(tokens.rows).toEqual([{ calls: 1 }]);

  // The counts of two gateways are added, and calls older than five minutes are left out.
  const again = await harness.openDoor();
  await sendRequest(again.url, 'GET', read, { headers: clientHeaders(client) });
  await again.close();
  expect((await harness.credentials.showClient(client.client_id)).secrets[0]?.calls5m).toBe(4);
  harness.clock.move(6 * 60_000);
  const later = (await harness.credentials.showClient(client.client_id)).secrets[0];
  expect([later?.calls5m, later?.lastUsed !== null]).toEqual([0, true]);
  harness.clock.move(-6 * 60_000);
});
