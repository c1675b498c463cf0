/** The events that the engine itself makes (interface 12.5), as data for the reference. */
import { z } from 'zod';

export type OwnEvent = {
  event: string;
  /** Name of the member that holds `value`. */
  object: string;
  summary: string;
  /** Its receivers, and the meaning of its `seq`. */
  description: string;
  /** An attempt that fails is repeated as the schedule says, and 410 disables the endpoint. */
  isRepeated: boolean;
  value: z.ZodType;
};

const hour = z.iso.datetime();

const ofOne = { count: 1, sha256: '4246e65035e926e6ccca822c2476aef187f1454a4664a776c466a05662acf80b' };
const ofNone = { count: 0, sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' };

const kindDigest = z
  .object({
    count: z.int().min(0).describe('Events of this kind that were recorded in the hour'),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe('Of the ids of these events, sorted by byte and joined by line feeds'),
  })
  .meta({ id: 'KindDigest', description: 'The events of one kind in one hour' });

const digestOf = (kinds: readonly string[]) =>
  z
    .object({
      from: hour.meta({ description: 'Start of the hour, which is included', examples: ['2026-03-01T10:00:00.000Z'] }),
      to: hour.meta({ description: 'End of the hour, which is not included', examples: ['2026-03-01T11:00:00.000Z'] }),
      kinds: z.record(z.string(), kindDigest).meta({
        id: 'DigestKinds',
        description: 'By kind; kinds without events are named as well',
        examples: [Object.fromEntries(kinds.map((kind, index) => [kind, index === 0 ? ofOne : ofNone]))],
      }),
    })
    .meta({ id: 'Digest', description: 'How many events were recorded in an hour, for a receiver to compare with' });

/** `kinds`: all kinds of events, for the examples. */
export const describedEvents = (kinds: readonly string[]): OwnEvent[] => [
  {
    event: 'webhook.test',
    object: 'webhook',
    summary: 'A test that was asked for with `POST /api/webhook/test`',
    description: 'Sent once, to the endpoint that is tested; not recorded and not repeated. `seq` is 0.',
    isRepeated: false,
    value: z
      .object({ uid: z.string().meta({ description: 'The endpoint', examples: ['whe_01'] }) })
      .meta({ id: 'TestedEndpoint', description: 'The endpoint that is tested' }),
  },
  {
    event: 'webhook.digest',
    object: 'digest',
    summary: 'What was recorded in the hour before',
    description:
      'Each hour to endpoints with `digest` true, about their kinds. `seq` counts hours; a `previous_seq` that is not one less shows hours without a digest.',
    isRepeated: true,
    value: digestOf(kinds),
  },
];
