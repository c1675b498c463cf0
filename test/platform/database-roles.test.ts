/** Two roles: one owns the schema and migrates, the other reads and writes rows. Neither is a superuser. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client, type QueryResult } from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { createPool } from '#src/platform/db/pool.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import type { Migration } from '#src/platform/db/schema/pending.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { importsAnswer } from '../support/orders/imports-answer.ts';
import { type RunningProgram, runCommand, runJson, runWithInput, startProgram } from '../support/program.ts';
import { roleUrl, run } from '../support/test-server.ts';
import { until } from '../support/until.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

type Json = ReturnType<typeof JSON.parse>;

const log = pino({ level: 'silent' });
const suffix = randomBytes(4).toString('hex');
const ownerRole = `orderpass_owner_${suffix}`;
const serverRole = `orderpass_server_${suffix}`;
const readerRole = `orderpass_reader_${suffix}`;
const day = 86_400_000;

let database: TestDatabase;
let receiver: WebhookReceiver;
let owner: Record<string, string>;
let server: Record<string, string>;
let reader: Record<string, string>;
const programs: RunningProgram[] = [];

const start = async (more: Record<string, string>): Promise<RunningProgram> => {
  const program = await startProgram({ ...server, ...more });
  programs.push(program);
  return program;
};

/** One statement as a role; rejects with the error of PostgreSQL. */
const as = async (env: Record<string, string>, text: string, values: unknown[] = []): Promise<QueryResult['rows']> => {
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
};

const denied = { code: '42501' };

beforeAll(async () => {
  database = await createEmptyDatabase();
  receiver = await startReceiver();
  const { url } = inject('testServer');
  for (const role of [ownerRole, serverRole, readerRole])
    await run(url, `create role ${role} login password '${role}'`);
  await database.pool.query(
    `do $$ begin execute format('alter database %I owner to ${ownerRole}', current_database()); end $$`,
  );
  const key = { ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'), ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true' };
  owner = { DATABASE_URL: roleUrl(database.ownerUrl, ownerRole) };
  reader = { DATABASE_URL: roleUrl(database.ownerUrl, readerRole) };
  server = { DATABASE_URL: roleUrl(database.ownerUrl, serverRole), ...key };
});

afterEach(async () => {
  for (const program of programs.splice(0)) await program.stop();
});

afterAll(async () => {
  await receiver?.close();
  await database?.drop();
  const { url } = inject('testServer');
  for (const role of [readerRole, serverRole, ownerRole]) await run(url, `drop role ${role}`);
});

const shape = (): Promise<QueryResult['rows']> =>
  as(
    owner,
    `select relname, relacl::text from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname !~ '^(pg_|information_schema)' order by 1, 2`,
  );

test('A-256 a plan prints the pending migrations and the grants as SQL, changes nothing and ends with 1', async () => {
  const empty = await shape();
  const planned = await runCommand(['migrate', '--plan', '--grant-to', serverRole], owner);
  expect([planned.code, planned.stderr]).toEqual([1, '']);
  expect(planned.stdout).toContain('-- platform/0001-platform\n');
  expect(planned.stdout).toContain('create schema gateway;');
  expect(planned.stdout).toContain(`on all tables in schema ordering to "${serverRole}";`);
  const { code, stdout } = await runCommand(['migrate', '--plan', '--json'], owner);
  const plan = JSON.parse(stdout) as { pending: { migration: string; sql: string }[]; grants: string[] };
  expect([code, plan.pending[0]?.migration, plan.grants]).toEqual([1, 'platform/0001-platform', []]);
  expect(await shape()).toEqual(empty);
});

