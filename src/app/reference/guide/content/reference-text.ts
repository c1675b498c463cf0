/** /docs/reference.md: every operation of the OpenAPI document as text, with the objects of all of them at the end. */
import { cellText, createTables, type Json, resolve } from './schema-tables.ts';

type Parameter = { name: string; in: string; required?: boolean; description?: string; schema?: Json };
type Operation = {
  operationId?: string;
  summary?: string;
  description?: string;
  parameters?: Json[];
  requestBody?: Json;
  responses?: Record<string, Json>;
};

/** `document`: the OpenAPI document. */
export const referenceMarkdown = (title: string, summary: string, document: Json): string => {
  const tables = createTables(document);
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) =>
        operationText(`${method.toUpperCase()} ${path}`, operation, document, tables),
      ),
  );
  return `# ${title}

${summary}

The members of a body are given as JSON or, beside it, as query parameters. A name in the column Type is an object at the end of this page.
[/api/openapi.json](/api/openapi.json) has the same with bounds and examples.

${operations.join('\n')}
## Objects

${tables.rest()}`;
};

const operationText = (
  heading: string,
  { operationId = '', summary = '', description = '', parameters = [], requestBody, responses = {} }: Operation,
  document: Json,
  tables: ReturnType<typeof createTables>,
): string => {
  const named = parameters.map((one) => resolve(one, document) as unknown as Parameter);
  const rows = named.map(
    ({ name, in: place, required = false, description: about = '', schema = {} }) =>
      `| \`${name}\` | ${place} | ${tables.typeText(schema)}${required ? ', required' : ''} | ${cellText(about)} |`,
  );
  const sent = schemaIn(requestBody, document);
  const answered = schemaIn(responses['200'], document);
  return [
    `## ${heading}`,
    `${summary}. Its id is \`${operationId}\`.`,
    description,
    rows.length === 0 ? '' : `| Parameter | In | Type | Meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}`,
    sent === undefined ? '' : `Body:\n\n${tables.of(sent).trim()}`,
    answered === undefined ? '' : `Answer:\n\n${tables.of(answered).trim()}`,
  ]
    .filter((part) => part !== '')
    .map((part) => `${part}\n`)
    .join('\n');
};

const schemaIn = (holder: Json | undefined, document: Json): Json | undefined => {
  const content = holder && (resolve(holder, document).content as Record<string, { schema?: Json }> | undefined);
  return content && Object.values(content)[0]?.schema;
};
