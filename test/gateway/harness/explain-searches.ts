/** How PostgreSQL goes about what is searched in the audit. */
import type { Kysely } from 'kysely';
import type pg from 'pg';
import { shareHints } from '#src/platform/db/hints/hints.ts';
import { createDatabase } from '#src/platform/db/pool.ts';

/** `db`: each select of the search is explained on its way, into `plans`. */
export const explainSearches = (pool: pg.Pool): { db: Kysely<unknown>; plans: string[] } => {
  const plans: string[] = [];
  const explaining = {
    ...pool,
    connect: async () => {
      const connection = await pool.connect();
      return {
        query: async (text: string, values: unknown[]) => {
          if (/from gateway\.audit_events where/.test(text)) {
            const { rows } = await connection.query(`explain ${text}`, values);
            plans.push(rows.map((row) => String(row['QUERY PLAN'])).join('\n'));
          }
          return connection.query(text, values);
        },
        release: () => connection.release(),
      };
    },
  };
  const explained = explaining as unknown as pg.Pool;
  shareHints(pool, explained);
  return { db: createDatabase(explained), plans };
};
