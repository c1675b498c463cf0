/** Sends every example request of the served document, as a reader would paste it, to the program that serves it. */
import { setTimeout } from 'node:timers/promises';
import { answerQueries, laterIds } from '#src/app/reference/document/examples/request-samples.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member, and a wrong shape fails the test.
export type Json = any;

export type Printed = { apiKey: string; clientId: string; clientSecret: string };

/** `example`: its name, or the query of a GET. */
export type Run = { operation: string; path: string; example: string; status: number; body: Json };

/** The credentials that a first start prints. */
export const printedOf = (output: string): Printed => {
  const value = (name: string): string => new RegExp(`${name} +(\\S+)`).exec(output)?.[1] ?? '';
  return { apiKey: value('API key'), clientId: value('Client id'), clientSecret: value('Client secret') };
};

export const readDocument = async (url: string): Promise<Json> => (await fetch(`${url}/api/openapi.json`)).json();

type Request = { example: string; query?: string; body?: Json; isForm?: boolean };

/** What removes things comes last, as in the collections. The receiver of the demo knows the first secret only. */
const rankOf = (id: string): number => {
  if (id === 'webhook.rotate-secret') return 1;
  if (/^oauth\.(?:report-leak|revoke)$/.test(id)) return 3;
  return id.endsWith('.remove') ? 2 : 0;
};

export const operationsOf = (document: Json): { id: string; method: string; path: string; operation: Json }[] => {
  const all = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ id: operation.operationId, method, path, operation })),
  );
  return all.toSorted((a, b) => rankOf(a.id) - rankOf(b.id));
};

/** `settle`: waits until no delivery is under way. */
type Deps = { url: string; document: Json; printed: Printed; settle(): Promise<void> };

export const runExamples = async (deps: Deps): Promise<Run[]> => {
  const { url, document, printed } = deps;
  const token = await readToken(url, printed);
  const runs: Run[] = [];
  for (const { id, method, path, operation } of operationsOf(document)) {
    if (id === 'webhook.endpoints') await deps.settle();
    for (const { example, query = '', body, isForm } of requestsOf(document, operation, path)) {
      const sent = isForm === true ? withSecrets(body, printed, token) : body;
      const response = await fetchPatiently(`${url}${withPath(path, operation)}${query === '' ? '' : `?${query}`}`, {
        method: method.toUpperCase(),
        headers: {
          ...(isForm === true ? undefined : { authorization: `Bearer ${token}` }),
          ...(sent === undefined || isForm === true ? undefined : { 'content-type': 'application/json' }),
        },
        ...(sent !== undefined && { body: isForm === true ? new URLSearchParams(sent) : JSON.stringify(sent) }),
      });
      const text = await response.text();
      const answer = text === '' ? undefined : JSON.parse(text);
      runs.push({ operation: id, path, example, status: response.status, body: answer });
    }
  }
  return runs;
};

/** Above the rate limit it waits as long as the answer says. */
const fetchPatiently = async (url: string, init: RequestInit): Promise<Response> => {
  const response = await fetch(url, init);
  if (response.status !== 429) return response;
  await setTimeout(Number(response.headers.get('retry-after')) * 1_000);
  return fetchPatiently(url, init);
};

export const readToken = async (url: string, { clientId, clientSecret }: Printed): Promise<string> => {
  const response = await fetch(`${url}/api/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
};

/** The document holds no secret: a reader puts in the printed one, and his token. */
const withSecrets = (form: Json, { clientSecret }: Printed, token: string): Record<string, string> => ({
  ...form,
  client_secret: clientSecret,
  ...(form.token !== undefined && { token }),
});

const requestsOf = (document: Json, operation: Json, path: string): Request[] => {
  const content = operation.requestBody?.content;
  if (content !== undefined) {
    const [[type, { examples }]] = Object.entries<Json>(content) as [[string, Json]];
    const isForm = type === 'application/x-www-form-urlencoded';
    return Object.entries<Json>(examples).map(([example, { value }]) => ({ example, body: value, isForm }));
  }
  const queries = [...queriesOf(document, operation)];
  const answer = answerQueries[path];
  return [...(answer === undefined ? [] : [answer]), ...queries].map((query) => ({ example: query, query }));
};

/** With what is required alone, and with each other parameter beside it. */
const queriesOf = function* (document: Json, operation: Json): Generator<string> {
  const inQuery = parametersOf(document, operation).filter((one) => one.in === 'query' && one.example !== undefined);
  const pairsOf = (parameters: Json[]): [string, string][] =>
    parameters.map(({ name, example }) => [name, [example].flat().join(',')]);
  const required = inQuery.filter((one) => one.required === true);
  // Where one of several is required, none is marked so; the first of them is `uid`.
  const oneOf = required.length === 0 && inQuery.some(({ name }) => name === 'uid');
  if (!oneOf) yield String(new URLSearchParams(pairsOf(required)));
  for (const one of inQuery.filter((each) => each.required !== true))
    yield String(new URLSearchParams(pairsOf([...required, one])));
};

const parametersOf = (document: Json, operation: Json): Json[] =>
  (operation.parameters ?? []).map(({ $ref, ...own }: Json) =>
    $ref === undefined ? own : document.components.parameters[$ref.split('/').at(-1)],
  );

const withPath = (path: string, operation: Json): string =>
  path.replace(/\{(\w+)\}/, (_text, name) => operation.parameters.find((one: Json) => one.name === name).example);

/** Its example names what a first start has not. */
export const isLater = (path: string): boolean => laterIds[path] !== undefined;
