/**
 * Moves every schema of an object to `components.schemas` and refers to it there, so that generated clients have one type for
 * one thing. A schema of the program that has a name keeps it; any other gets the name of its place: `OrderCreateRequest`,
 * `OrderCreateAnswer`, `OrderCreatedEvent`, and below them the names of members.
 */
import { type Json, nameKey, siteKey } from './json-schema.ts';

/** `order.create` becomes `OrderCreate`. */
export const pascalCase = (text: string): string =>
  text
    .split(/[^A-Za-z0-9]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

type Named = { paths: Json; webhooks: Json; schemas: Json };

/** Path items whose schemas are references, and those schemas by name. */
export const nameSchemas = (paths: Json, webhooks: Json): Named => {
  const names = new Map<string, { schema: Json; text: string }>();
  const itemsOf = (items: Json, kinds: { request: string; answer: string }): Json =>
    mapOf(items, (item) => mapOf(item, (operation) => namedOperation(names, operation, kinds)));
  return {
    paths: itemsOf(paths, { request: 'Request', answer: 'Answer' }),
    webhooks: itemsOf(webhooks, { request: 'Event', answer: 'Answer' }),
    schemas: Object.fromEntries(
      [...names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, { schema }]): [string, Json] => [name, schema]),
    ),
  };
};

const namedOperation = (names: Names, operation: Json, kinds: { request: string; answer: string }): Json => {
  const name = pascalCase(String(operation.operationId).replace(/^webhook\.(?=.*\.)/, ''));
  const contentOf = (message: Json, suffix: string): Json =>
    message.content === undefined
      ? message
      : {
          ...message,
          content: mapOf(message.content as Json, (media) => ({
            ...media,
            schema: refer(names, media.schema as Json, { name: `${name}${suffix}`, suffix }),
          })),
        };
  return {
    ...operation,
    ...(operation.requestBody !== undefined && {
      requestBody: contentOf(operation.requestBody as Json, kinds.request),
    }),
    responses: mapOf(operation.responses as Json, (response) => contentOf(response, kinds.answer)),
  };
};

type Names = Map<string, { schema: Json; text: string }>;

/** `suffix`: added to the name where another schema has it, as a thing in a request and in an answer may differ. */
type Place = { name: string; suffix: string };

/** A reference to a schema that has a name or members; any other schema with the schemas below it replaced. */
const refer = (names: Names, schema: Json, place: Place): Json => {
  const { [nameKey]: own, [siteKey]: site, ...rest } = schema;
  const here = { ...place, name: typeof own === 'string' ? own : place.name };
  const below = withReferences(names, rest, here);
  if (own === undefined && rest.properties === undefined) return nullableOf(names, below) ?? below;
  return { $ref: `${reference}${add(names, below, here)}`, ...(site as Json | undefined) };
};

/** A reference to one schema or null is a schema too: generated clients then have one type for it. */
const nullableOf = (names: Names, { anyOf, ...site }: Json): Json | undefined => {
  const [one, none] = (anyOf ?? []) as Json[];
  if (typeof one?.$ref !== 'string' || none?.type !== 'null') return undefined;
  const child = one.$ref.slice(reference.length);
  const schema = { description: `${child}, or null`, anyOf: [one, { $ref: `${reference}Null` }] };
  return { $ref: `${reference}${add(names, schema, { name: `Nullable${child}`, suffix: '' })}`, ...site };
};

const reference = '#/components/schemas/';

const withReferences = (names: Names, schema: Json, { name, suffix }: Place): Json => {
  const found: Json = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties')
      found[keyword] = mapOf(value as Json, (member, key) =>
        refer(names, member, { name: `${name}${pascalCase(key)}`, suffix }),
      );
    else if (keyword === 'items' || (keyword === 'additionalProperties' && typeof value === 'object'))
      found[keyword] = refer(names, value as Json, { name: `${name}Item`, suffix });
    else if (keyword === 'anyOf' || keyword === 'oneOf')
      found[keyword] = (value as Json[]).map((one) => refer(names, one, { name, suffix }));
    else found[keyword] = value;
  }
  return found;
};

const add = (names: Names, schema: Json, { name, suffix }: Place): string => {
  const text = JSON.stringify(schema);
  for (let number = 0; ; number += 1) {
    const wanted = nameAfter(number, name, suffix);
    const present = names.get(wanted);
    if (present === undefined) names.set(wanted, { schema, text });
    if (present === undefined || present.text === text) return wanted;
  }
};

/** The routes of an operator may give one name to several schemas. */
const nameAfter = (number: number, name: string, suffix: string): string => {
  if (number === 0) return name;
  return number === 1 ? `${name}${suffix}` : `${name}${suffix}${number}`;
};

export const mapOf = (members: Json, change: (member: Json, name: string) => Json): Json =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member as Json, name)]));
