import { afterAll, beforeAll, expect, test } from 'vitest';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { connectForCopy } from '#src/platform/db/driver/copy.ts';
import { eventWeeks } from '#src/platform/db/outbox/outbox.ts';
import { ensureWeek, listWeeks, weekOf } from '#src/platform/db/outbox/partitions.ts';
import { copyDatabase } from '#src/platform/db/schema/copy-database.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const farAhead = new Date('2031-05-01T00:00:00Z');

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database?.drop());

test('a process that stands still while it makes the week of a table holds up its readers for seconds, not until its session ends', async () => {
  const { db, pool } = database;
  let release = (): void => undefined;
  const stopped = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isLocked = (): void => undefined;
  const locked = new Promise<void>((resolve) => {
    isLocked = resolve;
  });
  const frozen = inTransaction(db, async (tx) => {
    await ensureWeek(tx, eventWeeks, farAhead);
    isLocked();
    await stopped;
  });
  frozen.catch(() => undefined);
  await locked;
  const waiting = await pool.connect();
  try {
    // The general limit for an idle transaction is 30 s.
    await waiting.query(`set lock_timeout = '20s'`);
    await waiting.query('lock table outbox.events in access share mode; select 1');
    await waiting.query('lock table outbox.events in share row exclusive mode; select 1');
  } finally {
    waiting.release(true);
    release();
  }
  await expect(frozen).rejects.toThrow();
  expect(await listWeeks(db, eventWeeks)).not.toContain(weekOf(farAhead));
});

test('A-785 rows of a week for which the store had no partition are moved to a database that has one', async () => {
  const target = await createTestDatabase();
  const { pool } = database;
  const week = `events_w${weekOf(new Date())}`;
  await pool.query(`drop table outbox.${week}`);
  await pool.query(
    `insert into outbox.events (id, tenant, kind, event, entity, seq, created, body)
     values ($1, 'rst', 'orders', 'order.created', 'ord', 1, now(), '{}')`,
    [newId('evt')],
  );
  const sessions = await Promise.all(
    [database, target].map(({ ownerUrl }) => connectForCopy(ownerUrl, { applicationName: 'copy' })),
  );
  try {
    const [from, to] = sessions;
    if (from === undefined || to === undefined) throw new Error('no session');
    await copyDatabase(from, to, {
      migrations: allMigrations,
      signal: new AbortController().signal,
      onPercent: () => undefined,
      complete: (commit) => commit(),
    });
    const rows = async (name: string): Promise<unknown> =>
      (await target.pool.query(`select count(*)::int as count from outbox.${name}`)).rows[0]?.count;
    expect(await rows('events_default')).toBe(1);
    // The weeks that no row needs stay away until the program makes them.
    expect(await listWeeks(target.db, eventWeeks)).toEqual(await listWeeks(database.db, eventWeeks));
  } finally {
    await Promise.all(sessions.map((session) => session.end()));
    await target.drop();
  }
});
