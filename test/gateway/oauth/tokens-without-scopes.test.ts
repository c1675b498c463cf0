import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCredentials } from '#src/gateway/index.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createSecretBox } from '#src/platform/secret-box.ts';
import { pick, postToken } from '../harness/gateway-harness.ts';
import {
  type Headers,
  masterKey,
  openDoor,
  type PublicDoor,
  sendRequest,
  startUpstream,
  type TestUpstream,
} from '../harness/public-door.ts';

const grant = { grant_type: 'client_credentials' };
const exchange = {
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
};
let service: TestUpstream;
let door: PublicDoor;

beforeAll(async () => {
  service = await startUpstream();
  door = await openDoor(service.url, {
    table: { scopes: [], apiKeyScopes: [] },
    perRoute: ({ kinds: _kinds, ...route }) => ({ ...route, scopes: [] }),
  });
});

afterAll(async () => {
  await door.close();
  await service.close();
});

const createClient = async (more: { mayIntrospect?: true } = {}) => {
  const credentials = createCredentials({ db: door.database.db, box: createSecretBox(masterKey), clock: systemClock });
  const { clientId, secret } = await credentials.createClient({ name: 'app', tenants: ['rst_1'], ...more });
  return pick({ client_id: clientId, client_secret: secret });
};

const bearer = (token: unknown): Headers => ({ authorization: `Bearer ${String(token)}` });

test('A-631 where the route table has no scopes, a token without scopes passes as the headers of its client do', async () => {
  const client = await createClient({ mayIntrospect: true });
  const reply = await postToken(door.url, { ...grant, ...client });
  expect([reply.status, reply.json]).toEqual([
    200,
    { access_token: expect.any(String), token_type: 'Bearer', expires_in: 3600, scope: '' },
  ]);
  const token = String(reply.json.access_token);
  expect(decodeJwt(token)).toMatchObject({ client_id: client.client_id, scope: '' });
  const asClient = { 'x-client-id': client.client_id, 'x-client-secret': client.client_secret };
  for (const headers of [bearer(token), asClient])
    expect((await sendRequest(door.url, 'GET', '/api/orders/list', { headers })).status).toBe(200);

  const asked = await postToken(door.url, { token, ...client }, {}, '/api/oauth/introspect');
  expect(asked.json).toMatchObject({ active: true, scope: '', client_id: client.client_id });
  const who = await sendRequest(door.url, 'GET', '/api/whoami', { headers: bearer(token) });
  expect([who.status, who.json.credential]).toMatchObject([200, { kind: 'bearer', scopes: [] }]);
  const narrowed = await postToken(door.url, { ...exchange, ...client, subject_token: token });
  expect([narrowed.status, narrowed.json.scope]).toEqual([200, '']);
  const { access_token } = narrowed.json;
  expect((await sendRequest(door.url, 'GET', '/api/orders/list', { headers: bearer(access_token) })).status).toBe(200);

  const { rows } = await door.database.pool.query(
    `select scopes from gateway.audit_events where action = 'token.issued' and token_id = $1`,
    [decodeJwt(token).jti],
  );
  expect(rows).toEqual([{ scopes: [] }]);
});

test('A-631 a scope that the table does not list is refused there as everywhere', async () => {
  const reply = await postToken(door.url, { ...grant, ...(await createClient()), scope: 'read:orders' });
  expect([reply.status, reply.json.error]).toEqual([400, 'invalid_scope']);
});
