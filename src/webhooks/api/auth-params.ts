/** The parameter and the answer about what an endpoint logs in with (interface 32). Secrets are in no answer. */
import { z } from 'zod';
import { clearable, oneOf, optional, text } from '#src/platform/http/values.ts';
import { authProblems } from '../auth/auth-problems.ts';
import type { EndpointAuth, ShownAuth } from '../auth/endpoint-auth.ts';
import { signatureHeaderPattern } from '../signing/signature-header-name.ts';

const types = ['certificate', 'oauth', 'header'] as const;

const authObject = z
  .object({
    type: oneOf(types).describe('Kind of login'),
    certificate: optional(text({ max: 20_000 })).describe('PEM'),
    private_key: optional(text({ max: 10_000 })).describe('PEM'),
    token_url: optional(text({ max: 2048 })).describe('Token endpoint'),
    client_id: optional(text()).describe('OAuth client'),
    client_secret: optional(text({ max: 1024 })).describe('Or `private_key`'),
    key_id: optional(text()).describe('`kid` of assertions'),
    audience: optional(text({ max: 2048 })).describe('`aud` of assertions'),
    scope: optional(text({ max: 1024 })).describe('OAuth scope'),
    name: optional(text({ max: 64, pattern: signatureHeaderPattern, format: 'letters, digits and hyphens' })).describe(
      'Header',
    ),
    value: optional(text({ max: 4096 })).describe('Its value'),
  })
  .meta({ id: 'NewEndpointAuth', description: 'Login at the receiver' });

type AuthParams = z.infer<typeof authObject>;
type Member = Exclude<keyof AuthParams, 'type'>;

/** The members of each type; without a mark they are required. */
const membersOf: Readonly<Record<EndpointAuth['type'], Partial<Record<Member, 'optional' | 'required'>>>> = {
  certificate: { certificate: 'required', private_key: 'required' },
  oauth: {
    ...{ token_url: 'required', client_id: 'required', client_secret: 'optional', private_key: 'optional' },
    ...{ key_id: 'optional', audience: 'optional', scope: 'optional' },
  },
  header: { name: 'required', value: 'required' },
};

type Issue = { member: Member; code: 'REQUIRED' | 'CONFLICTING_VALUES'; message: string };

const memberIssues = (params: AuthParams): Issue[] => {
  const members = membersOf[params.type];
  const issues: Issue[] = [];
  for (const name of Object.keys(authObject.shape) as (Member | 'type')[]) {
    if (name === 'type') continue;
    const isGiven = params[name] !== undefined;
    if (isGiven && members[name] === undefined)
      issues.push({ member: name, code: 'CONFLICTING_VALUES', message: `does not belong to the type ${params.type}` });
    if (!isGiven && members[name] === 'required')
      issues.push({ member: name, code: 'REQUIRED', message: 'is required' });
  }
  if (params.type !== 'oauth') return issues;
  const { client_secret: secret, private_key: key } = params;
  if (secret === undefined && key === undefined)
    issues.push({ member: 'client_secret', code: 'REQUIRED', message: 'is required, or private_key' });
  for (const name of ['private_key', 'key_id', 'audience'] as const)
    if (secret !== undefined && params[name] !== undefined)
      issues.push({ member: name, code: 'CONFLICTING_VALUES', message: 'cannot be combined with client_secret' });
  return issues;
};

/** Call without `memberIssues` only. */
const authOf = (params: AuthParams): EndpointAuth => {
  const given = (name: Member): string => params[name] ?? '';
  const { scope = null, key_id: keyId = null, audience = null, client_secret: secret } = params;
  switch (params.type) {
    case 'certificate':
      return { type: 'certificate', certificate: given('certificate'), privateKey: given('private_key') };
    case 'header':
      return { type: 'header', name: given('name').toLowerCase(), value: given('value') };
    case 'oauth': {
      const proof = secret === undefined ? { privateKey: given('private_key'), keyId, audience } : { secret };
      return { type: 'oauth', tokenUrl: given('token_url'), clientId: given('client_id'), scope, proof };
    }
  }
};

/** Null removes it. */
export const authParam = () =>
  clearable(
    authObject.transform((params, ctx): EndpointAuth => {
      const refuse = (member: string, code: string, message: string): void =>
        ctx.addIssue({ code: 'custom', path: [member], message, params: { code } });
      const issues = memberIssues(params);
      for (const { member, code, message } of issues) refuse(member, code, message);
      const auth = authOf(params);
      if (issues.length === 0) for (const { member, message } of authProblems(auth)) refuse(member, 'FORMAT', message);
      return auth;
    }),
  ).describe('Login at the receiver');

export const authAnswer = z
  .object({
    type: z.enum(types).describe('Its kind'),
    id: z.string().describe('What names it'),
    expires_iso: z.string().meta({ format: 'date-time' }).nullable().describe('End of the certificate'),
  })
  .meta({ id: 'EndpointAuth', description: 'Login at the receiver' })
  .nullable()
  .describe('Login at the receiver');

export const authView = (shown: ShownAuth | null, iso: (date: Date) => string): z.infer<typeof authAnswer> =>
  shown && {
    type: shown.type,
    id: shown.id,
    expires_iso: shown.expires === null ? null : iso(new Date(shown.expires)),
  };
