/**
 * JSON.parse without its two silent changes. A number that no double holds becomes an inexact number, which keeps its text
 * and which every value type refuses. A member that is given twice makes the text invalid (RFC 8259 section 4 and RFC 7493
 * section 2 leave both to the reader).
 */
import { isExact } from './decimal.ts';
import { type JsonScan, scanJson } from './scan-json.ts';

/**
 * A symbol whose description is the text of the number. No schema accepts a symbol as a number, a string or an object, so a
 * reader that does not know inexact numbers refuses them.
 */
const inexactNumber = (text: string): symbol => Symbol(text);

/** The text of an inexact number; undefined for every other value. */
export const inexactTextOf = (value: unknown): string | undefined =>
  typeof value === 'symbol' ? value.description : undefined;

/** A member that occurs twice in one object; `path` leads to it from the parsed text. */
export class DuplicateMember extends Error {
  readonly path: readonly string[];

  constructor(path: readonly string[]) {
    super(`${path.join('/')} is given twice`);
    this.name = 'DuplicateMember';
    this.path = path;
  }
}

/** A long text holds a number that may be inexact (`hasLongNumber` of its scan). */
export class NumberInLongText extends Error {
  override readonly name = 'NumberInLongText';
}

/**
 * To keep the texts of numbers a reviver visits every value, which takes ten times as long as a plain parse, so long texts
 * get none.
 */
export const keptCharactersMax = 65_536;

/**
 * For texts of callers. `found`: the result of `scanJson` for this text. Throws SyntaxError, DuplicateMember or
 * NumberInLongText.
 */
export const parseExactJson = (text: string, found: Pick<JsonScan, 'members' | 'hasLongNumber'>): unknown => {
  if (found.hasLongNumber && text.length > keptCharactersMax) throw new NumberInLongText();
  return parseKept(text, found);
};

const parseKept = (text: string, found: Pick<JsonScan, 'members' | 'hasLongNumber'>): unknown => {
  const value: unknown = found.hasLongNumber ? JSON.parse(text, keepText) : JSON.parse(text);
  // The value has fewer members than the text names, so one member has replaced another.
  if (found.members !== countMembers(value)) {
    for (const path of duplicateMembers(text)) throw new DuplicateMember(path);
    throw new Error('no member is given twice');
  }
  return value;
};

/** `countMembers` and JSON.parse with a reviver call themselves for each level. */
const levelsMax = 1_000;

/** The same for a text of this program or its operator, of any length, that was not scanned yet. */
export const readExactJson = (text: string): unknown => {
  const plain = { levels: 0, members: 0, hasLongNumber: true };
  const found = /^\s*[[{]/.test(text) ? scanJson(Buffer.from(text), 0, levelsMax) : plain;
  if (found.levels > levelsMax) throw new SyntaxError(`more than ${levelsMax} levels of nesting`);
  return parseKept(text, found);
};

const keepText = (_name: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' && context?.source !== undefined && !isExact(context.source)
    ? inexactNumber(context.source)
    : value;

const countMembers = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item);
    return count;
  }
  for (const name in value) count += 1 + countMembers((value as Record<string, unknown>)[name]);
  return count;
};

type Level = { names: Set<string> | undefined; index: number; name: string };

/** Path to each member of a JSON text whose name its object has before it. */
export function* duplicateMembers(text: string): Generator<string[], void, undefined> {
  const levels: Level[] = [];
  const path = (): string[] => levels.map(({ names, index, name }) => (names === undefined ? String(index) : name));
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    const level = levels.at(-1);
    if (character === '{') levels.push({ names: new Set(), index: 0, name: '' });
    else if (character === '[') levels.push({ names: undefined, index: 0, name: '' });
    else if (character === '}' || character === ']') levels.pop();
    else if (character === ',' && level !== undefined) level.index += 1;
    else if (character === '"') {
      const from = at;
      for (at += 1; text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
      if (level?.names === undefined || !isName(text, at + 1)) continue;
      level.name = String(JSON.parse(text.slice(from, at + 1)));
      if (level.names.has(level.name)) yield path();
      level.names.add(level.name);
    }
  }
}

/** In a JSON text a colon follows a name, and only a name. */
const isName = (text: string, from: number): boolean => {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return text[at] === ':';
};
