/** The JSON Schema of the parameters of an operation, with the schemas that it refers to in their places. */
import { z } from 'zod';
import type { Json } from '../../support/ordering.ts';

export const paramsSchemaOf = ({ params }: { params: z.ZodType }): Json => {
  const schema: Json = z.toJSONSchema(params, { io: 'input', unrepresentable: 'any' });
  const inline = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(inline);
    if (typeof node !== 'object' || node === null) return node;
    const { $ref: reference, $defs: _definitions, ...rest } = node;
    const named = reference === undefined ? undefined : schema.$defs[reference.replace('#/$defs/', '')];
    return { ...inline(named), ...Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, inline(one)])) };
  };
  return inline(schema);
};
