/** The configuration of a stream as receivers write and read it (SSF 1.0 section 8.1.1). */
import { z } from 'zod';
import { validationFault } from '#src/contract/fault.ts';
import { firstDifference } from '#src/platform/http/json.ts';
import { detailsOf } from '#src/platform/http/validate.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { deliveredOf, supportedEvents } from '../events/event-types.ts';
import type { Stream } from './stream-store.ts';
import { unicodeText } from './unicode-text.ts';

export const pushMethod = 'urn:ietf:rfc:8935';
export const pollMethod = 'urn:ietf:rfc:8936';

/** Seconds between two verifications of a stream. */
export const verificationSecondsMin = 5;

export const authorizationLabel = (streamId: string): string => `signal-authorization/${streamId}`;

/** Members that the transmitter supplies may be sent back; `readConfig` compares them. Unknown members are ignored. */
const delivery = z.object({
  method: z.enum([pushMethod, pollMethod]),
  endpoint_url: z.string().max(2_048).nullish(),
  // A field value (RFC 9110 section 5.5) without leading or trailing blanks.
  authorization_header: z
    .string()
    .max(4_096)
    .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'must be the value of a header field')
    .nullish(),
});

const configuration = z.object({
  stream_id: z.string().max(100).optional(),
  delivery: delivery.nullish(),
  events_requested: z.array(unicodeText.min(1).max(256)).max(50).nullish(),
  description: unicodeText.max(500).nullish(),
  iss: z.unknown().optional(),
  aud: z.unknown().optional(),
  events_supported: z.unknown().optional(),
  events_delivered: z.unknown().optional(),
  min_verification_interval: z.unknown().optional(),
});

export type Configuration = z.infer<typeof configuration>;

/** Throws VALIDATION_ERROR. */
export const parseBody = <T>(schema: z.ZodType<T>, body: unknown): T => {
  const parsed = schema.safeParse(body ?? {});
  if (!parsed.success) throw validationFault(detailsOf(parsed.error));
  return parsed.data;
};

export const readConfiguration = (body: unknown): Configuration => parseBody(configuration, body);

type Apply = {
  box: Pick<SecretBox, 'seal'>;
  /** Undefined: pushes may go to the address. */
  pushProblem: (url: string) => Promise<string | undefined>;
};

type Kept = Pick<Stream, 'delivery' | 'endpointUrl' | 'authorizationSealed' | 'eventsRequested' | 'description'>;

/** What a stream has of everything that its receiver does not supply. */
export const unsupplied: Kept = {
  delivery: 'poll',
  endpointUrl: null,
  authorizationSealed: null,
  eventsRequested: null,
  description: null,
};

/**
 * The stream with what the receiver supplies. `replaces` (PUT, section 8.1.1.4): what is missing is deleted; otherwise it
 * keeps its value. Throws VALIDATION_ERROR.
 */
export const applyConfiguration = async (
  { box, pushProblem }: Apply,
  stream: Stream,
  given: Configuration,
  replaces: boolean,
): Promise<Stream> => {
  const before: Stream = replaces ? { ...stream, ...unsupplied } : stream;
  const next = { ...before };
  if (given.events_requested !== undefined) next.eventsRequested = given.events_requested;
  if (given.description !== undefined) next.description = given.description;
  if (given.delivery === null) return { ...next, delivery: 'poll', endpointUrl: null, authorizationSealed: null };
  if (given.delivery === undefined) return next;
  const { method, endpoint_url: url, authorization_header: authorization } = given.delivery;
  if (method === pollMethod) return { ...next, delivery: 'poll', endpointUrl: null, authorizationSealed: null };
  if (url === undefined || url === null) throw invalid('delivery.endpoint_url', 'REQUIRED', 'is needed for a push');
  const problem = await pushProblem(url);
  if (problem !== undefined) throw invalid('delivery.endpoint_url', 'TARGET_REFUSED', problem);
  // The value is never shown, so a receiver cannot send it back. It stays with the address that it was given for.
  const kept = url === before.endpointUrl ? before.authorizationSealed : null;
  const sealed =
    authorization === undefined || authorization === null
      ? kept
      : box.seal(authorization, authorizationLabel(stream.streamId));
  return { ...next, delivery: 'push', endpointUrl: url, authorizationSealed: sealed };
};

/** Section 8.1.1.3: a member that the transmitter supplies must be sent back as it is. Throws VALIDATION_ERROR. */
export const assertUnchanged = (given: Configuration, shown: Readonly<Record<string, unknown>>): void => {
  for (const name of ['iss', 'aud', 'events_supported', 'min_verification_interval'] as const) {
    const value = given[name];
    if (value !== undefined && firstDifference(value, shown[name]) !== undefined)
      throw invalid(name, 'READ_ONLY', 'is supplied by the transmitter and cannot be changed');
  }
};

const invalid = (pointer: string, code: Parameters<typeof validationFault>[0][number]['code'], message: string) =>
  validationFault([{ pointer, code, message }]);

/** `pollUrl`: of the stream. The Authorization value of a push is never shown. */
export const showConfiguration = (stream: Stream, pollUrl: string): Readonly<Record<string, unknown>> => ({
  stream_id: stream.streamId,
  iss: stream.issuer,
  aud: stream.clientId,
  delivery:
    stream.delivery === 'push'
      ? { method: pushMethod, endpoint_url: stream.endpointUrl }
      : { method: pollMethod, endpoint_url: pollUrl },
  events_supported: supportedEvents,
  ...(stream.eventsRequested === null ? undefined : { events_requested: stream.eventsRequested }),
  events_delivered: deliveredOf(stream.eventsRequested),
  ...(stream.description === null ? undefined : { description: stream.description }),
  min_verification_interval: verificationSecondsMin,
});
