/** What the audit knows of a credential that the OAuth endpoints refused, or that revoked a token there. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createFingerprint } from '#src/gateway/audit/event/fingerprint.ts';
import type { EventFilter } from '#src/gateway/audit/search/filter-store.ts';
import { readTrace, searchAudit } from '#src/gateway/index.ts';
import { until } from '../../support/until.ts';
import { type Harness, openHarness, pick, postToken, tokenOf } from '../harness/gateway-harness.ts';
import { type OidcIssuer, startOidcIssuer } from '../harness/oidc-issuer.ts';

/** The audit of the gateway takes no further event, as with 200,000 that wait. */
const audit = vi.hoisted(() => ({ isFull: false }));

vi.mock('#src/gateway/audit/record/waiting-events.ts', async (read) => {
  const { createWaitingEvents } = await read<typeof import('#src/gateway/audit/record/waiting-events.ts')>();
  return {
    createWaitingEvents: (...given: Parameters<typeof createWaitingEvents>) => {
      const events = createWaitingEvents(...given);
      return { ...events, isFull: () => audit.isFull || events.isFull() };
    },
  };
});

let harness: Harness;
let issuer: OidcIssuer;

beforeAll(async () => {
  issuer = await startOidcIssuer(() => new Date());
  harness = await openHarness({ settings: { internal_issuers: [issuer.url] } });
});

afterAll(async () => {
  await harness.close();
  await issuer.close();
});

const deps = () => ({ db: harness.database.db, box: harness.box, clock: harness.clock, actor: 'cli:ada' });
const find = async (filter: EventFilter) => (await searchAudit(deps(), { filter, limit: 100 })).events;
const grant = { grant_type: 'client_credentials' };
const elsewhere = ['192.0.2.0/24'];

const send = async (fields: Record<string, string>, id: string, target = '/api/oauth/token') => {
  const { status, json } = await postToken(harness.url, fields, { 'x-request-id': id }, target);
  return [status, json?.error];
};

test('A-757 an ended secret that is tried at the OAuth endpoints is found by its value, with its requests', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const { client_id: clientId, client_secret: secret, secret_id: secretId } = client;
  const fields = { ...grant, ...pick(client) };
  await tokenOf(harness.url, client);
  await harness.credentials.rotateClientSecret(clientId, 0);
  await until(async () => (await postToken(harness.url, fields, { 'x-request-id': 'lm-0' })).status === 401);
  expect(await send(fields, 'lm-1')).toEqual([401, 'invalid_client']);
  expect(await send({ ...fields, token: 'x' }, 'lm-2', '/api/oauth/revoke')).toEqual([401, 'invalid_client']);
  const fingerprint = createFingerprint(harness.box)(secret);
  const ended = { action: 'token.refused', clientId, kind: 'api_client', fingerprint, credentialId: null };
  expect(await find({ requestId: 'lm-1' })).toMatchObject([{ ...ended, routeId: '/api/oauth/token' }]);
  const traced = await readTrace(deps(), secret);
  expect(traced).toMatchObject({ genuine: true, id: secretId, refusedPartial: false });
  const tried = traced.refusals.flatMap(({ requestIds }) => requestIds);
  expect(tried.slice(0, 2)).toEqual(['lm-2', 'lm-1']);
  expect(traced.refused).toBe(tried.length);
});

test('A-757 a right secret that is refused for its address, its state or its scope is named in the audit', async () => {
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant], ['read:orders']);
  const { client_id: clientId, client_secret: secret, secret_id: credentialId } = client;
  const fields = { ...grant, ...pick(client) };
  const fingerprint = createFingerprint(harness.box)(secret);
  const named = { action: 'token.refused', clientId, credentialId, kind: 'api_client', fingerprint, tenants: [tenant] };
  expect(await send({ ...fields, scope: 'write:menu' }, 'sc-1')).toEqual([400, 'invalid_scope']);
  expect(await find({ requestId: 'sc-1' })).toMatchObject([{ ...named, reason: 'invalid_scope' }]);
  await harness.credentials.setAllowIp('client', clientId, elsewhere);
  await until(async () => (await send(fields, 'ip-1'))[1] === 'unauthorized_client');
  expect(await find({ requestId: 'ip-1', outcome: 'failure' })).toMatchObject([
    { ...named, reason: 'address_not_allowed' },
  ]);
  expect(await readTrace(deps(), secret)).toMatchObject({ refused: 2 });
});

