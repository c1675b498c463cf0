/** Statements that fill a store, as its owner and without its triggers. */
import type pg from 'pg';
import { allowSilence } from '#src/platform/db/driver/pg-client.ts';

/** Restaurants but the first one, by their number. */
export const otherUid = (number: string): string => `'rst_' || to_char(${number}, 'FM000000000')`;

/**
 * Runs `fill` on a connection whose statements fire no trigger: what triggers would write row by row, `fill` writes with one
 * statement for all rows.
 */
export const withoutTriggers = async (pool: pg.Pool, fill: (client: pg.PoolClient) => Promise<void>): Promise<void> => {
  const client = await pool.connect();
  try {
    allowSilence(client);
    await client.query(`set statement_timeout = 0; set session_replication_role = replica; set synchronous_commit = off;
      set maintenance_work_mem = '512MB'; set work_mem = '64MB'`);
    await fill(client);
  } finally {
    client.release(true);
  }
};

/** Drops the indexes of the tables that no constraint needs, and builds them again after `fill`: faster than row by row. */
export const withoutIndexes = async (
  client: pg.PoolClient,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> => {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = any($1::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid)`,
    [tables],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  await fill();
  for (const { definition } of rows) await client.query(definition);
};

/** The columns of a table that an insert names. */
export const columnsOf = async (client: pg.PoolClient, table: string): Promise<string[]> => {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
  return rows.map(({ name }) => name);
};
