/** The program behind PgBouncer in transaction mode, with fewer connections to the server than the program opens to PgBouncer. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hintsOf } from '#src/platform/db/hints/hints.ts';
import { openStore } from '#src/platform/db/index.ts';
import { createDatabase, createPool, endPool } from '#src/platform/db/pool.ts';
import { hintAfterCommit, inTransaction } from '#src/platform/db/transaction.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { makeDataDir, runCommand, runJson, runWithInput, startProgram } from '../../support/program.ts';
import { databaseNameOf, databaseUrl } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { hasPgBouncer, type PgBouncer, startPgBouncer } from './pgbouncer.ts';
import { openTill } from './till.ts';

if (!hasPgBouncer) process.stderr.write('skipped: tests with PgBouncer, since there is no /usr/sbin/pgbouncer\n');

const log = pino({ level: 'silent' });
const poolSize = 3;
const master = { ORDERPASS_MASTER_KEY: randomBytes(32).toString('base64') };

let database: TestDatabase;
let pooler: PgBouncer;
let pooledUrl: string;

/** What transactions would find on each connection of the pooler to the server. */
const leftOnConnections = async (): Promise<string[]> => {
  const clients = Array.from({ length: poolSize }, () => new pg.Client({ connectionString: pooledUrl }));
  const found = new Map<number, string[]>();
  // A transaction that stays open keeps its connection, so each one gets another.
  for (const client of clients) {
    await client.connect();
    await client.query('begin');
    const { rows } = await client.query<{ pid: number; left: string[] }>(`
      select pg_backend_pid() as pid, array(
        select 'statement ' || name from pg_prepared_statements
        union all select 'channel ' || pg_listening_channels()
        union all select 'setting ' || name from pg_settings where source = 'session'
        union all select 'lock ' || objid from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()
        union all select 'table ' || relname from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r'
        union all select 'cursor ' || name from pg_cursors where name <> ''
      ) as left`);
    for (const { pid, left } of rows) found.set(pid, left);
  }
  await Promise.all(clients.map((client) => client.end()));
  expect(found.size).toBe(poolSize);
  return [...found.values()].flat();
};

