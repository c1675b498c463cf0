/**
 * Statements of hot requests: a text that is always the same, put together once instead of every time, and with a name by
 * which the server knows it (named.ts).
 *
 *     const { rows } = await statement<{ last: number }>`select last from counters where name = ${name}`.execute(db);
 */
import { CompiledQuery, type Kysely, type QueryResult, type RawBuilder } from 'kysely';
import { mark } from './named.ts';

const isFragment = Symbol('fragment');

type Strings = readonly string[];

/** A piece of a statement, with parameters of its own. */
export type Fragment = { readonly [isFragment]: true; readonly strings: Strings; readonly parts: readonly unknown[] };

export const fragment = (strings: TemplateStringsArray, ...parts: unknown[]): Fragment => ({
  [isFragment]: true,
  strings,
  parts,
});

export type Statement<Row> = { execute(db: Kysely<unknown>): Promise<QueryResult<Row>> };

/**
 * Everything that is put in is a parameter, but for fragments and for builders of `sql` without parameters. Which of them
 * stands where must not depend on values: it would not be the same statement every time, and throws.
 */
export const statement = <Row = unknown>(strings: TemplateStringsArray, ...parts: unknown[]): Statement<Row> => ({
  execute: (db) => {
    const parameters: unknown[] = [];
    const pieces: unknown[] = [];
    collect(parts, parameters, pieces);
    const { compiled, pieces: first } = compile(db, strings, parts, pieces);
    if (first.length !== pieces.length || first.some((piece, index) => piece !== pieces[index]))
      throw new Error(`not the same statement every time: ${compiled.sql}`);
    return db.getExecutor().executeQuery<Row>({ ...(compiled as CompiledQuery<Row>), parameters });
  },
});

/** Columns that other statements name too. */
const isConstant = (part: unknown): part is RawBuilder<unknown> =>
  typeof part === 'object' && part !== null && 'isRawBuilder' in part;

const asFragment = (part: unknown): Fragment | undefined =>
  typeof part === 'object' && part !== null && isFragment in part ? (part as Fragment) : undefined;

/** Parameters in their sequence, and what the text was made of besides. */
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

/** By the place in the code where the statement stands. */
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
