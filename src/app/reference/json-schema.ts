/** JSON Schema 2020-12 for readers, from the zod schemas that validate requests and answers. */
import { z } from 'zod';

export type Json = Record<string, unknown>;

/** `input`: what a caller may send; `output`: what an answer contains. */
export const schemaOf = (type: z.ZodType, io: 'input' | 'output'): Json => {
  return tidy(z.toJSONSchema(type, { io, unrepresentable: 'any' })) as Json;
};

const tidy = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(tidy);
  if (typeof node !== 'object' || node === null) return node;
  const found: Json = {};
  for (const [name, value] of Object.entries(node)) {
    if (name === '$schema' || name === '~standard') continue;
    if (name === 'additionalProperties') {
      // Versions 1.x add members (interface 13), and unknown ones in a request are ignored.
      if (typeof value === 'object' && Object.keys(value).length > 0) found[name] = tidy(value);
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

/** Read-only members are left out, because a request with one is refused. */
const propertiesOf = (properties: Record<string, Json>): Json =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([, schema]) => schema.readOnly !== true)
      .map(([name, schema]) => [name, tidy(schema)]),
  );

const isFlag = ({ type, enum: values }: Json): boolean => type === 'integer' && Array.isArray(values);
