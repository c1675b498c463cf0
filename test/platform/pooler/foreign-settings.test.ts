/** A database whose operator set its sessions in another way than PostgreSQL does, and servers that speak another language. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { inTransaction, isTransient } from '#src/platform/db/transaction.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { runCommand, runJson, startProgram } from '../../support/program.ts';
import { databaseNameOf } from '../../support/test-server.ts';
import { hasPgBouncer, startPgBouncer } from './pgbouncer.ts';
import { openTill } from './till.ts';

const settings = {
  datestyle: 'German, DMY',
  timezone: 'Pacific/Apia',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  default_transaction_isolation: 'serializable',
};

const setAll = async ({ pool, ownerUrl }: TestDatabase): Promise<void> => {
  for (const [name, value] of Object.entries(settings))
    await pool.query(`alter database ${databaseNameOf(ownerUrl)} set ${name} = '${value}'`);
};

/** Orders that are sent at the same time, of one customer, and what the log has after them. */
const tryOrders = async (env: Record<string, string>): Promise<string[]> => {
  const program = await startProgram(env);
  try {
    const till = await openTill(program, env);
    const answers = await Promise.all(Array.from({ length: 12 }, till.order));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(await runJson(['client', 'list'], env)).toMatchObject({
      clients: [{ name: 'Till' }],
    });
  } finally {
    await program.stop();
  }
  const isStarting = (line: string): boolean => line.includes('the import process is still starting');
  return program
    .errors()
    .split('\n')
    .filter((line) => line !== '' && !isStarting(line));
};

describe('a database whose sessions are set in another way', () => {
  const master = { ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64'), NODE_ENV: 'production' };
  const origin = { ORDERPASS_ORIGIN: 'http://localhost:4000' };

  test('A-655 serves a start, orders at the same time, and the retention of the audit', async () => {
    const database = await createTestDatabase();
    try {
      await setAll(database);
      expect(await tryOrders({ ...master, ...origin, DATABASE_URL: database.ownerUrl })).toEqual([]);
    } finally {
      await database.drop();
    }
  });

  test.skipIf(!hasPgBouncer)(
    'A-655 is refused through PgBouncer with the settings to change, and serves them when they are changed',
    async () => {
      const database = await createTestDatabase();
      const throughPooler = async (use: (env: Record<string, string>) => Promise<void>): Promise<void> => {
        const pooler = await startPgBouncer(database.ownerUrl, { poolSize: 6 });
        const url = pooler.urlOf(databaseNameOf(database.ownerUrl));
        try {
          await use({ ...master, ...origin, DATABASE_URL: url, DATABASE_DIRECT_URL: database.ownerUrl });
        } finally {
          await pooler.stop();
        }
      };
      try {
        await setAll(database);
        await throughPooler(async (env) => {
          const { code, stderr } = await runCommand(['client', 'list'], env);
          const named =
            /DATABASE_URL\): .*alter role orderpass set datestyle = 'ISO, MDY' .*\n.*set standard_conforming_strings = on /;
          expect([code, stderr]).toEqual([1, expect.stringMatching(named)]);
        });
        for (const usual of ["datestyle = 'ISO, DMY'", 'standard_conforming_strings = on'])
          await database.pool.query(`alter database ${databaseNameOf(database.ownerUrl)} set ${usual}`);
        // The role has no statement_timeout there.
        await throughPooler(async (env) =>
          expect(await tryOrders(env)).toEqual([expect.stringContaining('statement_timeout')]),
        );
      } finally {
        await database.drop();
      }
    },
  );
});

describe('a transaction', () => {
  test('A-655 that meets the bounds of a partition is repeated, in whatever language the server answers', async () => {
    const database = await createEmptyDatabase();
    try {
      await database.pool.query('create table guests (number int)');
      let tries = 0;
      const work = inTransaction(database.db, async (tx) => {
        tries += 1;
        // As a server with lc_messages = de_DE.utf8 answers.
        if (tries === 1)
          await sql`do $$ begin raise exception 'neue Zeile für Relation »guests« verletzt Partitions-Constraint'
            using errcode = '23514'; end $$`.execute(tx);
        await sql`insert into guests values (1)`.execute(tx);
      });
      await work;
      expect(tries).toBe(2);
      await database.pool.query('alter table guests add constraint few check (number < 3)');
      const error = await sql`insert into guests values (3)`.execute(database.db).catch((reason: unknown) => reason);
      expect([isTransient(error), Reflect.get(Object(error), 'code')]).toEqual([false, '23514']);
    } finally {
      await database.drop();
    }
  });

  test('A-655 that takes longer than the operator lets transactions take fails as one that may be repeated', async () => {
    const database = await createEmptyDatabase();
    try {
      const statement = sql`select set_config('transaction_timeout', '50ms', true), pg_sleep(60)`;
      const error = await statement.execute(database.db).catch((reason: unknown) => reason);
      expect([Reflect.get(Object(error), 'code'), isTransient(error)]).toEqual(['25P04', true]);
    } finally {
      await database.drop();
    }
  });
});
