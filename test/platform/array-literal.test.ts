import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { arrayLiteral } from '#src/platform/db/array-literal.ts';
import { createTestDatabase } from '../support/database.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database?.drop());

const read = async (values: readonly (string | null)[]): Promise<(string | null)[]> => {
  const { rows } = await sql<{ value: string | null }>`
    select value from unnest(${arrayLiteral(values)}::text[]) with ordinality as one (value, number)
    order by number`.execute(database.db);
  return rows.map(({ value }) => value);
};

test('an array sent as a literal arrives element by element as it was, whatever stands in it', async () => {
  const texts = [
    'evt_01',
    '',
    ' ',
    'null',
    'NULL',
    'a,b',
    '{}',
    '{"a":"b\\\\"}',
    `"'\\`,
    'line\nline\t',
    'città 🍕',
    '-1.5e+3',
    null,
    'Null ',
  ];
  expect(await read(texts)).toEqual(texts);
  expect(await read([])).toEqual([]);
  expect(await read([null])).toEqual([null]);
});

test('numbers, booleans and times are read as what they are', async () => {
  const at = '2026-01-02T03:04:05.678Z';
  const { rows } = await sql<{ numbers: number[]; flags: boolean[]; times: Date[] }>`
    select ${arrayLiteral([1, -2, 9_007_199_254_740_991, null])}::bigint[]::text[]::float8[] as numbers,
      ${arrayLiteral([true, false])}::boolean[] as flags, ${arrayLiteral([at])}::timestamptz[] as times`.execute(
    database.db,
  );
  expect(rows).toEqual([
    { numbers: [1, -2, 9_007_199_254_740_991, null], flags: [true, false], times: [new Date(at)] },
  ]);
});
