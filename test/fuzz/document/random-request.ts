/** Random requests to the operations of the document: its examples as they are or with one change, and others by its schemas. */
import { type Json, randomValue, strangeValue, toText, type Values } from './random-value.ts';

export type RandomRequest = {
  id: string;
  method: string;
  target: string;
  headers: Record<string, string>;
  body?: string;
};

export type Operation = { id: string; method: string; path: string; operation: Json };

type Deps = Values & {
  parametersOf(operation: Json): Json[];
  /** Headers of each kind of credential, and of wrong ones. */
  credentials: readonly Record<string, string>[];
};

const oneOf = <T>(deps: Values, choices: readonly T[]): T => choices[deps.random.between(0, choices.length - 1)] as T;

export const randomRequest = (deps: Deps, { id, method, path, operation }: Operation): RandomRequest => {
  const { random } = deps;
  const parameters = deps.parametersOf(operation);
  const query = new URLSearchParams();
  for (const one of parameters.filter(({ in: place }) => place === 'query')) {
    if (random.next() > (one.required === true || one.name === 'uid' ? 0.95 : 0.2)) continue;
    const value =
      random.next() < 0.4 && one.example !== undefined ? one.example : randomValue(deps, one.schema, one.name);
    query.append(one.name, Array.isArray(value) ? value.join(',') : textOf(value));
  }
  const target = path.replace(/\{(\w+)\}/, () => encodeURIComponent(oneOf(deps, ['req_12', 'x', 'a'.repeat(64)])));
  return {
    id,
    method: method.toUpperCase(),
    target: query.size === 0 ? target : `${target}?${query}`,
    headers: headersOf(deps, operation),
    ...bodyOf(deps, operation),
  };
};

const textOf = (value: Json): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));

const headersOf = (deps: Deps, operation: Json): Record<string, string> => {
  const { random } = deps;
  const form = operation.requestBody?.content['application/x-www-form-urlencoded'];
  return {
    ...(form === undefined || random.next() < 0.2 ? oneOf(deps, deps.credentials) : undefined),
    ...(random.next() < 0.2 ? { accept: 'application/problem+json' } : undefined),
    ...(random.next() < 0.1
      ? { 'idempotency-key': oneOf(deps, ['key-1', 'key-2', 'é', 'x'.repeat(256)].slice(0, 3)) }
      : undefined),
    ...(random.next() < 0.05 ? { 'x-api-version': oneOf(deps, ['1.0.0', '2.0.0', 'x']) } : undefined),
    ...(random.next() < 0.1 ? { 'x-request-id': 'req_12' } : undefined),
  };
};

const bodyOf = (deps: Deps, operation: Json): { body?: string; headers?: never } | { body: string } => {
  const content = operation.requestBody?.content;
  if (content === undefined) return {};
  const [[type, { schema, examples }]] = Object.entries<Json>(content) as [[string, Json]];
  const { random } = deps;
  const example = structuredClone((oneOf(deps, Object.values<Json>(examples)) as Json).value);
  const value =
    random.next() < 0.5
      ? withKnown(deps, random.next() < 0.5 ? example : changed(deps, example))
      : randomValue(deps, schema);
  if (type !== 'application/json')
    return {
      body: String(
        new URLSearchParams(Object.entries(value ?? {}).map(([name, one]): [string, string] => [name, textOf(one)])),
      ),
    };
  const text = toText(value);
  return { body: random.next() < 0.03 ? text.slice(0, -1) : text };
};

/** With a pair of an order and its token, so that more than the first request for it gets on. */
const withKnown = (deps: Deps, value: Json): Json => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  for (const name of Object.keys(value)) if (deps.random.next() < 0.3) value[name] = deps.knownFor(name) ?? value[name];
  const order = 'token' in value ? (deps.knownFor('order') as Json) : undefined;
  return order === undefined || deps.random.next() < 0.2 ? value : { ...value, ...order };
};

/** One member anywhere is left out or has another value. */
const changed = (deps: Deps, value: Json): Json => {
  const places: [Json, string][] = [];
  const walk = (node: Json): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const name of Object.keys(node)) {
      places.push([node, name]);
      walk(node[name]);
    }
  };
  walk(value);
  if (places.length === 0) return value;
  const [node, name] = oneOf(deps, places);
  const kind = deps.random.next();
  if (kind < 0.2) delete node[name];
  else if (kind < 0.6) node[name] = strangeValue(deps.random);
  else
    node[name] = randomValue(
      deps,
      oneOf(deps, [{ type: 'string' }, { type: 'number' }, { type: 'object' }, { type: 'array' }]),
    );
  return value;
};
