/** How names, texts and types of the model are spelled in Go. */
import { wordsOf } from '../model/names.ts';
import { wrap } from '../model/text.ts';
import type { Type } from '../model/types.ts';

/** Words that Go writes in capitals, also with an s after them. */
const initialisms = new Set('api dns id ip iso json sha256 tls uid url'.split(' '));

const spelledWord = (word: string): string => {
  if (initialisms.has(word)) return word.toUpperCase();
  if (word.endsWith('s') && initialisms.has(word.slice(0, -1))) return `${word.slice(0, -1).toUpperCase()}s`;
  return word.slice(0, 1).toUpperCase() + word.slice(1);
};

/** `subrestaurant_uids` becomes `SubrestaurantUIDs`. */
export const goName = (name: string): string => wordsOf(name).map(spelledWord).join('');

export const quoted = (text: string): string => JSON.stringify(text);

const widthMax = 76;

/** A comment of `//` lines; Markdown of the document is left as it is. */
export const comment = (text: string, by = ''): string[] =>
  text === '' ? [] : wrap(text, widthMax).map((line) => `${by}//${line === '' ? '' : ` ${line}`}`);

/** A list of names under a heading that says whose they are, aligned as gofmt does. */
export const constants = (
  type: string,
  values: readonly { name: string; value: string; about?: string }[],
): string[] => {
  const width = Math.max(...values.map(({ name }) => name.length));
  return [
    'const (',
    ...values.flatMap(({ name, value, about }) => [
      ...comment(about ?? '', '\t'),
      `\t${about === undefined ? name.padEnd(width) : name} ${type} = ${quoted(value)}`,
    ]),
    ')',
    '',
  ];
};

export type Names = {
  /** Of enumerations, and of unions, which have no name in the document. */
  nameOf(type: Type): string | undefined;
  isObject(type: Type): boolean;
  /** Also where the type has a name in the document under which null is one of its values. */
  isNullable(type: Type): boolean;
  /** Objects that are null in some place. */
  isOptional(name: string): boolean;
};

/** The type of a value that is not null. */
export const plainType = (type: Type, names: Names): string => {
  const own = names.nameOf(type);
  if (own !== undefined) return own;
  switch (type.kind) {
    case 'string':
      return 'string';
    case 'integer':
      return 'int64';
    case 'number':
      return 'Decimal';
    case 'boolean':
      return 'bool';
    case 'literals':
      return literalType(type.values[0]);
    case 'list':
      return `[]${answerType(type.items, names)}`;
    case 'map':
      return `map[string]${answerType(type.values, names)}`;
    case 'named':
      return type.name;
    default:
      return 'json.RawMessage';
  }
};

const literalType = (value: string | number | boolean | undefined): string => {
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'number' ? 'int64' : 'string';
};

/** Where nil says null by itself. */
const hasNil = (text: string): boolean => /^(\[\]|map\[|json\.)/.test(text);

export const answerType = (type: Type, names: Names): string => {
  const text = plainType(type, names);
  return names.isNullable(type) && !hasNil(text) ? `*${text}` : text;
};

/** An optional member of a request: left out when it is zero, so values whose zero has a meaning are pointers. */
export const optionalType = (type: Type, names: Names): string => {
  const text = plainType(type, names);
  if (names.isNullable(type)) return `Nullable[${text}]`;
  const isText = type.kind === 'string' || (type.kind === 'literals' && typeof type.values[0] === 'string');
  return isText || hasNil(text) ? text : `*${text}`;
};
