/** FAPI 2.0 Security Profile with certificates: RFC 8705 as client authentication and as sender constraint (5.3.2.1-4 and -6). */
import { X509Certificate } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bearer, type Harness, openHarness, postToken, read } from '../../gateway/harness/gateway-harness.ts';
import { makeAuthority, type Pair } from '../../gateway/harness/make-certificate.ts';
import { type Reply, sendRequest } from '../../gateway/harness/public-door.ts';

const own = makeAuthority().issue({ use: 'client' });
const other = makeAuthority().issue({ use: 'client' });
let harness: Harness;
let client: { clientId: string; secret: string };

const headerOf = ({ cert }: Pair): Record<string, string> => ({
  'client-cert': `:${new X509Certificate(cert).raw.toString('base64')}:`,
});

beforeAll(async () => {
  harness = await openHarness({
    settings: {
      profile: 'fapi2',
      dpop: 'on',
      client_certificates: 'on',
      client_certificate_proxies: '127.0.0.1',
    },
  });
  client = await harness.credentials.createClient({ name: 'x', tenants: [await harness.createTenant()] });
  await harness.credentials.addClientCertificate(client.clientId, { pem: own.cert });
});

afterAll(() => harness?.close());

const ask = (more: Record<string, string>, headers: Record<string, string>): Promise<Reply> =>
  postToken(harness.url, { grant_type: 'client_credentials', client_id: client.clientId, ...more }, headers);

const use = async (token: string, headers: Record<string, string>): Promise<number> =>
  (await sendRequest(harness.url, 'GET', read, { headers: { ...bearer(token), ...headers } })).status;

test('5.3.2.1-4 5.3.2.1-6 a certificate authenticates and constrains the token, without a proof of a key', async () => {
  const { status, json } = await ask({}, headerOf(own));
  expect(status).toBe(200);
  const token = String(json.access_token);
  expect(decodeJwt(token).cnf).toHaveProperty('x5t#S256');
  expect(await use(token, headerOf(own))).toBe(200);
  expect(await use(token, {})).toBe(401);
  expect(await use(token, headerOf(other))).toBe(401);
});

test('FAPI2-SP 5.4.1-2 a certificate with an RSA key under 2048 bits is not registered, and by its thumbprint it is no login', async () => {
  const [short, long] = [1_024, 2_048].map((rsaBits) => makeAuthority().issue({ use: 'client', rsaBits })) as [
    Pair,
    Pair,
  ];
  await expect(harness.credentials.addClientCertificate(client.clientId, { pem: short.cert })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
  });
  for (const { cert } of [short, long])
    await harness.credentials.addClientCertificate(client.clientId, {
      thumbprint: new X509Certificate(cert).fingerprint256,
    });
  await expect.poll(async () => (await ask({}, headerOf(long))).status).toBe(200);
  expect((await ask({}, headerOf(short))).json.error).toBe('invalid_client');
});

test('5.3.2.1-6 neither a secret beside a certificate nor the certificate of another client is taken', async () => {
  const bySecret = await ask({ client_secret: client.secret }, headerOf(own));
  expect([bySecret.status, bySecret.json.error]).toEqual([401, 'invalid_client']);
  expect((await ask({}, headerOf(other))).json.error).toBe('invalid_client');
  const none = (await ask({}, {})).json;
  expect([none.error, none.error_description]).toEqual(['invalid_client', expect.stringContaining('certificate')]);
});

test('a bound token is exchanged only by its certificate, and the new one is bound to it (RFC 8693, interface 30)', async () => {
  const subject = String((await ask({}, headerOf(own))).json.access_token);
  const exchange = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subject,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  };
  await harness.credentials.addClientCertificate(client.clientId, { pem: other.cert });
  await expect.poll(async () => (await ask({}, headerOf(other))).status).toBe(200);
  const wrong = await ask(exchange, headerOf(other));
  expect([wrong.status, wrong.json.error]).toEqual([400, 'invalid_request']);
  const { json } = await ask(exchange, headerOf(own));
  expect(decodeJwt(String(json.access_token)).cnf).toEqual(decodeJwt(subject).cnf);
  expect(await use(String(json.access_token), {})).toBe(401);
  expect(await use(String(json.access_token), headerOf(own))).toBe(200);
});