test('A-255 a start with check refuses a database without its schema and names the migrations and the command', async () => {
  const started = await runCommand(['start'], { ...server, ...owner, ORDERPASS_MIGRATE: 'check' });
  expect(started.code).toBe(1);
  expect(started.stderr).toMatch(/SCHEMA_BEHIND: .*platform\/0001-platform.*gateway\/0001-gateway.*-- migrate /);
  const off = await runCommand(['start'], { ...server, ...owner, ORDERPASS_MIGRATE: 'off' });
  expect([off.code, off.stderr]).toEqual([1, expect.stringContaining('SCHEMA_BEHIND')]);
  const auto = await runCommand(['start'], server);
  expect(auto.code).toBe(1);
  expect(auto.stderr).toContain(`MIGRATION_DENIED: the role ${serverRole} may not change the schema`);
  expect(await shape()).toEqual([]);
});

test('A-254 the grants refuse a role that is missing or could change the schema, before anything is changed', async () => {
  const cases: [string, string][] = [
    [`missing_${suffix}`, 'there is no role'],
    [ownerRole, 'has the rights of the owner'],
  ];
  for (const [role, reason] of cases) {
    const refused = await runCommand(['migrate', '--grant-to', role], owner);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(reason)]);
  }
  expect(await shape()).toEqual([]);
});

test('A-254 migrate without a master key gives the role of the server the rights to rows and no others', async () => {
  const migrated = await runCommand(['migrate', '--grant-to', serverRole, '--json'], owner);
  expect(migrated).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(migrated.stdout)).toMatchObject({ up_to_date: true, granted_to: serverRole });
  expect((await runCommand(['migrate', '--plan'], owner)).code).toBe(0);
  const rights = await as(
    owner,
    `select nspname || '.' || relname as name, array_agg(privilege_type order by privilege_type) as rights
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace left join lateral aclexplode(relacl) on grantee = $1::regrole
     where relkind in ('r', 'p') and nspname !~ '^(pg_|information_schema)' group by 1`,
    [serverRole],
  );
  const rows = ['DELETE', 'INSERT', 'SELECT', 'UPDATE'];
  const readOnly = ['platform.migrations', 'platform.declared_migrations', 'platform.weekly_tables'];
  expect(rights.length).toBeGreaterThan(60);
  expect(
    rights.filter(({ name, rights: held }) => `${held}` !== `${readOnly.includes(name) ? ['SELECT'] : rows}`),
  ).toEqual([]);
  const [{ definers }] = await as(
    owner,
    `select array_agg(proname::text order by proname) as definers from pg_proc where prosecdef and pronamespace::regnamespace::text in
     ('platform', 'gateway') and not has_function_privilege('public', oid, 'execute') and proconfig is not null`,
  );
  expect(definers).toEqual([
    ...['audit_partition', 'drop_audit_partition', 'drop_request_day', 'drop_week', 'make_request_day', 'make_week'],
  ]);
});

test.each([
  'create table gateway.more (id int)',
  'create table public.more (id int)',
  'create schema more',
  'alter table ordering.orders add column more int',
  'drop table gateway.denials',
  'truncate gateway.audit_events',
  'create index on ordering.orders (status)',
  'alter table gateway.audit_events disable trigger all',
  `update platform.weekly_tables set table_name = 'orders'`,
  `insert into platform.migrations (feature, number, name, sha256) values ('x', 1, 'x', '')`,
  'create function gateway.more() returns int language sql as $$ select 1 $$',
  `select platform.make_week('ordering', 'orders', now())`,
  `select platform.drop_week('ordering', 'orders', 1)`,
  `select platform.drop_week('outbox', 'events', (extract(epoch from now()) / 604800)::bigint)`,
  `select platform.make_week('outbox', 'events', now() + interval '1 year')`,
  `select gateway.audit_partition('2040-01-01')`,
  `select gateway.drop_audit_partition('audit_events')`,
  `select gateway.drop_audit_partition('denials')`,
  `select gateway.drop_audit_partition('audit_events_' || to_char(now() at time zone 'UTC', 'YYYYMM'))`,
  `select gateway.make_request_day('2040-01-01')`,
  `select gateway.drop_request_day('denials')`,
  `select gateway.drop_request_day(to_char(now() at time zone 'UTC', 'YYYYMMDD'))`,
])('A-254 the role of the server cannot run: %s', async (statement) => {
  await as(owner, 'select gateway.audit_partition(now())');
  await expect(as(server, statement)).rejects.toMatchObject(denied);
});

