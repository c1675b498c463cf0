/** A query builder on one connection whose statements are parsed and planned once, for loops that run the same few of them. */
import { Kysely, PostgresDialect } from 'kysely';
import type { PoolClient } from 'pg';
import { beginningAtOnce } from '../pool.ts';
import { nameOf } from './named.ts';

/**
 * Names every statement, not only marked ones (named.ts). One caller at a time: two transactions on it would be one. Releasing
 * the client is left to whoever took it.
 */
export const createPreparedDatabase = (client: PoolClient): Kysely<unknown> => {
  const connection = {
    query: (text: string, values: readonly unknown[]) => {
      const name = nameOf(text);
      return client.query({ ...(name !== undefined && { name }), text, values: [...values] });
    },
    release: () => undefined,
  };
  const pool = { connect: () => Promise.resolve(connection), end: () => Promise.resolve() };
  // The dialect asks for a pool of its own making; of its clients it uses these two functions.
  return new Kysely({ dialect: beginningAtOnce(new PostgresDialect({ pool: pool as never })) });
};
