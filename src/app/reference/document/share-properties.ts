/**
 * Gives a property that several schemas have in the same words a schema of its own, named after one of them, and refers to it: the
 * document is shorter, and a generated client has one type for one thing. Where that would not shorten it, they stay in their
 * places.
 */
import type { Json } from './json-schema.ts';
import { mapOf, pascalCase } from './name-schemas.ts';

type Property = { schema: string; name: string; text: string };

/** `schemas`: those of `components.schemas`. */
export const shareProperties = (schemas: Json): Json => {
  const shared = namesOf(schemas);
  const refer = (property: unknown): unknown => {
    const name = shared.get(JSON.stringify(property));
    return name === undefined ? property : referTo(name);
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

const referTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const referenceOrNull = '"$ref":"#/components/schemas/Nullable';

const entriesOf = (properties: unknown): [string, unknown][] => Object.entries(properties as Json);

const propertiesOf = (schemas: Json): Property[] =>
  Object.entries(schemas).flatMap(([schema, value]) =>
    entriesOf((value as Json).properties ?? {}).map(([name, one]) => ({ schema, name, text: JSON.stringify(one) })),
  );

const isShorter = (text: string, name: string, times: number): boolean =>
  times * JSON.stringify(referTo(name)).length + JSON.stringify({ [name]: '' }).length + text.length <
  times * text.length;

/** The text of a property -> the shortest name of a schema that has it, with that of the property. */
const namesOf = (schemas: Json): Map<string, string> => {
  const names = new Map<string, string>();
  const used = new Set(Object.keys(schemas));
  const repeated = Map.groupBy(propertiesOf(schemas), ({ text }) => text);
  for (const [text, places] of repeated) {
    const [own] = places
      .map(({ schema, name }) => `${schema}${pascalCase(name)}`)
      .filter((name) => !used.has(name))
      .sort((a, b) => a.length - b.length);
    // A client has a type for what it refers to; another name for that type or null would hide it.
    if (text.includes(referenceOrNull)) continue;
    if (own === undefined || !isShorter(text, own, places.length)) continue;
    names.set(text, own);
    used.add(own);
  }
  return names;
};
