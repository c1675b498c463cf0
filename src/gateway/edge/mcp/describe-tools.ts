/**
 * Makes the tools of the protocol from the OpenAPI document that the gateway serves: one for each operation of the route table
 * whose answer the document describes. Routes of a service that describes nothing are no tools, since an agent could only
 * guess their arguments.
 */
import type { Route } from '../../model/route.ts';
import { type JsonObject, listOf, objectOf, resolved, textOf } from './json-node.ts';
import { createSchemas } from './tool-schema.ts';

/** Where the request of the operation has an argument, and under which name. */
type Place = { readonly in: 'path' | 'query' | 'header' | 'body'; readonly name: string };

export type ShownTool = {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object' } & Record<string, unknown>;
  /** Of operations that only read: the answer of a write is short, and its schema would double the list of tools. */
  outputSchema?: { type: 'object' } & Record<string, unknown>;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean };
};

export type Tool = {
  readonly route: Route;
  /** By the name of the argument. */
  readonly places: ReadonlyMap<string, Place>;
  /** The operation takes a JSON body. */
  readonly hasBody: boolean;
  /** As the protocol lists it. */
  readonly shown: ShownTool;
};

export type ToolSet = {
  /** Of the document. */
  readonly title: string;
  readonly version: string;
  readonly tools: ReadonlyMap<string, Tool>;
};

/** `document`: an OpenAPI 3.1 document of `routes`. */
export const describeTools = (document: unknown, routes: readonly Route[]): ToolSet => {
  const root = objectOf(document);
  const paths = objectOf(root.paths);
  const tools = new Map<string, Tool>();
  for (const route of routes) {
    const operation = objectOf(objectOf(paths[route.path])[route.method.toLowerCase()]);
    const answer = answerSchemaOf(root, operation);
    if (Object.keys(objectOf(answer.properties)).length === 0) continue;
    const id = textOf(operation.operationId);
    const plain = id.replaceAll(/[^A-Za-z0-9]/g, '_');
    const name = tools.has(plain) ? id : plain;
    tools.set(name, toolOf(root, route, { name, operation, answer }));
  }
  const info = objectOf(root.info);
  return { title: textOf(info.title), version: textOf(info.version), tools };
};

const jsonSchemaOf = (holder: JsonObject): unknown => objectOf(objectOf(holder.content)['application/json']).schema;

const answerSchemaOf = (document: JsonObject, operation: JsonObject): JsonObject =>
  resolved(document, jsonSchemaOf(resolved(document, objectOf(operation.responses)['200'])));

type Described = { name: string; operation: JsonObject; answer: JsonObject };

const toolOf = (document: JsonObject, route: Route, { name, operation, answer }: Described): Tool => {
  const { places, hasBody, inputSchema } = argumentsOf(document, operation);
  const summary = textOf(operation.summary);
  const annotations = hintsOf(route, operation);
  return {
    route,
    places,
    hasBody,
    shown: {
      name,
      title: summary,
      description: [summary, textOf(operation.description)].filter((text) => text !== '').join('\n\n'),
      inputSchema,
      ...(annotations.readOnlyHint ? { outputSchema: outputOf(document, answer) } : undefined),
      annotations,
    },
  };
};

const outputOf = (document: JsonObject, answer: JsonObject): NonNullable<ShownTool['outputSchema']> => {
  const own = createSchemas(document);
  return { ...objectOf(own.copy(answer)), type: 'object', ...own.defs() };
};

/** The key of the argument for the header of draft-ietf-httpapi-idempotency-key-header. */
const idempotencyArgument = 'idempotency_key';

type Parameter = Place & { argument: string; required: boolean; schema: JsonObject };

/**
 * Path, query, header and members of the body as one object. A parameter that may stand in the query or in the body stands in
 * the query, where the gateway can read it too. Conditions between members (`anyOf`) are left to the operation: several models
 * take no such keyword at the root of a schema.
 */
const argumentsOf = (document: JsonObject, operation: JsonObject) => {
  const own = createSchemas(document);
  const body = resolved(document, jsonSchemaOf(resolved(document, operation.requestBody)));
  const required = new Set(listOf(body.required));
  const ofBody = Object.entries(objectOf(body.properties)).map(
    ([name, schema]): Parameter => ({
      argument: name,
      in: 'body',
      name,
      required: required.has(name),
      schema: objectOf(own.copy(schema)),
    }),
  );
  const places = new Map<string, Place>();
  const properties: Record<string, unknown> = {};
  const needed: string[] = [];
  for (const { argument, in: place, name, required: isNeeded, schema } of [
    ...listOf(operation.parameters).flatMap((parameter) => parameterOf(resolved(document, parameter), own.copy)),
    ...ofBody,
  ]) {
    if (places.has(argument)) continue;
    places.set(argument, { in: place, name });
    properties[argument] = schema;
    if (isNeeded) needed.push(argument);
  }
  const inputSchema = {
    type: 'object' as const,
    properties,
    ...(needed.length === 0 ? undefined : { required: needed }),
    additionalProperties: false,
    ...own.defs(),
  };
  return { places, hasBody: operation.requestBody !== undefined, inputSchema };
};

/** Of the headers only the idempotency key is an argument; the others belong to the connection and its credential. */
const parameterOf = (parameter: JsonObject, copy: (schema: unknown) => unknown): Parameter[] => {
  const { name, in: place, description } = parameter;
  if (typeof name !== 'string' || (place !== 'path' && place !== 'query' && place !== 'header')) return [];
  if (place === 'header' && name.toLowerCase() !== 'idempotency-key') return [];
  return [
    {
      argument: place === 'header' ? idempotencyArgument : name,
      in: place,
      name,
      required: parameter.required === true,
      schema: { ...objectOf(copy(parameter.schema)), ...(description === undefined ? undefined : { description }) },
    },
  ];
};

/**
 * By the method (RFC 9110 section 9.2). A POST may do anything, so it counts as destructive unless its description says that it
 * only adds.
 */
const hintsOf = ({ method }: Route, operation: JsonObject): ShownTool['annotations'] => {
  const isRead = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  return {
    readOnlyHint: isRead,
    destructiveHint: !isRead && operation['x-adds-only'] !== true,
    idempotentHint: isRead || method === 'PUT' || method === 'DELETE',
  };
};
