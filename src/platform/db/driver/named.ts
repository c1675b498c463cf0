/**
 * Names for prepared statements. PostgreSQL parses and plans a named statement once for each connection. A name is worth it
 * for a text that hot requests send again and again, and whose plan does not depend on its values.
 */
import { type RawBuilder, sql } from 'kysely';

export const mark = '/* named */';

/** The first thing in the text of a statement that gets a name: `` sql`${named} select …` ``. */
export const named: RawBuilder<unknown> = sql.raw(mark);

/** chosen: more than there are. A text that varies by mistake must not fill the memory of the server. */
const namesMax = 200;

const names = new Map<string, string>();

/** The name of a statement. Undefined when all names are taken: such a text is parsed every time. */
export const nameOf = (text: string): string | undefined => {
  const known = names.get(text);
  if (known !== undefined || names.size >= namesMax) return known;
  const name = `orderpass_${names.size}`;
  names.set(text, name);
  return name;
};

/** The name of a statement whose text starts with the mark; undefined for every other statement. */
export const nameOfMarked = (text: string): string | undefined =>
  text.trimStart().startsWith(mark) ? nameOf(text) : undefined;
