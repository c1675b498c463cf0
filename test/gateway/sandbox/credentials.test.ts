/** Sandboxes at the gateway (interface 25.1): credentials of their own, which open nothing else. */
import { decodeJwt } from 'jose';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  bearer,
  clientHeaders,
  type Harness,
  openHarness,
  postToken,
  read,
  tokenOf,
} from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;
const sandbox = 'rst_test_1';
const real = 'rst_1';

beforeAll(async () => {
  harness = await openHarness();
  await harness.credentials.createTenant(sandbox);
  await harness.credentials.createTenant(real);
});

afterAll(() => harness.close());

const get = (headers: Record<string, string>, target = read) => sendRequest(harness.url, 'GET', target, { headers });

const refusal = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'done';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

test('A-300 a key and a client of a sandbox say so in their values, in whoami, in tokens and in introspection', async () => {
  const key = await harness.credentials.createApiKey({ tenant: sandbox, name: 'Till' });
  expect(key.value).toMatch(/^opk_test_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
  expect(key.keyId).toBe(key.value.slice(0, 21));
  const next = await harness.credentials.rotateApiKey(key.keyId, 1);
  expect(next.keyId).toMatch(/^opk_test_[0-9A-Za-z]{12}$/);
  const client = await harness.createClient([sandbox]);
  expect(client.client_id).toMatch(/^opc_test_[0-9A-Za-z]{30}$/);
  expect(client.client_secret).toMatch(/^ops_test_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
  const rotated = await harness.credentials.rotateClientSecret(client.client_id, 1);
  expect(rotated.secret).toMatch(/^ops_test_/);
  const token = await tokenOf(harness.url, client);
  expect(decodeJwt(token)).toMatchObject({ sandbox: true, client_id: client.client_id });
  for (const headers of [{ 'x-api-key': key.value }, clientHeaders(client), bearer(token)]) {
    const { status, json } = await get(headers, '/api/whoami');
    expect([status, json.credential.sandbox]).toEqual([200, true]);
  }
  const asking = await harness.credentials.createClient({ name: 'api', tenants: [sandbox], mayIntrospect: true });
  const fields = { client_id: asking.clientId, client_secret: asking.secret, token };
  const asked = await postToken(harness.url, fields, {}, '/api/oauth/introspect');
  expect(asked.json).toMatchObject({ active: true, sandbox: true });
});

test('A-300 credentials of real restaurants have the earlier form and no sandbox claim', async () => {
  const key = await harness.credentials.createApiKey({ tenant: real, name: 'Till' });
  expect(key.value).toMatch(/^opk_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
  const client = await harness.createClient([real]);
  expect(decodeJwt(await tokenOf(harness.url, client))).not.toHaveProperty('sandbox');
  expect((await get({ 'x-api-key': key.value }, '/api/whoami')).json.credential.sandbox).toBe(false);
});

test('A-301 a client for both kinds is refused when it is created and when a restaurant is added, in either direction', async () => {
  const { credentials } = harness;
  const both = await refusal(credentials.createClient({ name: 'both', tenants: [real, sandbox] }));
  expect(both).toContain(`${sandbox} is a sandbox and ${real} is not`);
  const forSandbox = await harness.createClient([sandbox]);
  expect(await refusal(credentials.grantTenant(forSandbox.client_id, real))).toContain('for sandboxes only');
  const forReal = await harness.createClient([real]);
  expect(await refusal(credentials.grantTenant(forReal.client_id, sandbox))).toContain('a client for real tenants');
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from gateway.client_tenants
    where (client_id = ${forSandbox.client_id} and tenant = ${real}) or (client_id = ${forReal.client_id} and tenant = ${sandbox})`.execute(
    harness.database.db,
  );
  expect(rows).toEqual([{ count: 0 }]);
});

test('A-301 a grant or key of the other kind that another release stored gives no access', async () => {
  const { db } = harness.database;
  const forSandbox = await harness.createClient([sandbox]);
  const forReal = await harness.createClient([real]);
  for (const [client, tenant] of [
    [forSandbox.client_id, real],
    [forReal.client_id, sandbox],
  ])
    await sql`insert into gateway.client_tenants (tenant, client_id, granted_at) values (${tenant}, ${client}, now())`.execute(
      db,
    );
  for (const [client, own] of [
    [forSandbox, sandbox],
    [forReal, real],
  ] as const) {
    const { json } = await get(clientHeaders(client), '/api/whoami');
    expect(json.credential.restaurants.map(({ uid }: { uid: string }) => uid)).toEqual([own]);
  }
  const key = await harness.credentials.createApiKey({ tenant: real, name: 'moved' });
  await sql`update gateway.api_keys set tenant = ${sandbox} where key_id = ${key.keyId}`.execute(db);
  const refused = await get({ 'x-api-key': key.value });
  expect([refused.status, refused.json.error]).toEqual([403, 'UNAUTHORIZED']);
});

test('A-301 a value whose prefix was changed to that of the other kind is refused as unknown', async () => {
  const key = await harness.credentials.createApiKey({ tenant: sandbox, name: 'Till' });
  const other = await harness.credentials.createApiKey({ tenant: real, name: 'Till' });
  for (const forged of [key.value.replace('opk_test_', 'opk_'), other.value.replace('opk_', 'opk_test_')]) {
    const { status, json } = await get({ 'x-api-key': forged });
    expect([status, json.error]).toEqual([401, 'INVALID_KEY']);
  }
});
