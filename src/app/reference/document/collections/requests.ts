/** The requests of the document by folder, in the sequence in which a collection runs through. */
import { answerQueries, laterIds } from '../examples/request-samples.ts';
import type { Json } from '../json-schema.ts';
import { bodyText, setBy, withVariables } from './chained-ids.ts';

export type Parameter = { name: string; value: string; description: string; enabled: boolean };

export type Request = {
  name: string;
  description: string;
  method: string;
  /** With references to variables. */
  path: string;
  query: readonly Parameter[];
  headers: readonly Parameter[];
  body: { kind: 'json'; text: string } | { kind: 'form'; fields: readonly Parameter[] } | undefined;
  needsToken: boolean;
  /** Statuses that a run may meet: 404 too where the id must come from an earlier answer, which may have none. */
  expected: readonly number[];
  /** Variable → members of the answer. */
  sets: Readonly<Record<string, readonly (string | number)[]>>;
};

export type Folder = { name: string; description: string; requests: Request[] };

/** Requests that end something which others need. */
const endings: Folder = {
  name: 'Remove and revoke',
  description: 'Last, because the requests before need what these remove.',
  requests: [],
};

const isEnding = (id: string): boolean => /\.remove$|^oauth\.(?:report-leak|revoke)$/.test(id);

/** First what makes something, then everything else in the sequence of the document. */
const makes = (id: string): boolean => /\.(token|create|import|generate)$/.test(id);

/** `document`: as `buildOpenApi` makes it. */
export const foldersOf = (document: Json): Folder[] => {
  const { tags, paths, components } = document as { tags: Tag[]; paths: Record<string, Json>; components: Json };
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Operation => ({ path, method, ...(operation as Described) })),
  );
  const requestsOf = (chosen: readonly Operation[]): Request[] =>
    chosen
      .toSorted((a, b) => Number(makes(b.operationId)) - Number(makes(a.operationId)))
      .flatMap((operation) => requestsTo(operation, components.parameters as Json));
  return [
    ...tags.map((tag) => ({
      ...tag,
      requests: requestsOf(operations.filter((one) => one.tags.includes(tag.name) && !isEnding(one.operationId))),
    })),
    { ...endings, requests: requestsOf(operations.filter((one) => isEnding(one.operationId))) },
  ].filter(({ requests }) => requests.length > 0);
};

type Tag = { name: string; description: string };
type Described = {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Json[];
  responses: Json;
  parameters?: Json[];
  requestBody?: { content: Record<string, { examples: Record<string, { summary?: string; value: Json }> }> };
};
type Operation = Described & { path: string; method: string };

const requestsTo = (operation: Operation, shared: Json): Request[] => {
  const { operationId, path, method, summary, description = '', security, requestBody } = operation;
  const parameters = (operation.parameters ?? []).map(
    (one) => (typeof one.$ref === 'string' ? shared[one.$ref.split('/').at(-1) ?? ''] : one) as Json,
  );
  const done = Number(Object.keys(operation.responses).find((status) => status.startsWith('2')));
  const request: Request = {
    name: summary,
    description,
    method: method.toUpperCase(),
    path: path.replace(/\{(\w+)\}/g, (_text, name: string) =>
      String(parameters.find((one) => one.name === name)?.example ?? ''),
    ),
    query: queryOf(parameters, path),
    headers: parameters.filter((one) => one.in === 'header').map((one) => parameterOf(one, '{{$guid}}', false)),
    body: undefined,
    needsToken: security.some((one) => 'bearer' in one),
    expected: laterIds[path] === undefined ? [done] : [done, 404],
    sets: setBy[operationId] ?? {},
  };
  const [content] = Object.entries(requestBody?.content ?? {});
  if (content === undefined) return [request];
  const [type, { examples }] = content;
  return Object.values(examples).map((example, index) => ({
    ...request,
    name: example.summary === undefined ? summary : `${summary}: ${example.summary}`,
    body: type === 'application/json' ? { kind: 'json', text: bodyText(example.value) } : formOf(example.value),
    // The first example is the one that others go on with.
    sets: index === 0 ? request.sets : {},
  }));
};

const formOf = (value: Json): Request['body'] => ({
  kind: 'form',
  fields: Object.entries(withVariables(value) as Json).map(([name, field]) => ({
    name,
    value: String(field),
    description: '',
    enabled: true,
  })),
});

/** Where one of several parameters is required none is marked so, and `uid` is sent. */
const queryOf = (parameters: readonly Json[], path: string): Parameter[] => {
  const shown = new URLSearchParams(answerQueries[path] ?? '');
  return parameters
    .filter((one) => one.in === 'query')
    .map((one) => {
      const { name, required } = one;
      const example = shown.get(String(name)) ?? [one.example ?? ''].flat().join(',');
      const enabled = required === true || name === 'uid' || shown.has(String(name));
      return parameterOf(one, String(withVariables(example)), enabled);
    });
};

const parameterOf = ({ name, description }: Json, value: string, enabled: boolean): Parameter => ({
  name: String(name),
  value,
  description: String(description ?? ''),
  enabled,
});
