/** What a contact may read and end, and who adds certificates to a client. Plain requests. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { until } from '../../support/until.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';
import { signInVisitor, type Visitor } from '../harness/visitor.ts';

let harness: PanelHarness;
let restuid: string;
let client: { id: string; secret: string };
let contact: Visitor;
const folder = mkdtempSync(join(tmpdir(), 'orderpass-portal-rights-'));

/** Scopes that this installation asks for, in place of those of the routes as they are shipped. */
const scopesOf: Readonly<Record<string, string[]>> = {
  'webhook.deliveries': ['read:orders'],
  'webhook.delivery': ['read:orders'],
  'whoami.requests': ['read:account'],
  'whoami.usage': ['read:account'],
};

beforeAll(async () => {
  const table = JSON.parse(readFileSync(new URL('../../../config/routes.json', import.meta.url), 'utf8'));
  for (const route of table.routes) route.scopes = scopesOf[route.id] ?? route.scopes;
  const file = join(folder, 'routes.json');
  writeFileSync(file, JSON.stringify(table));
  harness = await startPanelHarness({
    ORDERPASS_ROUTES_FILE: file,
    ORDERPASS_CLIENT_CERTIFICATES: 'on',
    ORDERPASS_CLIENT_CERTIFICATE_PROXIES: '127.0.0.1',
  });
  [restuid = ''] = harness.restaurants;
  const { client_id: id = '', client_secret: secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Courier app', '--restaurant', restuid],
  );
  client = { id, secret };
  contact = await signInVisitor(harness, 'contact', [id]);
});

afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true });
});

test('A-547 a page of the portal needs the scopes of the route that it stands for', async () => {
  const scopes = (list: string) => harness.command('client', 'scopes', '--client-id', client.id, '--scope', list);
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${harness.url}/api${path}`, {
      method: 'POST',
      headers: { 'x-client-id': client.id, 'x-client-secret': client.secret, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { endpoint?: { uid: string } };
  };
  await harness.command('notifications', 'set', '--restaurant', restuid, '--customers', 'on');
  const made = await post('/webhook/create', { url: 'http://127.0.0.1:59999/hook', kinds: ['customers'] });
  const endpoint = `/portal/${client.id}/webhooks/${made.endpoint?.uid}`;
  await post('/customer/create', { email: 'ada@example.com' });
  let delivery = '';
  await until(async () => {
    delivery = /\/deliveries\/([^"]+)"/.exec((await contact.get(endpoint)).text)?.[1] ?? '';
    return delivery !== '';
  });
  const mayNot = 'This client may not read this at the API';
  const shown = async () => ({
    endpoints: (await contact.get(`/portal/${client.id}/webhooks`)).text.includes(made.endpoint?.uid ?? ''),
    deliveries: !(await contact.get(endpoint)).text.includes(mayNot),
    delivery: (await contact.get(`${endpoint}/deliveries/${delivery}`)).status === 200,
    requests: !(await contact.get(`/portal/${client.id}/requests`)).text.includes(mayNot),
    hours: !(await contact.get(`/portal/${client.id}/requests/hours`)).text.includes(mayNot),
    usage: !(await contact.get(`/portal/${client.id}/usage`)).text.includes(mayNot),
    usageOfToday: (await contact.get('')).text.includes('<dt>Requests today (UTC)</dt>'),
  });
  const readByAccount = { requests: true, hours: true, usage: true, usageOfToday: true };
  const all = { endpoints: true, deliveries: true, delivery: true, ...readByAccount };
  expect(await shown()).toEqual(all);
  await scopes('read:webhooks read:customers');
  const none = Object.fromEntries(Object.keys(all).map((name) => [name, false]));
  expect(await shown()).toEqual({ ...none, endpoints: true });
  await scopes('read:webhooks read:customers read:orders read:account');
  expect(await shown()).toEqual(all);
});

test('A-547 a contact who is about to end the last active credential of the client is warned', async () => {
  const { client_id: id = '', client_secret: secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Night app', '--restaurant', restuid],
  );
  const visitor = await signInVisitor(harness, 'contact', [id]);
  const last = 'It is the last active credential of the client.';
  const secretPage = `/portal/${id}/secrets/${secret.slice(0, 16)}/retire`;
  expect((await visitor.get(secretPage)).text).toContain(last);

  const { publicKey } = generateKeyPairSync('ed25519');
  const jwk = JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: 'night' });
  await visitor.post(`/portal/${id}/credentials/keys`, { jwk });
  const keyPage = `/portal/${id}/credentials/keys/night/remove`;
  const [ofSecret, ofKey] = [await visitor.get(secretPage), await visitor.get(keyPage)];
  expect([ofSecret.status, ofKey.status]).toEqual([200, 200]);
  expect(ofSecret.text + ofKey.text).not.toContain(last);

  expect((await visitor.post(secretPage, { force: 'yes' })).status).toBe(303);
  expect((await visitor.get(keyPage)).text).toContain(last);
});

test('A-547 security ends certificates of a client and adds none, and a private key is not sent back', async () => {
  const path = `/clients/${client.id}/certificates`;
  const [security, support] = [await signInVisitor(harness, 'security'), await signInVisitor(harness, 'support')];
  const { cert, key } = makeAuthority().issue({ name: 'till', use: 'client' });
  expect((await security.post(path, { pem: cert, confirmed: 'yes' })).status).toBe(403);
  expect((await security.get(path)).text).not.toContain('name="pem"');
  expect((await support.get(path)).text).toContain('name="pem"');
  const refused = await support.post(path, { pem: key });
  expect(refused.status).toBe(422);
  expect(refused.text).not.toContain('PRIVATE KEY');
  expect((await support.post(path, { pem: cert, confirmed: 'yes' })).status).toBe(303);
  const [, remove = ''] = /href="\/panel([^"]*\/remove)"/.exec((await security.get(path)).text) ?? [];
  expect((await security.post(remove)).status).toBe(303);
});
