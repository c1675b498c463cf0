import { randomBytes } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createBackground, createPool } from '#src/platform/db/pool.ts';
import { inTransaction, isAway, isTransient } from '#src/platform/db/transaction.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { roleUrl } from '../support/test-server.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createEmptyDatabase();
  await database.pool.query('create table tables (number int8 primary key, guests int8 not null)');
  await database.pool.query('insert into tables values (1, 0), (2, 0)');
});
afterAll(() => database.drop());

const guests = async (): Promise<number[]> => {
  const { rows } = await database.pool.query<{ guests: number }>('select guests from tables order by number');
  return rows.map((row) => row.guests);
};

const seat = (tx: Transaction<unknown>, number: number): Promise<unknown> =>
  sql`update tables set guests = guests + 1 where number = ${number}`.execute(tx);

const failure = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a unit of work', () => {
  test('that throws leaves nothing', async () => {
    const work = inTransaction(database.db, async (tx) => {
      await seat(tx, 1);
      throw new Error('the kitchen is closed');
    });
    await expect(work).rejects.toThrow('the kitchen is closed');
    expect(await guests()).toEqual([0, 0]);
  });

  test('in a deadlock with another one is repeated, and both are done once', async () => {
    // Each holds one row before it asks for the other one's.
    const bothHold = Promise.withResolvers<void>();
    let holding = 0;
    const seatBoth = (first: number, second: number): Promise<void> =>
      inTransaction(database.db, async (tx) => {
        await seat(tx, first);
        holding += 1;
        if (holding === 2) bothHold.resolve();
        await bothHold.promise;
        await seat(tx, second);
      });
    await Promise.all([seatBoth(1, 2), seatBoth(2, 1)]);
    expect(await guests()).toEqual([2, 2]);
    expect(holding).toBe(3);
  });

  test('that meets a conflict each time gives up after four tries', async () => {
    let tries = 0;
    const work = inTransaction(database.db, async (tx) => {
      tries += 1;
      await sql`do $$ begin raise exception 'conflict' using errcode = '40001'; end $$`.execute(tx);
    });
    expect(isTransient(await failure(work))).toBe(true);
    expect(tries).toBe(4);
  });
});

/** The server refuses the next `begin` of the pool and keeps the connection, as a cancel or a timeout does. */
const refuseNextBegin = (): void => {
  const query = Reflect.get(pg.Client.prototype, 'query') as (...sent: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...sent: unknown[]) {
    if (!String(sent[0]).startsWith('start transaction')) return query.apply(this, sent);
    spy.mockRestore();
    return query.apply(this, ["do $$ begin raise exception 'canceled' using errcode = '57014'; end $$", []]);
  } as never);
};

describe('a transaction whose begin is refused on a living connection', () => {
  test('A-478 commits none of the statements after its answer, and fails with the reason', async () => {
    refuseNextBegin();
    const work = inTransaction(database.db, async (tx) => {
      await sql`select 1`.execute(tx);
      await seat(tx, 1);
      await seat(tx, 2);
    });
    expect(isTransient(await failure(work))).toBe(true);
    await expect(work).rejects.toThrow('canceled');
    expect(await guests()).toEqual([2, 2]);
  });

  test('A-478 fails also where nothing waits for an answer before the end, and leaves a pool that works', async () => {
    refuseNextBegin();
    await expect(inTransaction(database.db, async () => undefined)).rejects.toThrow('canceled');
    refuseNextBegin();
    const thrown = inTransaction(database.db, async () => {
      throw new Error('the kitchen is closed');
    });
    await expect(thrown).rejects.toThrow();
    for (let round = 0; round < 5; round += 1)
      expect(await inTransaction(database.db, async (tx) => (await sql`select 1`.execute(tx)).rows.length)).toBe(1);
    expect(await guests()).toEqual([2, 2]);
  });

  test('closes its connection, also in a loop', async () => {
    const pool = createPool(
      { connection: database.ownerUrl, applicationName: 'test', max: 1 },
      pino({ level: 'silent' }),
    );
    try {
      const background = createBackground(pool, { isPooled: false });
      const pid = (tx: Kysely<unknown>) => sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      const before = (await pid(background)).rows[0]?.pid;
      expect((await inTransaction(background, pid)).rows[0]?.pid).toBe(before);
      refuseNextBegin();
      await expect(inTransaction(background, async () => undefined)).rejects.toThrow('canceled');
      expect((await inTransaction(background, pid)).rows[0]?.pid).not.toBe(before);
    } finally {
      await pool.end();
    }
  });
});

describe('a transient error is distinguished from a fault', () => {
  test('when the connection is ended by the server, also between two statements', async () => {
    const work = inTransaction(database.db, async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      await database.pool.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
      await seat(tx, 1);
    });
    expect(isTransient(await failure(work))).toBe(true);
    expect(await guests()).toEqual([2, 2]);
  });

  test('when no server listens, on TCP and on a socket', async () => {
    for (const connection of ['postgresql://user@127.0.0.1:1/none', 'postgresql://user@/none?host=/nonexistent']) {
      const pool = createPool({ connection, applicationName: 'test' }, pino({ level: 'silent' }));
      expect(isTransient(await failure(pool.query('select 1')))).toBe(true);
      await pool.end();
    }
  });

  test('when the server refuses the login, which a start does not wait for', async () => {
    const role = `refused_${randomBytes(6).toString('hex')}`;
    await database.pool.query(`create role ${role} login password '${role}'`);
    const pool = createPool(
      { connection: roleUrl(database.ownerUrl, role), applicationName: 'test' },
      pino({ level: 'silent' }),
    );
    try {
      await database.pool.query(`alter role ${role} nologin`);
      const error = await failure(pool.query('select 1'));
      expect([isTransient(error), isAway(error)]).toEqual([true, false]);
      await database.pool.query(`alter role ${role} login`);
      expect((await pool.query('select 1')).rowCount).toBe(1);
    } finally {
      await pool.end();
      await database.pool.query(`drop role ${role}`);
    }
  });

  test('and not when the statement is wrong, a rule of the data is broken or a file is absent', async () => {
    for (const statement of ['select from nowhere', 'insert into tables values (1, 0)', 'select 1 / 0'])
      expect(isTransient(await failure(database.pool.query(statement)))).toBe(false);
    expect(isTransient(Object.assign(new Error('ENOENT'), { code: 'ENOENT', syscall: 'open' }))).toBe(false);
    expect(isTransient(undefined)).toBe(false);
  });
});