test('A-757 a proven workload that is refused is named by its client, though its assertion names none', async () => {
  const subject = 'repo:org/app:ref:refs/heads/main';
  const audience = 'https://orders.example';
  const { client_id: clientId } = await harness.createClient([await harness.createTenant()]);
  const { trustId } = await harness.credentials.addTrust({ clientId, issuer: issuer.url, subject, audience });
  await harness.credentials.setAllowIp('client', clientId, elsewhere);
  const attempt = async () =>
    send(
      {
        ...grant,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await issuer.sign({ sub: subject, aud: audience }),
      },
      'wl-1',
    );
  await until(async () => (await attempt())[1] === 'unauthorized_client');
  const [refused] = await find({ requestId: 'wl-1', client: clientId });
  expect(refused).toMatchObject({ action: 'token.refused', credentialId: trustId, reason: 'address_not_allowed' });
  expect(refused?.fingerprint).toBeNull();
});

test('A-759 a revocation by its client has request, address and secret; a use of the endpoint that revokes nothing is a call of the secret', async () => {
  const tenant = await harness.createTenant();
  const client = await harness.createClient([tenant]);
  const { client_id: clientId, client_secret: secret, secret_id: credentialId } = client;
  const token = await tokenOf(harness.url, client);
  const fingerprint = createFingerprint(harness.box)(secret);
  const revoke = (value: string, id: string) => send({ ...pick(client), token: value }, id, '/api/oauth/revoke');
  expect(await revoke(token, 'rev-1')).toEqual([200, undefined]);
  const used = { clientId, credentialId, fingerprint, tenants: [tenant], address: '127.0.0.1' };
  const about = { ...used, kind: 'api_client', routeId: '/api/oauth/revoke' };
  expect(await find({ requestId: 'rev-1' })).toMatchObject([
    {
      action: 'token.revoked',
      ...about,
      actor: clientId,
      reason: 'revoked by its client',
      tokenId: expect.any(String),
    },
  ]);
  expect(await find({ tenant, action: 'token.revoked' })).toHaveLength(1);
  for (const [id, value] of [
    ['rev-2', token],
    ['rev-3', 'abc'],
  ] as const) {
    expect(await revoke(value, id)).toEqual([200, undefined]);
    await until(async () => (await find({ requestId: id })).length > 0);
    expect(await find({ requestId: id })).toMatchObject([{ action: 'request.allowed', ...about, scopes: [] }]);
  }
  expect(await find({ client: clientId, action: 'token.revoked' })).toHaveLength(1);
  expect((await readTrace(deps(), secret)).calls).toBe(2);
  await Promise.all(Array.from({ length: 30 }, (_, i) => revoke('abc', `rev-many-${i}`)));
  await until(async () => (await readTrace(deps(), secret)).calls === 32);
  // What is recorded together is one event with its number.
  const counts = (await find({ client: clientId, action: 'request.allowed' })).map(({ count }) => count);
  expect(Math.max(...counts)).toBeGreaterThan(1);
});

test('A-719 a use of the revocation endpoint that revokes nothing is refused while the audit has no room for it', async () => {
  const client = await harness.createClient([await harness.createTenant()]);
  const revoke = (id: string) => send({ ...pick(client), token: 'abc' }, id, '/api/oauth/revoke');
  audit.isFull = true;
  try {
    expect(await revoke('full-1')).toEqual([503, 'temporarily_unavailable']);
  } finally {
    audit.isFull = false;
  }
  expect(await revoke('full-2')).toEqual([200, undefined]);
  await until(async () => (await find({ requestId: 'full-2' })).length > 0);
  expect(await find({ requestId: 'full-1' })).toEqual([]);
});
