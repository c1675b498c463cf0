/** The members of a route that say how its requests are forwarded: path, body and times. */
import { z } from 'zod';
import { hourMs } from '#src/platform/clock.ts';

/** Longest time that a route may wait for a body or an answer. */
export const routeWaitMsMax = hourMs;

const wait = z.int().min(10).max(routeWaitMsMax).default(30_000);

const mediaRange = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,126})$/,
    'a media type in lower case without parameters, such as multipart/form-data or image/*',
  );

const pathPrefix = z
  .string()
  .regex(
    /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/,
    'one or more literal segments such as /api/v1, without a slash at the end',
  );

/** Spread into the schema of a route. */
export const forwardingMembers = {
  stripPrefix: pathPrefix.optional().meta({
    description: 'Removed from the front of the path; the upstream gets it in `X-Forwarded-Prefix`',
  }),
  addPrefix: pathPrefix.optional().meta({ description: 'Put before the path, after `stripPrefix` was removed' }),
  body: z
    .union(
      [z.enum(['json', 'any']), z.array(mediaRange).min(1).max(50)],
      '`json`, `any`, or a list of 1 to 50 types such as ["multipart/form-data", "image/*"]',
    )
    .default('json')
    .meta({
      description:
        'Bodies that the route takes. `json`: application/json without a content coding. `any`: every type and coding, or no type. A list such as `["multipart/form-data", "image/*"]`: these types in every coding. Bodies are streamed and arrive byte for byte',
    }),
  bodyBytesMax: z
    .int()
    .min(0)
    .default(1024 * 1024)
    .meta({ description: 'Longest body in bytes, as they are sent (413)' }),
  timeouts: z
    .strictObject({
      bodyMs: wait.meta({
        description: 'Time to receive the body, without the time in which the upstream reads (408)',
      }),
      answerMs: wait.meta({
        description: 'How long the upstream may be silent, first after the request, then inside its answer (504)',
      }),
    })
    .prefault({})
    .meta({ description: 'Longest waits of a request in milliseconds' }),
};

export type BodyRule = z.infer<typeof forwardingMembers.body>;

/** Two tokens (RFC 9110 section 8.3.1). What has no slash, or names several types, is no media type. */
const mediaType = /^([a-z0-9!#$%&'*+.^_`|~-]+)\/[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** True when a body of this media type, in lower case without parameters, may be forwarded. */
export const takesType = (rule: readonly string[], type: string): boolean => {
  if (rule.includes(type)) return true;
  const group = mediaType.exec(type)?.[1];
  return group !== undefined && rule.includes(`${group}/*`);
};
