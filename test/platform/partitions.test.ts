import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventWeeks } from '#src/platform/db/outbox/outbox.ts';
import { ensureWeek, listWeeks, weekOf } from '#src/platform/db/outbox/partitions.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
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
