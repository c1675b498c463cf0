/** The members of the file of routes, as an operator writes it. The JSON Schema and the tables of the manual are made of it. */
import { z } from 'zod';
import { scopeToken } from '#src/contract/scope-tokens.ts';
import { corsOfHosts, corsOfRoute } from './cors.ts';
import { deprecationMember } from './deprecation.ts';
import { forwardingMembers } from './forwarding.ts';
import { headerRuleMembers } from './header-rules.ts';
import { limitMembers, tenantLimits } from './route-limits.ts';
import { hostMember, type Method, methods, methodsMember, pathMember } from './route-path.ts';
import { upstreamPolicy } from './upstream-policy.ts';

/** Upstream of operations that the gateway answers by itself. */
export const ownUpstream = 'self';

/** The operation that returns the reason of a refusal. */
export const denialRoute = 'whoami.denial';

/** Ids of the routes that may name this upstream. */
export const ownOperations = ['whoami', 'whoami.requests', 'whoami.usage', denialRoute] as const;

export const kind = z.enum(['api_key', 'api_client', 'bearer']);

const scopeNames = z.array(z.string()).max(50);

export const routeMembers = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9._-]{1,64}$/, '1 to 64 lower-case letters, digits, dots, hyphens and underscores')
    .meta({ description: 'Name of the route in the audit, in logs, traces and commands' }),
  method: methodsMember.default('GET').meta({
    description: `One of ${methods.join(', ')}, a list of them, or \`*\` for all. HEAD comes with GET. The gateway answers OPTIONS itself where no route names it`,
  }),
  path: pathMember.meta({
    description:
      'Literal segments, `{name}` for any one segment, and a final `/*` for everything below. The most specific path wins: from the left, a literal segment before a parameter before everything below',
  }),
  hosts: z.array(hostMember).min(1).max(50).optional().meta({
    description: 'Hosts for which the route exists; `*.example.com` stands for every host below. Default: every host',
  }),
  access: z.enum(['credential', 'optional', 'public']).default('credential').meta({
    description:
      '`credential`: a caller needs one. `optional`: a request without one passes too. `public`: as `optional`, and the upstream never learns who calls. A credential that is presented is checked in any case',
  }),
  scopes: z
    .union(
      [scopeNames, z.partialRecord(z.enum(methods), scopeNames)],
      'a list of scopes, or such a list for each method',
    )
    .optional()
    .meta({
      description:
        'Scopes that a caller needs, all of them: a list, or a list for each method. `[]` lets every caller in. Needed where `access` is `credential`',
    }),
  anyOf: z.array(scopeNames.min(1)).min(1).max(20).optional().meta({
    description: 'Sets of scopes: beside `scopes` a caller needs every scope of one set',
  }),
  kinds: z.array(kind).min(1).optional().meta({
    description:
      'Kinds of credential that can call the route. The scopes decide; the list is checked against them. Default: what the scopes allow',
  }),
  class: z.enum(['R', 'W', 'H']).optional().meta({
    description:
      'Cost of a request: R one unit, W two, H twenty. Default: R for GET, HEAD and OPTIONS, W for other methods',
  }),
  ...limitMembers,
  ...forwardingMembers,
  ...headerRuleMembers,
  cors: corsOfRoute,
  upstream: z
    .string()
    .meta({ description: 'Name of the service behind the route; `self` for operations of the gateway' }),
  upgrade: z
    .boolean()
    .default(false)
    .meta({ description: 'The connection may become a WebSocket when the client asks for it (GET)' }),
  dryRun: z
    .strictObject({ scopes: scopeNames.min(1).meta({ description: 'The scopes that may be needed later' }) })
    .optional()
    .meta({ description: 'Scopes that are tried out: callers without them are counted and not refused' }),
  ...deprecationMember,
});

export const routeFile = z.strictObject({
  $schema: z.string().optional().meta({ description: 'Address of the JSON Schema, for editors' }),
  scopes: z
    .array(
      z.strictObject({
        name: z
          .string()
          .regex(scopeToken, 'a scope token of RFC 6749')
          .meta({ description: 'A scope token (RFC 6749 section 3.3)' }),
        description: z.string().min(1).meta({ description: 'What it allows, for people' }),
      }),
    )
    .default([])
    .meta({ description: 'All scopes. Every list of scopes follows this sequence' }),
  apiKeyScopes: z.array(z.string()).default([]).meta({ description: 'The scopes of every API key' }),
  tenantWords: z
    .strictObject({
      list: z
        .string()
        .regex(/^[a-z_]+$/)
        .meta({ description: 'Name of the member' }),
      facts: z.array(z.string().regex(/^[a-z_]+$/)).meta({ description: 'Facts of each tenant that it shows' }),
    })
    .default({ list: 'tenants', facts: [] })
    .meta({ description: 'The member for tenants in answers of whoami' }),
  upstreams: z
    .record(z.string(), upstreamPolicy)
    .default({})
    .meta({ description: 'Name of an upstream -> where it is, and the policy towards it' }),
  cors: corsOfHosts,
  tenantLimits,
  routes: z.array(routeMembers).min(1).max(10_000).meta({ description: 'The routes; their sequence has no meaning' }),
});

export type RouteFile = z.infer<typeof routeFile>;

/** The JSON Schema (draft 2020-12) of a file of routes, for editors. Rules between members are only in the program. */
export const routeFileSchema = (): Readonly<Record<string, unknown>> => ({
  title: 'Route table of Orderpass',
  ...z.toJSONSchema(routeFile, { io: 'input' }),
});
export type FileRoute = RouteFile['routes'][number];

/** The methods that a route of the file names; `*` is all of them. */
export const methodsOf = ({ method }: Pick<FileRoute, 'method'>): readonly Method[] =>
  method === '*' ? methods : Array.isArray(method) ? method : [method];

/** The scopes that a route of the file needs for one method. */
export const scopesFor = ({ scopes }: Pick<FileRoute, 'scopes'>, method: Method): readonly string[] =>
  Array.isArray(scopes) ? scopes : (scopes?.[method] ?? (method === 'HEAD' ? scopes?.GET : undefined) ?? []);

/** API keys hold every scope that the route needs. */
export const opensToKeys = (
  { scopes, anyOf }: { scopes: readonly string[]; anyOf: readonly (readonly string[])[] },
  keyScopes: ReadonlySet<string>,
): boolean => {
  const held = (names: readonly string[]): boolean => names.every((name) => keyScopes.has(name));
  return held(scopes) && (anyOf.length === 0 || anyOf.some(held));
};
