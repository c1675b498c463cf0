/** Reads many large rows from PostgreSQL a few at a time. */
import { type Kysely, type RawBuilder, sql } from 'kysely';

/** Documents are parsed as they arrive: rows that come all at once would hold up other requests. */
const pageRows = 25;

/**
 * All rows of a query, inside a transaction. By a cursor, which is planned once: a page with a statement of its own would be
 * planned for itself, and with thousands of names in the statement that takes longer than the page.
 */
export const readInPages = async <T>(tx: Kysely<unknown>, query: RawBuilder<T>): Promise<T[]> => {
  await sql`declare menu_rows no scroll cursor for ${query}`.execute(tx);
  const all: T[] = [];
  for (;;) {
    const { rows } = await sql<T>`fetch ${sql.lit(pageRows)} from menu_rows`.execute(tx);
    all.push(...rows);
    if (rows.length < pageRows) break;
  }
  await sql`close menu_rows`.execute(tx);
  return all;
};
