/** A query builder on one connection that names every statement, for loops that run the same few statements. */
import { Kysely, type PostgresPoolClient } from 'kysely';
import type { PoolClient } from 'pg';
import { PipelinedDialect } from './kysely-dialect.ts';
import { nameOf } from './named.ts';

/**
 * Two transactions on it at the same time would be one transaction, so it has one caller at a time. The caller that took the
 * client from the pool releases it.
 */
export const createPreparedDatabase = (client: PoolClient): Kysely<unknown> => {
  const query = (text: string, values: readonly unknown[]): unknown => {
    const name = nameOf(text);
    return client.query({ ...(name !== undefined && { name }), text, values: [...values] });
  };
  // Without cursors kysely calls `query` in this one way.
  const connection: PostgresPoolClient = { query: query as PostgresPoolClient['query'], release: () => undefined };
  const pool = { connect: () => Promise.resolve(connection), end: () => Promise.resolve(), options: {} };
  return new Kysely({ dialect: new PipelinedDialect({ pool }) });
};
