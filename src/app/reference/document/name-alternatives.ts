/**
 * Gives the alternatives of an object of which one member must be given (`anyOf` of `required`) names of their own, with the
 * schema of the member. Generated clients then have a type for each of them, and refuse an object with none.
 */
import type { Json } from './json-schema.ts';
import { pascalCase } from './name-schemas.ts';

/** `document`: as `buildOpenApi` makes it. */
export const withNamedAlternatives = (document: Json): Json => {
  const { components, ...others } = document as { components: Json };
  const schemas = Object.entries(components.schemas as Record<string, Json>).flatMap(([name, schema]) =>
    withAlternatives(name, schema),
  );
  return { ...others, components: { ...components, schemas: Object.fromEntries(schemas) } };
};

/** The schema, and behind it the alternatives that it refers to then. */
const withAlternatives = (name: string, schema: Json): [string, Json][] => {
  const branches = (schema.anyOf ?? []) as { required?: string[] }[];
  const names = branches.map(({ required, ...rest }) =>
    required?.length === 1 && Object.keys(rest).length === 0 ? required[0] : undefined,
  );
  if (schema.properties === undefined || names.length === 0 || names.includes(undefined)) return [[name, schema]];
  const alternatives = names.map((member = ''): [string, Json] => [
    `${name}With${pascalCase(member)}`,
    {
      type: 'object',
      description: `${name} with \`${member}\``,
      required: [member],
      properties: { [member]: (schema.properties as Json)[member] },
    },
  ]);
  const anyOf = alternatives.map(([alternative]) => ({ $ref: `#/components/schemas/${alternative}` }));
  return [[name, { ...schema, anyOf }], ...alternatives];
};
