/**
 * The program's OpenAPI document in the terms of a client: operations by group, types by name, and events. It knows no
 * language; an emitter (`typescript.ts`, `python.ts`, …) writes it in one.
 */
import { type Json, longAttempts } from './document.ts';
import { camelCase, pascalCase } from './names.ts';
import { createTypeReader, type Member, type NamedType, type Type } from './types.ts';

/** One operation of the interface (section 5.2) as one method of a client. */
export type Operation = {
  /** As in the document: `order.create`. */
  id: string;
  /** In camelCase: `orders` and `create`. */
  group: string;
  name: string;
  method: 'GET' | 'POST';
  /** With `{name}` where a path parameter stands. */
  path: string;
  summary: string;
  /** Markdown: scopes, rate class and events. */
  description: string;
  scopes: readonly string[];
  /** Names of the path parameters; each is a required member of the request too. */
  pathParameters: readonly string[];
  /** Seconds of an attempt, where that of the client is too short. */
  timeout: number | undefined;
  /** Its members go into the query of a GET and into the body of a POST. All optional: the call needs no arguments. */
  request: NamedType & { kind: 'object' };
  needsArguments: boolean;
  /** The answer as it is sent, with `success`. */
  answer: NamedType & { kind: 'object' };
  /** What a method returns: nothing, the only member of the answer beside `success`, or the answer as a whole. */
  result: { kind: 'nothing' } | { kind: 'member'; member: Member } | { kind: 'answer' };
  /** Of operations with pages: the member that holds the items. Such an operation is an iterator and a method for one page. */
  list: { member: string; item: Type } | undefined;
  /** Refusals of its own, with the status and the meaning of each code. */
  refusals: readonly { code: string; status: string; meaning: string }[];
  /** Arguments of a call, by name. */
  example: Json;
};

/** One event of section 12.1. `object`: the member of its body that holds the entity. */
type Event = { event: string; object: string; body: NamedType & { kind: 'object' }; summary: string };

export type Group = { name: string; description: string; operations: readonly Operation[] };

export type Model = {
  version: string;
  groups: readonly Group[];
  /** Every type that an operation, an event or an error needs, sorted by name. */
  types: readonly NamedType[];
  events: readonly Event[];
  errorCodes: readonly string[];
  scopes: readonly { name: string; description: string }[];
};

/** The client has its own way to these: it gets tokens itself, and the others are documents for operators and verifiers. */
const isLeftOut = (operation: Json): boolean =>
  ['OAuth', 'Documents'].includes(String((operation.tags as string[])[0]));

/** Names that the last segment of the path does not give. Words that a language reserves are avoided. */
const namesById: Readonly<Record<string, string>> = {
  'customerstats.customers': 'list',
  'customerstats.customer': 'get',
  'menu.import': 'importMenu',
  whoami: 'get',
};

const longTimes = longAttempts();

const groupsByTag: Readonly<Record<string, string>> = { Menus: 'menu', 'Who am I': 'whoami' };

export const readModel = (document: Json): Model => {
  const types = createTypeReader(document);
  const found = Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => !isLeftOut(operation))
      .map(([method, operation]) => ({
        tag: String((operation.tags as string[])[0]),
        operation: readOperation(types, { path, method, operation }),
      })),
  );
  const isGeneral = generalRefusals(found.map(({ operation }) => operation));
  const events = Object.entries(document.webhooks as Record<string, Record<string, Json>>).map(([event, item]) =>
    readEvent(types, event, item.post as Json),
  );
  for (const name of ['ErrorDetail', 'ErrorCode']) types.named(name);
  return {
    version: String((document.info as Json).version),
    groups: (document.tags as { name: string; description: string }[])
      .map(({ name, description }) => ({
        name: groupName(name),
        description,
        operations: found
          .filter(({ tag }) => tag === name)
          .map(({ operation }) => ({
            ...operation,
            refusals: operation.refusals.filter((one) => !isGeneral(operation, one)),
          })),
      }))
      .filter(({ operations }) => operations.length > 0),
    types: types.all(),
    events,
    errorCodes: componentsOf(document).ErrorCode?.enum as string[],
    scopes: scopesOf(document),
  };
};

const groupName = (tag: string): string => groupsByTag[tag] ?? camelCase(tag);

const componentsOf = (document: Json): Record<string, Json> =>
  (document.components as { schemas: Record<string, Json> }).schemas;

const scopesOf = (document: Json): { name: string; description: string }[] => {
  const { securitySchemes } = document.components as {
    securitySchemes: { bearer: { flows: { clientCredentials: { scopes: Record<string, string> } } } };
  };
  const { scopes } = securitySchemes.bearer.flows.clientCredentials;
  return Object.entries(scopes).map(([name, description]) => ({ name, description }));
};

type Types = ReturnType<typeof createTypeReader>;

