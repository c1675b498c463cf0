/** Subject identifiers of requests (RFC 9493 section 3.2, SSF 1.0 section 3). */
import { z } from 'zod';
import { unicodeText } from '../stream/unicode-text.ts';

const text = unicodeText.min(1).max(500);

const simple = z.discriminatedUnion('format', [
  z.object({ format: z.literal('iss_sub'), iss: text, sub: text }),
  z.object({ format: z.literal('opaque'), id: text }),
  z.object({ format: z.literal('email'), email: text }),
  z.object({ format: z.literal('phone_number'), phone_number: text }),
  z.object({ format: z.literal('account'), uri: text }),
  z.object({ format: z.literal('uri'), uri: text }),
  z.object({ format: z.literal('did'), url: text }),
  z.object({ format: z.literal('jwt_id'), iss: text, jti: text }),
  z.object({ format: z.literal('saml_assertion_id'), issuer: text, assertion_id: text }),
  z.object({ format: z.literal('ip-addresses'), 'ip-addresses': z.array(text).min(1).max(100) }),
]);

const aliases = z.object({ format: z.literal('aliases'), identifiers: z.array(simple).min(1).max(100) });

/** Members of a complex subject are simple subjects. */
const complex = z
  .object({ format: z.literal('complex') })
  .catchall(simple)
  .refine((given) => Object.keys(given).length > 1, 'must have a member that names a subject');

export const subjectIdentifier = z.union([simple, aliases, complex]);

export type SubjectIdentifier = z.infer<typeof subjectIdentifier>;

/** Id of the client or key; undefined: a subject that no event of this issuer is about. */
export const subjectIdOf = (subject: SubjectIdentifier, issuer: string): string | undefined => {
  if (subject.format === 'iss_sub' && 'sub' in subject && subject.iss === issuer) return String(subject.sub);
  if (subject.format === 'opaque' && 'id' in subject) return String(subject.id);
  // All of them name one subject, so the first that is known says which.
  if (subject.format === 'aliases' && Array.isArray(subject.identifiers))
    return subject.identifiers.map((one) => subjectIdOf(one, issuer)).find((id) => id !== undefined);
  return undefined;
};
