/**
 * Copies every row of one database into another one that has the same migrations and no rows. The target gets all or nothing:
 * one transaction holds the copy, the comparison of both sides, and locks that keep a server from starting on it meanwhile.
 */
import type pg from 'pg';
import { connectForCopy, copyIn, copyOut } from '../driver/copy.ts';
import type { SocketConnection } from '../driver/socket-connection.ts';
import { readOnlyTables, schemasOf } from './grants.ts';
import { findFilled, fingerprintOf, listTables, seededTables, type Table } from './list-tables.ts';
import type { Migration } from './pending.ts';

/** Why the copy was refused, in words for an operator. The target holds no rows of it. */
export class CopyError extends Error {
  override readonly name = 'CopyError';
}

export type CopiedDatabase = { tables: number; rows: number; sequences: number };

type Client = Pick<pg.Client, 'query'>;

export type CopySettings = {
  migrations: readonly Migration[];
  signal: AbortSignal;
  /** 0 to 100. */
  onPercent(percent: number): void;
  /** Commits the target by `commit`, with what has to be done right before and after that. Once it has resolved, the copy is made. */
  complete(commit: () => Promise<void>): Promise<void>;
};

/** Both sides must write values as the same text for the comparison, and a large table has no time limit. */
const sessionSettings = `
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = '10s';
  set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set timezone = 'UTC';
  set bytea_output = 'hex'; set extra_float_digits = 1; set search_path = pg_catalog`;

/** Text is read by every version of PostgreSQL, while the binary form of some types holds ids of one database. */
const format = "(format text, encoding 'UTF8')";

/**
 * `source` and `target`: sessions for this call alone (connectForCopy). Nothing else may write to the source. Throws CopyError
 * when the target is not empty or differs after the copy.
 */
export const copyDatabase = async (
  source: pg.Client,
  target: pg.Client,
  settings: CopySettings,
): Promise<CopiedDatabase> => {
  const schemas = schemasOf(settings.migrations);
  for (const client of [source, target]) await client.query(sessionSettings);
  await source.query('begin isolation level repeatable read read only');
  await target.query('begin');
  try {
    const tables = await listTables(source, schemas);
    await prepareTarget(target, tables, settings.migrations);
    const filled = tables.filter(({ name, isPartitioned }) => !isPartitioned && !readOnlyTables.includes(name));
    await copyTables(source, target, filled, settings);
    const sequences = await copySequences(source, target, schemas);
    const rows = await compareTables(source, target, filled, settings.signal);
    await switchTriggers(target, tables, 'enable');
    settings.signal.throwIfAborted();
    await settings.complete(async () => {
      await target.query('commit');
    });
    await analyse(target, filled, settings.signal);
    return { tables: filled.length, rows, sequences };
  } catch (error) {
    // Both sessions end with this call; a broken one has rolled back already.
    await target.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    await source.query('rollback').catch(() => undefined);
  }
};

const prepareTarget = async (
  target: Client,
  tables: readonly Table[],
  migrations: readonly Migration[],
): Promise<void> => {
  const present = await listTables(target, schemasOf(migrations));
  await target.query(`lock table ${present.map(({ name }) => name).join(', ')} in access exclusive mode`);
  const seeded = seededTables(migrations);
  const leaves = present.filter(({ isPartitioned }) => !isPartitioned).map(({ name }) => name);
  const found = await findFilled(
    target,
    leaves.filter((name) => !seeded.has(name) && !readOnlyTables.includes(name)),
  );
  if (found !== undefined)
    throw new CopyError(
      `the target is not empty: its table ${found} holds rows. Name an empty database; after a move whose connection was lost at its end, drop the database and make it again`,
    );
  for (const name of leaves)
    if (seeded.has(name) && !readOnlyTables.includes(name)) await target.query(`delete from ${name}`);
  const known = new Set(present.map(({ name }) => name));
  const needed = new Set(tables.map(({ name }) => name));
  // The migrations of the target made the weeks around its first start. A row of such a week that lies in a default partition of the
  // source would not fit into the one of the target. The program makes the weeks again.
  for (const { name, parent } of present)
    if (parent !== null && !needed.has(name)) await target.query(`drop table ${name}`);
  for (const { name, parent, bound, parameters } of tables) {
    if (known.has(name)) continue;
    if (parent === null) throw new CopyError(`the target has no table ${name}, although its migrations are the same`);
    const stored = parameters === null ? '' : ` with (${parameters})`;
    await target.query(`create table ${name} partition of ${parent} ${bound}${stored}`);
  }
  // They count rows and queue work, and what they wrote for these rows is copied itself.
  await switchTriggers(target, tables, 'disable');
};

