import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { formOf, type Harness, openHarness, pick, postToken, tokenOf } from '../harness/gateway-harness.ts';
import type { Reply } from '../harness/public-door.ts';

let harness: Harness;
let tenant: string;
let service: { client_id: string; client_secret: string };
let client: { client_id: string; client_secret: string };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.createTenant();
  client = pick(await harness.createClient([tenant]));
  service = pick(
    formOf(await harness.credentials.createClient({ name: 'service', tenants: [tenant], mayIntrospect: true })),
  );
});

afterAll(() => harness.close());

const ask = (token: string, as = service): Promise<Reply> =>
  postToken(harness.url, { token, ...as }, {}, '/api/oauth/introspect');

const inactive = async (token: string): Promise<void> => {
  const { status, json, headers } = await ask(token);
  expect([status, json, headers['cache-control']]).toEqual([200, { active: false }, 'no-store']);
};

test('A-044 a live token is answered with its claims; an expired, a revoked and a garbage one are exactly inactive', async () => {
  const token = await tokenOf(harness.url, client, { scope: 'write:orders read:orders' });
  const { exp, iat, jti } = decodeJwt(token);
  const { status, json } = await ask(token);
  expect([status, json]).toEqual([
    200,
    {
      active: true,
      scope: 'read:orders write:orders',
      client_id: client.client_id,
      sub: client.client_id,
      token_type: 'Bearer',
      exp,
      iat,
      iss: harness.url,
      aud: harness.url,
      jti,
    },
  ]);
  await inactive('garbage');
  await inactive(`${token.slice(0, -4)}AAAA`);
  const revoked = await tokenOf(harness.url, client);
  await postToken(harness.url, { token: revoked, ...client }, {}, '/api/oauth/revoke');
  await inactive(revoked);
  harness.clock.move(3_601_000);
  await inactive(token);
  harness.clock.move(-3_601_000);
  expect((await ask(token)).json.active).toBe(true);
});

test('whatever the operations refuse is inactive: disabled or quarantined client, tenant gone; lost scopes are left out', async () => {
  const cases: ((id: string, own: string) => Promise<unknown>)[] = [
    (id) => harness.credentials.disableClient(id),
    (id) => harness.credentials.quarantine('client', id, 'leaked'),
    (id) => harness.credentials.setClientMayUseTokens(id, false),
    (_id, own) => harness.credentials.removeTenant(own),
  ];
  for (const end of cases) {
    const own = await harness.createTenant();
    const other = pick(await harness.createClient([own]));
    const token = await tokenOf(harness.url, other);
    expect((await ask(token)).json.active).toBe(true);
    await end(other.client_id, own);
    await expect.poll(async () => (await ask(token)).json).toEqual({ active: false });
  }
  const less = pick(await harness.createClient([tenant]));
  const token = await tokenOf(harness.url, less);
  await harness.credentials.setClientScopes(less.client_id, ['read:menu']);
  await expect.poll(async () => (await ask(token)).json.scope).toBe('read:menu');
});

test('A-045 without the right it is unauthorized_client, also for the own token', async () => {
  const token = await tokenOf(harness.url, client);
  const reply = await ask(token, client);
  expect([reply.status, reply.json.error]).toEqual([400, 'unauthorized_client']);
  expect((await ask(token, { ...service, client_secret: 'wrong' })).status).toBe(401);
  expect((await postToken(harness.url, service, {}, '/api/oauth/introspect')).status).toBe(400);
  await harness.credentials.setClientMayIntrospect(client.client_id, true);
  await expect.poll(async () => (await ask(token, client)).json.active).toBe(true);
});

test('oauth4webapi finds both endpoints in the metadata, introspects and revokes', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(harness.url);
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }),
  );
  const token = await tokenOf(harness.url, client);
  const introspect = async (): Promise<boolean> => {
    const caller = { client_id: service.client_id };
    const answer = await oauth.introspectionRequest(
      as,
      caller,
      oauth.ClientSecretBasic(service.client_secret),
      token,
      insecure,
    );
    return (await oauth.processIntrospectionResponse(as, caller, answer)).active;
  };
  expect(await introspect()).toBe(true);
  const caller = { client_id: client.client_id };
  const answer = await oauth.revocationRequest(
    as,
    caller,
    oauth.ClientSecretPost(client.client_secret),
    token,
    insecure,
  );
  await oauth.processRevocationResponse(answer);
  expect(await introspect()).toBe(false);
});
