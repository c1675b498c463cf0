/** One client under the profile, at a gateway that holds no other client to it. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearer, clientHeaders, postToken, read } from '../../gateway/harness/gateway-harness.ts';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { type Reply, sendRequest } from '../../gateway/harness/public-door.ts';
import { isWithinASecond, until } from '../../support/until.ts';
import { type Fapi2Client, type Fapi2Harness, grant, openFapi2Harness } from './fapi2-harness.ts';

let harness: Fapi2Harness;
let client: Fapi2Client;
let other: Fapi2Client;

beforeAll(async () => {
  harness = await openFapi2Harness({
    dpop: 'on',
    client_certificates: 'on',
    client_certificate_proxies: '127.0.0.1',
  });
  client = await harness.newClient({ alg: 'PS256' });
  other = await harness.newClient({ alg: 'PS256' });
});

afterAll(() => harness?.close());

const secretOf = ({ id, secret }: Fapi2Client) => ({ client_id: id, client_secret: secret });

const bySecret = (of: Fapi2Client): Promise<Reply> => postToken(harness.url, { ...grant, ...secretOf(of) });

const withHeaders = (of: Fapi2Client): Promise<Reply> =>
  sendRequest(harness.url, 'GET', read, { headers: clientHeaders(secretOf(of)) });

test('A-380 `fapi2 required` ends secrets, unbound tokens and RS256 of that client within a second; off gives them back', async () => {
  const unbound = String((await bySecret(client)).json.access_token);
  const useUnbound = (): Promise<Reply> => sendRequest(harness.url, 'GET', read, { headers: bearer(unbound) });
  const rs256 = { alg: 'RS256', privateKey: client.key.privateKey };
  const before = [await withHeaders(client), await useUnbound(), await client.ask({ assertion: { signedBy: rs256 } })];
  expect(before.map(({ status }) => status)).toEqual([200, 200, 200]);

  await harness.credentials.setClientFapi2Required(client.id, true);
  await isWithinASecond(async () => (await useUnbound()).status, 401);
  const refused = await bySecret(client);
  expect([refused.status, refused.json.error]).toEqual([401, 'invalid_client']);
  expect(refused.json.error_description).toContain('client_assertion');
  expect(await withHeaders(client)).toMatchObject({ status: 401, json: { error: 'INVALID_AUTH' } });
  expect((await client.ask({ assertion: { signedBy: rs256 } })).status).toBe(401);
  expect((await client.ask({ proof: 'none' })).json.error).toBe('invalid_dpop_proof');
  const signed = { signedBy: { ...client.key, alg: 'RS256' } };
  expect((await client.ask({ proof: signed })).json.error).toBe('invalid_dpop_proof');
  const token = await client.token();
  expect((await client.call(token)).status).toBe(200);
  expect((await client.call(token, signed)).status).toBe(401);
  const endpoint = `${harness.url}/api/oauth/token`;
  expect((await client.ask({ assertion: { claims: { aud: endpoint } } })).status).toBe(401);

  await harness.credentials.setClientFapi2Required(client.id, false);
  await isWithinASecond(async () => (await useUnbound()).status, 200);
  expect((await withHeaders(client)).status).toBe(200);
});

test('A-491 `fapi2 required` with a certificate: it authenticates and binds, a secret beside it and unbound tokens do not', async () => {
  const own = await harness.newClient();
  const pair = makeAuthority().issue({ use: 'client' });
  const der = new X509Certificate(pair.cert).raw.toString('base64');
  const certificate = { 'client-cert': `:${der}:` };
  await harness.credentials.addClientCertificate(own.id, { pem: pair.cert });
  const ask = (form: object, headers = {}): Promise<Reply> =>
    postToken(harness.url, { ...grant, client_id: own.id, ...form }, headers);
  const use = async (token: string, headers = {}): Promise<number> =>
    (await sendRequest(harness.url, 'GET', read, { headers: { ...bearer(token), ...headers } })).status;
  const unbound = String((await bySecret(own)).json.access_token);
  expect(await use(unbound)).toBe(200);
  await harness.credentials.setClientFapi2Required(own.id, true);
  await until(async () => (await use(unbound)) === 401);
  const bound = await ask({}, certificate);
  expect(bound.status).toBe(200);
  const token = String(bound.json.access_token);
  expect([await use(token, certificate), await use(token)]).toEqual([200, 401]);
  const beside = await ask({ client_secret: own.secret }, certificate);
  expect([beside.status, beside.json.error]).toEqual([401, 'invalid_client']);
  expect(await use(unbound, certificate)).toBe(401);
});

test('A-380 a wrong secret of such a client is refused as that of any client, so that strangers do not see its switch', async () => {
  const switched = await harness.newClient();
  await harness.credentials.setClientFapi2Required(switched.id, true);
  await until(async () => (await bySecret(switched)).json.error_description !== undefined);
  const wrong = { ...secretOf(switched), client_secret: other.secret };
  const unknown = { client_id: 'opc_unknown', client_secret: other.secret };
  const replies = await Promise.all([wrong, unknown].map((form) => postToken(harness.url, { ...grant, ...form })));
  for (const { status, json } of replies)
    expect([status, json.error_description]).toEqual([401, 'Client authentication failed']);
  await expect(harness.credentials.setClientFapi2Required('opc_unknown', true)).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
});

test('A-380 other clients and API keys notice nothing', async () => {
  await harness.credentials.setClientFapi2Required(client.id, true);
  const tenant = await harness.createTenant();
  const key = await harness.credentials.createApiKey({ tenant, name: 'till' });
  const byKey = await sendRequest(harness.url, 'GET', read, { headers: { 'x-api-key': key.value } });
  const rs256 = { alg: 'RS256', privateKey: other.key.privateKey };
  const replies = [
    byKey,
    await withHeaders(other),
    await bySecret(other),
    await other.ask({ assertion: { signedBy: rs256 } }),
  ];
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const metadata = (await sendRequest(harness.url, 'GET', '/.well-known/oauth-authorization-server')).json;
  expect(metadata.token_endpoint_auth_methods_supported).toEqual([
    'client_secret_post',
    'client_secret_basic',
    'private_key_jwt',
    'self_signed_tls_client_auth',
  ]);
});
