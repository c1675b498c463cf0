/**
 * A PostgreSQL that counts every statement (pg_stat_statements), and processes of the program on it. Each process logs in as a
 * role of its own, which its statements and connections show.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { connectionUrl } from '#src/platform/db/driver/socket-connection.ts';
import { startEmbedded } from '#src/platform/db/embedded/embedded.ts';
import { freePort } from '../../support/free-port.ts';
import { makeDataDir, type RunningProgram, startProgram } from '../../support/program.ts';
import { databaseUrl, roleUrl } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const database = 'idle';

export type CountedStatement = { process: string; text: string; calls: number };

/** What the server has counted since its start. */
export type Counts = { atMs: number; statements: CountedStatement[]; transactions: number };

export type CountingServer = {
  urlFor(process: string): Promise<string>;
  count(): Promise<Counts>;
  /** process -> connections now. */
  connections(): Promise<Map<string, number>>;
  /** The same by the name of each, which is that of the pool or of a session outside of it. */
  namedConnections(): Promise<{ process: string; name: string; count: number }[]>;
  stop(): Promise<void>;
};

export const startCountingServer = async (): Promise<CountingServer> => {
  const folder = makeDataDir();
  const server = await startEmbedded({
    dataDir: folder.path,
    log: pino({ level: 'error' }),
    // Autovacuum counts as transactions of the database.
    extraSettings: { fsync: 'off', autovacuum: 'off', shared_preload_libraries: 'pg_stat_statements' },
  });
  const url = connectionUrl(server.connection);
  // In another database, so that it does not count itself.
  const own = new pg.Client({ connectionString: url });
  await own.connect();
  await own.query('create extension pg_stat_statements');
  await own.query(`create database ${database}`);
  return {
    urlFor: async (process) => {
      await own.query(`create role ${process} superuser login`);
      return roleUrl(databaseUrl(url, database), process);
    },
    count: async () => {
      const atMs = performance.now();
      const statements = await own.query<CountedStatement>(
        `select role.rolname as process, query as text, sum(calls)::integer as calls from pg_stat_statements as counted
         join pg_roles as role on role.oid = counted.userid join pg_database on pg_database.oid = counted.dbid
         where datname = $1 and role.rolname <> current_user group by 1, 2`,
        [database],
      );
      const transactions = await own.query<{ count: number }>(
        'select (xact_commit + xact_rollback)::integer as count from pg_stat_database where datname = $1',
        [database],
      );
      return { atMs, statements: statements.rows, transactions: transactions.rows[0]?.count ?? 0 };
    },
    connections: async () => {
      const { rows } = await own.query<{ process: string; count: number }>(
        'select usename as process, count(*)::integer as count from pg_stat_activity where datname = $1 group by 1',
        [database],
      );
      return new Map(rows.map((row) => [row.process, row.count]));
    },
    namedConnections: async () => {
      const { rows } = await own.query<{ process: string; name: string; count: number }>(
        `select usename as process, application_name as name, count(*)::integer as count from pg_stat_activity
         where datname = $1 group by 1, 2 order by 1, 2`,
        [database],
      );
      return rows;
    },
    stop: async () => {
      await own.end();
      await server.stop();
      folder.remove();
    },
  };
};

/** Gateways, cores and workers, as many of each. Resolves when each says that it is ready. */
export const startFleet = async (server: CountingServer, ofEach: number): Promise<{ stop(): Promise<void> }> => {
  const programs: RunningProgram[] = [];
  const key = randomBytes(32).toString('base64');
  const stop = async (): Promise<void> => {
    await Promise.all(programs.map((program) => program.stop()));
  };
  const core = await freePort();
  const start = async (role: 'gateway' | 'ordering' | 'worker', number: number): Promise<void> => {
    const name = `${role}_${number}`;
    const folder = makeDataDir();
    const internal = role === 'ordering' && number === 1 ? core : await freePort();
    const program = await startProgram({
      DATABASE_URL: await server.urlFor(name),
      ORDERPASS_DATA_DIR: folder.path,
      ORDERPASS_MASTER_KEY: key,
      ORDERPASS_ROLE: role,
      ORDERPASS_ORIGIN: 'http://localhost:4000',
      ORDERPASS_INTERNAL_PORT: String(internal),
      ...(role === 'gateway' && { ORDERPASS_UPSTREAMS: `ordering=http://127.0.0.1:${core}` }),
    });
    programs.push(program);
    program.child.once('exit', folder.remove);
    await until(async () => (await fetch(`http://127.0.0.1:${internal}/readyz`)).ok);
  };
  try {
    for (let number = 1; number <= ofEach; number += 1)
      for (const role of ['ordering', 'gateway', 'worker'] as const) await start(role, number);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
};

/** Statements between two counts, the most frequent first. */
export const statementsBetween = (before: Counts, after: Counts): CountedStatement[] => {
  const keyOf = ({ process, text }: CountedStatement): string => `${process} ${text}`;
  const earlier = new Map(before.statements.map((one) => [keyOf(one), one.calls]));
  return after.statements
    .map((one) => ({ ...one, calls: one.calls - (earlier.get(keyOf(one)) ?? 0) }))
    .filter(({ calls }) => calls > 0)
    .sort((one, other) => other.calls - one.calls);
};
