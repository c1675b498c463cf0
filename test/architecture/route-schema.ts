/** The published JSON Schema of route tables, and the table of its members in config/README.md. */
import { routeFileSchema } from '#src/gateway/config.ts';

export const schemaFile = 'config/routes.schema.json';

export const schemaText = (): string => `${JSON.stringify(routeFileSchema(), null, 2)}\n`;

type Schema = {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
};

type Member = { path: string; schema: Schema; required: boolean };

/** Every member with its path; `[]` stands for each item and NAME for each member of a record. */
export const membersOf = (schema: Schema = routeFileSchema(), path = ''): Member[] => {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [{ path: at, schema: member, required: schema.required?.includes(name) === true }, ...membersOf(member, at)];
  });
  const { items, additionalProperties } = schema;
  const inItems = items === undefined ? [] : membersOf(items, `${path}[]`);
  const inRecord = typeof additionalProperties === 'object' ? membersOf(additionalProperties, `${path}.NAME`) : [];
  // Members of alternatives; those of CORS are described once, under `cors`.
  const inAlternatives = path.endsWith('.cors') ? [] : (schema.anyOf ?? []).flatMap((one) => membersOf(one, path));
  return [...own, ...inItems, ...inRecord, ...inAlternatives];
};

const typeOf = (schema: Schema): string => {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  return schema.type === 'array' ? 'list' : (schema.type ?? '');
};

const defaultOf = ({ schema, required }: Member): string => {
  if (schema.default === undefined) return required ? 'needed' : '';
  const text = JSON.stringify(schema.default);
  return text === '{}' || text === '[]' ? '' : `\`${text}\``;
};

export const routeMembersTable = (): [head: readonly string[], rows: (readonly string[])[]] => [
  ['Member', 'Value', 'Default', 'Meaning'],
  membersOf().map((member) => [
    `\`${member.path}\``,
    typeOf(member.schema),
    defaultOf(member),
    member.schema.description ?? '',
  ]),
];