test('A-254 functions of the owner read the catalogue of PostgreSQL, not temporary tables of the role under its names', async () => {
  await as(
    server,
    `create temporary table pg_class (oid oid, relname name);
     create temporary table pg_inherits (inhrelid oid, inhparent oid);
     insert into pg_temp.pg_class values ('gateway.denials'::regclass, 'events_w1');
     insert into pg_temp.pg_inherits values ('gateway.denials'::regclass, 'outbox.events'::regclass);
     select platform.drop_week('outbox', 'events', 1)`,
  );
  expect(await as(owner, `select to_regclass('gateway.denials')::text as name`)).toEqual([{ name: 'gateway.denials' }]);
});

const tables = async (): Promise<string[]> =>
  (await as(owner, `select relname from pg_class where relkind in ('r', 'p')`)).map(({ relname }) => relname);

test('A-257 A-295 months, weeks and days are made and dropped by the retention of a server that cannot change the schema', async () => {
  const past = new Date(Date.now() - 900 * day);
  const weekAt = (moment: number): number => Math.floor(moment / (7 * day));
  const oldMonth = `audit_events_${past.toISOString().slice(0, 7).replace('-', '')}`;
  const oldWeek = `events_w${weekAt(Date.now() - 60 * day)}`;
  const nextWeek = `attempts_w${weekAt(Date.now()) + 2}`;
  await as(owner, 'select gateway.audit_partition($1)', [past]);
  await as(owner, `select platform.make_week('outbox', 'events', $1)`, [new Date(Date.now() - 60 * day)]);
  await as(owner, `drop table if exists webhooks.${nextWeek}`);
  const dayAt = (moment: number): string => new Date(moment).toISOString().slice(0, 10).replaceAll('-', '');
  const [oldDay, newDay] = [`requests_${dayAt(Date.now() - 20 * day)}`, `requests_${dayAt(Date.now() + day)}`];
  await as(owner, 'select gateway.make_request_day($1)', [new Date(Date.now() - 20 * day)]);
  expect(await tables()).toEqual(expect.arrayContaining([oldMonth, oldWeek, oldDay]));
  await start({
    ORDERPASS_ROLE: 'gateway',
    ORDERPASS_UPSTREAMS: 'ordering=http://127.0.0.1:9',
    ORDERPASS_MIGRATE: 'check',
  });
  await start({ ORDERPASS_ROLE: 'worker', ORDERPASS_MIGRATE: 'check' });
  await until(async () => {
    const found = await tables();
    const isKept = [oldMonth, oldWeek, oldDay].some((name) => found.includes(name));
    return !isKept && found.includes(nextWeek) && found.includes(newDay);
  });
  expect(await as(server, `select count(*)::int as count from webhooks.${nextWeek}`)).toEqual([{ count: 0 }]);
});

