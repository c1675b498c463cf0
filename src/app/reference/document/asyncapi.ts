/**
 * The AsyncAPI 3.0 document: the same events as the `webhooks` of the OpenAPI document, from which it is made, for tools that
 * generate receivers. Orderpass sends; the address is the URL of an endpoint, which only its owner knows.
 */
import type { Json } from './json-schema.ts';
import { pascalCase } from './name-schemas.ts';

const channel = { $ref: '#/channels/endpoint' };

/** `openApi`: as `buildOpenApi` makes it. */
export const buildAsyncApi = (openApi: Json): Json => {
  const { info, webhooks, components } = openApi as { info: Json; webhooks: Record<string, Json>; components: Json };
  const operations = Object.entries(webhooks).map(([event, item]): [string, Json] => [event, item.post as Json]);
  const messages = operations.map(([event, operation]): [string, Json] => [
    messageName(event),
    messageOf(event, operation, components.parameters as Json),
  ]);
  return {
    asyncapi: '3.0.0',
    info: {
      title: `${String(info.title)} events`,
      version: info.version,
      description:
        'Events that Orderpass sends to endpoints as signed POST requests. How to verify a signature stands at /docs/webhooks.',
    },
    defaultContentType: 'application/json',
    channels: {
      endpoint: {
        address: null,
        description: 'The URL of an endpoint, which `POST /api/webhook/create` registers',
        messages: Object.fromEntries(messages.map(([name]) => [name, { $ref: `#/components/messages/${name}` }])),
      },
    },
    operations: Object.fromEntries(
      operations.map(([event, { summary, description }]) => [
        `send${messageName(event)}`,
        {
          action: 'send',
          channel,
          summary,
          description,
          bindings: { http: { method: 'POST' } },
          messages: [{ $ref: `#/channels/endpoint/messages/${messageName(event)}` }],
        },
      ]),
    ),
    components: {
      messages: Object.fromEntries(messages),
      schemas: schemasFor(messages, components.schemas as Json),
    },
  };
};

const messageName = (event: string): string => pascalCase(event);

const messageOf = (event: string, operation: Json, parameters: Json): Json => {
  const { content } = operation.requestBody as { content: Record<string, Json> };
  const { schema, example } = content['application/json'] as Json;
  return {
    name: event,
    title: operation.summary,
    summary: operation.summary,
    contentType: 'application/json',
    headers: headersOf(
      (operation.parameters as Json[]).map(({ $ref }) => parameters[String($ref).split('/').at(-1) ?? ''] as Json),
    ),
    payload: schema,
    examples: [{ name: 'delivery', payload: example }],
  };
};

const headersOf = (parameters: readonly Json[]): Json => ({
  type: 'object',
  description: 'Headers of the request; names are compared without case',
  required: parameters.filter(({ required }) => required === true).map(({ name }) => name),
  properties: Object.fromEntries(
    parameters.map(({ name, schema, description, example }) => [
      name,
      { ...(schema as Json), description, examples: [example] },
    ]),
  ),
});

/** The schemas that a value refers to, those that they refer to included. */
const schemasFor = (value: unknown, all: Json): Json => {
  const found = new Map<string, unknown>();
  const collect = (node: unknown): void => {
    for (const [, name] of JSON.stringify(node).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name === undefined || found.has(name)) continue;
      found.set(name, all[name]);
      collect(all[name]);
    }
  };
  collect(value);
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
};
