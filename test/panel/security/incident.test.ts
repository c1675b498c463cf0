/** The incident page in a real browser: a found value is traced and ended without leaving the browser. */
import { createHash, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markupOf } from '#src/panel/page/html.ts';
import type { CredentialTrace } from '#src/panel/ports/security.ts';
import { showTrace } from '#src/panel/security/trace-view.ts';
import { textsOf } from '#src/panel/texts/texts.ts';
import { makeAuthority } from '../../gateway/harness/make-certificate.ts';
import { until } from '../../support/until.ts';
import { checkPage } from '../harness/check-page.ts';
import {
  browserBinary,
  expectAccessible,
  type HarnessUser,
  type PanelHarness,
  type SignedInBrowser,
  startPanelHarness,
} from '../harness/panel-harness.ts';

let harness: PanelHarness;
let user: HarnessUser;
let restuid: string;

const inBrowser = test.skipIf(browserBinary === undefined);

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  restuid = harness.restaurants[0] ?? '';
  user = await harness.user('security');
});

afterAll(() => harness?.close());

const list = async (headers: Record<string, string>, path = '/api/orders/list'): Promise<number> =>
  (await fetch(`${harness.url}${path}`, { headers })).status;
const byToken = (token: string): Promise<number> => list({ authorization: `Bearer ${token}` });

const getToken = async (client: Record<string, string>): Promise<string> => {
  const { client_id = '', client_secret = '' } = client;
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const answer = await fetch(`${harness.url}/api/oauth/token`, { method: 'POST', body });
  return String(((await answer.json()) as { access_token?: string }).access_token);
};

const written = (where: string): Promise<void> =>
  until(
    async () =>
      (await harness.database.pool.query(`select 1 from gateway.audit_events where ${where}`)).rows.length > 0,
  );

/** Everything that the browser sent, to look for what must not be in it. */
const listen = ({ page }: SignedInBrowser): (() => string) => {
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
  return () => sent.join('\n');
};

const trace = async ({ page }: SignedInBrowser, text: string): Promise<void> => {
  await page.goto(`${harness.url}/panel/security/incident`);
  await page.getByLabel('API key, client secret, access token or certificate (PEM)').fill(text);
  await page.keyboard.press('Enter');
};

