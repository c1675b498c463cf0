import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { allMigrations } from '#src/app/installation/migrations.ts';
import { platformMigrations } from '#src/platform/db/index.ts';
import { createPool } from '#src/platform/db/pool.ts';
import { loadMigrations, migrate } from '#src/platform/db/schema/migrate.ts';
import { assertCurrent, type Migration, readSchemaState } from '#src/platform/db/schema/pending.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });

const first: Migration = {
  feature: 'kitchen',
  number: 1,
  name: 'ovens',
  sql: 'create schema kitchen; create table kitchen.ovens (id int8 primary key, lit boolean not null)',
};
const second: Migration = {
  feature: 'kitchen',
  number: 2,
  name: 'first-oven',
  sql: 'insert into kitchen.ovens values (1, true)',
};

let database: TestDatabase;
beforeEach(async () => {
  database = await createEmptyDatabase();
});
afterEach(() => database.drop());

const recorded = async (): Promise<string[]> => {
  const { rows } = await database.pool.query<{ key: string }>(
    `select feature || '/' || number as key from platform.migrations order by feature, number`,
  );
  return rows.map((row) => row.key);
};

const tableOf = async (name: string): Promise<string | null> => {
  const { rows } = await database.pool.query<{ found: string | null }>('select to_regclass($1)::text as found', [name]);
  return rows[0]?.found ?? null;
};

const waitingForLocks = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows[0]?.count ?? 0;
};

