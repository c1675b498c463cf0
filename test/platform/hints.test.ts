import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { hintsOf } from '#src/platform/db/hints/hints.ts';
import { openStore } from '#src/platform/db/index.ts';
import { createDatabase, createPool } from '#src/platform/db/pool.ts';
import { hintAfterCommit, inTransaction } from '#src/platform/db/transaction.ts';
import { openStoreLine } from '../gateway/harness/store-line.ts';
import { createEmptyDatabase, type Notifications, openNotifications, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });
let database: TestDatabase;
let notifications: Notifications;

beforeAll(async () => {
  database = await createEmptyDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  notifications = await openNotifications(database.url, ['first', 'second', 'last']);
});
afterEach(() => notifications.close());

const commitWithHint = (channel: string, { db }: Pick<TestDatabase, 'db'> = database): Promise<void> =>
  inTransaction(db, async (tx) => {
    await sql`select 1`.execute(tx);
    hintAfterCommit(tx, channel);
  });

test('a transaction that is rolled back sends no hint, and a retried one only those of the run that was committed', async () => {
  const undone = inTransaction(database.db, async (tx) => {
    hintAfterCommit(tx, 'first');
    await sql`select 1 / 0`.execute(tx);
  });
  await expect(undone).rejects.toThrow('division by zero');
  let tries = 0;
  await inTransaction(database.db, async (tx) => {
    tries += 1;
    hintAfterCommit(tx, tries === 1 ? 'first' : 'second');
    if (tries === 1) await sql`do $$ begin raise exception 'conflict' using errcode = '40001'; end $$`.execute(tx);
  });
  expect(tries).toBe(2);
  await commitWithHint('last');
  await until(() => notifications.received.includes('last'));
  expect(notifications.received).toEqual(['second', 'last']);
});

test('receivers of the same process are called once for a hint, by its commit, and receivers of other processes too', async () => {
  const [here, there]: [string[], string[]] = [[], []];
  const other = createPool({ connection: database.url, applicationName: 'other', max: 1 }, log);
  const [near, far] = [await database.pool.connect(), await other.connect()];
  const ends = [
    hintsOf(database.pool).receive(near, ['first', 'last'], (channel) => here.push(channel)),
    hintsOf(other).receive(far, ['first', 'last'], (channel) => there.push(channel)),
  ];
  try {
    for (const client of [near, far]) await client.query('listen first; listen last');
    await commitWithHint('first');
    expect(here).toEqual(['first']);
    await commitWithHint('last');
    await until(() => there.includes('last'));
    // Answered after the notifications that came before.
    await near.query('select 1');
    expect([here, there]).toEqual([
      ['first', 'last'],
      ['first', 'last'],
    ]);
  } finally {
    for (const end of ends) end();
    near.release(true);
    far.release(true);
    await other.end();
  }
});

test('hints of many commits are gathered while one statement is in flight', async () => {
  const pool = createPool({ connection: database.url, applicationName: 'busy', max: 1 }, log);
  const only = await pool.connect();
  for (let count = 0; count < 1_000; count += 1) hintsOf(pool).send('first');
  only.release();
  await until(() => notifications.received.length > 0);
  hintsOf(pool).send('last');
  await until(() => notifications.received.includes('last'));
  await pool.end();
  // That of the first hint, and one for all that followed.
  expect(notifications.received.filter((channel) => channel === 'first').length).toBeLessThanOrEqual(2);
});

test('a store that closes sends the hints of its last commits first', async () => {
  const store = await openStore({ dataDir: '', databaseUrl: database.url, applicationName: 'command' }, log, {
    exclusive: false,
  });
  await commitWithHint('first', store);
  await commitWithHint('second', store);
  await store.close();
  await until(() => notifications.received.length === 2);
  expect(notifications.received).toEqual(['first', 'second']);
});

test('a hint that is lost with its connection is not sent later, and the next one is sent', async () => {
  const line = await openStoreLine(database.url);
  try {
    const db = createDatabase(line.pool);
    await inTransaction(db, (tx) => sql`select 1`.execute(tx));
    await line.cut();
    hintsOf(line.pool).send('first');
    await until(() => line.pool.totalCount === 0);
    await line.restore();
    await until(async () => {
      await commitWithHint('last', { db }).catch(() => undefined);
      return notifications.received.length > 0;
    });
    expect(notifications.received).not.toContain('first');
  } finally {
    await line.close();
  }
});

test('a silent database holds up the end of the hints for a second, not until its connections are given up', async () => {
  const line = await openStoreLine(database.url);
  try {
    await line.pool.query('select 1');
    line.freeze();
    hintsOf(line.pool).send('first');
    const startedAt = performance.now();
    await hintsOf(line.pool).close();
    // The connection would be given up after 35 s.
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await line.restore();
  } finally {
    await line.close();
  }
});
