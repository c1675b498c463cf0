import { randomBytes } from 'node:crypto';
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
  expect((await runCommand(['restaurant', 'set', '--restaurant', 'rst_none'], env)).code).toBe(1);
});
