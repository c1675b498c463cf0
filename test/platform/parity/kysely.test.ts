/** What src/platform/db/driver leans on in kysely, beyond its documentation. */
import { CompiledQuery, Kysely, PostgresDialect, PostgresDriver, sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PipelinedDialect, sendAtOnce } from '#src/platform/db/driver/kysely-dialect.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const changed = (what: string): string => `kysely changed what src/platform/db/driver leans on: ${what}`;

/** A client that notes what is sent, and answers each statement only when it is asked to. */
const createHeldClient = () => {
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const query = (text: string): Promise<unknown> => {
    sent.push(text);
    return new Promise((resolve) => answers.push(() => resolve({ command: 'SELECT', rowCount: 0, rows: [] })));
  };
  const client = { query: query as never, release: () => undefined };
  const pool = { connect: () => Promise.resolve(client), end: () => Promise.resolve(), options: {} };
  const answerAll = async (): Promise<void> => {
    for (let round = 0; round < 20; round += 1) {
      for (const answer of answers.splice(0)) answer();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { pool, sent, answerAll };
};

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

/** The driver of this program names the isolation. */
const begin = 'start transaction isolation level read committed';

test('the driver is a class whose beginTransaction a transaction waits for, and nothing else before its statements', async () => {
  expect(PostgresDriver.prototype.beginTransaction, changed('PostgresDriver.beginTransaction')).toBeTypeOf('function');
  const plain = createHeldClient();
  const waiting = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: plain.pool }) })
    .transaction()
    .execute((tx) => sql`select 1`.execute(tx));
  await turn();
  expect(plain.sent, changed('a plain transaction waits for begin')).toEqual(['begin']);
  await plain.answerAll();
  await waiting;
  const pipelined = createHeldClient();
  const running = new Kysely<unknown>({ dialect: new PipelinedDialect({ pool: pipelined.pool }) })
    .transaction()
    .execute((tx) => sql`select 1`.execute(tx));
  await turn();
  expect(pipelined.sent, changed('beginTransaction of a subclass is what a transaction calls')).toEqual([
    begin,
    'select 1',
  ]);
  await pipelined.answerAll();
  await running;
});

test('getExecutor and withConnectionProvider let the statements of a transaction leave together', async () => {
  const held = createHeldClient();
  const db = new Kysely<unknown>({ dialect: new PipelinedDialect({ pool: held.pool }) });
  const running = db.transaction().execute(async (tx) => {
    await sendAtOnce(tx);
    await Promise.all([sql`select 1`.execute(tx), sql`select 2`.execute(tx), sql`select 3`.execute(tx)]);
  });
  await turn();
  expect(held.sent, changed('the executor of a transaction')).toEqual([begin, 'select 1', 'select 2', 'select 3']);
  await held.answerAll();
  await running;
});

test('an executor runs a compiled query whose parameters were replaced', async () => {
  const compiled = CompiledQuery.raw('select $1::integer as n');
  const { rows } = await database.db.getExecutor().executeQuery({ ...compiled, parameters: [7] });
  expect(rows, changed('executeQuery of a compiled query')).toEqual([{ n: 7 }]);
});
