/**
 * Statements that a server parses and plans once for each connection instead of every time: for those that hot requests
 * send again and again, whose text is always the same and whose plan does not depend on their values.
 */
import { type RawBuilder, sql } from 'kysely';
import pg from 'pg';

export const mark = '/* named */';

/** Stands at the start of the text of such a statement. */
export const named: RawBuilder<unknown> = sql.raw(mark);

/** More than there are: a text that varies after all must not fill the server's memory. */
const namesMax = 200;

const names = new Map<string, string>();

/** Undefined when there are too many already: such a text is parsed every time. */
export const nameOf = (text: string): string | undefined => {
  const known = names.get(text);
  if (known !== undefined || names.size >= namesMax) return known;
  const name = `orderpass_${names.size}`;
  names.set(text, name);
  return name;
};

type Query = (config: unknown, ...more: unknown[]) => unknown;

/** Gives the marked statements of a connection their names. */
export const nameStatements = (client: pg.PoolClient): void => {
  const query: Query = (...sent) => Reflect.apply(pg.Client.prototype.query, client, sent) as unknown;
  const naming: Query = (config, ...more) => {
    const name = typeof config === 'string' && config.trimStart().startsWith(mark) ? nameOf(config) : undefined;
    return name === undefined ? query(config, ...more) : query({ name, text: config, values: more[0] });
  };
  Object.assign(client, { query: naming });
};
