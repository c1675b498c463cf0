/** The events as the `webhooks` of the document: body and signed headers of a delivery (interface 12.2, 12.3). */
import type { DescribedEvent } from '#src/ordering/index.ts';
import type { OwnEvent } from '#src/webhooks/index.ts';
import { type Json, nameKey, schemaOf } from './json-schema.ts';
import { sampleOf } from './sample-of.ts';
import { receivedTag } from './tags.ts';

const text = { type: 'string' };

const header = (name: string, description: string, example: string, required = true): Json => ({
  name,
  in: 'header',
  required,
  description,
  schema: text,
  example,
});

/** Headers of a delivery, for `components.parameters`. */
export const webhookHeaders = (signatureHeader: string): Json => ({
  SentWebhookId: header(
    'webhook-id',
    'Id of the event, the same on every retry; remember it to recognise a repetition',
    'evt_01',
  ),
  SentWebhookTimestamp: header(
    'webhook-timestamp',
    'Unix seconds of this attempt; refuse a delivery that is older than 5 minutes',
    '1772362800',
  ),
  SentWebhookSignature: header(
    'webhook-signature',
    '`v1,` + base64 HMAC-SHA256 of id.timestamp.body with the secret, and, unless `v1a` of the endpoint is false, `v1a,` + base64 Ed25519 of the same with a key of /.well-known/webhook-keys (Standard Webhooks). Signatures are separated by spaces. While a secret is being rotated there is a `v1` of the new one and a `v1` of the old one',
    'v1,nDvDeDCy4Ic+uRqpMywAPyiMTAbzpPGZUp1VCLOkZ2E=',
  ),
  SentSignature: header(
    signatureHeader,
    'Lower-case hex HMAC-SHA256 of the raw body, keyed with the secret as shown; while a secret is being rotated, with the old one. An endpoint can set another name for this header',
    'edaf05f89bfdb472afa7653fbc97ce261440ac3b23e42191d24f503687eb8715',
    false,
  ),
  SentSignatureNext: header(
    `${signatureHeader}-Next`,
    'Only while a secret is being rotated: the same signature, keyed with the new secret',
    'edaf05f89bfdb472afa7653fbc97ce261440ac3b23e42191d24f503687eb8715',
    false,
  ),
  SentDelivery: header('x-orderpass-delivery', 'Id of the delivery', 'dlv_01'),
  SentAttempt: header('x-orderpass-attempt', 'Number of the attempt, from 1', '1'),
  SentSandbox: header('x-orderpass-sandbox', 'Only for events of a sandbox', 'true', false),
});

type Described = Pick<DescribedEvent, 'event' | 'object' | 'value' | 'trailing'>;

/** Members of every event after its object. */
const identity: Json = {
  id: {
    [nameKey]: 'EventId',
    ...text,
    description: 'Id of the event, as in the header webhook-id',
    examples: ['evt_01'],
  },
  created: {
    [nameKey]: 'EventCreated',
    ...text,
    format: 'date-time',
    description: 'When the event was recorded, in UTC',
    examples: ['2026-03-01T11:00:00.000Z'],
  },
  restuid: { [nameKey]: 'EventRestaurant', ...text, description: 'The restaurant', examples: ['rst_01'] },
  seq: {
    [nameKey]: 'EventSeq',
    type: 'integer',
    description: 'Rises with every change of the entity',
    examples: [42],
  },
  previous_seq: {
    [nameKey]: 'EventPreviousSeq',
    type: ['integer', 'null'],
    description:
      '`seq` of the event before. If it is greater than the last `seq` that the receiver saw, an event was missed',
    examples: [41],
  },
};

const truncated: Json = {
  [nameKey]: 'EventTruncated',
  type: 'boolean',
  const: true,
  description: 'Only present when lists are null because the body would exceed 256 KiB',
};

const test: Json = {
  [nameKey]: 'EventTest',
  type: 'boolean',
  const: true,
  description: 'Only in an example that was sent from the panel: its content is made up, so answer 2xx and do nothing',
};

const bodySchema = ({ event, object, value, trailing }: Described): Json => {
  const more = trailing === undefined ? {} : schemaOf(trailing, 'output');
  return {
    type: 'object',
    description: `Body of the event ${event}`,
    required: ['event', object, ...Object.keys(identity), ...((more.required ?? []) as string[])],
    properties: {
      event: { ...text, const: event, description: 'Type of the event' },
      [object]: schemaOf(value, 'output'),
      ...identity,
      ...((more.properties ?? {}) as Json),
      truncated,
      test,
    },
  };
};

const sampleOfBody = (schema: Json): Json => {
  const { truncated: _truncated, test: _test, ...body } = sampleOf(schema, true) as Json;
  return body;
};

/** The body of an example of each event, by its type. `bodies`: recorded ones. */
export const eventExamples = (
  events: readonly Described[],
  bodies: Readonly<Record<string, Json>>,
): ReadonlyMap<string, Json> => new Map(events.map((described) => [described.event, exampleOf(described, bodies)]));

const exampleOf = (described: Described, bodies: Readonly<Record<string, Json>>): Json =>
  bodies[described.event] ?? sampleOfBody(bodySchema(described));

const answersOf = (isRepeated: boolean): Json => ({
  '2XX': { [nameKey]: 'EventReceived', description: 'Received: answer within 15 s' },
  ...(isRepeated && {
    410: {
      [nameKey]: 'EndpointGone',
      description: 'The receiver wants no more events: the endpoint is disabled at once',
    },
  }),
  default: {
    [nameKey]: isRepeated ? 'EventNotReceived' : 'TestNotReceived',
    description: isRepeated
      ? 'Any other answer is a failure, and the delivery is repeated: 15 attempts over three days'
      : 'Any other answer is a failure, which the answer of webhook/test shows',
  },
});

/** `own`: events of the engine itself. `bodies`: recorded ones by event. */
export const webhooksOf = (
  events: readonly DescribedEvent[],
  own: readonly OwnEvent[],
  signatureHeader: string,
  bodies: Readonly<Record<string, Json>>,
): Json => {
  const recorded = events.map((event) => ({
    ...event,
    description: `Kind \`${event.kind}\`. Sent at least once, in the order of \`seq\` per entity.`,
    isRepeated: true,
  }));
  return Object.fromEntries(
    [...recorded, ...own].map((described) => {
      const schema = bodySchema(described);
      return [
        described.event,
        {
          post: {
            operationId: `webhook.${described.event}`,
            tags: [receivedTag.name],
            summary: described.summary,
            description: described.description,
            security: [],
            parameters: Object.keys(webhookHeaders(signatureHeader)).map((name) => ({
              $ref: `#/components/parameters/${name}`,
            })),
            requestBody: {
              required: true,
              content: { 'application/json': { schema, example: exampleOf(described, bodies) } },
            },
            responses: answersOf(described.isRepeated),
          },
        },
      ];
    }),
  );
};
