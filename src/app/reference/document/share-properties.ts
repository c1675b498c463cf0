/**
 * Gives a property that several schemas have in the same words a schema of its own, named after it, and refers to it: the
 * document is shorter, and a generated client has one type for one thing. Small ones stay in their places.
 */
import type { Json } from './json-schema.ts';
import { mapOf, pascalCase } from './name-schemas.ts';

/** A reference takes about half of it. */
const charactersMin = 90;

type Property = { schema: string; name: string; text: string };

/** `schemas`: those of `components.schemas`. */
export const shareProperties = (schemas: Json): Json => {
  const shared = namesOf(schemas);
  const refer = (property: unknown): unknown => {
    const name = shared.get(JSON.stringify(property));
    return name === undefined ? property : { $ref: `#/components/schemas/${name}` };
  };
  const named = mapOf(schemas, (schema) =>
    schema.properties === undefined
      ? schema
      : {
          ...schema,
          properties: Object.fromEntries(entriesOf(schema.properties).map(([name, one]) => [name, refer(one)])),
        },
  );
  const added = [...shared].map(([text, name]): [string, Json] => [name, JSON.parse(text) as Json]);
  return Object.fromEntries([...Object.entries(named), ...added].sort(([a], [b]) => (a < b ? -1 : 1)));
};

const entriesOf = (properties: unknown): [string, unknown][] => Object.entries(properties as Json);

const propertiesOf = (schemas: Json): Property[] =>
  Object.entries(schemas).flatMap(([schema, value]) =>
    entriesOf((value as Json).properties ?? {}).map(([name, one]) => ({ schema, name, text: JSON.stringify(one) })),
  );

/** The text of a property -> its name, for those that are repeated. Where the name is taken, that of the schema precedes it. */
const namesOf = (schemas: Json): Map<string, string> => {
  const names = new Map<string, string>();
  const used = new Set(Object.keys(schemas));
  const repeated = Map.groupBy(propertiesOf(schemas), ({ text }) => text);
  for (const [text, [first, ...others]] of repeated) {
    if (first === undefined || others.length === 0 || text.length < charactersMin) continue;
    const own = [pascalCase(first.name), `${first.schema}${pascalCase(first.name)}`].find((name) => !used.has(name));
    if (own === undefined) continue;
    names.set(text, own);
    used.add(own);
  }
  return names;
};
