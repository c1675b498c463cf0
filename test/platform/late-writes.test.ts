import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inTransaction, withCommit } from '#src/platform/db/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query('create table entries (id int primary key)');
});

afterAll(() => database?.drop());

const ids = async (): Promise<number[]> =>
  (await database.pool.query<{ id: number }>('select id from entries order by id')).rows.map(({ id }) => id);

test('a late write commits with its transaction, and a failed one rolls the transaction back with its own error', async () => {
  const { db } = database;
  const insert = (first: number, late: number): Promise<string> =>
    inTransaction(db, async (tx) => {
      await sql`insert into entries values (${first})`.execute(tx);
      await withCommit(tx, sql`insert into entries values (${late})`.execute(tx));
      return 'done';
    });
  expect(await insert(1, 2)).toBe('done');
  await expect(insert(3, 2)).rejects.toMatchObject({ code: '23505' });
  expect(await ids()).toEqual([1, 2]);
  // The connection is as good as before.
  expect(await insert(3, 4)).toBe('done');
  expect(await ids()).toEqual([1, 2, 3, 4]);
});
