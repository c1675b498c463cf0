/** Forward-only, numbered migrations. Each feature has its own list and its own PostgreSQL schema. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import type { Logger } from 'pino';
import { allowSilence } from './driver/pg-client.ts';

export type Migration = { feature: string; number: number; name: string; sql: string };

type MigrationErrorCode =
  | 'DATABASE_NEWER'
  | 'MIGRATIONS_DIFFER'
  | 'MIGRATIONS_INVALID'
  | 'MIGRATION_CHANGED'
  | 'MIGRATION_FAILED';

class MigrationError extends Error {
  readonly code: MigrationErrorCode;
  constructor(code: MigrationErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'MigrationError';
    this.code = code;
  }
}

/** Any constant works, as long as no other advisory lock of this program uses it. */
const lockKey = 7203517000;
const lockWait = '5min';

const fileName = /^(\d{4})-([a-z0-9-]+)\.sql$/;

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
    return { feature, number: Number(number), name, sql };
  });
};

type Applied = { feature: string; number: number; name: string; sha256: string };

const digest = (migration: Migration): string => createHash('sha256').update(migration.sql).digest('hex');
const keyOf = (entry: { feature: string; number: number }): string => `${entry.feature}/${entry.number}`;
const titleOf = (entry: Applied | Migration): string =>
  `${entry.feature}/${String(entry.number).padStart(4, '0')}-${entry.name}`;

/** Applies the missing migrations and returns them. Several processes may call this at the same time. */
export const migrate = async (
  pool: pg.Pool,
  migrations: readonly Migration[],
  { log }: { log: Logger },
): Promise<Migration[]> => {
  const client = await pool.connect();
  try {
    // A migration of a large table may take long; the wait for the lock has its own bound.
    allowSilence(client);
    await client.query(`set statement_timeout = 0; set lock_timeout = '${lockWait}'`);
    await client.query('select pg_advisory_lock($1)', [lockKey]);
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
    const { rows } = await client.query<Applied>('select feature, number, name, sha256 from platform.migrations');
    const pending = findPending(migrations, rows);
    for (const migration of pending) await apply(client, migration, log);
    return pending;
  } finally {
    // To close the session releases the lock and drops its settings, whatever its state is.
    client.release(true);
  }
};

/** behind: a migration is missing. newer: a later release has added migrations. */
export type SchemaState = 'current' | 'behind' | 'newer';

/** Compares names alone: the start has compared the content. */
export const readSchemaState = async (pool: pg.Pool, migrations: readonly Migration[]): Promise<SchemaState> => {
  const { rows } = await pool.query<Applied>('select feature, number from platform.migrations');
  const applied = new Set(rows.map(keyOf));
  if (migrations.some((migration) => !applied.has(keyOf(migration)))) return 'behind';
  return applied.size > migrations.length ? 'newer' : 'current';
};

/** The migrations to apply, in the sequence given. Refuses a database that these migrations do not describe. */
const findPending = (migrations: readonly Migration[], applied: readonly Applied[]): Migration[] => {
  const known = new Map(migrations.map((migration) => [keyOf(migration), migration]));
  if (known.size !== migrations.length)
    throw new MigrationError('MIGRATIONS_INVALID', 'two migrations have the same feature and number');
  refuseOtherMigrations(known, applied);
  const done = new Set<string>();
  for (const entry of applied) {
    const migration = known.get(keyOf(entry));
    if (migration === undefined)
      throw new MigrationError(
        'DATABASE_NEWER',
        `the database has migration ${titleOf(entry)}, which this version does not know: it was written by a newer version. Start that version, or restore a backup made before it`,
      );
    if (digest(migration) !== entry.sha256)
      throw new MigrationError(
        'MIGRATION_CHANGED',
        `migration ${titleOf(entry)} was changed after it had been applied. Put the file back and add a new migration for the change`,
      );
    done.add(keyOf(entry));
  }
  return migrations.filter((migration) => !done.has(keyOf(migration)));
};

/** A migration of another name under a known number: the database has another history, and its tables may be different. */
const refuseOtherMigrations = (known: ReadonlyMap<string, Migration>, applied: readonly Applied[]): void => {
  for (const entry of applied) {
    const own = known.get(keyOf(entry));
    if (own === undefined || own.name === entry.name) continue;
    throw new MigrationError(
      'MIGRATIONS_DIFFER',
      `the database was made by other migrations: it has ${titleOf(entry)} where this version has ${titleOf(own)}. Start the version that made the database, or start this version with an empty database`,
    );
  }
};

/** The statements and the row that remembers them commit together, so a crash leaves either both or none. */
const apply = async (client: pg.PoolClient, migration: Migration, log: Logger): Promise<void> => {
  try {
    await client.query('begin');
    await client.query(migration.sql);
    await client.query('insert into platform.migrations (feature, number, name, sha256) values ($1, $2, $3, $4)', [
      migration.feature,
      migration.number,
      migration.name,
      digest(migration),
    ]);
    await client.query('commit');
  } catch (error) {
    throw new MigrationError(
      'MIGRATION_FAILED',
      `migration ${titleOf(migration)} failed${reasonOf(error, migration)}`,
      error,
    );
  }
  log.info({ migration: titleOf(migration) }, 'migration applied');
};

/** PostgreSQL reports the position as a number of characters; an editor shows lines. */
const reasonOf = (error: unknown, migration: Migration): string => {
  if (!(error instanceof Error)) return `: ${String(error)}`;
  const position = error instanceof pg.DatabaseError ? Number(error.position) : Number.NaN;
  if (Number.isNaN(position)) return `: ${error.message}`;
  return ` in line ${migration.sql.slice(0, position).split('\n').length}: ${error.message}`;
};