describe('migrations', () => {
  test('A-656 are refused by a server that is too old for them, with its version and the one that is needed', async () => {
    // Everything else is asked of the real server; an old one is not on every machine.
    const old = Object.create(database.pool, {
      query: {
        value: async (text: string) =>
          text.includes('server_version_num')
            ? { rows: [{ version: 150_018, name: '15.18 (Debian 15.18-0+deb12u1)' }] }
            : await database.pool.query(text),
      },
    }) as typeof database.pool;
    await expect(migrate(old, [first], { log })).rejects.toThrow(
      'DATABASE_TOO_OLD: the server is PostgreSQL 15.18 (Debian 15.18-0+deb12u1), and Orderpass needs version 16 or newer',
    );
    expect(await tableOf('platform.migrations')).toBeNull();
  });

  test('are applied once, in order, and a second start finds nothing to do', async () => {
    expect(await migrate(database.pool, [first, second], { log })).toEqual([first, second]);
    expect(await migrate(database.pool, [first, second], { log })).toEqual([]);
    expect(await recorded()).toEqual(['kitchen/1', 'kitchen/2']);
  });

  test('of many starters at the same moment are applied once each', async () => {
    const pools = Array.from({ length: 6 }, () =>
      createPool({ connection: database.url, max: 1, applicationName: 'starter' }, log),
    );
    try {
      const results = await Promise.all(pools.map((pool) => migrate(pool, [first, second], { log })));
      expect(results.flat()).toEqual([first, second]);
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
    const { rows } = await database.pool.query('select id, lit from kitchen.ovens');
    expect(rows).toEqual([{ id: 1, lit: true }]);
  });

  test('A-787 that wait too long for another process that migrates name its session', async () => {
    const other = await database.pool.connect();
    try {
      await other.query("set application_name = 'another migrate'; select pg_advisory_lock(7203517000)");
      const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
      const waited = migrate(database.pool, [first], { log, waitMs: 100 });
      await expect(waited).rejects.toThrow(
        `MIGRATION_FAILED: another process still migrates: pid ${rows[0]?.pid} (another migrate) since`,
      );
    } finally {
      other.release(true);
    }
    expect(await migrate(database.pool, [first], { log })).toEqual([first]);
  });

  test('A-505 that need a table which another transaction reads let later readers through, and are applied when it ends', async () => {
    await migrate(database.pool, [first], { log });
    const reader = await database.pool.connect();
    try {
      await reader.query('begin; select from kitchen.ovens');
      const warned = Promise.withResolvers<string>();
      const noting = pino({ level: 'warn' }, { write: warned.resolve });
      const wider = { ...second, sql: 'alter table kitchen.ovens add column heat integer' };
      const migrated = migrate(database.pool, [first, wider], { log: noting });
      await until(async () => (await waitingForLocks()) > 0);
      // It waits behind the migration, until this one gives up the first time.
      await database.pool.query('select from kitchen.ovens');
      expect(await warned.promise).toMatch(/its tables are in use by pid \d+ \(/);
      await reader.query('commit');
      expect(await migrated).toEqual([wider]);
    } finally {
      reader.release(true);
    }
  });

  test('A-505 that PostgreSQL ends because of a deadlock with a transaction are applied when it ends', async () => {
    await migrate(database.pool, [first], { log });
    const [writer, pause] = [await database.pool.connect(), await database.pool.connect()];
    try {
      await pause.query('select pg_advisory_lock(1)');
      await writer.query('begin; select from kitchen.ovens');
      const warned = Promise.withResolvers<string>();
      const noting = pino({ level: 'warn' }, { write: warned.resolve });
      // The index locks the table against writers, and the column also against readers.
      const wider = {
        ...second,
        sql: `create index on kitchen.ovens (id); select pg_advisory_xact_lock(1);
          alter table kitchen.ovens add column heat integer`,
      };
      const migrated = migrate(database.pool, [first, wider], { log: noting });
      await until(async () => (await waitingForLocks()) === 1);
      const written = writer.query('update kitchen.ovens set id = id');
      await until(async () => (await waitingForLocks()) === 2);
      await pause.query('select pg_advisory_unlock(1)');
      expect(await warned.promise).toContain('a migration is tried again, because its tables are locked');
      await written;
      await writer.query('commit');
      expect(await migrated).toEqual([wider]);
    } finally {
      writer.release(true);
      pause.release(true);
    }
  });

  test('A-505 whose table stays in use fail after a while, and name the process of the database that uses it', async () => {
    await migrate(database.pool, [first], { log });
    const reader = await database.pool.connect();
    try {
      const { rows } = await reader.query<{ pid: number }>('select pg_backend_pid() as pid');
      await reader.query('begin; select from kitchen.ovens');
      const wider = { ...second, sql: 'alter table kitchen.ovens add column heat integer' };
      await expect(migrate(database.pool, [first, wider], { log, triesMs: 1 })).rejects.toMatchObject({
        code: 'MIGRATION_FAILED',
        message: expect.stringContaining(`lock timeout; its tables are in use by pid ${rows[0]?.pid} (`),
      });
      await reader.query('commit');
      expect(await migrate(database.pool, [first, wider], { log })).toEqual([wider]);
    } finally {
      reader.release(true);
    }
  });

  test('that were changed after they had been applied are refused by name', async () => {
    await migrate(database.pool, [first], { log });
    const changed = { ...first, sql: `${first.sql}; create table kitchen.sinks ()` };
    await expect(migrate(database.pool, [changed, second], { log })).rejects.toMatchObject({
      code: 'MIGRATION_CHANGED',
      message: expect.stringContaining('kitchen/0001-ovens'),
    });
    expect(await recorded()).toEqual(['kitchen/1']);
  });

  test('of a newer version in the database are refused and nothing is changed', async () => {
    await migrate(database.pool, [first, second], { log });
    const other: Migration = { feature: 'cellar', number: 1, name: 'barrels', sql: 'create schema cellar' };
    await expect(migrate(database.pool, [first, other], { log })).rejects.toMatchObject({
      code: 'DATABASE_NEWER',
      message: expect.stringContaining('kitchen/0002-first-oven'),
    });
    expect(await recorded()).toEqual(['kitchen/1', 'kitchen/2']);
  });

  test('A-282 that work with a release do not stop its start, and are not where release 1.0.0 looks for them', async () => {
    const known = [...platformMigrations, first];
    const declared = { ...second, worksWith: '1.0.0' };
    expect(await migrate(database.pool, [...known, declared], { log })).toHaveLength(known.length + 1);
    expect(await migrate(database.pool, [...known, declared], { log })).toEqual([]);
    expect(await migrate(database.pool, known, { log })).toEqual([]);
    await assertCurrent(database.pool, known);
    expect(await readSchemaState(database.pool, known)).toBe('newer');
    expect(await recorded()).not.toContain('kitchen/2');
    await expect(migrate(database.pool, [...known, { ...declared, sql: 'select 1' }], { log })).rejects.toMatchObject({
      code: 'MIGRATION_CHANGED',
    });
  });

  test('A-282 that work with later releases only are refused with the latest of them, and 1.0.0 finds them too', async () => {
    const known = [...platformMigrations, first];
    const later = ['1.0.0', '200.10.0', '200.9.0'].map((worksWith, index) => ({
      ...{ feature: 'cellar', number: index + 1, name: `barrels-${index + 1}`, worksWith },
      sql: 'select 1',
    }));
    await migrate(database.pool, [...known, ...later], { log });
    for (const start of [() => migrate(database.pool, known, { log }), () => assertCurrent(database.pool, known)])
      await expect(start()).rejects.toMatchObject({
        code: 'DATABASE_NEWER',
        message: expect.stringMatching(/cellar\/0002-barrels-2, which works with 200\.10\.0 .* Start 200\.10\.0 or/),
      });
    expect((await recorded()).filter((key) => key.startsWith('cellar'))).toEqual(['cellar/2', 'cellar/3']);
  });

  test('of another history are refused by both names, and nothing is changed', async () => {
    await migrate(database.pool, [first, { ...second, number: 9 }], { log });
    const other: Migration = { ...first, name: 'kitchen' };
    await expect(migrate(database.pool, [other], { log })).rejects.toMatchObject({
      code: 'MIGRATIONS_DIFFER',
      message: expect.stringMatching(/made by other migrations.*kitchen\/0001-ovens.*kitchen\/0001-kitchen/),
    });
    expect(await recorded()).toEqual(['kitchen/1', 'kitchen/9']);
  });

  test('that fail leave nothing half done, keep the ones before, and succeed once they are right', async () => {
    const broken = {
      ...second,
      sql: 'create table kitchen.sinks (id int8); insert into kitchen.ovens values (null, null)',
    };
    await expect(migrate(database.pool, [first, broken], { log })).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: expect.stringContaining('kitchen/0002-first-oven'),
    });
    expect(await tableOf('kitchen.sinks')).toBeNull();
    expect(await recorded()).toEqual(['kitchen/1']);
    expect(await migrate(database.pool, [first, second], { log })).toEqual([second]);
  });

  test('of this version are complete in a database cloned for a test', async () => {
    const clone = await createTestDatabase();
    try {
      expect(await migrate(clone.pool, allMigrations, { log })).toEqual([]);
    } finally {
      await clone.drop();
    }
  });

  test('files are read in the order of their numbers', () => {
    const folder = new URL('../../src/platform/db/migrations/', import.meta.url);
    const numbers = loadMigrations('platform', folder).map((migration) => migration.number);
    expect(numbers[0]).toBe(1);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  test('numbers may have gaps, no number comes twice, and the first line declares a release', () => {
    const folder = mkdtempSync(join(tmpdir(), 'orderpass-migrations-'));
    const read = (): number[] => loadMigrations('x', pathToFileURL(`${folder}/`)).map(({ number }) => number);
    try {
      for (const name of ['0001-a.sql', '0010-b.sql', '0031-c.sql']) writeFileSync(join(folder, name), 'select 1');
      expect(read()).toEqual([1, 10, 31]);
      writeFileSync(join(folder, '0032-d.sql'), '-- Works with 2.10.3 and newer releases.\r\nselect 1');
      expect(loadMigrations('x', pathToFileURL(`${folder}/`)).map(({ worksWith }) => worksWith)).toEqual([
        ...[undefined, undefined, undefined, '2.10.3'],
      ]);
      writeFileSync(join(folder, '0010-other.sql'), 'select 1');
      expect(read).toThrow('0010-other.sql');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('values', () => {
  test('int8 is a number, date is text, timestamptz is a Date, and an int8 that would be rounded is an error', async () => {
    const { rows } = await database.pool.query(
      `select 42::int8 as total, '2026-02-28'::date as day, '2026-02-28T10:00:00Z'::timestamptz as at`,
    );
    expect(rows).toEqual([{ total: 42, day: '2026-02-28', at: new Date('2026-02-28T10:00:00Z') }]);
    await expect(database.pool.query('select 9007199254740993::int8 as total')).rejects.toThrow('safe integers');
    expect((await database.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('lower() knows every script and sorting goes by code point', async () => {
    const { rows } = await database.pool.query(`select lower('ÄÖÜÉЖ') as lower, ('Z' < 'a') as code_point`);
    expect(rows).toEqual([{ lower: 'äöüéж', code_point: true }]);
  });
});
