/** Compares the migrations of this version with those that a database has. Changes nothing. */
import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Logger } from 'pino';
import { commandLine, compareReleases, programVersion } from '../../files/release.ts';

export type Migration = {
  feature: string;
  number: number;
  name: string;
  sql: string;
  /** The oldest release that works with it. Undefined: only those that know it. */
  worksWith?: string | undefined;
};

type MigrationErrorCode =
  | 'DATABASE_NEWER'
  | 'DATABASE_TOO_OLD'
  | 'MIGRATIONS_DIFFER'
  | 'MIGRATIONS_INVALID'
  | 'MIGRATION_CHANGED'
  | 'MIGRATION_DENIED'
  | 'MIGRATION_FAILED'
  | 'SCHEMA_BEHIND'
  | 'SCHEMA_DENIED';

export class MigrationError extends Error {
  readonly code: MigrationErrorCode;
  constructor(code: MigrationErrorCode, message: string, cause?: unknown) {
    super(`${code}: ${message}`, cause === undefined ? undefined : { cause });
    this.name = 'MigrationError';
    this.code = code;
  }
}

type Applied = { feature: string; number: number; name: string; sha256: string; worksWith: string | null };

export const digest = (migration: Migration): string => createHash('sha256').update(migration.sql).digest('hex');
const keyOf = (entry: { feature: string; number: number }): string => `${entry.feature}/${entry.number}`;
export const titleOf = (entry: Applied | Migration): string =>
  `${entry.feature}/${String(entry.number).padStart(4, '0')}-${entry.name}`;

const undefinedTable = '42P01';
const insufficientPrivilege = '42501';

/** Empty for a database without a schema. SCHEMA_DENIED when the role of the connection may not read it. */
export const readApplied = async (client: Pick<pg.Pool, 'query'>): Promise<Applied[]> => {
  // The table of all releases first: what is written to both tables meanwhile is then found in the second one at least.
  const entries = await readTable(client, 'platform.migrations', 'null');
  const declared = await readTable(client, 'platform.declared_migrations', 'works_with');
  return [...new Map([...entries, ...declared].map((entry) => [keyOf(entry), entry])).values()];
};

/** Empty when the table does not exist. */
const readTable = async (client: Pick<pg.Pool, 'query'>, table: string, worksWith: string): Promise<Applied[]> => {
  try {
    const text = `select feature, number, name, sha256, ${worksWith} as "worksWith" from ${table}`;
    return (await client.query<Applied>(text)).rows;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    if (error.code === undefinedTable) return [];
    if (error.code !== insufficientPrivilege) throw error;
    throw new MigrationError(
      'SCHEMA_DENIED',
      `the role of DATABASE_URL may not read the schema (${error.message}). Run ${commandLine} migrate --grant-to ROLE with a DATABASE_URL of the role that owns the schema`,
      error,
    );
  }
};

/** Whether this release works with a migration that it does not know. */
const isCompatible = ({ worksWith }: Applied): boolean =>
  worksWith !== null && compareReleases(programVersion, worksWith) >= 0;

/** The migrations to apply. Throws for a database that these migrations do not describe. */
export const readPending = async (pool: pg.Pool, migrations: readonly Migration[]): Promise<Migration[]> =>
  findPending(migrations, await readApplied(pool));

/** SCHEMA_BEHIND when a migration is missing; the errors of `readPending`. */
export const assertCurrent = async (pool: pg.Pool, migrations: readonly Migration[]): Promise<void> => {
  const pending = await readPending(pool, migrations);
  if (pending.length > 0) throw behind(pending);
};

const behind = (pending: readonly Migration[]): MigrationError =>
  new MigrationError(
    'SCHEMA_BEHIND',
    `the database lacks ${pending.map(titleOf).join(', ')}. Run ${commandLine} migrate with a DATABASE_URL of the role that owns the schema, then start again`,
  );

/**
 * Logs what a start with `check` would refuse, and goes on. SCHEMA_BEHIND for a database without any migration, since
 * nothing would work with it.
 */
export const reportSchema = async (pool: pg.Pool, migrations: readonly Migration[], log: Logger): Promise<void> => {
  const applied = await readApplied(pool);
  if (applied.length === 0) throw behind(migrations);
  const known = new Set(migrations.map(keyOf));
  const found = new Set(applied.map(keyOf));
  const missing = migrations.filter((migration) => !found.has(keyOf(migration))).map(titleOf);
  const unknown = applied.filter((entry) => !known.has(keyOf(entry)) && !isCompatible(entry)).map(titleOf);
  if (missing.length > 0)
    log.error({ code: 'SCHEMA_BEHIND', missing }, 'the database lacks migrations: requests that need them fail');
  if (unknown.length > 0)
    log.warn({ code: 'DATABASE_NEWER', unknown }, 'the database has migrations of a newer version');
};

/** behind: a migration is missing. newer: a later release has added migrations. */
export type SchemaState = 'current' | 'behind' | 'newer';

/** Compares names alone: the start has compared the content. */
export const readSchemaState = async (pool: pg.Pool, migrations: readonly Migration[]): Promise<SchemaState> => {
  const applied = new Set((await readApplied(pool)).map(keyOf));
  if (migrations.some((migration) => !applied.has(keyOf(migration)))) return 'behind';
  return applied.size > migrations.length ? 'newer' : 'current';
};

/** The migrations to apply, in the sequence given. Refuses a database that these migrations do not describe. */
export const findPending = (migrations: readonly Migration[], applied: readonly Applied[]): Migration[] => {
  const known = new Map(migrations.map((migration) => [keyOf(migration), migration]));
  if (known.size !== migrations.length)
    throw new MigrationError('MIGRATIONS_INVALID', 'two migrations have the same feature and number');
  refuseOtherMigrations(known, applied);
  refuseNewer(applied.filter((entry) => !known.has(keyOf(entry)) && !isCompatible(entry)));
  const done = new Set<string>();
  for (const entry of applied) {
    const migration = known.get(keyOf(entry));
    if (migration === undefined) continue;
    if (digest(migration) !== entry.sha256)
      throw new MigrationError(
        'MIGRATION_CHANGED',
        `migration ${titleOf(entry)} was changed after it had been applied. Put the file back and add a new migration for the change`,
      );
    done.add(keyOf(entry));
  }
  return migrations.filter((migration) => !done.has(keyOf(migration)));
};

/** Names the migration that asks for the newest release. */
const refuseNewer = (unknown: readonly Applied[]): void => {
  const byRelease = unknown.toSorted((a, b) => compareReleases(b.worksWith ?? '', a.worksWith ?? ''));
  const entry = unknown.find(({ worksWith }) => worksWith === null) ?? byRelease[0];
  if (entry === undefined) return;
  const title = `the database has migration ${titleOf(entry)}`;
  throw new MigrationError(
    'DATABASE_NEWER',
    entry.worksWith === null
      ? `${title}, which this version does not know: it was written by a newer version. Start that version, or restore a backup made before it`
      : `${title}, which works with ${entry.worksWith} and newer releases, and this is ${programVersion}. Start ${entry.worksWith} or a newer release, or restore a backup made before the migration`,
  );
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