inBrowser(
  'F-41 a secret is traced with its tokens and what was done with them, scopes, addresses and refusals, and one button ends the tree, with the keyboard alone',
  async () => {
    const client = await harness.command('client', 'create', '--name', 'Till', '--restaurant', restuid);
    const secret = client.client_secret ?? '';
    const token = await getToken(client);
    expect(await byToken(token)).toBe(200);
    expect(await list({ 'x-client-id': client.client_id ?? '', 'x-client-secret': secret })).toBe(200);
    await written(`action = 'request.allowed' and credential_id = '${secret.slice(0, 16)}'`);
    const opened = await harness.signIn(user);
    const { page, problems } = opened;
    const sent = listen(opened);
    await page.goto(`${harness.url}/panel/security/incident`);
    await checkPage(page, 'security-incident-form');
    await page.getByLabel('API key, client secret, access token or certificate (PEM)').focus();
    // As it is found in a file.
    await page.keyboard.insertText(`  CLIENT_SECRET="${secret}" `);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 2 }).waitFor();
    const text = await page.locator('main').innerText();
    for (const part of [
      'Genuine',
      'Active',
      client.client_id ?? '',
      'read:orders',
      '127.0.0.1',
      'Tokens issued for it',
    ])
      expect(text).toContain(part);
    expect(await page.locator('#issued-use').innerText()).toMatch(
      /In all\s+1\s+Still valid\s+1\s+Allowed calls with its tokens\s+1\s+Refused calls with its tokens\s+0/,
    );
    expect(await page.locator('table tbody tr').count()).toBe(1);
    expect(await page.locator('table tbody tr').innerText()).toContain('Valid');
    expect(text).toContain(createHash('sha256').update(secret).digest('hex'));
    await checkPage(page, 'security-incident');
    expect(await page.getByRole('button', { name: 'UTC' }).isVisible()).toBe(true);
    // Nothing is revoked before it is confirmed.
    await page.locator('.confirm > summary').focus();
    await page.keyboard.press('Enter');
    const button = page.getByRole('button', { name: 'Revoke now' });
    await button.waitFor();
    await expectAccessible(page);
    expect(await byToken(token)).toBe(200);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Revoke now');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/incident\/proof/);
    await until(async () => (await byToken(token)) === 401);
    expect(await list({ 'x-client-id': client.client_id ?? '', 'x-client-secret': secret })).toBe(401);
    const actions = await page.locator('.proof h2').allInnerTexts();
    expect(actions).toEqual(['secret.retired', 'client.tokens_revoked', 'client.tokens_revoked']);
    const { rows } = await harness.database.pool.query(
      "select actor, encode(hash, 'hex') as hash from gateway.audit_events where action = 'secret.retired'",
    );
    expect(rows[0].actor).toBe(`panel:${user.userId}`);
    expect(await page.locator('main').innerText()).toContain(rows[0].hash);
    await checkPage(page, 'security-proof');
    expect(await page.getByRole('button', { name: 'UTC' }).isVisible()).toBe(true);
    expect(sent()).toContain('sha256=');
    expect(sent()).not.toContain(secret.slice(17));
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'a token and an API key end; what the browser sent holds neither, and the reading is in the audit',
  async () => {
    const client = await harness.command('client', 'create', '--name', 'Kiosk', '--restaurant', restuid);
    const token = await getToken(client);
    const made = await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Till');
    const key = made.api_key ?? '';
    expect(await byToken(token)).toBe(200);
    expect(await list({ 'x-api-key': key })).toBe(200);
    expect(await byToken(token)).toBe(200);
    expect(await list({ authorization: `Bearer ${token}` }, '/api/nothing/here')).toBe(404);
    const opened = await harness.signIn(user);
    const { page, problems } = opened;
    const sent = listen(opened);
    for (const { value, works, kind } of [
      { value: `Authorization: Bearer ${token}`, works: () => byToken(token), kind: 'Access token' },
      { value: key, works: () => list({ 'x-api-key': key }), kind: 'API key' },
    ]) {
      await trace(opened, value);
      await page.getByRole('heading', { level: 2 }).waitFor();
      expect(await page.getByRole('heading', { level: 2 }).innerText()).toContain(kind);
      expect(await page.locator('main').innerText()).toContain('Genuine');
      if (kind === 'Access token')
        expect(await page.locator('main').innerText()).toContain(client.client_secret?.slice(0, 16));
      await page.locator('.confirm > summary').click();
      await page.getByRole('button', { name: 'Revoke now' }).click();
      await page.waitForURL(/\/incident\/proof/);
      await until(async () => (await works()) === 401);
      // The second trace shows that it has ended, and the refusals since then.
      await written(`action = 'request.denied' and reason like '%revoked%' or reason = 'key_revoked'`);
      await trace(opened, value);
      await page.getByText('It is no longer valid').waitFor();
      expect(await page.locator('table').innerText()).toContain('request.denied');
    }
    for (const secret of [token.slice(token.lastIndexOf('.') + 1), key.slice(17)]) expect(sent()).not.toContain(secret);
    const { rows } = await harness.database.pool.query(
      `select credential_id from gateway.audit_events where action = 'audit.read' and actor = $1 and credential_id = $2`,
      [`panel:${user.userId}`, key.slice(0, 16)],
    );
    expect(rows.length).toBeGreaterThan(0);
    // What cannot end any more needs no button.
    expect(await page.locator('.confirm > summary').count()).toBe(0);
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'an invented value with a real id is not genuine and revokes nothing, whatever is posted; a text that is no credential is never sent',
  async () => {
    const made = await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Other');
    const key = made.api_key ?? '';
    expect(await list({ 'x-api-key': key })).toBe(200);
    const opened = await harness.signIn(user);
    const { page, problems } = opened;
    await trace(opened, `${key.slice(0, 17)}${'0'.repeat(49)}`);
    await page.getByText('there is no proof that it had this value').waitFor();
    expect(await page.locator('.confirm > summary').count()).toBe(0);
    const csrf = await page.locator('input[name=csrf]').first().getAttribute('value');
    const answer = await page.request.post(`${harness.url}/panel/security/incident/revoke`, {
      form: { csrf: csrf ?? '', kind: 'api_key', id: key.slice(0, 16), sha256: 'a'.repeat(64) },
      headers: { origin: harness.url },
      maxRedirects: 0,
    });
    expect(answer.status()).toBe(400);
    await trace(opened, `opk_000000000000_${'0'.repeat(49)}`);
    await page.getByText('Not genuine').waitFor();
    const sent = listen(opened);
    await trace(opened, 'hunter2 is my password');
    await page.getByRole('alert').waitFor();
    expect(sent()).not.toContain('hunter2');
    expect(
      sent()
        .split('\n')
        .filter((line) => line.includes('sha256')),
    ).toEqual([]);
    expect(await list({ 'x-api-key': key })).toBe(200);
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'a key of a sandbox is traced as every other, and its value is kept out of the address of a search',
  async () => {
    const { restuid: sandbox = '' } = await harness.command('restaurant', 'create', '--name', 'Trial', '--sandbox');
    const made = await harness.command('key', 'create', '--restaurant', sandbox, '--name', 'Till');
    const key = made.api_key ?? '';
    expect(key).toMatch(/^opk_test_/);
    const opened = await harness.signIn(user);
    const { page } = opened;
    const sent = listen(opened);
    await trace(opened, `X-Api-Key: ${key}`);
    await page.locator('[data-found]').waitFor();
    const text = await page.locator('main').innerText();
    for (const part of ['API key', 'Genuine', key.slice(0, key.lastIndexOf('_'))]) expect(text).toContain(part);
    await page.goto(`${harness.url}/panel/security/audit`);
    const before = page.url();
    const form = page.locator('main form[role=search]');
    await page.evaluate(`{
    const form = document.querySelector('main form[role=search]');
    form.elements.credential.value = ${JSON.stringify(key)};
    form.requestSubmit();
  }`);
    await form.locator('.field-error').waitFor();
    expect(page.url()).toBe(before);
    expect(sent()).not.toContain(key.slice(key.lastIndexOf('_')));
  },
);

inBrowser('a key of an earlier version, which kept no fingerprint, is known by its use since', async () => {
  const made = await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Old');
  const key = made.api_key ?? '';
  const id = key.slice(0, 16);
  await harness.database.pool.query('update gateway.api_keys set fingerprint = null where key_id = $1', [id]);
  const opened = await harness.signIn(user);
  const { page } = opened;
  await trace(opened, key);
  await page.getByText('there is no proof that it had this value').waitFor();
  expect(await list({ 'x-api-key': key })).toBe(200);
  await written(`action = 'request.allowed' and credential_id = '${id}'`);
  await trace(opened, key);
  await page.getByText('Genuine: exactly this value').waitFor();
});

inBrowser(
  'a client certificate is listed among the active credentials, and its PEM shows whose it is and removes it; the private key beside it is not sent',
  async () => {
    const client = await harness.command('client', 'create', '--name', 'Bank', '--restaurant', restuid);
    const pair = makeAuthority('Own').issue({ name: 'bank-1', use: 'client' });
    const file = join(harness.settings.ORDERPASS_DATA_DIR, 'bank.crt');
    writeFileSync(file, pair.cert);
    const id = client.client_id ?? '';
    await harness.command('client', 'add-certificate', '--client-id', id, '--file', file);
    const thumbprint = createHash('sha256').update(new X509Certificate(pair.cert).raw).digest('base64url');
    const opened = await harness.signIn(user);
    const { page, problems } = opened;
    const sent = listen(opened);
    const listed = page.locator('tbody tr', { hasText: thumbprint });
    await page.goto(`${harness.url}/panel/security/live?kind=client_certificate`);
    expect(await listed.innerText()).toMatch(/bank-1[\s\S]*Active[\s\S]*Bank/);
    await checkPage(page, 'security-live-certificates');
    await trace(opened, `${pair.key}\n${pair.cert}`);
    await page.getByText('This certificate is registered here').waitFor();
    expect(await page.locator('main').innerText()).toMatch(/Client certificate[\s\S]*Active[\s\S]*Bank/);
    expect(await page.locator('#issued-use').innerText()).toMatch(/In all\s+0\s+Still valid\s+0/);
    await page.locator('.confirm > summary').click();
    await page.getByRole('button', { name: 'Revoke now' }).click();
    await page.waitForURL(/\/incident\/proof/);
    expect(await page.locator('.proof h2').allInnerTexts()).toContain('client_certificate.removed');
    await page.goto(`${harness.url}/panel/security/live?kind=client_certificate`);
    expect(await listed.count()).toBe(0);
    // A certificate that no client has is not genuine.
    await trace(opened, makeAuthority('Other').issue({ name: 'bank-1', use: 'client' }).cert);
    await page.getByText('Not genuine').waitFor();
    for (const line of pair.key.trim().split('\n').slice(1, -1)) expect(sent()).not.toContain(encodeURIComponent(line));
    expect(problems).toEqual([]);
  },
);

test('A-557 a figure of a trace that was not read to the end is “at least” a number, and one that was is the number', () => {
  const traced: Omit<CredentialTrace, 'partial' | 'refusedPartial'> = {
    kind: 'api_key',
    state: 'active',
    ...{ id: 'opk_1', fingerprint: 'f', genuine: true, exists: true, clientId: null, parent: null, parentToken: null },
    ...{
      issued: null,
      scopesUsed: [],
      addresses: [],
      moreAddresses: false,
      firstUsed: null,
      lastUsed: null,
      tokens: 0,
      descendants: [],
    },
    ...{ refusals: [], issuedUse: null, liveTokens: { count: 0, partial: false }, calls: 12, refused: 34 },
  };
  const textOf = (partial: boolean, refusedPartial: boolean): string =>
    markupOf(showTrace(textsOf.en, { ...traced, partial, refusedPartial }, new Map()));
  expect(textOf(true, false)).toMatch(/at least 12[\s\S]*>34</);
  expect(textOf(false, true)).toMatch(/>12<[\s\S]*at least 34/);
});
