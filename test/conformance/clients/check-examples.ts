/** The examples of the document through the types of a client: requests and answers of every operation, and every event. */
import { createHmac } from 'node:crypto';
import { expect } from 'vitest';
import { type Json, programDocument } from '#src/clients/generate/model/document.ts';
import { type Operation, readModel } from '#src/clients/generate/model/model.ts';
import { startFaultProxy } from './fault-proxy.ts';
import type { ClientsHarness } from './harness.ts';
import { type RunnerCommand, startRunner } from './runner-process.ts';

const document = programDocument();
const { groups, events } = readModel(document);

type Examples = { example?: Json; examples?: Record<string, { value: Json }> };

/** Of a list it is a page. */
const exampleOf = (message: unknown): Json => {
  const content = (message as { content: Record<string, Examples> }).content['application/json'];
  return content?.example ?? content?.examples?.page?.value ?? {};
};

const answerOf = ({ path, method }: Operation): Json => {
  const item = (document.paths as Record<string, Record<string, { responses: Json }>>)[path];
  return withNumbers(exampleOf(item?.[method.toLowerCase()]?.responses['200']));
};

/** Where the document allows any value, its example is an empty object; amounts stand there in an answer. */
const withNumbers = (example: Json): Json =>
  JSON.parse(JSON.stringify(example).replaceAll(/"(from|to)":\{\}/g, '"$1":7.25')) as Json;

const resultOf = ({ result }: Operation, answer: Json): unknown => {
  if (result.kind === 'nothing') return null;
  return result.kind === 'member' ? answer[result.member.name] : answer;
};

/** A method takes the documented request in its own type, and returns every member of the documented answer unchanged. */
export const checkOperations = async (harness: ClientsHarness, command: RunnerCommand): Promise<void> => {
  const { clientId, clientSecret } = harness.variables();
  // One of its own, as faults of other tests may be left in the other.
  const proxy = await startFaultProxy(harness.proxy.url);
  const runner = startRunner(command);
  try {
    await runner.send({ do: 'open', client: 'one', options: { url: proxy.url, clientId, clientSecret } });
    for (const operation of groups.flatMap((group) => group.operations)) {
      const { group, name, path, list, example } = operation;
      const answer = answerOf(operation);
      const sent = path.replaceAll(/\{([a-z_]+)\}/g, (_, parameter: string) => String(example[parameter]));
      proxy.add({ path: sent, times: 1, status: 200, body: answer });
      const method = `${group}.${name}${list === undefined ? '' : 'Page'}`;
      const got = await runner.send({ do: 'call', client: 'one', operation: method, arguments: example });
      expect([method, got.error, got.value ?? null]).toEqual([method, undefined, resultOf(operation, answer)]);
    }
  } finally {
    await runner.close();
    await proxy.close();
  }
};

const secret = 'a-secret-of-visible-characters';

/**
 * Every documented event is read as its own type, and so is one whose lists are null because its body would be too long, and
 * an example that was sent from the panel.
 */
export const checkEvents = async (command: RunnerCommand): Promise<void> => {
  const runner = startRunner(command);
  try {
    const webhooks = document.webhooks as Record<string, { post: { requestBody: unknown } }>;
    const bodies = events.map(({ event }) => exampleOf(webhooks[event]?.post.requestBody));
    const order = bodies.find(({ event }) => event === 'order.new');
    bodies.push(
      { ...order, order: { ...(order?.order as Json), details: null }, truncated: true },
      { ...order, test: true },
    );
    for (const example of bodies) {
      const body = JSON.stringify(example);
      const now = 1_772_362_800;
      const signature = createHmac('sha256', secret).update(`evt_1.${now}.${body}`).digest('base64');
      const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': `${now}`, 'webhook-signature': `v1,${signature}` };
      const { value, error } = await runner.send({ do: 'verify', secrets: [secret], headers, body, now });
      const expected = { event: example.event, entity: entityOf(example), lines: linesOf(example) };
      expect([error, value]).toEqual([undefined, { ...expected, isTest: example.test === true }]);
    }
    expect(bodies.length).toBeGreaterThan(10);
  } finally {
    await runner.close();
  }
};

const linesOf = ({ event, order }: Json): number | null =>
  event === 'order.new' ? ((order as { details: unknown[] | null }).details?.length ?? null) : null;

const entityOf = ({ event, ...body }: Json): string => {
  if (event === 'menu.changed') return String((body.menu as Json).version);
  const entity = (body.order ?? body.customer ?? body.loyaltylog) as { uid: string } | undefined;
  return entity?.uid ?? '';
};
