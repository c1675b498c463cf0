/** A JSON Schema of the OpenAPI document as tables that people read: one for each object, with links between them. */

export type Json = Record<string, unknown>;

/** Follows a `$ref` inside the document. */
export const resolve = (schema: Json, document: Json): Json => {
  if (typeof schema.$ref !== 'string') return schema;
  let found: unknown = document;
  for (const part of schema.$ref.slice(2).split('/')) found = (found as Json | undefined)?.[part];
  return (found ?? {}) as Json;
};

/** Text of a cell of a Markdown table. */
export const cellText = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The members of `schema`, and below them the objects that it refers to, each once, in the order of their appearance. */
export const schemaTables = (schema: Json, document: Json): string => {
  const tables = createTables(document);
  return `${tables.of(schema)}\n${tables.rest()}`;
};

/** Tables of several schemas that share the objects that they refer to. */
export const createTables = (document: Json) => {
  const waiting: string[] = [];
  const typeText = createTypeText(document, waiting);
  return {
    typeText,
    /** The members of `schema`. */
    of: (schema: Json): string => membersTable(resolve(schema, document), document, typeText),
    /** The objects that the schemas so far refer to, each once, in the order of their appearance. */
    rest: (): string => {
      const parts: string[] = [];
      // It grows while it is read.
      for (const name of waiting) {
        const named = schemasOf(document)[name] ?? {};
        const about = typeof named.description === 'string' ? `${named.description}.\n\n` : '';
        parts.push(`### ${name} {#${name}}\n\n${about}${membersTable(named, document, typeText)}`);
      }
      return parts.join('\n');
    },
  };
};

const schemasOf = (document: Json): Record<string, Json> =>
  ((document.components as Json | undefined)?.schemas ?? {}) as Record<string, Json>;

type TypeText = (schema: Json) => string;

const membersTable = (schema: Json, document: Json, typeText: TypeText): string => {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>);
  if (properties.length === 0) return `${typeText({ ...schema, description: undefined })}\n`;
  const required = new Set((schema.required ?? []) as string[]);
  const rows = properties.map(([name, member]) => {
    const about = member.description ?? resolve(member, document).description ?? '';
    const presence = required.size === 0 || required.has(name) ? '' : ' (may be absent)';
    return `| \`${name}\` | ${typeText(member)}${presence} | ${cellText(String(about))} |`;
  });
  return `| Member | Type | Meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
};

/** Words for the type of a schema. Objects with a name are added to `waiting` once, and linked. */
const createTypeText = (document: Json, waiting: string[]): TypeText => {
  const linkTo = (name: string): string => {
    if (!waiting.includes(name)) waiting.push(name);
    return `[${name}](#${name})`;
  };
  const typeText: TypeText = (schema) => {
    const target = resolve(schema, document);
    if (typeof schema.$ref === 'string' && target.properties !== undefined)
      return linkTo(schema.$ref.split('/').at(-1) ?? '');
    const branches = (target.anyOf ?? target.oneOf ?? target.allOf) as Json[] | undefined;
    if (branches !== undefined) return branches.map(typeText).join(' or ');
    if ('const' in target) return `\`${JSON.stringify(target.const)}\``;
    if (Array.isArray(target.enum)) return target.enum.map((one) => `\`${JSON.stringify(one)}\``).join(', ');
    const types = (Array.isArray(target.type) ? target.type : [target.type ?? 'any']) as string[];
    return types.map((type) => simpleType(type, target)).join(' or ');
  };
  const simpleType = (type: string, target: Json): string => {
    if (type === 'array') return `list of ${typeText((target.items ?? {}) as Json)}`;
    if (type === 'object' && typeof target.additionalProperties === 'object')
      return `object of ${typeText(target.additionalProperties as Json)} by name`;
    return typeof target.format === 'string' && type !== 'null' ? `${type} (${target.format})` : type;
  };
  return typeText;
};
