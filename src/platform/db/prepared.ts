/** A query builder on one connection whose statements are parsed and planned once, for loops that run the same few of them. */
import { createHash } from 'node:crypto';
import { Kysely, PostgresDialect } from 'kysely';
import type { PoolClient } from 'pg';

/**
 * One caller at a time: two transactions on it would be one. The texts of its statements must be few, since each stays
 * prepared as long as the connection lives. Releasing the client is left to whoever took it.
 */
export const createPreparedDatabase = (client: PoolClient): Kysely<unknown> => {
  const names = new Map<string, string>();
  const nameOf = (text: string): string => {
    const known = names.get(text);
    if (known !== undefined) return known;
    const name = createHash('sha256').update(text).digest('hex').slice(0, 32);
    names.set(text, name);
    return name;
  };
  const connection = {
    query: (text: string, values: readonly unknown[]) =>
      client.query({ name: nameOf(text), text, values: [...values] }),
    release: () => undefined,
  };
  const pool = { connect: () => Promise.resolve(connection), end: () => Promise.resolve() };
  // The dialect asks for a pool of its own making; of its clients it uses these two functions.
  return new Kysely({ dialect: new PostgresDialect({ pool: pool as never }) });
};
