/** Integrity, export and the report of dry runs, in a real browser. Skipped where no Chromium is installed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { checkPage } from '../harness/check-page.ts';
import {
  browserBinary,
  expectAccessible,
  type HarnessUser,
  type PanelHarness,
  startPanelHarness,
} from '../harness/panel-harness.ts';

let harness: PanelHarness;
let user: HarnessUser;
let client: Record<string, string>;
let folder: string;

const inBrowser = test.skipIf(browserBinary === undefined);
const integrityUrl = (): string => `${harness.url}/panel/security/integrity`;

beforeAll(async () => {
  if (browserBinary === undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
  const table = JSON.parse(readFileSync(join(root, 'config/routes.json'), 'utf8')) as { routes: { id: string }[] };
  const routes = table.routes.map((route) =>
    route.id === 'orders.list' ? { ...route, dryRun: { scopes: ['write:menu'] } } : route,
  );
  const file = join(folder, 'routes.json');
  writeFileSync(file, JSON.stringify({ ...table, routes }));
  harness = await startPanelHarness({ ORDERPASS_ROUTES_FILE: file });
  user = await harness.user('security');
  const scopes = ['--scope', 'read:orders'];
  client = await harness.command(
    'client',
    'create',
    '--name',
    'Till',
    '--restaurant',
    harness.restaurants[0] ?? '',
    ...scopes,
  );
});

afterAll(async () => {
  await harness?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

const call = async (): Promise<number> =>
  (
    await fetch(`${harness.url}/api/orders/list`, {
      headers: { 'x-client-id': client.client_id ?? '', 'x-client-secret': client.client_secret ?? '' },
    })
  ).status;

const rowsOf = async (query: string, values: unknown[] = []) =>
  (await harness.database.pool.query(query, values)).rows as Record<string, string>[];

inBrowser(
  'verifying is begun with one button, its result comes to the open page, and a change to an event is named with its place',
  async () => {
    expect(await call()).toBe(200);
    const { page, problems } = await harness.signIn(user);
    await page.getByRole('link', { name: 'Integrity' }).first().click();
    await page.waitForURL(integrityUrl());
    expect(await page.locator('main').innerText()).toContain('The audit has not been verified from here yet');
    const verify = page.getByRole('button', { name: 'Verify now' });
    await verify.focus();
    await page.keyboard.press('Enter');
    await page
      .getByText(/Nothing was changed or removed: \d+ events in \d+ chains? .* Checked on .*security1@example\.com/)
      .waitFor();
    const tree = page.getByText(/The newest signed checkpoint covers \d+ events\. The last of them is from/);
    // The gateway signs a checkpoint some seconds after an event.
    await until(async () => {
      await page.reload();
      return tree.isVisible();
    });
    expect(await tree.innerText()).toContain('It was compared just now and is as it was signed.');
    await checkPage(page, 'security-integrity');
    const heads = page.locator('table', { hasText: 'Last signed' }).locator('tbody tr');
    expect(await heads.count()).toBe(Number((await rowsOf('select count(*) as n from gateway.audit_chains'))[0]?.n));
    expect(await heads.last().innerText()).toMatch(/^0\s+changes/);
    const [changed] = await rowsOf(
      `update gateway.audit_events set actor = 'forged' where chain = 0 and action = 'client.created' returning seq`,
    );
    // The last leaf of the checkpoint is no longer its event.
    const forge = `update gateway.audit_tree_leaves set hash = '\\x00' where position = (select max(position) from gateway.audit_tree_leaves)`;
    await until(async () => {
      await rowsOf(forge);
      await page.reload();
      return (await tree.innerText()).includes('is not as it was signed');
    });
    await verify.click();
    await page.getByText(`damaged at 0-${changed?.seq}`).waitFor();
    await expectAccessible(page);
    const [noted] = await rowsOf(
      `select count(*) as n from gateway.audit_events where actor = $1 and details like '%"read":"verify"%'`,
      [`panel:${user.userId}`],
    );
    expect(Number(noted?.n)).toBe(2);
    // The verification of a killed process is shown as interrupted and can be started again.
    await rowsOf(
      `insert into gateway.audit_verifications (actor, started, touched) values ('panel:gone', now() - interval '5 minutes', now() - interval '4 minutes')`,
    );
    await page.getByText('The last verification was interrupted').waitFor();
    await rowsOf(
      `insert into gateway.audit_verifications (actor, started, touched) values ('panel:other', now(), now())`,
    );
    await page.getByText('Verifying: 0 events so far').waitFor();
    expect(await verify.count()).toBe(0);
    await rowsOf(`delete from gateway.audit_verifications where finished is null`);
    await page.getByText('damaged at').waitFor();
    expect(problems).toEqual([]);
  },
);

inBrowser(
  'a search, and everything, is downloaded as JSON lines and as CSV, each event once, and every download is in the audit',
  async () => {
    for (let i = 0; i < 3; i += 1) expect(await call()).toBe(200);
    await harness.database.pool.query(
      `insert into gateway.audit_events (chain, seq, at, action, outcome, count, request_ids, tenants, scopes, reason, details, hash)
     select 1, 100000 + i, now() - make_interval(secs => i), 'request.denied', 'failure', 1, '{}', '{}', '{}', '=cmd()', '{}', '\\x00'
     from generate_series(1, 950) i`,
    );
    const { page, problems } = await harness.signIn(user);
    const download = async (name: string): Promise<{ name: string; text: string }> => {
      const [got] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name }).click()]);
      return { name: got.suggestedFilename(), text: readFileSync(await got.path(), 'utf8') };
    };
    await page.goto(`${harness.url}/panel/security/audit?action=request.denied&decision=deny`);
    const lines = await download('JSON lines');
    expect(lines.name).toMatch(/^orderpass-audit-[\d-]+\.jsonl$/);
    const found = lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>);
    const ids = found.map((event) => event['event.id']);
    expect(new Set(ids).size).toBe(ids.length);
    const stored = await rowsOf(
      `select chain || '-' || seq as id from gateway.audit_events where action = 'request.denied'`,
    );
    expect(ids.toSorted()).toEqual(stored.map(({ id }) => id).toSorted());
    const csv = await download('CSV');
    const [head, first, ...rest] = csv.text.trimEnd().split('\r\n');
    expect(head).toMatch(/^@timestamp,event\.id,/);
    expect(rest.length + 1).toBe(stored.length);
    // A sheet runs nothing of it.
    expect(first).toContain("'=cmd()");
    await page.goto(integrityUrl());
    const all = await download('JSON lines');
    const [{ n = '0' } = {}] = await rowsOf('select count(*) as n from gateway.audit_events');
    // The download itself is noted after the moment up to which it goes.
    expect(all.text.trimEnd().split('\n').length).toBe(Number(n) - 1);
    const notes = await rowsOf(
      `select details from gateway.audit_events where actor = $1 and action = 'audit.read' and details like '%"export"%' order by at`,
      [`panel:${user.userId}`],
    );
    expect(notes.map(({ details }) => JSON.parse(details ?? ''))).toMatchObject([
      { read: 'export', format: 'jsonl', filter: { action: 'request.denied', outcome: 'failure' } },
      { read: 'export', format: 'csv' },
      { read: 'export', format: 'jsonl', filter: {} },
    ]);
    // A filter that cannot be read does not become everything.
    expect((await page.request.get(`${harness.url}/panel/security/audit/export?since=yesterday`)).status()).toBe(422);
    expect(problems).toEqual([]);
  },
);

inBrowser('F-06 a search and a download of the audit whose end is not after its start are refused', async () => {
  const { page } = await harness.signIn(user);
  const since = '2026-05-01T10:00Z';
  for (const path of ['audit', 'audit/export']) {
    const ask = (until: string) =>
      page.request.get(`${harness.url}/panel/security/${path}?${new URLSearchParams({ since, until })}`);
    for (const until of [since, '2026-05-01T09:59Z']) {
      const refused = await ask(until);
      expect(refused.status()).toBe(422);
      expect(await refused.text()).toContain('“Until” must be after “From”');
    }
    expect((await ask('2026-05-01T10:01Z')).status()).toBe(200);
  }
});

inBrowser('the report lists callers that would be refused by a trial scope, with the missing scopes', async () => {
  expect(await call()).toBe(200);
  await until(async () => (await rowsOf('select 1 from gateway.policy_dry_run')).length > 0);
  const { page, problems } = await harness.signIn(user);
  await page.getByRole('link', { name: 'Security', exact: true }).first().click();
  await page.getByRole('link', { name: 'Policy' }).first().click();
  await page.waitForURL(`${harness.url}/panel/security/policy`);
  const row = page.locator('tbody tr');
  expect(await row.count()).toBe(1);
  expect(await row.innerText()).toMatch(new RegExp(`${client.client_id}\\s+orders\\.list\\s+write:menu`));
  await checkPage(page, 'security-policy');
  await rowsOf(
    `insert into gateway.policy_dry_run select 'orders.list', 'opc_' || i, '{write:menu}', i, now(), now() - make_interval(mins => i)
     from generate_series(1, 120) i`,
  );
  await rowsOf(
    `insert into gateway.policy_dry_run values ('orders.list', 'opc_given_up', '{read:menu}', 1, now(), now())`,
  );
  // The open page follows by itself.
  await until(async () => (await row.count()) === 50);
  const seen: string[] = [];
  for (;;) {
    seen.push(...(await row.locator('td:first-child').allInnerTexts()));
    const older = page.getByRole('link', { name: 'Older' });
    if ((await older.count()) === 0) break;
    const before = page.url();
    await older.click();
    await page.waitForURL((url) => String(url) !== before);
  }
  expect(seen.length).toBe(121);
  expect(new Set(seen).size).toBe(121);
  await page.goto(`${harness.url}/panel/security/policy?days=7&before=garbage`);
  expect(page.url()).toBe(`${harness.url}/panel/security/policy?days=7`);
  expect(problems).toEqual([]);
});