const switchTriggers = async (target: Client, tables: readonly Table[], to: 'enable' | 'disable'): Promise<void> => {
  for (const { name } of tables)
    if (!readOnlyTables.includes(name)) await target.query(`alter table ${name} ${to} trigger user`);
};

const copyTables = async (
  source: pg.Client,
  target: pg.Client,
  tables: readonly Table[],
  { signal, onPercent }: CopySettings,
): Promise<void> => {
  const all = tables.reduce((sum, { bytes }) => sum + bytes, 1);
  let done = 0;
  for (const { name, columns, bytes } of tables) {
    const list = columns.join(', ');
    const into = await copyIn(target, `copy ${name} (${list}) from stdin ${format}`);
    try {
      await copyOut(source, `copy ${name} (${list}) to stdout ${format}`, async (messages) => {
        signal.throwIfAborted();
        await into.write(Buffer.concat(messages));
      });
    } catch (error) {
      await into.cancel('the copy was ended');
      throw error;
    }
    await into.end();
    done += bytes;
    onPercent(Math.floor((done * 100) / all));
  }
};

/** Without statistics the first requests would read whole tables. The server makes those that are missing by itself later. */
const analyse = async (target: Client, tables: readonly Table[], signal: AbortSignal): Promise<void> => {
  for (const { name } of tables) {
    if (signal.aborted) return;
    await target.query(`analyze ${name}`).catch(() => undefined);
  }
};

/** Values that were taken and rolled back are not taken again. */
const copySequences = async (source: Client, target: Client, schemas: readonly string[]): Promise<number> => {
  const { rows } = await source.query<{ name: string; last: string | null }>(
    `select format('%I.%I', schemaname, sequencename) as name, last_value::text as last
     from pg_sequences where schemaname = any($1::text[])`,
    [schemas],
  );
  for (const { name, last } of rows) if (last !== null) await target.query('select setval($1, $2)', [name, last]);
  return rows.length;
};

/** Returns the number of rows. */
const compareTables = async (
  source: Client,
  target: Client,
  tables: readonly Table[],
  signal: AbortSignal,
): Promise<number> => {
  let rows = 0;
  for (const { name } of tables) {
    signal.throwIfAborted();
    const [here, there] = await Promise.all([fingerprintOf(source, name), fingerprintOf(target, name)]);
    if (here.rows !== there.rows || here.digest !== there.digest)
      throw new CopyError(
        `the table ${name} differs after the copy (${here.rows} rows here, ${there.rows} there): nothing was kept in the target`,
      );
    rows += here.rows;
  }
  return rows;
};

/** The rows of all tables of the migrations. */
export const countRows = async (
  connection: SocketConnection | string,
  migrations: readonly Migration[],
): Promise<number> => {
  const client = await connectForCopy(connection, { applicationName: 'orderpass count' });
  try {
    await client.query(sessionSettings);
    let total = 0;
    for (const { name, isPartitioned } of await listTables(client, schemasOf(migrations))) {
      if (isPartitioned) continue;
      const { rows } = await client.query<{ rows: string }>(`select count(*)::text as rows from ${name}`);
      total += Number(rows[0]?.rows);
    }
    return total;
  } finally {
    await client.end().catch(() => undefined);
  }
};
