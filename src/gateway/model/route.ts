/**
 * The route table: the only place where the gateway meets the names of the service behind it. Every rule that the table
 * must keep is here, so a table that parses can be used.
 */
import { z } from 'zod';
import { mayBePassed } from './claimed-headers.ts';
import { corsOfHosts, corsOfRoute } from './cors.ts';
import { forwardingMembers } from './forwarding.ts';
import { headerRuleMembers } from './header-rules.ts';

/** Upstream of operations that the gateway answers by itself. */
export const ownUpstream = 'self';

/** The operation that returns the reason of a refusal. */
export const denialRoute = 'whoami.denial';

const kind = z.enum(['api_key', 'api_client', 'bearer']);

const routeSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9._-]{1,64}$/),
  method: z.enum(['GET', 'POST']),
  path: z
    .string()
    .regex(
      /^(\/[A-Za-z0-9._-]+)+(\/\{[a-z_]+\})?$/,
      'an absolute path without a trailing slash; the last segment may be a {name}',
    ),
  scopes: z.array(z.string()),
  kinds: z.array(kind).min(1),
  class: z.enum(['R', 'W', 'H']),
  ...forwardingMembers,
  ...headerRuleMembers,
  cors: corsOfRoute,
  upstream: z.string(),
  /** The connection may become a WebSocket when the client asks for it. */
  upgrade: z.boolean().default(false),
  /** Scopes in a dry run: callers without them are counted and not refused. */
  dryRun: z.strictObject({ scopes: z.array(z.string()).min(1) }).optional(),
});

const upstreamPolicy = z.strictObject({
  /** Fields with claims of callers (claimed-headers.ts) that this upstream gets all the same. */
  passHeaders: z
    .array(z.string().refine(mayBePassed, 'a field in lower case that the gateway drops by default and does not set'))
    .default([]),
});

export const routeTable = z
  .strictObject({
    /** Every list of scopes follows this sequence. */
    scopes: z.array(
      z.strictObject({
        name: z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/, 'a scope token of RFC 6749'),
        description: z.string().min(1),
      }),
    ),
    /** The scopes of every API key. */
    apiKeyScopes: z.array(z.string()),
    /** The member name for tenants in answers of whoami, and the facts of each tenant that it shows. */
    tenantWords: z
      .strictObject({ list: z.string().regex(/^[a-z_]+$/), facts: z.array(z.string().regex(/^[a-z_]+$/)) })
      .default({ list: 'tenants', facts: [] }),
    /** Name of an upstream -> its policy. */
    upstreams: z.record(z.string(), upstreamPolicy).default({}),
    cors: corsOfHosts,
    routes: z.array(routeSchema).min(1),
  })
  .superRefine((table, context) => {
    for (const [path, message] of contradictions(table)) context.addIssue({ code: 'custom', path, message });
  });

export type RouteTable = z.infer<typeof routeTable>;
export type Route = RouteTable['routes'][number];
export type TenantWords = RouteTable['tenantWords'];

type Place = (string | number)[];

const contradictions = (table: RouteTable): [Place, string][] => {
  const known = new Set(table.scopes.map(({ name }) => name));
  const found: [Place, string][] = [];
  if (known.size !== table.scopes.length) found.push([['scopes'], 'a scope is listed twice']);
  for (const [index, scope] of table.apiKeyScopes.entries()) {
    if (!known.has(scope)) found.push([['apiKeyScopes', index], `no such scope: ${scope}`]);
  }
  const used = new Set(table.routes.map(({ upstream }) => upstream));
  for (const name of Object.keys(table.upstreams)) {
    if (!used.has(name)) found.push([['upstreams', name], 'no route goes to this upstream']);
  }
  const seen = new Set<string>();
  for (const [index, route] of table.routes.entries()) {
    for (const name of [route.id, `${route.method} ${route.path}`]) {
      if (seen.has(name)) found.push([['routes', index], `${name} is listed twice`]);
      seen.add(name);
    }
    const missing = [...route.scopes, ...(route.dryRun?.scopes ?? [])].filter((scope) => !known.has(scope));
    if (missing.length > 0) found.push([['routes', index, 'scopes'], `no such scope: ${missing.join(' ')}`]);
    if (route.stripPrefix !== undefined && !`${route.path}/`.startsWith(`${route.stripPrefix}/`))
      found.push([['routes', index, 'stripPrefix'], 'the path of the route does not begin with it']);
    const hasCors = route.cors !== false && (route.cors !== undefined || Object.keys(table.cors).length > 0);
    const { set = {}, remove = [] } = route.responseHeaders ?? {};
    const ruled = [...Object.keys(set), ...remove].find((name) => name.startsWith('access-control-'));
    if (hasCors && ruled !== undefined)
      found.push([['routes', index, 'responseHeaders'], `${ruled} is set by \`cors\`, which is on for this route`]);
    if (route.upgrade && route.method !== 'GET') found.push([['routes', index, 'upgrade'], 'only GET can be upgraded']);
    // The scopes decide which callers are accepted; `kinds` documents the intention, and both must agree.
    const opensToKeys = route.scopes.every((scope) => table.apiKeyScopes.includes(scope));
    if (opensToKeys !== route.kinds.includes('api_key')) {
      found.push([['routes', index, 'kinds'], 'api_key must be listed exactly when API keys hold every scope']);
    }
  }
  return found;
};
