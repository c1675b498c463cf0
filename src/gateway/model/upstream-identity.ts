/** How an upstream learns who calls: the member `identity` of an upstream in the file of routes. */
import { z } from 'zod';
import { requestIdHeader } from '#src/contract/headers.ts';
import { isClaimedHeader } from './claimed-headers.ts';
import { hopByHop } from './hop-by-hop.ts';

const kind = z.enum(['assertion', 'jwt', 'headers', 'none']);
type IdentityKind = z.infer<typeof kind>;

const tokenHeaderDefault = 'x-orderpass-token';

/** Fields that frame a message, or that the gateway sets for another purpose. */
const refused: ReadonlySet<string> = new Set([
  ...hopByHop,
  ...['host', 'expect', 'via', 'cookie', 'accept', 'accept-encoding', 'range', 'origin', 'date', 'dpop'],
  ...['traceparent', 'tracestate', 'baggage', requestIdHeader],
]);

const mayHoldToken = (name: string): boolean =>
  /^[a-z0-9][a-z0-9-]{0,63}$/.test(name) &&
  !refused.has(name) &&
  !/^(?:content|if|proxy|x-forwarded)-/.test(name) &&
  (name === tokenHeaderDefault || !name.startsWith('x-orderpass-'));

const detailed = z
  .strictObject({
    kind: kind.meta({ description: 'The form, as above' }),
    header: z
      .string()
      .refine(mayHoldToken, 'a field in lower case that nothing else uses, such as `authorization` or `x-caller-token`')
      .optional()
      .meta({
        description: `Of \`jwt\`: the field with the token; in \`authorization\` it stands as a Bearer token. Default: \`${tokenHeaderDefault}\``,
      }),
    audience: z
      .string()
      .regex(/^[\x21-\x7e]{1,256}$/, 'at most 256 visible characters of ASCII')
      .optional()
      .meta({
        description:
          'Of `jwt`: the claim `aud`. Default: the name of the upstream. An absolute URI can be the `resource` of tokens (RFC 8707)',
      }),
  })
  .superRefine(({ kind: chosen, ...others }, context) => {
    for (const name of ['header', 'audience'] as const)
      if (chosen !== 'jwt' && others[name] !== undefined)
        context.addIssue({ code: 'custom', path: [name], message: 'only `jwt` has this member' });
  });

export const identityMember = z
  .union([kind, detailed], `one of ${kind.options.join(', ')}, or {"kind": "jwt", …}`)
  .default('assertion')
  .meta({
    description:
      '`assertion`: a statement signed with a key of this upstream, for one method and target. `jwt`: a token for the published keys. `headers`: plain `X-Orderpass-` fields. `none`: nothing',
  });

export type IdentityPolicy = { kind: IdentityKind; header: string; audience: string };

/** `upstream`: one whose tokens name the public address as their audience. */
export const ownAudienceProblem = (upstream: string): string =>
  `upstreams.${upstream}.identity.audience: access tokens have the address of the gateway as audience`;

/** `upstream`: its name, which is the audience where the file names none. */
export const identityPolicyOf = (
  upstream: string,
  member: z.infer<typeof identityMember> | undefined,
): IdentityPolicy => {
  const { kind: chosen, ...named } = typeof member === 'object' ? member : { kind: member ?? 'assertion' };
  return { kind: chosen, header: named.header ?? tokenHeaderDefault, audience: named.audience ?? upstream };
};

/** A claim of callers that an upstream would get in place of the token. */
export const isTokenHeaderPassed = (member: z.infer<typeof identityMember>, passHeaders: readonly string[]): boolean =>
  typeof member === 'object' &&
  member.header !== undefined &&
  isClaimedHeader(member.header) &&
  passHeaders.includes(member.header);