const readOperation = (types: Types, at: { path: string; method: string; operation: Json }): Operation => {
  const { path, operation } = at;
  const id = String(operation.operationId);
  const method = at.method === 'get' ? 'GET' : 'POST';
  const parameters = (operation.parameters as Json[]).map(types.part);
  const request = requestOf(types, { id, operation, parameters });
  const answer = answerOf(types, id, operation);
  const payload = answer.members.filter(({ name }) => name !== 'success');
  return {
    id,
    group: groupName(String((operation.tags as string[])[0])),
    name: namesById[id] ?? camelCase(lastSegment(path)),
    method,
    path,
    summary: String(operation.summary),
    description: String(operation.description),
    scopes: (operation.security as Record<string, string[]>[]).flatMap(({ bearer = [] }) => bearer),
    pathParameters: [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name = '']) => name),
    timeout: longTimes.get(id),
    request,
    needsArguments: request.members.some(({ required }) => required) || request.alternatives.length > 0,
    answer,
    result: resultOf(payload),
    list: listOf(payload),
    refusals: refusalsOf(types, operation),
    example: exampleOf(operation, parameters),
  };
};

/** `whoami/denials/{request_id}` is named `denial`: one of what the segment before the parameter names. */
const lastSegment = (path: string): string => {
  const segments = path.split('/');
  const last = segments.at(-1) ?? '';
  return last.startsWith('{') ? (segments.at(-2) ?? '').replace(/s$/, '') : last;
};

const resultOf = (payload: readonly Member[]): Operation['result'] => {
  const [member] = payload;
  if (member === undefined) return { kind: 'nothing' };
  return payload.length === 1 ? { kind: 'member', member } : { kind: 'answer' };
};

const listOf = (payload: readonly Member[]): Operation['list'] => {
  if (!payload.some(({ name }) => name === 'next_cursor')) return undefined;
  const lists = payload.flatMap(({ name, type }) => (type.kind === 'list' ? [{ member: name, item: type.items }] : []));
  if (lists.length !== 1) throw new Error(`a page has ${lists.length} lists: ${payload.map(({ name }) => name)}`);
  return lists[0];
};

type Described = { id: string; operation: Json; parameters: Json[] };

/** A POST has a named body; the parameters of a GET get a name here. `restuid` may stand in every request that takes it. */
const requestOf = (types: Types, { id, operation, parameters }: Described): Operation['request'] => {
  const members = parameters
    .filter((one) => one.in === 'path' || one.in === 'query')
    .map((one) => types.member(String(one.name), one.schema as Json, one.required === true, one.description));
  const body = bodySchema(operation.requestBody as Json | undefined, 'application/json');
  const own = body === undefined ? undefined : types.object(body);
  const known = new Set(own?.members.map(({ name }) => name));
  return types.define({
    kind: 'object',
    name: own?.name ?? `${pascalCase(id)}Parameters`,
    description: own?.description ?? `Parameters of ${id}`,
    members: [...(own?.members ?? []), ...members.filter(({ name }) => !known.has(name))],
    alternatives: own?.alternatives ?? ((operation['x-any-of-required'] ?? []) as string[]).map((name) => [name]),
  });
};

const answerOf = (types: Types, id: string, operation: Json): Operation['answer'] => {
  const schema = bodySchema((operation.responses as Record<string, Json>)['200'], 'application/json');
  if (schema === undefined) throw new Error(`${id} has no answer`);
  return types.object(schema);
};

const bodySchema = (message: Json | undefined, type: string): Json | undefined =>
  (message?.content as Record<string, { schema: Json }> | undefined)?.[type]?.schema;

type Refusal = Operation['refusals'][number];

/** Whether every operation with scopes and this method can give a refusal. */
const generalRefusals = (operations: readonly Operation[]): ((operation: Operation, one: Refusal) => boolean) => {
  const scoped = operations.filter(({ scopes }) => scopes.length > 0);
  return ({ method }, { code, status }) =>
    scoped
      .filter((one) => one.method === method)
      .every(({ refusals }) => refusals.some((other) => other.code === code && other.status === status));
};

/** A code that the operation explains has a paragraph of its own in the description of its answer. */
const refusalsOf = (types: Types, operation: Json): Operation['refusals'] =>
  Object.entries(operation.responses as Record<string, Json>)
    .filter(([status]) => /^[45]\d\d$/.test(status))
    .flatMap(([status, answer]) =>
      String(types.part(answer).description)
        .split('\n\n')
        .flatMap((text) => {
          const [, code = '', meaning = ''] = /^`([A-Z_]+)` (.+)$/.exec(text) ?? [];
          return code === '' ? [] : [{ code, status, meaning }];
        }),
    );

/** The first example of the body, or those of the parameters without which a call is refused. */
const exampleOf = (operation: Json, parameters: readonly Json[]): Json => {
  const { content } = (operation.requestBody ?? {}) as { content?: Record<string, { examples: Record<string, Json> }> };
  const [first] = Object.values(content?.['application/json']?.examples ?? {});
  const required = parameters.filter((one) => one.required === true);
  return (first?.value as Json | undefined) ?? Object.fromEntries(required.map((one) => [one.name, one.example]));
};

const readEvent = (types: Types, event: string, operation: Json): Event => {
  const schema = bodySchema(operation.requestBody as Json, 'application/json');
  if (schema === undefined) throw new Error(`${event} has no body`);
  const body = types.object(schema);
  return { event, object: body.members[1]?.name ?? '', body, summary: String(operation.summary) };
};
