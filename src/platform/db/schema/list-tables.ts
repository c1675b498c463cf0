/** The tables of the migrations in one database, as its catalogue describes them. */
import pg from 'pg';
import type { Migration } from './pending.ts';

type Client = Pick<pg.ClientBase, 'query'>;

export type Table = {
  /** Quoted, with its schema. */
  name: string;
  /** Rows are in its partitions. */
  isPartitioned: boolean;
  /** For a partition: the table that it belongs to, the values that it holds, and its storage parameters. */
  parent: string | null;
  bound: string | null;
  parameters: string | null;
  /** Quoted; without columns that are computed from others. */
  columns: string[];
  bytes: number;
  /** Tables that its foreign keys name, without itself. */
  references: string[];
};

/** A table whose foreign keys name others comes after these. */
export const listTables = async (client: Client, schemas: readonly string[]): Promise<Table[]> => {
  const { rows } = await client.query<Omit<Table, 'bytes'> & { bytes: string }>(
    `select format('%I.%I', nspname, relname) as name, relkind = 'p' as "isPartitioned",
       (select format('%I.%I', up.nspname, parent.relname) from pg_inherits
        join pg_class parent on parent.oid = inhparent join pg_namespace up on up.oid = parent.relnamespace
        where inhrelid = pg_class.oid) as parent,
       pg_get_expr(relpartbound, pg_class.oid) as bound, array_to_string(reloptions, ', ') as parameters,
       (select array_agg(quote_ident(attname) order by attnum) from pg_attribute
        where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
       pg_table_size(pg_class.oid)::text as bytes,
       array(select distinct format('%I.%I', other.nspname, referenced.relname) from pg_constraint
        join pg_class referenced on referenced.oid = confrelid join pg_namespace other on other.oid = referenced.relnamespace
        where conrelid = pg_class.oid and contype = 'f' and confrelid <> conrelid) as references
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = any($1::text[]) and relkind in ('r', 'p')
     order by 1`,
    [schemas],
  );
  return sortByReferences(rows.map((row) => ({ ...row, bytes: Number(row.bytes) })));
};

const sortByReferences = (tables: readonly Table[]): Table[] => {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const sorted = new Set<Table>();
  const visit = (table: Table, from: readonly string[]): void => {
    if (from.includes(table.name)) throw new Error(`the foreign keys of ${from.join(', ')} form a circle`);
    for (const name of table.references) {
      const before = byName.get(name);
      if (before !== undefined) visit(before, [...from, table.name]);
    }
    sorted.add(table);
  };
  for (const table of tables) visit(table, []);
  return [...sorted];
};

/** Tables that get rows by the migrations themselves, so that a database without any other row is empty. */
export const seededTables = (migrations: readonly Migration[]): Set<string> =>
  new Set(migrations.flatMap(({ sql }) => [...sql.matchAll(/^insert into ([\w.]+)/gm)].map(([, name = '']) => name)));

export type Fingerprint = { rows: number; digest: string };

/**
 * The number of rows of a table and the sum of their digests, which does not depend on their sequence. Sessions with equal
 * settings for the text of values compute equal sums for equal rows.
 */
export const fingerprintOf = async (client: Client, table: string): Promise<Fingerprint> => {
  const { rows } = await client.query<{ rows: string; digest: string }>(
    `select count(*)::text as rows, coalesce(sum(
       ('x' || encode(substr(sha256(convert_to(stored::text, 'UTF8')), 1, 7), 'hex'))::bit(56)::bigint
     ), 0)::text as digest from ${table} as stored`,
  );
  return { rows: Number(rows[0]?.rows), digest: rows[0]?.digest ?? '' };
};

/** The first of the tables that holds a row. */
export const findFilled = async (client: Client, tables: readonly string[]): Promise<string | undefined> => {
  if (tables.length === 0) return undefined;
  const looks = tables.map((name) => `select ${pg.escapeLiteral(name)} as name where exists (select from ${name})`);
  const { rows } = await client.query<{ name: string }>(`${looks.join(' union all ')} limit 1`);
  return rows[0]?.name;
};
