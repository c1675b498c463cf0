/** Pure: parses an OpenAPI document, in JSON or YAML, and looks members up without trusting their types. */
import { parseDocument } from 'yaml';

export type Json = Readonly<Record<string, unknown>>;

/** Something of the document that a route table cannot say, or that is wrong, with the path of the member. */
export type Remark = { path: string; message: string };

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const documentBytesMax = 64 * 1024 * 1024;

/** Aliases that stand for more than this many values are refused, so a short document cannot become a huge one. */
const aliasesMax = 1_000;

/** The parsed document, or why it is none. Nothing is fetched: references to other documents are not followed. */
export const openDocument = (text: string): { document: Json } | { problems: readonly Remark[] } => {
  if (text.length > documentBytesMax) return refused(`the document has more than ${documentBytesMax / 1024 / 1024} MB`);
  const parsed = parse(text);
  if ('problems' in parsed) return parsed;
  const { value } = parsed;
  if (!isJson(value)) return refused('is no OpenAPI document: an object is expected');
  if (value.swagger !== undefined)
    return refused('Swagger 2.0 is not read; convert the document to OpenAPI 3 first', 'swagger');
  if (typeof value.openapi !== 'string' || !/^3\.[012]\.\d/.test(value.openapi))
    return refused('must be 3.0.x, 3.1.x or 3.2.x', 'openapi');
  if (!isJson(value.paths)) return refused('must be an object with the paths of the service', 'paths');
  return { document: value };
};

const refused = (message: string, path = 'document'): { problems: readonly Remark[] } => ({
  problems: [{ path, message }],
});

const parse = (text: string): { value: unknown } | { problems: readonly Remark[] } => {
  // JSON is YAML as well, and is read many times faster as what it is.
  if (/^\s*\{/.test(text.slice(0, 1_000)))
    try {
      return { value: JSON.parse(text) };
    } catch {
      // Flow style of YAML begins with a brace too, and YAML names the line of a fault.
    }
  const parsed = parseDocument(text, { uniqueKeys: true });
  if (parsed.errors.length > 0)
    return {
      problems: parsed.errors.slice(0, 20).map(({ message, linePos }) => ({
        path: linePos === undefined ? 'document' : `line ${linePos[0].line}`,
        message: message.split('\n')[0] ?? message,
      })),
    };
  try {
    return { value: parsed.toJS({ maxAliasCount: aliasesMax }) };
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
};

const referencesMax = 16;

/** The value behind references inside the document (`#/components/…`); undefined for all others. */
export const resolve = (document: Json, value: unknown): unknown => {
  let current = value;
  for (let step = 0; step < referencesMax; step += 1) {
    if (!isJson(current) || typeof current.$ref !== 'string') return current;
    current = targetOf(document, current.$ref);
  }
  return undefined;
};

/**
 * A path item may have members beside `$ref`, so it is one object with all that its references lead to. `twice`: names of members
 * that several of these have, for which OpenAPI has no rule. `item`: undefined as for `resolve`.
 */
export const resolvePathItem = (document: Json, value: unknown): { item: unknown; twice: ReadonlySet<string> } => {
  const twice = new Set<string>();
  let members: Json = {};
  let current = value;
  for (let step = 0; step < referencesMax; step += 1) {
    if (!isJson(current)) return { item: current, twice };
    const { $ref, ...own } = current;
    for (const name of Object.keys(own)) if (Object.hasOwn(members, name)) twice.add(name);
    members = { ...own, ...members };
    if (typeof $ref !== 'string') return { item: members, twice };
    current = targetOf(document, $ref);
  }
  return { item: undefined, twice };
};

const targetOf = (document: Json, reference: string): unknown => {
  if (!reference.startsWith('#/')) return undefined;
  let target: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    target = isJson(target) && Object.hasOwn(target, name) ? target[name] : undefined;
  }
  return target;
};
