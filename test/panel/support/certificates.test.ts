/** A certificate that support or a contact registers in the panel authenticates its client, and one that is removed does not. */
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let clientId: string;

beforeAll(async () => {
  harness = await startPanelHarness({
    ORDERPASS_CLIENT_CERTIFICATES: 'on',
    ORDERPASS_CLIENT_CERTIFICATE_PROXIES: '127.0.0.1',
  });
  const [restaurant = ''] = harness.restaurants;
  clientId = (await harness.command('client', 'create', '--name', 'Till', '--restaurant', restaurant)).client_id ?? '';
});

afterAll(() => harness?.close());

/** Status of a token request with the certificate, as a proxy passes it on. */
const login = (cert: string) => async (): Promise<number> => {
  const der = new X509Certificate(cert).raw.toString('base64');
  const answer = await fetch(`${harness.url}/api/oauth/token`, {
    method: 'POST',
    headers: { 'client-cert': `:${der}:` },
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId }),
  });
  return answer.status;
};

const visitorOf = async (role: 'support' | 'contact') => {
  const cookie = await harness.cookieOf(await harness.user(role, [clientId]));
  const show = async (path: string, body?: URLSearchParams): Promise<string> => {
    const sent = body === undefined ? {} : { method: 'POST', body };
    const headers = { cookie, origin: harness.url };
    const answer = await fetch(`${harness.url}/panel${path}`, { headers, ...sent });
    expect(answer.status).toBe(200);
    return answer.text();
  };
  const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(await show('/account')) ?? [];
  return { show, post: (path: string, fields: object) => show(path, new URLSearchParams({ csrf, ...fields })) };
};

test.each([
  ['support', () => `/clients/${clientId}/certificates`, { confirmed: 'yes' }],
  ['contact', () => `/portal/${clientId}/credentials/certificates`, {}],
] as const)(
  'A-490 a certificate that %s registers authenticates the client until it is removed',
  async (role, path, more) => {
    const visitor = await visitorOf(role);
    const { cert } = makeAuthority().issue({ name: `till of ${role}`, use: 'client' });
    expect(await login(cert)()).toBe(401);
    await visitor.post(path(), { pem: cert, ...more });
    await expect.poll(login(cert)).toBe(200);
    const thumbprint = Buffer.from(new X509Certificate(cert).fingerprint256.replaceAll(':', ''), 'hex');
    await visitor.post(`${path()}/${thumbprint.toString('base64url')}/remove`, {});
    await expect.poll(login(cert)).toBe(401);
  },
);