describe.skipIf(!hasPgBouncer)('PgBouncer', () => {
  beforeAll(async () => {
    database = await createTestDatabase();
    pooler = await startPgBouncer(database.ownerUrl, { poolSize });
    pooledUrl = pooler.urlOf(databaseNameOf(database.ownerUrl));
  });

  afterAll(async () => {
    await pooler?.stop();
    await database?.drop();
  });

  test('A-278 orders, webhooks and revocations work behind it, and nothing is left on its connections', async () => {
    const env = {
      ...master,
      DATABASE_URL: pooledUrl,
      DATABASE_DIRECT_URL: database.ownerUrl,
      ORDERPASS_ALLOW_PRIVATE_TARGETS: 'true',
      ORDERPASS_LOG_LEVEL: 'warn',
    };
    const receiver = await startReceiver();
    const program = await startProgram(env);
    try {
      const till = await openTill(program, env, async (of) => {
        await runJson(['notifications', 'set', ...of, '--orders', 'on'], env);
        await runJson(['endpoint', 'create', ...of, '--url', receiver.url, '--kinds', 'orders'], env);
      });
      const answers = await Promise.all(Array.from({ length: 4 * poolSize }, till.order));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const ordered = (): number => receiver.received.filter(({ body }) => body.includes('"order.new"')).length;
      await until(() => ordered() === answers.length);

      await runJson(['client', 'disable', '--client-id', String(till.headers['x-client-id'])], env);
      const read = async (): Promise<number> =>
        (await fetch(`${program.url}/api/orders/list`, { headers: till.headers })).status;
      await until(async () => (await read()) === 401);
      expect(program.errors()).toContain('statement_timeout');
    } finally {
      await program.stop();
      await receiver.close();
    }
    expect(await leftOnConnections()).toEqual([]);
  });

  test('A-279 an address of it is refused where sessions are needed, and no session is begun there', async () => {
    const name = databaseNameOf(database.ownerUrl);
    const lenient = await startPgBouncer(database.ownerUrl, {
      poolSize,
      more: 'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout',
    });
    const direct = { DATABASE_URL: pooledUrl };
    const cases: [string[], Record<string, string>, string][] = [
      [['start'], { DATABASE_URL: pooledUrl }, 'DATABASE_URL: unsupported startup parameter'],
      [['config', 'check'], { DATABASE_URL: pooledUrl }, 'set DATABASE_DIRECT_URL to the address of the server itself'],
      [['start'], { DATABASE_URL: lenient.urlOf(name) }, 'set DATABASE_DIRECT_URL to the address of the server itself'],
      [['migrate'], { DATABASE_URL: lenient.urlOf(name) }, 'DATABASE_DIRECT_URL'],
      [['config', 'check'], { ...direct, DATABASE_DIRECT_URL: lenient.urlOf(name) }, 'it must be the address of the'],
      [['start'], { ...direct, DATABASE_DIRECT_URL: databaseUrl(database.ownerUrl, 'postgres') }, 'another database'],
      [
        ['config', 'check'],
        { ...direct, DATABASE_DIRECT_URL: databaseUrl(database.ownerUrl, 'postgres') },
        'another database',
      ],
    ];
    try {
      for (const [command, env, reason] of cases) {
        const { code, stderr } = await runCommand(command, { ...master, ...env });
        expect([command, code, stderr]).toEqual([command, 1, expect.stringContaining(reason)]);
      }
      const sound = { ...master, DATABASE_URL: pooledUrl, DATABASE_DIRECT_URL: database.ownerUrl };
      expect((await runCommand(['config', 'check'], sound)).code).toBe(0);
    } finally {
      await lenient.stop();
    }
    expect(await leftOnConnections()).toEqual([]);
  });

  const ignored = 'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout';

  test.each([
    ['refuses', ''],
    ['ignores', ignored],
  ])(
    'A-277 a move to one that %s parameters of the start is refused, and leaves nothing on its connections',
    async (_what, more) => {
      const { path, remove } = makeDataDir();
      const env = { ORDERPASS_DATA_DIR: path };
      await runJson(['restaurant', 'create', '--name', 'Da Ada'], env);
      const target = await createEmptyDatabase();
      const other = await startPgBouncer(target.ownerUrl, { poolSize: 1, more });
      try {
        const to = other.urlOf(databaseNameOf(target.ownerUrl));
        const { code, stderr } = await runWithInput(['move', '--to', '-'], env, to);
        expect([code, stderr]).toEqual([
          1,
          expect.stringContaining('give the address of the server itself for the move'),
        ]);
        const client = new pg.Client({ connectionString: to });
        await client.connect();
        // PgBouncer itself sets the name of the client.
        const { rows } = await client.query(
          "select name from pg_settings where source = 'session' and name <> 'application_name'",
        );
        await client.end();
        expect(rows).toEqual([]);
      } finally {
        await other.stop();
        await target.drop();
        remove();
      }
    },
  );

  test('A-278 a transaction behind it has its timeouts, and leaves none on the connection', async () => {
    const pool = createPool({ connection: pooledUrl, isPooled: true, applicationName: 'test' }, log);
    const db = createDatabase(pool, { isPooled: true });
    const read = sql<{ statement: string; idle: string }>`
      select current_setting('statement_timeout') as statement,
        current_setting('idle_in_transaction_session_timeout') as idle`;
    try {
      for (const settings of [{}, { isolation: 'serializable' } as const])
        expect((await inTransaction(db, (tx) => read.execute(tx), settings)).rows).toEqual([
          { statement: '30s', idle: '30s' },
        ]);
      expect((await read.execute(db)).rows).toEqual([{ statement: '0', idle: '0' }]);
    } finally {
      await endPool(pool);
    }
    expect(await leftOnConnections()).toEqual([]);
  });

  test('A-278 a commit behind it wakes the receivers of its own process without a notification', async () => {
    const addresses = { databaseUrl: pooledUrl, directUrl: database.ownerUrl };
    const store = await openStore({ dataDir: '', ...addresses, applicationName: 'test' }, log, { exclusive: false });
    try {
      const client = await store.sessions.connect();
      const received: string[] = [];
      // It does not listen, so no notification reaches it.
      const end = hintsOf(store.sessions).receive(client, ['news'], (channel) => received.push(channel));
      await inTransaction(store.db, async (tx) => hintAfterCommit(tx, 'news'));
      expect(received).toEqual(['news']);
      end();
      client.release();
    } finally {
      await store.close();
    }
  });

  test('what a session leaves on a connection is found', async () => {
    const client = new pg.Client({ connectionString: pooledUrl });
    await client.connect();
    await client.query("listen news; set work_mem = '8MB'; select pg_advisory_lock(7)");
    await client.query({ name: 'one', text: 'select 1' });
    await client.end();
    expect((await leftOnConnections()).sort()).toEqual(['channel news', 'lock 7', 'setting work_mem', 'statement one']);
  });
});
