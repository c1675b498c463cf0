/** A start with `--demo-data`: what is in the store afterwards, and what a second start, a crash and a used store do. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { embeddedConnection } from '#src/platform/db/embedded/embedded.ts';
import { createTestDatabase } from '../../support/database.ts';
import {
  makeDataDir,
  plainEnv,
  type RunningProgram,
  root,
  runCommand,
  runJson,
  startProgram,
} from '../../support/program.ts';
import { query } from '../../support/store-owner.ts';
import { until } from '../../support/until.ts';
import { type Account, makeAccount } from './accounts.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const newFolder = (): Record<string, string> => {
  const data = makeDataDir();
  closers.push(data.remove);
  return { ORDERPASS_DATA_DIR: data.path };
};

const start = async (env: Record<string, string>, ...flags: string[]): Promise<RunningProgram> => {
  const program = await startProgram(env, root, flags);
  closers.push(() => program.kill());
  return program;
};

/** `undefined`: the store takes no connection yet. */
const ask = async (env: Record<string, string>, statement: string): Promise<Record<string, unknown>[] | undefined> => {
  const found = await embeddedConnection(env.ORDERPASS_DATA_DIR ?? '').catch(() => undefined);
  if (found === undefined) return undefined;
  return (await query(found.connection, statement)) as Record<string, unknown>[];
};

const counts = `select (select count(*)::int from ordering.orders) as orders,
  (select count(*)::int from ordering.customers) as customers,
  (select count(*)::int from ordering.loyalty_entries) as entries,
  (select count(*)::int from gateway.clients) as clients,
  (select count(*)::int from webhooks.endpoints) as endpoints,
  (select count(distinct external_id)::int from ordering.orders where external_id like 'week-%') as planned`;

/** Figures that are stored beside what they are about, and differ from it. */
const contradictions = `
  select 'customer ' || c.uid as wrong from ordering.customers c
    where c.loyalty_points <> coalesce((select sum(case diff_op when 'add' then diff_points else -diff_points end)
      from ordering.loyalty_entries e where e.restuid = c.restuid and e.customer_uid = c.uid), 0)
  union all select 'orders of ' || c.uid from ordering.customers c
    where (c.orders_count, c.orders_total) <> (select count(*)::int, coalesce(sum(total), 0)::bigint from ordering.orders o
      where o.restuid = c.restuid and o.customer_uid = c.uid and o.status <> 'cancelled' and o.status <> 'timed_out')
  union all select 'tally ' || s.status from (select status, count(*) as count from ordering.orders where status <> 'new' group by 1) s
    where s.count <> (select sum(count) from ordering.tallies where name = 'orders_' || s.status)
  union all select 'delivery ' || d.uid from webhooks.deliveries d
    where d.attempts_count <> (select count(*) from webhooks.attempts a where a.delivery_uid = d.uid)
      or d.created > now() or d.created < now() - interval '8 days'
  union all select 'event ' || e.id from outbox.events e where e.created > now()`;

test('A-582 a first start with --demo-data has a week of orders, webhooks and refusals, which pages show, and a second one adds nothing', async () => {
  const env = newFolder();
  const first = await start(env, '--demo-data');
  expect(first.errors()).toBe('');
  expect(first.output()).toMatch(/^The demo restaurant gets a week[\s\S]*^The demo data is complete\.$/m);
  const [made] = (await ask(env, counts)) ?? [];
  expect(made).toMatchObject({ clients: 2, endpoints: 2 });
  expect(made?.orders).toBeGreaterThan(100);
  const rows = await ask(
    env,
    `select array_agg(distinct status) as states, array_agg(distinct dmethod) as methods,
       count(distinct date_trunc('day', date))::int as days,
       count(*) filter (where extract(hour from date at time zone 'Europe/Rome') in (12, 13, 14, 19, 20, 21, 22))::float / count(*) as meals
     from ordering.orders`,
  );
  const [orders] = rows ?? [];
  expect(orders?.states).toEqual(expect.arrayContaining(['cancelled', 'closed', 'confirmed', 'new', 'timed_out']));
  expect(orders?.methods).toEqual(['0', '0t', '1']);
  expect(orders?.days).toBeGreaterThanOrEqual(7);
  expect(orders?.meals).toBeGreaterThan(0.8);
  expect(await ask(env, contradictions)).toEqual([]);
  const reasons = await ask(
    env,
    `select distinct reason from gateway.audit_events where outcome = 'failure' and at < now() order by 1`,
  );
  expect(reasons?.map(({ reason }) => reason)).toEqual(
    expect.arrayContaining(['insufficient_scope', 'rate_limit_exceeded', 'secret_wrong']),
  );
  const deliveries = await ask(
    env,
    `select array_agg(distinct state) as states, max(attempts_count)::int as most,
       count(*) filter (where state = 'succeeded' and attempts_count > 1)::int as repaired from webhooks.deliveries`,
  );
  expect(deliveries?.[0]?.states).toEqual(expect.arrayContaining(['exhausted', 'pending', 'succeeded']));
  expect(deliveries?.[0]?.repaired).toBeGreaterThan(0);
  expect(await first.stop()).toBe(0);
  const verified = await runCommand(['audit', 'verify'], env);
  expect(verified).toMatchObject({ code: 0, stderr: '' });

  const second = await start(env, '--demo-data');
  expect(second.output()).toContain('this start adds nothing');
  expect(second.output()).not.toMatch(/op[cks]_|whsec_/);
  expect((await ask(env, counts))?.[0]).toEqual(made);
  await expectShownToAdmins(second, await makeAccount(second, env, 'admin', first.output()));
}, 900_000);

