/** The OpenAPI document with every member of an object in its place, also of those objects that extend another one (`allOf`). */

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member, and a wrong shape fails the assertion.
type Json = any;

export const withFlatSchemas = (document: Json): Json => {
  const { schemas } = document.components;
  const flat = ({ allOf, ...schema }: Json): Json => {
    if (allOf === undefined) return schema;
    const bases = allOf.map(({ $ref }: Json) => flat(schemas[$ref.split('/').at(-1)]));
    return {
      ...schema,
      required: [schema, ...bases].flatMap(({ required = [] }) => required),
      properties: Object.assign({}, ...[schema, ...bases].map(({ properties }) => properties)),
    };
  };
  const entries = Object.entries(schemas).map(([name, schema]) => [name, flat(schema)]);
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(entries) } };
};
