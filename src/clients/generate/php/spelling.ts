/** How names, texts and types of the model are spelled in PHP 8.1. */
import { camelCase } from '../model/names.ts';
import { wrap } from '../model/text.ts';
import type { NamedType, Type } from '../model/types.ts';

export const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const widthMax = 100;

export const propertyName = camelCase;

/** A comment of one line or of several. */
export const comment = (text: string, by: string): string[] => {
  const lines = wrap(text.replaceAll('*/', '* /'), widthMax);
  const [only = ''] = lines;
  if (lines.length === 1) return only === '' ? [] : [`${by}/** ${only} */`];
  return [`${by}/**`, ...lines.map((line) => `${by} *${line === '' ? '' : ` ${line}`}`), `${by} */`];
};

/** What the emitters ask about the named types of the model. */
export type Types = { named(name: string): NamedType };

/** An enumeration or a union that has a name is written as what it stands for, as PHP has no aliases. */
export const resolved = (type: Type, types: Types): Type => {
  const named = type.kind === 'named' ? types.named(type.name) : undefined;
  if (named?.kind !== 'alias') return type;
  const target = resolved(named.type, types);
  return { ...target, nullable: type.nullable || target.nullable };
};

/** Of a union of objects: their names. */
export const objectsOf = (type: Type, types: Types): string[] | undefined => {
  if (type.kind !== 'union') return undefined;
  const names = type.types.flatMap((one) => {
    const target = resolved(one, types);
    return target.kind === 'named' ? [target.name] : [];
  });
  return names.length === type.types.length ? names : undefined;
};

const isText = (type: Type, types: Types): boolean => {
  const target = resolved(type, types);
  return target.kind === 'string' || (target.kind === 'literals' && typeof target.values[0] === 'string');
};

const literalType = (value: unknown): string => {
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'number' ? 'int' : 'string';
};

/** The type of a declaration, without null. */
export const nativeType = (given: Type, types: Types): string => {
  const type = resolved(given, types);
  switch (type.kind) {
    case 'string':
      return 'string';
    case 'integer':
      return 'int';
    case 'number':
      return 'Decimal';
    case 'boolean':
      return 'bool';
    case 'literals':
      return literalType(type.values[0]);
    case 'list':
    case 'map':
      return 'array';
    case 'named':
      return type.name;
    case 'union':
      return objectsOf(type, types)?.join('|') ?? (type.types.every((one) => isText(one, types)) ? 'string' : 'mixed');
    default:
      return 'mixed';
  }
};

/** What a comment adds to a declaration: values of an enumeration, and what is in a list. */
export const documentedType = (given: Type, types: Types): string => {
  const type = resolved(given, types);
  const orNull = type.nullable ? '|null' : '';
  if (type.kind === 'list') return `list<${documentedType(type.items, types)}>${orNull}`;
  if (type.kind === 'map') return `array<array-key, ${documentedType(type.values, types)}>${orNull}`;
  if (type.kind === 'literals' && typeof type.values[0] === 'string')
    return `${type.values.map((one) => quoted(String(one))).join('|')}${orNull}`;
  return nativeType(type, types) + (nativeType(type, types) === 'mixed' ? '' : orNull);
};

const readers: Readonly<Record<string, string>> = {
  string: 'string',
  int: 'integer',
  bool: 'boolean',
  Decimal: 'decimal',
};

/** An expression that reads a decoded value. `place`: of the value, for the message when it is another one. */
export const readText = (given: Type, value: string, at: { place: string; types: Types }): string => {
  const type = resolved(given, at.types);
  const text = readPlain(type, value, at);
  return type.nullable && text !== value ? `isset(${value}) ? ${text} : null` : text;
};

const readPlain = (type: Type, given: string, at: { place: string; types: Types }): string => {
  const { types } = at;
  const place = quoted(at.place);
  // A member that is missing is read as null.
  const value = given.endsWith(']') && !type.nullable ? `${given} ?? null` : given;
  const native = nativeType(type, types);
  const reader = readers[native];
  if (reader !== undefined) return `Json::${reader}(${value}, ${place})`;
  if (type.kind === 'list' || type.kind === 'map') {
    const items = type.kind === 'list' ? type.items : type.values;
    const whole = `Json::${type.kind === 'list' ? 'list' : 'members'}(${value}, ${place})`;
    return nativeType(items, types) === 'mixed' ? whole : `array_map(${readerText(items, at)}, ${whole})`;
  }
  if (type.kind === 'named') return `${type.name}::from(Json::members(${value}, ${place}))`;
  const objects = objectsOf(type, types);
  return objects === undefined ? value : choiceText(objects, given, at);
};

/** A function that reads one item. */
export const readerText = (items: Type, at: { place: string; types: Types }): string => {
  const { nullable } = resolved(items, at.types);
  const native = nativeType(items, at.types);
  return `static fn (mixed $one): ${nullable ? `?${native}` : native} => ${readText(items, '$one', at)}`;
};

/** The object that has more required members is tried first; the last one is taken when no other fits. */
const choiceText = (names: readonly string[], value: string, at: { place: string; types: Types }): string => {
  const requiredOf = (name: string): string[] => {
    const named = at.types.named(name);
    return named.kind === 'object' ? named.members.filter(({ required }) => required).map((member) => member.name) : [];
  };
  const sorted = names.toSorted((a, b) => requiredOf(b).length - requiredOf(a).length);
  const members = `Json::members(${value} ?? null, ${quoted(at.place)})`;
  return sorted.reduceRight(
    (otherwise, name) =>
      otherwise === ''
        ? `${name}::from(${members})`
        : `(${name}::fits(${members}) ? ${name}::from(${members}) : ${otherwise})`,
    '',
  );
};
