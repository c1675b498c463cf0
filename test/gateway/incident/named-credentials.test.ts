/** Under which key, client and restaurant events are found. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFingerprint } from '#src/gateway/audit/event/fingerprint.ts';
import type { EventFilter } from '#src/gateway/audit/search/filter-store.ts';
import { readTrace, searchAudit } from '#src/gateway/index.ts';
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
