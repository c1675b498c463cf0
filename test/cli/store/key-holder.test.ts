/** A process stays in the list of those that a rotation of the master key waits for, also after failed writes. */
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKeyHolder, listKeyHolders } from '#src/app/installation/key-holder.ts';
import { createMasterKey } from '#src/app/installation/master-keys.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type RunningProgram, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

test('A-486 a process that the store refused for several looks is listed again at the next one, and one line of the log names it', async () => {
  const { db, pool } = database;
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
  const [before, after] = [createMasterKey(randomBytes(32)), createMasterKey(randomBytes(32))];
  let current = before;
  let looks = 0;
  const readKeys = () => {
    looks += 1;
    return { current, previous: undefined };
  };
  const holder = createKeyHolder({ role: 'worker', readKeys, onCompared: () => undefined, log });
  const isListed = async (key: string): Promise<boolean> =>
    (await listKeyHolders(db)).some(({ keys }) => keys.includes(key));
  const ended = new AbortController();
  let failure: unknown;
  const service = holder
    .service(db)
    .run(ended.signal)
    .catch((error: unknown) => {
      failure = error;
    });
  await until(() => isListed(before.id));
  await pool.query('alter table platform.key_holders rename to key_holders_away');
  current = after;
  const looksBefore = looks;
  await until(() => failure !== undefined || looks >= looksBefore + 3);
  await pool.query('alter table platform.key_holders_away rename to key_holders');
  expect(failure).toBeUndefined();
  await until(() => isListed(after.id));
  expect(logged.filter((line) => line.includes('could not be written'))).toHaveLength(1);
  ended.abort();
  await service;
  expect(await isListed(after.id)).toBe(false);
});

test('A-486 a process whose last write is 30 s old is still waited for, and one of 45 s is not', async () => {
  const write = (name: string, seconds: number) =>
    database.pool.query(
      `insert into platform.key_holders (process, name, role, keys, seen)
       values (gen_random_uuid(), $1, 'worker', '{}', now() - make_interval(secs => $2))`,
      [name, seconds],
    );
  await write('gone', 45);
  await write('slow', 30);
  expect((await listKeyHolders(database.db)).map(({ name }) => name)).toEqual(['slow']);
});

test('A-486 a program whose start takes long stays in the list of those that a rotation waits for', async () => {
  const { pool, url } = database;
  const lock = await pool.connect();
  let program: RunningProgram | undefined;
  const seen = async (): Promise<string | undefined> =>
    (await pool.query<{ seen: string }>(`select seen::text from platform.key_holders where role = 'all'`)).rows[0]
      ?.seen;
  try {
    // The start waits for its chain of the audit.
    await lock.query('begin');
    await lock.query('lock table gateway.audit_chains in access exclusive mode');
    const env = { DATABASE_URL: url, ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };
    let isOver = false;
    const starting = startProgram(env).finally(() => {
      isOver = true;
    });
    starting.catch(() => undefined);
    await until(async () => isOver || (await seen()) !== undefined);
    const first = await seen();
    await until(async () => isOver || (await seen()) !== first);
    expect(isOver).toBe(false);
    await lock.query('rollback');
    program = await starting;
    expect(await seen()).toBeDefined();
  } finally {
    lock.release(true);
    await program?.stop();
  }
  expect(await seen()).toBeUndefined();
});
