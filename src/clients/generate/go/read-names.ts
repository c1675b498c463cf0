/** Names for what has none in the document, where Go needs one: enumerations in a member, and unions of objects. */
import type { Model } from '../model/model.ts';
import type { NamedType, Type } from '../model/types.ts';
import { goName, type Names } from './spelling.ts';

export type Choice = { name: string; objects: readonly { name: string; description: string; required: string[] }[] };

export type GoNames = Names & {
  enums: readonly { name: string; values: readonly string[] }[];
  choices: readonly Choice[];
  /** Objects that a request has, at any depth. */
  inRequests: ReadonlySet<string>;
};

type EnumType = Type & { kind: 'literals'; values: readonly string[] };

const isEnum = (type: Type): type is EnumType =>
  type.kind === 'literals' && type.values.length > 1 && typeof type.values[0] === 'string';

/** Those whose shortest place would give a wrong name. */
const namesByValues: Readonly<Record<string, string>> = { 'orders customers menu loyaltylog': 'EventKind' };

/** Every type with the place where it stands. */
const placesOf = (named: NamedType): [place: string, type: Type][] => {
  const within = (place: string, type: Type): [string, Type][] => {
    if (type.kind === 'list') return [[place, type], ...within(place.replace(/s$/, ''), type.items)];
    if (type.kind === 'map') return [[place, type], ...within(place, type.values)];
    if (type.kind === 'union') return [[place, type], ...type.types.flatMap((one) => within(place, one))];
    return [[place, type]];
  };
  if (named.kind === 'alias') return within(named.name, named.type);
  return named.members.flatMap(({ name, type }) => within(named.name + goName(name), type));
};

const isShorter = (a: string, b: string | undefined): boolean =>
  b === undefined || a.length < b.length || (a.length === b.length && a < b);

/** Values → the name of the enumeration in the document, or else the shortest of its places. */
const readEnums = (types: readonly NamedType[]): Map<string, { name: string; values: readonly string[] }> => {
  const found = new Map<string, { name: string; values: readonly string[] }>();
  const named = types.filter((one) => one.kind === 'alias' && isEnum(one.type)).map(({ name }) => name);
  for (const [place, type] of types.flatMap(placesOf)) {
    if (!isEnum(type)) continue;
    const key = type.values.join(' ');
    const known = found.get(key)?.name;
    const name = namesByValues[key] ?? place;
    if (known !== undefined && (named.includes(known) || !(named.includes(name) || isShorter(name, known)))) continue;
    found.set(key, { name, values: type.values });
  }
  return found;
};

const choiceOf = (type: Type, types: ReadonlyMap<string, NamedType>): Choice | undefined => {
  if (type.kind !== 'union') return undefined;
  const objects = type.types.flatMap((one) => {
    const named = one.kind === 'named' ? types.get(one.name) : undefined;
    return named?.kind === 'object' ? [named] : [];
  });
  if (objects.length < type.types.length) return undefined;
  const read = objects.map(({ name, description, members }) => ({
    name,
    description,
    required: members.filter(({ required }) => required).map((member) => member.name),
  }));
  return {
    name: objects.map(({ name }) => name).join('Or'),
    objects: read.toSorted((a, b) => b.required.length - a.required.length),
  };
};

const reachedFrom = (names: readonly string[], types: ReadonlyMap<string, NamedType>): Set<string> => {
  const reached = new Set<string>();
  const visit = (name: string): void => {
    const named = types.get(name);
    if (reached.has(name) || named === undefined) return;
    reached.add(name);
    for (const [, type] of placesOf(named)) if (type.kind === 'named') visit(type.name);
  };
  names.forEach(visit);
  return reached;
};

const isNullableAlias = (named: NamedType | undefined): boolean => named?.kind === 'alias' && named.type.nullable;

export const readNames = (model: Model): GoNames => {
  const types = new Map(model.types.map((named) => [named.name, named]));
  const enums = readEnums(model.types);
  const choices = new Map(
    model.types
      .flatMap(placesOf)
      .flatMap(([, type]) => choiceOf(type, types) ?? [])
      .map((choice) => [choice.name, choice]),
  );
  const optional = new Set(
    model.types.flatMap(placesOf).flatMap(([, type]) => (type.kind === 'named' && type.nullable ? [type.name] : [])),
  );
  const isText = (type: Type): boolean => {
    if (type.kind === 'string') return true;
    const named = type.kind === 'named' ? types.get(type.name) : undefined;
    return isEnum(named?.kind === 'alias' ? named.type : type);
  };
  return {
    nameOf: (type) => {
      if (isEnum(type)) return enums.get(type.values.join(' '))?.name;
      if (type.kind !== 'union') return undefined;
      return type.types.every(isText) ? 'string' : choiceOf(type, types)?.name;
    },
    isObject: (type) => type.kind === 'named' && types.get(type.name)?.kind === 'object',
    isNullable: (type) => type.nullable || (type.kind === 'named' && isNullableAlias(types.get(type.name))),
    isOptional: (name) => optional.has(name),
    enums: [...enums.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    choices: [...choices.values()],
    inRequests: reachedFrom(
      model.groups.flatMap(({ operations }) => operations.map(({ request }) => request.name)),
      types,
    ),
  };
};
