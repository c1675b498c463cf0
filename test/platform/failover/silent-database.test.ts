import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { migrate } from '#src/platform/db/schema/migrate.ts';
import { inTransaction, isTransient } from '#src/platform/db/transaction.ts';
import { openStoreLine, type StoreLine } from '../../gateway/harness/store-line.ts';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });
/** Any other question to a database of this machine takes less, also while it has other work. */
const silentMsMax = 1_000;
/** Several times as long. */
const longWork = 'select pg_sleep(2.4)';

let database: TestDatabase;
let line: StoreLine;

beforeEach(async () => {
  database = await createEmptyDatabase();
  line = await openStoreLine(database.url, { silentMsMax });
});

afterEach(async () => {
  await line?.close();
  await database?.drop();
});

test('a server that hangs without closing ends the statement as a passing trouble, and its connection is not used again', async () => {
  const db = createDatabase(line.pool);
  const select = sql<{ one: number }>`select 1 as one`;
  const failed = async (work: Promise<unknown>): Promise<void> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect([error instanceof Error, isTransient(error)]).toEqual([true, true]);
    expect(line.pool.totalCount).toBe(0);
  };
  await select.execute(db);
  line.freeze();
  await failed(select.execute(db));
  await line.restore();
  expect((await select.execute(db)).rows).toEqual([{ one: 1 }]);
  await failed(
    inTransaction(db, async (tx) => {
      await select.execute(tx);
      line.freeze();
      await select.execute(tx);
    }),
  );
  await line.restore();
  expect((await select.execute(db)).rows).toEqual([{ one: 1 }]);
});

test('a migration may stay silent as long as it works', async () => {
  const slow = { feature: 'kitchen', number: 1, name: 'slow', sql: longWork };
  expect(await migrate(line.pool, [slow], { log })).toEqual([slow]);
  // Any other statement may not.
  await expect(line.pool.query(longWork)).rejects.toThrow('the database does not answer');
});

test('a connection that only listens is left alone', async () => {
  const client = await line.pool.connect();
  try {
    const heard: (string | undefined)[] = [];
    client.on('notification', ({ payload }) => heard.push(payload));
    await client.query('listen kitchen');
    await database.pool.query(longWork);
    await database.pool.query("notify kitchen, 'ready'");
    await until(() => heard.length > 0);
    expect(heard).toEqual(['ready']);
  } finally {
    client.release();
  }
});

test('the bound lies above the statement timeout of the server, also one that the address asks for', async () => {
  const timeoutOf = async (query: string): Promise<unknown[]> => {
    const connection = `${database.url}${database.url.includes('?') ? '&' : '?'}${query}`;
    const pool = createPool({ connection, applicationName: 'test' }, log);
    const client = await pool.connect();
    const { rows } = await client.query('show statement_timeout');
    const { timeout } = client.connection.stream as { timeout?: number };
    client.release();
    await pool.end();
    return [rows[0].statement_timeout, timeout];
  };
  expect(await timeoutOf('')).toEqual(['30s', 35_000]);
  expect(await timeoutOf('statement_timeout=60000')).toEqual(['1min', 65_000]);
  expect(await timeoutOf('statement_timeout=0')).toEqual(['0', 0]);
});
