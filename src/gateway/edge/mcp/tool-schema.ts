/** Schemas of an OpenAPI document as schemas of their own: what they refer to stands in their `$defs`. */
import { type JsonObject, resolved } from './json-node.ts';

const shared = '#/components/schemas/';

/** Collects what the schemas of one tool refer to. */
export const createSchemas = (document: JsonObject) => {
  const defs: Record<string, unknown> = {};
  const define = (reference: string): string => {
    const name = reference.slice(shared.length);
    if (!Object.hasOwn(defs, name)) {
      // Before its content, which may refer to itself.
      defs[name] = {};
      defs[name] = copy(resolved(document, { $ref: reference }));
    }
    return `#/$defs/${name}`;
  };
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]): [string, unknown] => [
        name,
        name === '$ref' && typeof inner === 'string' && inner.startsWith(shared) ? define(inner) : copy(inner),
      ]),
    );
  };
  return {
    copy,
    /** To be read when every schema of the tool was copied. */
    defs: (): JsonObject | undefined => (Object.keys(defs).length === 0 ? undefined : { $defs: defs }),
  };
};
