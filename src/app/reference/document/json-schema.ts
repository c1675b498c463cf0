/** JSON Schema 2020-12 for readers, from the zod schemas that validate requests and answers. */
import { z } from 'zod';

export type Json = Record<string, unknown>;

/** Marks a schema that has a name of its own (`meta({ id })`); `nameSchemas` moves it to the components of the document. */
export const nameKey = 'x-name';
/** What stands beside a reference to it, where that differs from place to place. */
export const siteKey = 'x-site';

/** `input`: what a caller may send; `output`: what an answer contains. Named schemas stand in their places, with `nameKey`. */
export const schemaOf = (type: z.ZodType, io: 'input' | 'output'): Json => {
  const { $defs: definitions = {}, ...schema } = z.toJSONSchema(type, { io, unrepresentable: 'any' }) as Json;
  return tidy(inline(schema, definitions as Record<string, Json>)) as Json;
};

const definitionPrefix = '#/$defs/';

const inline = (node: unknown, definitions: Readonly<Record<string, Json>>): unknown => {
  if (Array.isArray(node)) return node.map((one) => inline(one, definitions));
  if (typeof node !== 'object' || node === null) return node;
  const { $ref: reference, ...rest } = node as Json;
  if (typeof reference !== 'string' || !reference.startsWith(definitionPrefix))
    return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, inline(value, definitions)]));
  const name = reference.slice(definitionPrefix.length);
  const { $schema: _schema, ...site } = rest;
  return { ...(inline(definitions[name], definitions) as Json), [nameKey]: name, [siteKey]: site };
};

const tidy = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(tidy);
  if (typeof node !== 'object' || node === null) return node;
  const found: Json = {};
  for (const [name, value] of Object.entries(withNull(node as Json))) {
    if (name === '$schema' || name === '~standard' || isImplied(name, node as Json)) continue;
    if (name === 'additionalProperties') {
      // Versions 1.x add members (interface 13), and unknown ones in a request are ignored.
      if (typeof value === 'object' && Object.keys(value as Json).length > 0) found[name] = tidy(value);
    } else if (name === 'x-default') {
      found.default = isFlag(node as Json) ? Number(value) : value;
    } else if (name === 'properties') {
      found[name] = propertiesOf(value as Record<string, Json>);
    } else if (typeof value !== 'number' || Math.abs(value) !== Number.MAX_SAFE_INTEGER) {
      found[name] = tidy(value);
    }
  }
  return found;
};

/** Keywords that say nothing new: the pattern of a time that has a format, and that names of members are text. */
const isImplied = (keyword: string, { format, propertyNames }: Json): boolean =>
  keyword === 'propertyNames'
    ? JSON.stringify(propertyNames) === '{"type":"string"}'
    : keyword === 'pattern' && format === 'date-time';

/** `null` beside one other type is one type list, which is shorter and which generators of clients read better. */
const withNull = (schema: Json): Json => {
  const { anyOf: branches, ...rest } = schema;
  if (!Array.isArray(branches) || branches.length !== 2) return schema;
  const [type, none] = branches as [Json, Json];
  const isOneType = typeof type.type === 'string' && type.properties === undefined && type.const === undefined;
  if (none.type !== 'null' || !isOneType || type[nameKey] !== undefined) return schema;
  const values = Array.isArray(type.enum) ? { enum: [...type.enum, null] } : undefined;
  return { ...type, ...rest, type: [type.type, 'null'], ...values };
};

/** Read-only members are left out, because a request with one is refused. */
const propertiesOf = (properties: Record<string, Json>): Json =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([, schema]) => schema.readOnly !== true)
      .map(([name, schema]) => [name, tidy(schema)]),
  );

const isFlag = ({ type, enum: values }: Json): boolean => type === 'integer' && Array.isArray(values);
