/** Tokens and credentials live now, in a real browser. Skipped where no Chromium is installed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage } from '../harness/check-page.ts';
import { browserBinary, type HarnessUser, type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let user: HarnessUser;
let restuid: string;
let client: Record<string, string>;

const inBrowser = test.skipIf(browserBinary === undefined);
const liveUrl = (kind: string): string => `${harness.url}/panel/security/live?kind=${kind}`;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  harness = await startPanelHarness();
  restuid = harness.restaurants[0] ?? '';
  user = await harness.user('security');
  client = await harness.command('client', 'create', '--name', 'Till', '--restaurant', restuid);
});

afterAll(() => harness?.close());

const getToken = async (): Promise<string> => {
  const { client_id = '', client_secret = '' } = client;
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret });
  const answer = await fetch(`${harness.url}/api/oauth/token`, { method: 'POST', body });
  return String(((await answer.json()) as { access_token?: string }).access_token);
};

const jtiOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }).jti;

inBrowser(
  'a token that works is among the live ones and one that was revoked is not; pages by cursor show each once',
  async () => {
    const [kept, ended] = [await getToken(), await getToken()];
    const { client_id = '', client_secret = '' } = client;
    const revoked = await fetch(`${harness.url}/api/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: ended, client_id, client_secret }),
    });
    expect(revoked.status).toBe(200);
    const works = (token: string) =>
      fetch(`${harness.url}/api/orders/list`, { headers: { authorization: `Bearer ${token}` } });
    expect([(await works(kept)).status, (await works(ended)).status]).toEqual([200, 401]);
    const { page, problems } = await harness.signIn(user);
    await page.goto(`${harness.url}/panel`);
    await page.getByRole('link', { name: 'Security', exact: true }).first().click();
    await page.getByRole('link', { name: 'Active credentials' }).first().click();
    await page.waitForURL(`${harness.url}/panel/security/live`);
    const text = await page.locator('main').innerText();
    expect(text).toContain(jtiOf(kept));
    expect(text).not.toContain(jtiOf(ended));
    await checkPage(page, 'security-live');
    const jtis = [jtiOf(kept)];
    for (let i = 0; i < 60; i += 1) jtis.push(jtiOf(await getToken()));
    const seen: string[] = [];
    await page.reload();
    for (;;) {
      seen.push(...(await page.locator('tbody td:first-child').allInnerTexts()));
      const older = page.getByRole('link', { name: 'Older' });
      if ((await older.count()) === 0) break;
      expect(seen.length).toBe(50);
      await older.click();
      await page.waitForURL(/before=/);
    }
    expect(seen.map((one) => one.trim())).toEqual(jtis.reverse());
    const { rows } = await harness.database.pool.query(
      `select details from gateway.audit_events where action = 'audit.read' and actor = $1 order by at desc limit 1`,
      [`panel:${user.userId}`],
    );
    expect(JSON.parse(rows[0].details)).toMatchObject({ read: 'live-tokens' });
    await page.goto(liveUrl('token'));
    const later = jtiOf(await getToken());
    const news = page.getByRole('link', { name: 'There are newer events' });
    await news.waitFor();
    expect(await page.locator('main').innerText()).not.toContain(later);
    await news.click();
    await page.locator('tbody tr', { hasText: later }).waitFor();
    // After a change of its secret no token of the client is good any more.
    await harness.command('client', 'revoke-tokens', '--client-id', client_id);
    await page.goto(liveUrl('token'));
    expect(await page.locator('main').innerText()).toContain('No token is valid');
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'a key that is made or revoked elsewhere comes and goes on the open page, and leads to its events',
  async () => {
    const { page, problems } = await harness.signIn(user);
    await page.goto(liveUrl('api_key'));
    const made = await harness.command('key', 'create', '--restaurant', restuid, '--name', 'Counter');
    const row = page.locator('tbody tr', { hasText: made.key_id ?? '' });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/Counter[\s\S]*Active[\s\S]*Osteria Uno[\s\S]*never[\s\S]*not yet/);
    await checkPage(page, 'security-live-keys');
    await harness.command('key', 'revoke', '--key-id', made.key_id ?? '');
    await row.waitFor({ state: 'detached' });
    expect(await page.locator('#live').innerText()).toContain('There is none');
    await page.goto(liveUrl('client_secret'));
    await page.getByRole('link', { name: client.client_secret?.slice(0, 16) ?? '' }).click();
    await page.waitForURL(/\/security\/audit\?credential=ops_/);
    expect(await page.locator('tbody').innerText()).toContain('token.issued');
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'credentials of every kind are listed by cursor, an ended client’s not, and no list reads a whole table',
  async () => {
    const { page } = await harness.signIn(user);
    const { pool } = harness.database;
    await pool.query(
      `insert into gateway.api_keys (tenant, key_id, name, digest, created, revoked_at)
     select $1, 'opk_' || lpad(i::text, 12, '0'), 'k' || i, decode(md5(i::text), 'hex'), now() - make_interval(secs => i / 4),
       case when i % 100 = 0 then null else now() end from generate_series(1, 8000) i`,
      [restuid],
    );
    await pool.query('analyze gateway.api_keys');
    const seen: string[] = [];
    await page.goto(liveUrl('api_key'));
    for (;;) {
      seen.push(...(await page.locator('tbody td:first-child code').allInnerTexts()));
      const older = page.getByRole('link', { name: 'Older' });
      if ((await older.count()) === 0) break;
      const before = page.url();
      await older.click();
      await page.waitForURL((url) => String(url) !== before);
    }
    expect(seen.length).toBe(80);
    expect(new Set(seen).size).toBe(80);
    const { rows } =
      await pool.query(`explain select key_id from gateway.api_keys k join gateway.tenants t on t.id = k.tenant
    where k.revoked_at is null and t.gone_at is null and (k.created, k.key_id) < (now(), 'opk')
    order by k.created desc, k.key_id desc limit 51`);
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('api_keys_live');
    await page.goto(liveUrl('client_key'));
    expect(await page.locator('#live').innerText()).toContain('There is none');
    await page.goto(`${liveUrl('api_key')}&before=garbage`);
    expect(page.url()).toBe(liveUrl('api_key'));
    await harness.command('client', 'disable', '--client-id', client.client_id ?? '');
    await page.goto(liveUrl('client_secret'));
    expect(await page.locator('#live').innerText()).toContain('There is none');
  },
);
