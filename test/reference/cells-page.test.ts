/** The page on cells says what exists: its lists of tables are those of the schema, and what it calls missing is missing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesByPlace } from '#src/app/reference/guide/content/cell-tables.ts';
import { routeFileSchema } from '#src/gateway/config.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { root } from '../support/program.ts';

const text = readFileSync(join(root, 'src/app/reference/guide/operate/cells.md'), 'utf8');

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database?.drop());

/** Name of each table, without partitions -> its columns. */
const readTables = async (): Promise<Map<string, string[]>> => {
  const { rows } = await database.pool.query<{ name: string; columns: string[] }>(`
    select table_schema || '.' || table_name as name, array_agg(column_name::text) as columns
    from information_schema.columns join pg_class on pg_class.oid = format('%I.%I', table_schema, table_name)::regclass
    where table_schema not in ('pg_catalog', 'information_schema') and relkind in ('r', 'p') and not relispartition
    group by 1`);
  return new Map(rows.map(({ name, columns }) => [name, columns]));
};

test('each table has one place on the page on cells, and those that move with a restaurant can be read by restaurant', async () => {
  const tables = await readTables();
  const schemaOf = (name: string): string => `${name.split('.')[0]}.*`;
  const placesOf = (name: string): string[] =>
    Object.entries(tablesByPlace).flatMap(([place, names]) =>
      names.includes(name) || names.includes(schemaOf(name)) ? [place] : [],
    );
  for (const [name, columns] of tables) {
    expect(placesOf(name), name).toHaveLength(1);
    const isByRestaurant = ['tenant', 'restuid', 'endpoint_uid'].some((column) => columns.includes(column));
    const isException = ['ordering.restaurants', 'platform.receipts'].includes(name);
    if (placesOf(name).includes('restaurant')) expect(isByRestaurant || isException, name).toBe(true);
  }
  const listed = Object.values(tablesByPlace)
    .flat()
    .filter((name) => !name.endsWith('.*'));
  expect(listed.filter((name) => !tables.has(name))).toEqual([]);
});

test('the page on cells names the member of the route table and the column of the directory that exist', async () => {
  const { properties } = routeFileSchema() as {
    properties: { upstreams: { additionalProperties: { properties: object } } };
  };
  expect(properties.upstreams.additionalProperties.properties).toHaveProperty('cells');
  expect((await readTables()).get('gateway.tenants')).toContain('cell');
  for (const named of ['`cells`', 'gateway.tenants.cell', 'restaurant cell --restaurant'])
    expect(text).toContain(named);
});
