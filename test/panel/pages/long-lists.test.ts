/** Lists that have grown, read page by page without a browser: each entry once, and none left out. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../support/program.ts';
import { type PanelHarness, startPanelHarness } from '../harness/panel-harness.ts';

let harness: PanelHarness;
let folder: string;
const id = `lpad(n::text, 6, '0')`;

const fill = async (statement: string, values: readonly unknown[] = []): Promise<void> => {
  await harness.database.pool.query(statement, [...values]);
};

/** What `entry` finds on each page, following `next`; the last page has no such link. */
const walk = async (cookie: string, first: string, entry: RegExp): Promise<string[][]> => {
  const pages: string[][] = [];
  let path: string | undefined = first;
  while (path !== undefined) {
    expect(pages.length, first).toBeLessThan(10);
    const answer: Response = await fetch(harness.url + path, { headers: { cookie }, redirect: 'manual' });
    expect(answer.status, path).toBe(200);
    const main: string = /<main[\s\S]*<\/main>/.exec(await answer.text())?.[0] ?? '';
    pages.push([...main.matchAll(entry)].map((match) => match[1] ?? ''));
    const links = [...main.matchAll(/<a class="button"[^>]*href="([^"]*[?&;](?:after|before)=[^"]+)"/g)];
    path = links.map((link) => link[1]?.replaceAll('&amp;', '&')).at(-1);
  }
  return pages;
};

const expectEachOnce = (pages: string[][], count: number): void => {
  expect(pages.length).toBeGreaterThan(1);
  expect(pages.flat()).toHaveLength(count);
  expect(new Set(pages.flat()).size).toBe(count);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'orderpass-'));
  const table = JSON.parse(readFileSync(join(root, 'config/routes.json'), 'utf8')) as { routes: { id: string }[] };
  const routes = table.routes.map((route) =>
    route.id === 'orders.list' ? { ...route, dryRun: { scopes: ['write:menu'] } } : route,
  );
  writeFileSync(join(folder, 'routes.json'), JSON.stringify({ ...table, routes }));
  harness = await startPanelHarness({ ORDERPASS_ROUTES_FILE: join(folder, 'routes.json') });
  const [restuid = ''] = harness.restaurants;
  await fill(`insert into panel.users (id, email, role, created_at)
    select 'usr_' || ${id}, 'staff' || ${id} || '@example.com', 'support', now() from generate_series(1, 120) n`);
  await fill(
    `insert into gateway.api_keys (tenant, key_id, name, digest, created)
     select $1, 'key_' || ${id}, 'till ' || n, sha256(n::text::bytea), now() - n * interval '1 minute' from generate_series(1, 120) n`,
    [restuid],
  );
  await fill(`insert into ordering.restaurants (uid, name, time_zone, api_time_zone, currency, language, confirmation_required,
      countdown_minutes, points_per_unit, signup_points)
    select 'rst_' || ${id}, 'Osteria ' || n, 'UTC', 'UTC', 'EUR', 'en', true, 10, 1, 0 from generate_series(1, 60) n`);
  await fill(`insert into gateway.tenants (id, created) select 'rst_' || ${id}, now() from generate_series(1, 60) n`);
  await fill(`insert into gateway.clients (client_id, name, scopes, created)
    select 'opc_' || ${id}, 'App ' || n, array['read:orders'], now() - n * interval '1 minute' from generate_series(1, 60) n`);
  await fill(`insert into gateway.client_tenants (tenant, client_id, granted_at)
    select 'rst_' || ${id}, 'opc_000001', now() from generate_series(1, 60) n`);
  await fill(`insert into gateway.policy_dry_run (route, caller, missing_scopes, calls, first_seen, last_seen)
    select 'orders.list', 'opc_' || ${id}, array['write:menu'], 1, now(), date_trunc('second', now()) - (n / 7) * interval '1 minute' from generate_series(1, 120) n`);
  await fill(`insert into gateway.audit_chains
    select 1000 + n, process, opened, seq, hash, signed, closed, seen, mac, anchor_seq, anchor_hash, anchor_mac
    from (select * from gateway.audit_chains order by chain limit 1) c, generate_series(1, 50) n`);
});

afterAll(async () => {
  await harness?.close();
  rmSync(folder, { recursive: true, force: true });
});

test('staff, clients without use, what clients reach, dry runs and signed heads are read by cursor', async () => {
  const admin = await harness.cookieOf(await harness.user('admin'));
  expectEachOnce(await walk(admin, '/panel/users', /href="\/panel\/users\/(usr_\w+)"/g), 121);
  expectEachOnce(await walk(admin, '/panel/clients/unused-scopes', /href="\/panel\/clients\/(opc_\w+)\/use"/g), 60);
  expectEachOnce(
    await walk(admin, '/panel/clients/opc_000001', /withdraw\?restaurant=(rst_\w+)" aria-label="Withdraw/g),
    60,
  );
  expectEachOnce(await walk(admin, '/panel/security/policy', /<code>(opc_\d+)<\/code>/g), 120);
  const heads = await walk(admin, '/panel/security/integrity', /data-label="Chain">(1\d{3})</g);
  expectEachOnce(heads, 50);
});

test('keys of a restaurant and restaurants of an owner are read by cursor', async () => {
  const [restuid = ''] = harness.restaurants;
  const owner = await harness.user('owner', [restuid]);
  const cookie = await harness.cookieOf(owner);
  expectEachOnce(await walk(cookie, `/panel/restaurants/${restuid}/keys`, /<code[^>]*>(key_\d+)<\/code>/g), 120);
  await fill(
    `insert into panel.user_restaurants (restuid, user_id) select 'rst_' || ${id}, $1 from generate_series(1, 60) n`,
    [owner.userId],
  );
  expectEachOnce(
    await walk(cookie, '/panel/restaurants', /<th scope="row"><a href="\/panel\/restaurants\/(rst_\w+)"/g),
    61,
  );
});

test('an open list of keys is fetched again when a key beyond its first page ends', async () => {
  const [restuid = ''] = harness.restaurants;
  const cookie = await harness.cookieOf(await harness.user('owner', [restuid]));
  const mark = async (): Promise<string | undefined> => {
    const answer = await fetch(`${harness.url}/panel/restaurants/${restuid}/keys`, { headers: { cookie } });
    return /restaurant-keys%7E([\w-]+)/.exec(await answer.text())?.[1];
  };
  const before = await mark();
  expect(before).toBeDefined();
  expect(await mark()).toBe(before);
  await harness.command('key', 'revoke', '--key-id', 'key_000110');
  expect(await mark()).not.toBe(before);
});
