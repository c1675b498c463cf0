import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand, runJson } from '../support/program.ts';

let database: TestDatabase;
let env: Record<string, string>;
let restaurant: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
  const made = await runJson(['restaurant', 'create', '--name', 'Da Ada', '--time-zone', 'Europe/Rome'], env);
  restaurant = ['restaurant', 'set', '--restaurant', String(made.restuid)];
});
afterAll(() => database?.drop());

test('A-363 restaurant cell shows and changes the cell, and refuses one that the file of routes does not have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orderpass-cell-'));
  const file = join(folder, 'routes.json');
  const table = JSON.parse(readFileSync(new URL('../../config/routes.json', import.meta.url), 'utf8'));
  const cells = { default: 'ordering', north: 'north' };
  table.upstreams = { ...table.upstreams, shops: { cells }, north: { addresses: ['http://127.0.0.1:1'] } };
  table.routes.push({ id: 'shops', path: '/shops', scopes: [], upstream: 'shops', tenant: '?shop' });
  writeFileSync(file, JSON.stringify(table));
  const here = { ...env, ORDERPASS_ROUTES_FILE: file };
  const cell = ['restaurant', 'cell', '--restaurant', restaurant[3] ?? ''];
  expect(await runJson(cell, here)).toEqual({ restuid: restaurant[3], cell: 'default' });
  expect(await runJson([...cell, '--cell', 'north'], here)).toEqual({ restuid: restaurant[3], cell: 'north' });
  expect(await runJson(cell, here)).toMatchObject({ cell: 'north' });
  const unknown = await runCommand([...cell, '--cell', 'south'], here);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('it has default, north')]);
  const lost = await runCommand(['restaurant', 'cell', '--restaurant', 'rst_unknown', '--cell', 'north'], here);
  expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('rst_unknown')]);
  expect(await runJson([...cell, '--cell', 'default'], here)).toMatchObject({ cell: 'default' });
  const { rows } = await sql`
    select details from gateway.audit_events where action = 'tenant.changed' and details like '%cell%' order by at, seq`.execute(
    database.db,
  );
  expect(rows).toEqual([{ details: '{"cell":"north"}' }, { details: '{"cell":"default"}' }]);
  rmSync(folder, { recursive: true });
});

test('restaurant set changes the given settings and shows all; equal zones follow the time zone', async () => {
  const before = await runJson(restaurant, env);
  expect(before).toMatchObject({
    api_enabled: true,
    confirmation_required: true,
    countdown_minutes: 10,
    points_per_unit: 1,
    point_value: null,
    signup_points: 0,
    time_zone: 'Europe/Rome',
    api_time_zone: 'Europe/Rome',
  });
  const words =
    '--api-enabled off --confirmation off --countdown-minutes 0 --points-per-unit 2.5 --point-value 0.05 --signup-points 12.5';
  const changed = await runJson([...restaurant, ...words.split(' '), '--time-zone', 'Asia/Tokyo'], env);
  expect(changed).toEqual({
    restuid: before.restuid,
    api_enabled: false,
    time_zone: 'Asia/Tokyo',
    api_time_zone: 'Asia/Tokyo',
    confirmation_required: false,
    countdown_minutes: 0,
    points_per_unit: 2.5,
    point_value: 0.05,
    signup_points: 12.5,
  });
  const { rows } = await sql`
    select l.time_zone as location, t.facts->>'time_zone' as recorded, t.api_enabled as enabled
    from ordering.locations l join gateway.tenants t on t.id = l.restuid`.execute(database.db);
  expect(rows).toEqual([{ location: 'Asia/Tokyo', recorded: 'Asia/Tokyo', enabled: false }]);
  const last = await runJson([...restaurant, '--point-value', 'none', '--api-time-zone', 'UTC'], env);
  expect(last).toEqual({ ...changed, point_value: null, api_time_zone: 'UTC' });
});

test('restaurant set reports every problem at once and then changes nothing', async () => {
  const before = await runJson(restaurant, env);
  const words =
    '--countdown-minutes 121 --points-per-unit 1.005 --point-value 0 --signup-points 3 --time-zone Mars/One';
  const refused = await runCommand([...restaurant, ...words.split(' ')], env);
  expect(refused.code).toBe(1);
  for (const part of ['Mars/One', '0 to 120', 'points per unit', '0.0001 to 1000'])
    expect(refused.stderr).toContain(part);
  expect(await runJson(restaurant, env)).toEqual(before);
  expect((await runCommand([...restaurant, '--signup-points', 'many'], env)).code).toBe(2);
  for (const option of ['--countdown-minutes', '--points-per-unit', '--point-value', '--signup-points'])
    expect([option, (await runCommand([...restaurant, option, ''], env)).code]).toEqual([option, 2]);
  for (const option of ['--time-zone', '--api-time-zone'])
    expect([option, (await runCommand([...restaurant, option, ''], env)).code]).toEqual([option, 1]);
  expect((await runCommand(['restaurant', 'set', '--restaurant', 'rst_none'], env)).code).toBe(1);
});

test('restaurant set without a setting shows all of them, and writes no event of a change', async () => {
  const changes = async (): Promise<unknown[]> => {
    const words = ['audit', 'search', '--action', 'tenant.changed', '--json'];
    return JSON.parse((await runCommand(words, env)).stdout).events as unknown[];
  };
  await runJson([...restaurant, '--signup-points', '7'], env);
  const before = (await changes()).length;
  expect(before).toBeGreaterThan(0);
  expect(await runJson(restaurant, env)).toMatchObject({ signup_points: 7 });
  expect(await changes()).toHaveLength(before);
});
