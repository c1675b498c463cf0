/** Forward-only, numbered migrations. Each feature has its own list and its own PostgreSQL schema. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { minuteMs } from '../../clock.ts';
import { commandLine, compareReleases } from '../../files/release.ts';
import { allowSilence } from '../driver/pg-client.ts';
import { grantAgain, schemasOf } from './grants.ts';
import { digest, findPending, type Migration, MigrationError, readApplied, readPending, titleOf } from './pending.ts';

/** Any constant works, as long as no other advisory lock of this program uses it. */
const lockKey = 7203517000;
const lockWaitMs = 5 * minuteMs;

/**
 * A statement that waits for the lock of a table makes every later reader and writer of the table wait behind it. So the wait is
 * short, and what waited behind it has a pause to run before the next try.
 */
const tableLock = { wait: '2s', pauseMs: 3_000, triesMs: 5 * minuteMs };

const fileName = /^(\d{4})-([a-z0-9-]+)\.sql$/;

/** The first line of a migration that names the oldest release that works with it (src/platform/README.md). */
const declaration = /^-- Works with (\d+\.\d+\.\d+) and newer releases\.\n/;

/** It and earlier ones refuse to start when `platform.migrations` has a row that they do not know, and read no other table. */
const lastUndeclared = '1.0.0';

/**
 * Reads `0001-some-name.sql` and so on from a folder, in the order of their numbers, which may have gaps. Called once at
 * start.
 */
export const loadMigrations = (feature: string, folder: URL): Migration[] => {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  let last = 0;
  return names.map((file) => {
    const [, number, name] = fileName.exec(file) ?? [];
    if (number === undefined || name === undefined)
      throw new MigrationError('MIGRATIONS_INVALID', `${feature}: migration ${file} is not named 0001-some-name.sql`);
    if (Number(number) <= last)
      throw new MigrationError('MIGRATIONS_INVALID', `${feature}: ${file} has the number of another`);
    last = Number(number);
    // A checkout with Windows line ends is the same migration.
    const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\r\n', '\n');
    return { feature, number: Number(number), name, sql, worksWith: declaration.exec(sql)?.[1] };
  });
};

/**
 * Applies the missing migrations and returns them. Several processes may call this at the same time. A role that may not
 * change the schema may call it too, as long as nothing is missing; else MIGRATION_DENIED. DATABASE_TOO_OLD when the server cannot
 * have the schema. `waitMs`: for how long another process may migrate. `triesMs`: for how long a migration is
 * tried again while other transactions hold its tables.
 */
export const migrate = async (
  pool: pg.Pool,
  migrations: readonly Migration[],
  { log, waitMs = lockWaitMs, triesMs = tableLock.triesMs }: { log: Logger; waitMs?: number; triesMs?: number },
): Promise<Migration[]> => {
  if ((await readPending(pool, migrations)).length === 0) return [];
  await assertNewEnough(pool);
  const client = await pool.connect();
  try {
    // A migration of a large table may take long; the wait for the lock has its own bound.
    allowSilence(client);
    await client.query(`set statement_timeout = 0; set lock_timeout = ${waitMs}`);
    await takeLock(client);
    await client.query(`set lock_timeout = '${tableLock.wait}'`);
    await client.query(`
      create schema if not exists platform;
      create table if not exists platform.migrations (
        feature text not null,
        number integer not null,
        name text not null,
        sha256 text not null,
        applied_at timestamptz not null default now(),
        primary key (feature, number)
      )`);
    const pending = findPending(migrations, await readApplied(client));
    const schemas = schemasOf(migrations);
    for (const migration of pending) await apply(client, migration, { schemas, log, triesMs });
    return pending;
  } catch (error) {
    throw (await deniedTo(pool, error)) ?? error;
  } finally {
    // To close the session releases the lock and drops its settings, whatever its state is.
    client.release(true);
  }
};

const lockTimeout = '55P03';

/** The session of a process that was killed goes on until its statement ends, and holds the lock meanwhile. */
const takeLock = async (client: pg.PoolClient): Promise<void> => {
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey]);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === lockTimeout)) throw error;
    const { rows } = await client.query<{ holder: string }>(
      `select ${holderText} as holder from pg_stat_activity where pid in (
         select pid from pg_locks where granted and locktype = 'advisory' and objsubid = 1
           and (classid::bigint << 32) + objid::bigint = $1
           and database = (select oid from pg_database where datname = current_database()))`,
      [lockKey],
    );
    throw new MigrationError(
      'MIGRATION_FAILED',
      `another process still migrates: ${rows[0]?.holder ?? 'its session has just ended'}. Try again later, or end that session (pg_terminate_backend) if its process is gone`,
      error,
    );
  }
};

/** Of a row of `pg_stat_activity`. */
const holderText = `format('pid %s (%s) since %s', pid, coalesce(nullif(application_name, ''), usename, '?'), coalesce(xact_start, query_start))`;

