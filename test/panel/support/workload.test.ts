/** Workload login and leak reports as operators see them: commands on a running program, and the page of the client. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { type OidcIssuer, startOidcIssuer } from '../../gateway/harness/oidc-issuer.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let issuer: OidcIssuer;
let cookie: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-issuer-'));
  const authority = makeAuthority();
  writeFileSync(join(folder, 'ca.pem'), authority.cert);
  issuer = await startOidcIssuer(() => new Date(), 'ES256', authority.issue({ names: ['127.0.0.1'] }));
  harness = await startPanelHarness({
    ORDERPASS_INTERNAL_ISSUERS: issuer.url,
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  });
  cookie = await harness.cookieOf(await harness.user('support'));
});

afterAll(async () => {
  await harness?.close();
  await issuer?.close();
  rmSync(folder, { recursive: true, force: true });
});

const post = (path: string, fields: Record<string, string>): Promise<Response> =>
  fetch(harness.url + path, { method: 'POST', body: new URLSearchParams(fields) });

const claims = { sub: 'system:serviceaccount:kitchen:printer', aud: 'https://orders.example' };

test('A-393 A-476 a trust of an issuer with https, made by a command, lets the next login in and its end refuses it; the page shows both, and a leak', async () => {
  const { client_id = '', client_secret = '' } = await harness.command(
    ...['client', 'create', '--name', 'Printer', '--restaurant', harness.restaurants[0] ?? ''],
  );
  const login = async (): Promise<number> => {
    const answer = await post('/api/oauth/token', {
      ...{ grant_type: 'client_credentials', client_id, client_assertion: await issuer.sign(claims) },
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    return answer.status;
  };
  const page = async (): Promise<string> =>
    (await fetch(`${harness.url}/panel/clients/${client_id}`, { headers: { cookie } })).text();
  expect(await login()).toBe(401);
  expect(await page()).not.toContain(claims.sub);
  const { trust_id = '' } = await harness.command(
    ...['client', 'trust', '--client-id', client_id, '--issuer', issuer.url],
    ...['--subject', claims.sub, '--audience', claims.aud],
  );
  expect(trust_id).toMatch(/^trs_[0-9A-Za-z]{12}$/);
  expect(await login()).toBe(200);
  expect(await page()).toContain(claims.sub);
  const contact = await harness.cookieOf(await harness.user('contact', [client_id]));
  const own = await fetch(`${harness.url}/panel/portal/${client_id}/credentials`, { headers: { cookie: contact } });
  expect(await own.text()).toContain(claims.sub);
  const listed: unknown = await harness.command('client', 'trusts', '--client-id', client_id);
  expect(listed).toMatchObject({
    trusts: [{ id: trust_id, state: 'active', issuer: issuer.url, subject: claims.sub }],
  });

  expect(await page()).not.toContain('Reported as leaked');
  expect((await post('/api/oauth/report-leak', { token: client_secret })).status).toBe(202);
  expect(await page()).toContain('Reported as leaked');
  const shown: unknown = await harness.command('client', 'show', '--client-id', client_id);
  expect(shown).toMatchObject({ secrets: [{ state: 'revoked', leaked: true, reason: 'ended by a leak report' }] });
  // The workload keeps nothing that could leak.
  expect(await login()).toBe(200);

  await harness.command('client', 'untrust', '--client-id', client_id, '--trust-id', trust_id);
  await expect.poll(login).toBe(401);
});
