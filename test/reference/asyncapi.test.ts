import { Parser } from '@asyncapi/parser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGatewayAlone } from './gateway-alone.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member, and a wrong shape fails the assertion.
type Json = any;

let gateway: Awaited<ReturnType<typeof startGatewayAlone>>;

beforeAll(async () => {
  gateway = await startGatewayAlone();
});

afterAll(() => gateway?.stop());

const read = async (path: string): Promise<Json> => (await fetch(`${gateway.url}${path}`)).json();

test('A-286 /docs/asyncapi.json has the events of the OpenAPI document, and the parser of AsyncAPI finds no error in it', async () => {
  const [text, openApi] = [JSON.stringify(await read('/docs/asyncapi.json')), await read('/api/openapi.json')];
  const { document, diagnostics } = await new Parser().parse(text);
  expect(diagnostics.filter(({ severity }) => severity <= 1)).toEqual([]);
  expect(document?.version()).toBe('3.0.0');
  const messages = document?.messages().all() ?? [];
  expect(messages.map((message) => message.name())).toEqual(Object.keys(openApi.webhooks));
  for (const message of messages) {
    const { post } = openApi.webhooks[message.name() ?? ''];
    const names = post.parameters.map(({ $ref }: Json) => openApi.components.parameters[$ref.split('/').at(-1)].name);
    expect(Object.keys(message.headers()?.properties() ?? {})).toEqual(names);
    expect(message.payload()?.properties()?.event?.const()).toBe(message.name());
    expect(message.examples().all()[0]?.payload()?.event).toBe(message.name());
  }
  expect(document?.operations().filterBySend()).toHaveLength(messages.length);
});
