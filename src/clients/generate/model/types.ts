/** Types of the document: named objects, enumerations, and what their members hold. */
import { constraintsOf } from './constraints.ts';
import type { Json } from './document.ts';

type Shape =
  | { kind: 'string' | 'integer' | 'number' | 'boolean' | 'any' }
  /** One of these values, all of one JSON type. */
  | { kind: 'literals'; values: readonly (string | number | boolean)[] }
  | { kind: 'list'; items: Type }
  | { kind: 'map'; values: Type }
  /** `name` is the name of one of `Model.types`. */
  | { kind: 'named'; name: string }
  | { kind: 'union'; types: readonly Type[] };

export type Type = Shape & { nullable: boolean };

/** `description` is Markdown, with the bounds of the member. One that is not required may be absent; a nullable one may be null. */
export type Member = { name: string; type: Type; required: boolean; description: string };

export type NamedType = { name: string; description: string } & (
  | {
      kind: 'object';
      members: readonly Member[];
      /** Sets of members of which one must be given, each beside the required ones. Empty: no such rule. */
      alternatives: readonly (readonly string[])[];
    }
  /** An enumeration or a union that has a name. */
  | { kind: 'alias'; type: Type }
);

type ObjectType = NamedType & { kind: 'object' };

export type TypeReader = {
  /** The type of a schema. Named objects that it needs become part of `all`. */
  type(schema: Json): Type;
  member(name: string, schema: Json, required: boolean, description?: unknown): Member;
  /** The object that a schema refers to. */
  object(schema: Json): ObjectType;
  named(name: string): NamedType;
  /** Adds or replaces a named object. */
  define(type: ObjectType): ObjectType;
  /** A part of the document that is no schema, or the one that a reference names. */
  part(part: Json): Json;
  /** Every named type that was asked for, by name. */
  all(): NamedType[];
};

const isObject = (schema: Json): boolean => schema.properties !== undefined;

export const createTypeReader = (document: Json): TypeReader => {
  const components = document.components as Record<string, Record<string, Json>>;
  const found = new Map<string, NamedType>();

  const target = (reference: unknown): { name: string; schema: Json } => {
    const [, kind = '', name = ''] = /^#\/components\/([a-z]+)\/(.+)$/i.exec(String(reference)) ?? [];
    const schema = components[kind]?.[name];
    if (schema === undefined) throw new Error(`nothing is at ${String(reference)}`);
    return { name, schema };
  };

  const type = (schema: Json): Type => {
    if (schema.$ref === undefined) return shapeOf(schema, type);
    const { name, schema: referred } = target(schema.$ref);
    if (!isNamed(referred)) return type(referred);
    named(name);
    return { kind: 'named', name, nullable: false };
  };

  const member = (name: string, schema: Json, required: boolean, description?: unknown): Member => ({
    name,
    type: type(schema),
    required,
    description: [
      String(description ?? schema.description ?? resolved(schema).description ?? ''),
      constraintsOf(resolved(schema)),
    ]
      .filter((text) => text !== '')
      .join('\n\n'),
  });

  const resolved = (schema: Json): Json => (schema.$ref === undefined ? schema : target(schema.$ref).schema);

  const named = (name: string): NamedType => {
    const known = found.get(name);
    if (known !== undefined) return known;
    const schema = components.schemas?.[name];
    if (schema === undefined) throw new Error(`no schema is named ${name}`);
    const description = String(schema.description ?? '');
    // First, so that a schema which refers to itself finds it.
    found.set(name, { kind: 'object', name, description, members: [], alternatives: [] });
    const made: NamedType = isObject(schema)
      ? { kind: 'object', name, description, members: membersOf(schema), alternatives: alternativesOf(schema) }
      : { kind: 'alias', name, description, type: shapeOf(schema, type) };
    found.set(name, made);
    return made;
  };

  const membersOf = (schema: Json): Member[] => {
    const required = new Set((schema.required ?? []) as string[]);
    return Object.entries(schema.properties as Record<string, Json>).map(([name, one]) =>
      member(name, one, required.has(name)),
    );
  };

  return {
    type,
    member,
    named,
    object: (schema) => {
      const { name } = target(schema.$ref);
      const made = named(name);
      if (made.kind !== 'object') throw new Error(`${name} is no object`);
      return made;
    },
    define: (made) => {
      found.set(made.name, made);
      return made;
    },
    part: (part) => (part.$ref === undefined ? part : target(part.$ref).schema),
    all: () => [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
};

/** Scalars that have a name in the document, such as `EventId`, are written where they are used. */
const isNamed = (schema: Json): boolean =>
  isObject(schema) || (Array.isArray(schema.enum) && schema.enum.length > 1) || unionOf(schema) !== undefined;

type Literal = string | number | boolean;

const literalsOf = (schema: Json): readonly (Literal | null)[] | undefined => {
  if (schema.const !== undefined) return [schema.const as Literal];
  return schema.enum as (Literal | null)[] | undefined;
};

const unionOf = (schema: Json): Json[] | undefined => {
  const branches = (schema.anyOf ?? schema.oneOf) as Json[] | undefined;
  return branches?.some((one) => one.required !== undefined && one.properties === undefined) ? undefined : branches;
};

/** Branches that only require members say of which members one must be given. */
const alternativesOf = (schema: Json): string[][] => {
  const branches = ((schema.anyOf ?? schema.oneOf) as Json[] | undefined) ?? [];
  return unionOf(schema) === undefined ? branches.map(({ required }) => (required ?? []) as string[]) : [];
};

const shapeOf = (schema: Json, type: (schema: Json) => Type): Type => {
  const names = [schema.type ?? []].flat() as string[];
  const nullable = names.includes('null');
  const literals = literalsOf(schema);
  const branches = unionOf(schema);
  if (branches !== undefined) {
    const types = branches.filter((one) => one.type !== 'null').map(type);
    const [only] = types;
    const orNull = nullable || types.length < branches.length;
    if (types.length === 1 && only !== undefined) return { ...only, nullable: orNull || only.nullable };
    return { kind: 'union', types, nullable: orNull };
  }
  if (literals !== undefined) {
    const values = literals.filter((one): one is Literal => one !== null);
    return { kind: 'literals', values, nullable: values.length < literals.length || nullable };
  }
  const [name, ...more] = names.filter((one) => one !== 'null');
  if (more.length > 0)
    return { kind: 'union', types: [name, ...more].map((one) => shapeOf({ ...schema, type: one }, type)), nullable };
  if (name === 'array') return { kind: 'list', items: type((schema.items ?? {}) as Json), nullable };
  if (name === 'object') return { kind: 'map', values: type((schema.additionalProperties ?? {}) as Json), nullable };
  if (name === 'string' || name === 'integer' || name === 'number' || name === 'boolean')
    return { kind: name, nullable };
  return { kind: 'any', nullable: false };
};