/** The demo restaurant is a sandbox, and nothing else is there. */
const expectShownToAdmins = async (program: RunningProgram, { cookie }: Account): Promise<void> => {
  const text = await (await fetch(`${program.url}/panel`, { headers: { cookie } })).text();
  const card = /<section class="card" id="failing-card"[\s\S]*?<\/section>/.exec(text)?.[0];
  expect(card).toContain('127.0.0.1:9/orders');
  expect(text).not.toContain('Sandboxes are left out.');
};

/** Kills the first start with `--demo-data` while at most so many days of its week are missing. */
const killWeek = async (env: Record<string, string>, daysLeft: number): Promise<void> => {
  const child = spawn(process.execPath, ['src/cli/launch.mjs', 'start', '--demo-data'], {
    cwd: root,
    env: { ...plainEnv(), PORT: '0', ...env },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  closers.push(() => child.kill('SIGKILL'));
  await until(async () => {
    const rows = await ask(
      env,
      `select value::jsonb ->> 'done' as done from platform.facts where name = 'demo.week'`,
    ).catch(() => undefined);
    return Number(rows?.[0]?.done ?? 0) > Date.now() - daysLeft * 86_400_000;
  }, 120_000);
  child.kill('SIGKILL');
  await ended;
};

test('a week that a crash interrupted is finished by the next start, without a second order for any of its steps', async () => {
  const env = newFolder();
  await killWeek(env, 4);
  const next = await start(env);
  expect(next.output()).toContain('The demo data is complete.');
  // The credentials are shown by the start that finishes.
  await until(() => /Client secret +ops_/.test(next.output()));
  const [made] = (await ask(env, counts)) ?? [];
  const samples = 3;
  expect(made).toMatchObject({ clients: 2, endpoints: 2 });
  expect(made?.orders).toBe(Number(made?.planned) + samples);
  expect(made?.orders).toBeGreaterThan(100);
  expect(await ask(env, contradictions)).toEqual([]);
  expect(await next.stop()).toBe(0);
  expect((await runCommand(['audit', 'verify'], env)).code).toBe(0);
}, 240_000);

test('A-501 a week whose credentials were shown before it was complete stays as it is, and later starts work', async () => {
  const env = newFolder();
  await killWeek(env, 7);
  const table = JSON.parse(readFileSync('config/routes.json', 'utf8')) as RouteFile;
  const scopes = table.scopes.filter(({ name }) => name !== 'write:orders');
  const routes = table.routes.filter((route) => !JSON.stringify(route).includes('write:orders'));
  const file = join(env.ORDERPASS_DATA_DIR ?? '', 'routes-without-orders.json');
  writeFileSync(file, JSON.stringify({ scopes, routes, apiKeyScopes: table.apiKeyScopes }));
  const without = await start({ ...env, ORDERPASS_ROUTES_FILE: file });
  await until(() => /Client secret +ops_/.test(without.output()));
  expect(await without.stop()).toBe(0);
  for (const flags of [[], ['--demo-data']]) {
    const later = await start(env, ...flags);
    expect(later.output()).not.toContain('The demo data is complete.');
    expect(later.output().includes('The demo data stays incomplete')).toBe(flags.length > 0);
    expect(await later.stop()).toBe(0);
  }
}, 240_000);

type RouteFile = { scopes: { name: string }[]; routes: unknown[]; apiKeyScopes: string[] };

test('a store that is in use and a store of a database server get no demo data, and the start says why', async () => {
  const env = newFolder();
  await runJson(['restaurant', 'create', '--name', 'Osteria Uno'], env);
  const used = await runCommand(['start', '--demo-data'], { ...env, PORT: '0' });
  expect(used.code).toBe(1);
  expect(used.stderr).toContain('--demo-data adds nothing: this store is not empty');
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  const served = await runCommand(['start', '--demo-data'], { ...newFolder(), PORT: '0', DATABASE_URL: database.url });
  expect(served.code).toBe(1);
  expect(served.stderr).toContain('--demo-data adds nothing: it belongs to');
  const unknown = await runCommand(['start', '--demo-date'], { ...newFolder(), PORT: '0' });
  expect(unknown).toMatchObject({ code: 2 });
});
