/**
 * Statements of hot requests. The text is the same every time, so it is built once, and it gets a name, so the server plans
 * it once for each connection (named.ts).
 *
 * Which of the three ways to write SQL: `statement` for a hot request with a fixed text; `` sql`${named}…` `` for a fixed text
 * that is built from `sql` pieces with parameters; plain `sql` for everything else.
 *
 *     const { rows } = await statement<{ last: number }>`select last from counters where name = ${name}`.execute(db);
 */
import { CompiledQuery, type Kysely, type QueryResult, type RawBuilder } from 'kysely';
import { mark } from './named.ts';

const isFragment = Symbol('fragment');

type Strings = readonly string[];

/** A part of a statement that brings its own parameters. */
export type Fragment = { readonly [isFragment]: true; readonly strings: Strings; readonly parts: readonly unknown[] };

export const fragment = (strings: TemplateStringsArray, ...parts: unknown[]): Fragment => ({
  [isFragment]: true,
  strings,
  parts,
});

export type Statement<Row> = { execute(db: Kysely<unknown>): Promise<QueryResult<Row>> };

/**
 * Every inserted value is a parameter, except fragments and builders of `sql` without parameters. Which fragment is used must
 * not depend on values: `execute` throws when the text is not the same every time.
 */
export const statement = <Row = unknown>(strings: TemplateStringsArray, ...parts: unknown[]): Statement<Row> => ({
  execute: (db) => {
    const parameters: unknown[] = [];
    const pieces: unknown[] = [];
    collect(parts, parameters, pieces);
    const { compiled, pieces: first } = compile(db, strings, parts, pieces);
    if (first.length !== pieces.length || first.some((piece, index) => piece !== pieces[index]))
      throw new Error(`the text of a statement varies: ${compiled.sql}`);
    return db.getExecutor().executeQuery<Row>({ ...(compiled as CompiledQuery<Row>), parameters });
  },
});

/** Text without parameters that statements share, such as a list of columns. */
const isConstant = (part: unknown): part is RawBuilder<unknown> =>
  typeof part === 'object' && part !== null && 'isRawBuilder' in part;

const asFragment = (part: unknown): Fragment | undefined =>
  typeof part === 'object' && part !== null && isFragment in part ? (part as Fragment) : undefined;

/** Collects the parameters in order, and the pieces of text that were inserted. */
const collect = (parts: readonly unknown[], parameters: unknown[], pieces: unknown[]): void => {
  for (const part of parts) {
    const inner = asFragment(part);
    if (inner !== undefined) {
      pieces.push(inner.strings);
      collect(inner.parts, parameters, pieces);
    } else if (isConstant(part)) pieces.push(part);
    else parameters.push(part);
  }
};

type Compiled = { compiled: CompiledQuery; pieces: readonly unknown[] };

/** The key is the template in the source code, of which there is one object for each place. */
const known = new WeakMap<Strings, Compiled>();

const compile = (
  db: Kysely<unknown>,
  strings: Strings,
  parts: readonly unknown[],
  pieces: readonly unknown[],
): Compiled => {
  const before = known.get(strings);
  if (before !== undefined) return before;
  const made = { compiled: CompiledQuery.raw(`${mark} ${write(db, strings, parts, { count: 0 }).trim()}`), pieces };
  known.set(strings, made);
  return made;
};

const write = (db: Kysely<unknown>, strings: Strings, parts: readonly unknown[], numbered: { count: number }): string =>
  strings
    .map((text, index) => {
      if (index === parts.length) return text;
      const part = parts[index];
      if (isConstant(part)) return `${text}${part.compile(db).sql}`;
      const inner = asFragment(part);
      if (inner !== undefined) return `${text}${write(db, inner.strings, inner.parts, numbered)}`;
      numbered.count += 1;
      return `${text}$${numbered.count}`;
    })
    .join('');