/** In the form of `server_version_num`. The tables set the storage of their columns, which an older one cannot read. */
const serverVersionMin = 160_000;

/** DATABASE_TOO_OLD before anything changes: the syntax error of a migration would not name the reason. */
const assertNewEnough = async (pool: pg.Pool): Promise<void> => {
  const { rows } = await pool.query<{ version: number; name: string }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_version') as name`,
  );
  const [server] = rows;
  if (server === undefined || server.version >= serverVersionMin) return;
  throw new MigrationError(
    'DATABASE_TOO_OLD',
    `the server is PostgreSQL ${server.name}, and Orderpass needs version ${serverVersionMin / 10_000} or newer`,
  );
};

const insufficientPrivilege = '42501';

/** `lock_timeout`, and the deadlocks that PostgreSQL ends by an error. */
const lockFailures: readonly (string | undefined)[] = [lockTimeout, '40P01'];

const isLockFailure = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && lockFailures.includes(error.code);

/** MIGRATION_DENIED, when the role of the connection may not do what a migration does. */
const deniedTo = async (pool: pg.Pool, error: unknown): Promise<MigrationError | undefined> => {
  const cause = error instanceof MigrationError ? error.cause : error;
  if (!(cause instanceof pg.DatabaseError) || cause.code !== insufficientPrivilege) return undefined;
  const { rows } = await pool.query<{ role: string }>('select current_user as role');
  return new MigrationError(
    'MIGRATION_DENIED',
    `the role ${rows[0]?.role} may not change the schema (${cause.message}). Run ${commandLine} migrate with a DATABASE_URL of the role that owns the schema, and start this role with ORDERPASS_MIGRATE=check`,
    error,
  );
};

const apply = async (
  client: pg.PoolClient,
  migration: Migration,
  { schemas, log, triesMs }: { schemas: readonly string[]; log: Logger; triesMs: number },
): Promise<void> => {
  const endMs = performance.now() + triesMs;
  for (;;) {
    try {
      await applyOnce(client, migration, schemas);
      break;
    } catch (error) {
      const isLocked = isLockFailure(error);
      if (isLocked) await client.query('rollback');
      const holders = isLocked ? await holdersOf(client, migration) : '';
      if (!isLocked || performance.now() >= endMs)
        throw new MigrationError(
          'MIGRATION_FAILED',
          `migration ${titleOf(migration)} failed${reasonOf(error, migration)}${holders}`,
          error,
        );
      log.warn(
        { migration: titleOf(migration) },
        `a migration is tried again, because its tables are locked${holders}`,
      );
      await setTimeout(tableLock.pauseMs);
    }
  }
  log.info({ migration: titleOf(migration) }, 'migration applied');
};

/**
 * The statements, the rights of other roles to what they made, and the row that remembers them commit together, so a crash
 * leaves either all or none.
 */
const applyOnce = async (client: pg.PoolClient, migration: Migration, schemas: readonly string[]): Promise<void> => {
  await client.query('begin');
  await client.query(migration.sql);
  await grantAgain(client, schemas);
  await record(client, migration);
  await client.query('commit');
};

/** The oldest transactions that hold a table which the migration names. They may have ended meanwhile. */
const holdersOf = async (client: pg.PoolClient, migration: Migration): Promise<string> => {
  const { rows } = await client.query<{ holder: string }>(
    `select ${holderText} as holder
     from pg_stat_activity where pid <> pg_backend_pid() and pid in (
       select lock.pid from pg_locks as lock join pg_class as class on class.oid = lock.relation
         join pg_namespace as schema on schema.oid = class.relnamespace
       where lock.granted and lock.database = (select oid from pg_database where datname = current_database())
         and position(schema.nspname || '.' || class.relname in $1) > 0)
     order by xact_start limit 3`,
    [migration.sql],
  );
  return rows.length === 0 ? '' : `; its tables are in use by ${rows.map(({ holder }) => holder).join(', ')}`;
};

const record = async (client: pg.PoolClient, migration: Migration): Promise<void> => {
  const { feature, number, name, worksWith } = migration;
  const values = [feature, number, name, digest(migration)];
  if (worksWith === undefined || compareReleases(worksWith, lastUndeclared) > 0)
    await client.query(
      'insert into platform.migrations (feature, number, name, sha256) values ($1, $2, $3, $4)',
      values,
    );
  if (worksWith !== undefined)
    await client.query(
      'insert into platform.declared_migrations (feature, number, name, sha256, works_with) values ($1, $2, $3, $4, $5)',
      [...values, worksWith],
    );
};

/** PostgreSQL reports the position as a number of characters; an editor shows lines. */
const reasonOf = (error: unknown, migration: Migration): string => {
  if (!(error instanceof Error)) return `: ${String(error)}`;
  const position = error instanceof pg.DatabaseError ? Number(error.position) : Number.NaN;
  if (Number.isNaN(position)) return `: ${error.message}`;
  return ` in line ${migration.sql.slice(0, position).split('\n').length}: ${error.message}`;
};
