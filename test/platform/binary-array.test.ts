import { type RawBuilder, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  bigintArray,
  booleanArray,
  integerArray,
  smallintArray,
  textArray,
  timestampArray,
} from '#src/platform/db/binary-array.ts';
import { createTestDatabase } from '../support/database.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database?.drop());

/** The elements as PostgreSQL shows them. */
const read = async (array: RawBuilder<unknown>): Promise<(string | null)[]> => {
  const { rows } = await sql<{ value: string | null }>`
    select value::text as value from unnest(${array}) with ordinality as one (value, number)
    order by number`.execute(database.db);
  return rows.map(({ value }) => value);
};

test('each text of a binary array arrives as it was', async () => {
  const long = 'città '.repeat(20_000);
  const texts = ['evt_01', '', ' ', 'null', 'a,b', '{}', `"'\\`, 'line\nline\t', 'ÿ', '城', '🍕', null];
  texts.push('x'.repeat(255), 'x'.repeat(256), long);
  expect(await read(sql`${textArray(texts)}::text[]`)).toEqual(texts);
  expect(await read(sql`${textArray([])}::text[]`)).toEqual([]);
  expect(await read(sql`${textArray([null])}::text[]`)).toEqual([null]);
});

test('each number of a binary array arrives as it was, up to the bounds of its type', async () => {
  const whole = [0, 1, -1, 255, 256, -256];
  const shown = (values: readonly (number | null)[]) => values.map((value) => (value === null ? null : String(value)));
  const small = [...whole, 32_767, -32_768, null];
  expect(await read(sql`${smallintArray(small)}::smallint[]`)).toEqual(shown(small));
  const medium = [...whole, 2_147_483_647, -2_147_483_648, null];
  expect(await read(sql`${integerArray(medium)}::integer[]`)).toEqual(shown(medium));
  const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number;
  const large = [...whole, 2 ** 31, 2 ** 32, 2 ** 32 - 1, -(2 ** 32), -(2 ** 32) - 1, most, least, null];
  expect(await read(sql`${bigintArray(large)}::bigint[]`)).toEqual(shown(large));
});

test('each truth value and each time of a binary array arrives as it was', async () => {
  expect(await read(sql`${booleanArray([true, false, null])}::boolean[]`)).toEqual(['true', 'false', null]);
  const times = [
    '2026-01-02T03:04:05.678Z',
    '2000-01-01T00:00:00.000Z',
    '1999-12-31T23:59:59.999Z',
    '1970-01-01T00:00:00.000Z',
  ];
  const { rows } = await sql<{ at: (Date | null)[] }>`
    select ${timestampArray([...times.map((time) => new Date(time)), null])}::timestamptz[] as at`.execute(database.db);
  expect(rows[0]?.at.map((at) => at?.toISOString() ?? null)).toEqual([...times, null]);
});

test('a number that its type cannot hold is refused, and an array of another type than the statement says', async () => {
  for (const make of [
    () => smallintArray([32_768]),
    () => integerArray([2 ** 31]),
    () => integerArray([1.5]),
    () => bigintArray([2 ** 53]),
    () => bigintArray([Number.NaN]),
    () => timestampArray([new Date(Number.NaN)]),
  ])
    expect(make).toThrow(RangeError);
  await expect(read(sql`${integerArray([1])}::bigint[]`)).rejects.toThrow('instead of expected 20');
});