test('A-257 the roles of the program work without rights to the schema: an order, its webhook, tokens and the audit', async () => {
  const port = String(await freePort());
  await start({ ORDERPASS_ROLE: 'ordering', ORDERPASS_INTERNAL_PORT: port, ORDERPASS_MIGRATE: 'check' });
  await start({ ORDERPASS_ROLE: 'worker' });
  const upstreams = `ordering=http://127.0.0.1:${port}`;
  const { url } = await start({ ORDERPASS_ROLE: 'gateway', ORDERPASS_UPSTREAMS: upstreams, ORDERPASS_MIGRATE: 'off' });
  const { restuid = '' } = await runJson(['restaurant', 'create', '--name', 'Da Ada'], server);
  const of = ['--restaurant', restuid];
  await runJson(['notifications', 'set', ...of, '--orders', 'on'], server);
  await runJson(['endpoint', 'create', ...of, '--url', receiver.url], server);
  const made = await runJson(['client', 'create', '--name', 'Till', ...of], server);
  const client = { 'x-client-id': String(made.client_id), 'x-client-secret': String(made.client_secret) };
  await importsAnswer(url, client);
  const send = async (path: string, headers: Record<string, string>, body: unknown): Promise<Json> => {
    const json = { 'content-type': 'application/json', ...headers };
    const response = await fetch(`${url}/api${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    expect([response.status, path]).toEqual([200, path]);
    return response.json();
  };
  await send('/menu/import', client, {
    pos_uid: 'till',
    update_mode: 'merge',
    categories: [{ ext_id: 'C', name: 'Pizze' }],
    products: [{ ext_id: 'P', category_ext_id: 'C', name: 'Marinara', price: 6 }],
  });
  const menu = (await (await fetch(`${url}/api/menu/products`, { headers: client })).json()) as Json;
  const grant = { grant_type: 'client_credentials', client_id: String(made.client_id) };
  const asked = { ...grant, client_secret: String(made.client_secret) };
  const issued = await fetch(`${url}/api/oauth/token`, { method: 'POST', body: new URLSearchParams(asked) });
  const { access_token: token } = (await issued.json()) as { access_token: string };
  const bearer = { authorization: `Bearer ${token}` };
  await send('/order/create', bearer, {
    client: { first_name: 'Ada', email: 'ada@example.com' },
    dmethod: '0t',
    table: '4',
    payment_method: 'external',
    details: [{ product: { uid: menu.products[0].uid }, quantity: 1 }],
  });
  await until(() => receiver.received.length === 1);
  expect((await runWithInput(['token', 'revoke'], server, token)).code).toBe(0);
  await until(async () => (await fetch(`${url}/api/menu/products`, { headers: bearer })).status === 401);
  const found: Json = await runJson(['audit', 'search', '--action', 'token.issued'], server);
  expect(found.events).toHaveLength(1);
  expect(await runJson(['audit', 'verify'], server)).toMatchObject({ ok: true });
});

test('A-254 the embedded store has one role: no rights are granted in it, and no store is made for a plan', async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'orderpass-roles-')), 'data');
  try {
    for (const plan of [['--plan'], []]) {
      const refused = await runCommand(['migrate', ...plan, '--grant-to', serverRole], { ORDERPASS_DATA_DIR: folder });
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('DATABASE_URL is missing')]);
    }
    expect(existsSync(folder)).toBe(false);
  } finally {
    await rm(dirname(folder), { recursive: true });
  }
});

test('A-258 a migration that is applied later gives its tables and schemas to the role of the server', async () => {
  const later: Migration = {
    feature: 'cellar',
    number: 1,
    name: 'barrels',
    sql: 'create schema cellar;\ncreate table cellar.barrels (id bigint generated always as identity); create sequence cellar.seals;',
  };
  const pool = createPool({ connection: owner.DATABASE_URL ?? '', max: 2, applicationName: 'test' }, log);
  try {
    await as(owner, `alter default privileges in schema platform grant select on tables to ${readerRole}`);
    expect(await migrate(pool, [...allMigrations, later], { log })).toEqual([later]);
    // The default privileges of a role that the operator lets read the tables of one schema are no reason to give it more.
    await expect(as(reader, 'delete from cellar.barrels')).rejects.toMatchObject(denied);
    await as(server, `insert into cellar.barrels default values; select nextval('cellar.seals')`);
    await expect(as(server, 'truncate cellar.barrels')).rejects.toMatchObject(denied);
  } finally {
    await pool.end();
  }
  const newer = await runCommand(['start'], { ...server, ORDERPASS_MIGRATE: 'check' });
  expect([newer.code, newer.stderr]).toEqual([1, expect.stringContaining('DATABASE_NEWER')]);
  const program = await start({ ORDERPASS_ROLE: 'worker', ORDERPASS_MIGRATE: 'off' });
  expect(program.errors()).toContain('cellar/0001-barrels');
  await as(owner, `delete from platform.migrations where feature in ('cellar', 'webhooks')`);
  const behind = await start({ ORDERPASS_ROLE: 'worker', ORDERPASS_MIGRATE: 'off' });
  expect(behind.errors()).toMatch(/SCHEMA_BEHIND.*webhooks\/0003-weekly-tables/);
});
