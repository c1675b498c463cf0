/** The announced end of a route: a member of the route, and the header fields of its answers (RFC 9745, RFC 8594). */
import { z } from 'zod';

const day = z.iso.date('a day such as 2027-01-31');

/** Characters that end or quote a link (RFC 8288 section 3) stand percent-encoded in a URL. */
const isLink = (text: string): boolean =>
  /^https:\/\/[\x21-\x7e]+$/.test(text) && !/["<>\\^`{|}]/.test(text) && URL.canParse(text);

const deprecation = z
  .strictObject({
    since: day.meta({ description: 'Day at whose beginning (UTC) the route is deprecated; it may lie ahead' }),
    sunset: day.optional().meta({
      description: 'Day from whose beginning (UTC) the route may no longer answer; not before `since`',
    }),
    link: z
      .string()
      .max(2_000)
      .refine(isLink, 'an address that begins with https://')
      .optional()
      .meta({ description: 'https address of a page that says what replaces the route' }),
  })
  .superRefine(({ since, sunset }, context) => {
    if (sunset !== undefined && sunset < since)
      context.addIssue({ code: 'custom', path: ['sunset'], message: `lies before since (${since})` });
  });

export type Deprecation = z.infer<typeof deprecation>;

/** Spread into the schema of a route. */
export const deprecationMember = {
  deprecation: deprecation.optional().meta({
    description:
      'The route ends: every answer of it, refusals included, has `Deprecation`, and `Sunset` and `Link` where this names them',
  }),
};

/** Fields that a service behind such a route does not set, since each has one value. */
export const deprecationNames = ['deprecation', 'sunset'] as const;

/** Names and values as a flat list, made once for each route and not for each answer. */
export const deprecationFields = ({ since, sunset, link }: Deprecation): readonly string[] => {
  const fields = ['deprecation', `@${Date.parse(since) / 1000}`];
  if (sunset !== undefined) fields.push('sunset', new Date(sunset).toUTCString());
  if (link === undefined) return fields;
  const relations = sunset === undefined ? ['deprecation'] : deprecationNames;
  fields.push('link', relations.map((relation) => `<${link}>; rel="${relation}"`).join(', '));
  return fields;
};
