import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fragment, statement } from '#src/platform/db/driver/statement.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const columns = sql`a as "first", b as "second"`;
const pair = (a: number, b: string) => fragment`(${a}::integer, ${b}::text)`;

const ask = (least: number, rows: [number, string], text: string | null) =>
  statement<{ first: number; second: string; third: string | null }>`
    select ${columns}, ${text}::text as third from (values ${pair(...rows)}, ${pair(7, "it's $1")}) as of (a, b)
    where a >= ${least} order by a`.execute(database.db);

test('values are parameters in their places, in pieces too, and the text is known to the server by its name', async () => {
  expect((await ask(1, [5, 'x'], null)).rows).toEqual([
    { first: 5, second: 'x', third: null },
    { first: 7, second: "it's $1", third: null },
  ]);
  expect((await ask(6, [5, '; drop'], 'now')).rows).toEqual([{ first: 7, second: "it's $1", third: 'now' }]);
  const known = await inTransaction(database.db, async (tx) => {
    await statement`select ${1}::integer as only_once`.execute(tx);
    const { rows } = await sql<{ statement: string }>`
      select statement from pg_prepared_statements where statement like '%only_once%'`.execute(tx);
    return rows;
  });
  expect(known).toEqual([{ statement: '/* named */ select $1::integer as only_once' }]);
});

test('a statement whose text depends on values is refused before it is sent', async () => {
  const varying = (descending: boolean) => {
    const order = descending ? fragment`order by a desc` : fragment`order by a`;
    return statement<{ a: number }>`select a from (values (1), (2)) as of (a) ${order}`;
  };
  expect((await varying(true).execute(database.db)).rows).toEqual([{ a: 2 }, { a: 1 }]);
  expect(() => varying(false).execute(database.db)).toThrow('the text of a statement varies');
  expect((await varying(true).execute(database.db)).rows).toHaveLength(2);
});
