/** Under which key, client and restaurant events are found. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFingerprint } from '#src/gateway/audit/event/fingerprint.ts';
import type { EventFilter } from '#src/gateway/audit/search/filter-store.ts';
import { readTrace, searchAudit } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { clientHeaders, type Harness, openHarness, read } from '../harness/gateway-harness.ts';
import { sendRequest } from '../harness/public-door.ts';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
});

afterAll(() => harness.close());

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });
const find = async (filter: EventFilter) => (await searchAudit(deps(), { filter, limit: 100 })).events;

test('A-761 a refusal of several credentials is found under the first right one: a key as a credential, a client as a client', async () => {
  const tenant = await harness.createTenant();
  const { keyId, value: key } = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const client = await harness.createClient([tenant]);
  const ask = async (id: string, headers: Record<string, string>) => {
    const sent = { ...headers, 'x-request-id': id };
    expect((await sendRequest(harness.url, 'GET', read, { headers: sent })).status).toBe(400);
    return find({ requestId: id });
  };
  const fingerprint = createFingerprint(harness.box)(key);
  expect(await ask('amb-1', { 'x-api-key': key, 'x-client-id': 'x' })).toMatchObject([
    { reason: 'credentials_ambiguous', credentialId: keyId, clientId: null, kind: 'api_key', fingerprint },
  ]);
  expect(await ask('amb-2', { ...clientHeaders(client), authorization: 'Bearer x' })).toMatchObject([
    {
      ...{ reason: 'credentials_ambiguous', credentialId: null, clientId: client.client_id, kind: 'client' },
      fingerprint: createFingerprint(harness.box)(client.client_secret),
    },
  ]);
  expect(await ask('amb-3', { 'x-api-key': `${key}x`, 'x-client-id': 'x' })).toMatchObject([
    { credentialId: null, clientId: null, kind: null, fingerprint: null },
  ]);
  expect(await readTrace(deps(), key)).toMatchObject({ refused: 1, refusals: [{ requestIds: ['amb-1'] }] });
});

test('A-767 changes of the limits and networks of a key are found under its restaurant', async () => {
  const tenant = await harness.createTenant();
  const { keyId } = await harness.credentials.createApiKey({ tenant, name: 'till' });
  await harness.credentials.setLimits('key', keyId, { minute: 100 });
  await harness.credentials.setAllowIp('key', keyId, null);
  for (const action of ['key.limits_changed', 'key.addresses_changed'])
    expect(await find({ tenant, action })).toMatchObject([{ credentialId: keyId, tenants: [tenant] }]);
});

test('A-707 a refusal of a known API key is found under its restaurant; an unknown key is of none', async () => {
  const { credentials } = harness;
  const issue = async (more: object = {}) => {
    const tenant = await harness.createTenant();
    return { tenant, ...(await credentials.createApiKey({ tenant, name: 'till', ...more })) };
  };
  const refusals = {
    key_revoked: await issue(),
    key_expired: await issue({ expires: new Date(harness.clock.now().getTime() + 1_000) }),
    quarantined: await issue(),
    address_not_allowed: await issue({ allowIp: ['203.0.113.0/24'] }),
    api_disabled: await issue(),
    restaurant_gone: await issue(),
    credentials_ambiguous: await issue(),
    invalid_action: await issue(),
  };
  for (const reason of ['key_revoked', 'invalid_action'] as const)
    await credentials.revokeApiKey(refusals[reason].keyId);
  await credentials.quarantine('api_key', refusals.quarantined.keyId, 'seen elsewhere');
  await credentials.setTenantApiEnabled(refusals.api_disabled.tenant, false);
  await credentials.removeTenant(refusals.restaurant_gone.tenant);
  harness.clock.move(2_000);
  const ask = (headers: Record<string, string>, path = read) => sendRequest(harness.url, 'GET', path, { headers });
  for (const [reason, { tenant, keyId, value }] of Object.entries(refusals)) {
    const isProbe = reason === 'invalid_action';
    const more = reason === 'credentials_ambiguous' ? { 'x-client-id': 'x' } : undefined;
    await ask({ 'x-api-key': value, ...more }, isProbe ? '/api/none' : read);
    await until(async () => (await find({ credential: keyId, action: 'request.denied' })).length > 0);
    const found = await find({ tenant, action: 'request.denied' });
    expect(found.map((event) => [event.reason, event.credentialId, event.tenants])).toEqual([
      [reason, keyId, [tenant]],
    ]);
  }
  // The text of a key names its id, which is no proof that it is this key.
  const { tenant, value } = await issue();
  await ask({ 'x-api-key': `${value}x` });
  expect(await find({ tenant, action: 'request.denied' })).toEqual([]);
});
