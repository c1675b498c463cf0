/**
 * Header fields that a route sets or removes. Fields that frame the message, carry a credential or state an identity are
 * refused when the table is read: a rule on one of them would undo a check of the gateway.
 */
import { z } from 'zod';
import { requestIdHeader } from '#src/contract/headers.ts';
import { ownForwardedFields } from './claimed-headers.ts';
import { hopByHop, reservedName } from './hop-by-hop.ts';

const fieldsMax = 50;
const valueCharactersMax = 4_096;

const framing: ReadonlySet<string> = new Set([
  ...hopByHop,
  'host',
  'content-length',
  'content-encoding',
  'content-range',
  'expect',
  'via',
]);

/** Fields of a request that the gateway reads, drops or sets itself. */
const ownInRequests: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'dpop',
  'x-api-key',
  'x-client-id',
  'x-client-secret',
  'traceparent',
  'tracestate',
  'baggage',
  requestIdHeader,
  ...ownForwardedFields,
]);

/** Fields of an answer that the gateway sets itself. */
const ownInAnswers: ReadonlySet<string> = new Set([
  'date',
  'dpop-nonce',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'strict-transport-security',
  'www-authenticate',
  'x-api-version',
  'x-content-type-options',
  requestIdHeader,
]);

/** Why a rule may not name this field; undefined when it may. */
const refusalOf = (name: string, own: ReadonlySet<string>): string | undefined => {
  const lower = name.toLowerCase();
  if (!/^[a-z0-9!#$%&'*+.^`|~-]{1,128}$/.test(lower)) return 'no name of a header field, or one with an underscore';
  if (framing.has(lower)) return 'this field frames the message or belongs to one connection';
  if (own.has(lower) || reservedName.test(lower)) return 'this field is read or set by the gateway itself';
  return name === lower ? undefined : `write ${lower} in lower case`;
};

const value = z
  .string()
  .max(valueCharactersMax)
  .refine(
    (text) => /^[\x20-\x7e]+$/.test(text) && text.trim() === text,
    'printable ASCII without line breaks and without spaces at the ends',
  );

const headerRules = (own: ReadonlySet<string>) =>
  z
    .strictObject({
      set: z
        .record(z.string(), value)
        .default({})
        .meta({ description: 'Name in lower case -> value. Replaces the field' }),
      remove: z.array(z.string()).max(fieldsMax).default([]).meta({ description: 'Names in lower case' }),
    })
    .superRefine(({ set, remove }, context) => {
      const names = Object.keys(set);
      const refuse = (path: (string | number)[], message: string): void =>
        context.addIssue({ code: 'custom', path, message });
      if (names.length > fieldsMax) refuse(['set'], `at most ${fieldsMax} fields`);
      for (const name of names) {
        const refusal = refusalOf(name, own);
        if (refusal !== undefined) refuse(['set', name], refusal);
      }
      for (const [index, name] of remove.entries()) {
        const refusal = refusalOf(name, own) ?? (names.includes(name) ? 'the same field is set' : undefined);
        if (refusal !== undefined) refuse(['remove', index], refusal);
      }
    });

/** Spread into the schema of a route. */
export const headerRuleMembers = {
  requestHeaders: headerRules(ownInRequests).optional().meta({
    description:
      'Fields of requests that the gateway sets or removes on the way to the upstream, in every spelling that a caller may use',
  }),
  responseHeaders: headerRules(ownInAnswers).optional().meta({
    description: 'Fields of answers of the upstream that the gateway sets or removes on the way to the client',
  }),
};

export type HeaderRules = z.infer<ReturnType<typeof headerRules>>;

/** True when the rules decide about this field, so the value that came is not passed on. Names in lower case. */
export const isRuled = ({ set, remove }: HeaderRules, name: string): boolean =>
  Object.hasOwn(set, name) || remove.includes(name);

/** Appends the fields that the rules set to a flat list of names and values. */
export const pushSetFields = ({ set }: HeaderRules, into: string[]): void => {
  for (const name in set) into.push(name, set[name] as string);
};
