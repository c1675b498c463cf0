/** Reads many large rows from PostgreSQL a few at a time. */
import { type Kysely, type RawBuilder, sql } from 'kysely';

/** Documents are parsed on arrival. A page is small, because a long one would block other requests. */
const pageRows = 25;

/**
 * All rows of a query, inside a transaction. A cursor is planned once. One statement per page would be planned for each
 * page, and with thousands of names in the statement the planning would take longer than the page.
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
